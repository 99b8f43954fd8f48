"""Commands from browser messages: one message type, one decoder, one way to run them.

A message is {"act": name, ...}. The typed parameters of the command's function say which values the message carries,
so a command is written once: as a function with annotations.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from benthoscope.engine.problems import BadInput, fail

RELOAD = "reload the page"
LONGEST = 60  # characters of a name shown in an error


def _as_bytes(value: Any) -> bytes:
    """Convert to bytes; rejects numbers and text, because `bytes(10**9)` would allocate a gigabyte."""
    if isinstance(value, int | float | str) or value is None:
        raise ValueError("binary data is needed")
    return bytes(value)


def _nothing_if_empty(value: Any) -> Any:
    return value or None


Packed = Annotated[bytes, BeforeValidator(_as_bytes)]  # a set of images, see app.session.selection
OptionalId = Annotated[int | None, BeforeValidator(_nothing_if_empty)]  # fields of forms send "" for none
OptionalText = Annotated[str | None, BeforeValidator(_nothing_if_empty)]
Ids = tuple[int, ...]
Seconds = tuple[tuple[int, float], ...]  # (image, seconds in view)


@dataclass(frozen=True)
class Command:
    """One decoded message: the function and its checked arguments."""

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Argument:
    """A value that a message carries under `key`, for the parameter `name` of the function."""

    name: str
    type: Any
    required: bool

    @property
    def key(self) -> str:
        """`id_` is sent as "id"."""
        return self.name.removesuffix("_")

    @cached_property
    def _adapter(self) -> TypeAdapter:
        return TypeAdapter(self.type, config=ConfigDict(arbitrary_types_allowed=True))

    def decode(self, value: Any) -> Any:
        return self._adapter.validate_python(value)


class CommandTable:
    """Functions by the names in messages. The first `targets` parameters of each function are the objects it works on,
    a page or its model; the others are values of the message. Values without a parameter are ignored."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], *, targets: int = 1):
        self._functions = dict(functions)
        self._arguments = {name: _arguments(function, targets) for name, function in self._functions.items()}

    def __iter__(self):
        return iter(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def decode(self, message: Any) -> Command:
        """The command of a message. Raises BadInput if the message is not valid."""
        name = message.get("act") if isinstance(message, Mapping) else None
        if not isinstance(name, str) or name not in self._functions:
            raise fail("message", f"no command '{str(name)[:LONGEST]}' on this page", RELOAD)
        values = {}
        for argument in self._arguments[name]:
            if argument.key in message:
                values[argument.name] = _decoded(name, argument, message[argument.key])
            elif argument.required:
                raise fail(f"command {name}", f"lacks the value '{argument.key}'", RELOAD)
        return Command(name, self._functions[name], values)

    def run(self, message: Any, *targets: Any) -> Any:
        """Run the command of a message on these objects."""
        command = self.decode(message)
        return command.function(*targets, **command.arguments)


def _decoded(name: str, argument: Argument, value: Any) -> Any:
    try:
        return argument.decode(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        location = "".join(f" at {position}" for position in first["loc"][:2])
        raise _wrong_value(name, argument, f"{first['msg'].lower()}{location}") from error


def _wrong_value(name: str, argument: Argument, text: str) -> BadInput:
    return fail(f"command {name}", f"the value '{argument.key}' cannot be used: {text}", RELOAD)


def _arguments(function: Callable[..., Any], targets: int) -> tuple[Argument, ...]:
    """Parameters of a function after its targets. Each needs a type, because values from the browser are checked."""
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[targets:]
    untyped = [parameter.name for parameter in parameters if parameter.annotation is parameter.empty]
    if untyped:
        raise TypeError(f"{function.__qualname__}: no type for {', '.join(untyped)}")
    return tuple(
        Argument(parameter.name, parameter.annotation, parameter.default is parameter.empty) for parameter in parameters
    )
