"""The description of one parameter of a model or a job, read by forms, the command line, REST and the help page."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_type_hints


@dataclass(frozen=True)
class ParameterHelp:
    """The help text and the bounds of a parameter, which the signature of its function lacks. Bounds are inclusive."""

    text: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    name: str
    type: str
    default: Any  # None also where the parameter is required
    required: bool
    help: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def parameters_of(
    function: Callable[..., Any], helps: Mapping[str, ParameterHelp], skipped: int = 0
) -> tuple[Parameter, ...]:
    """The parameters in the signature of a function, without the first `skipped` ones, with their help."""
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[skipped:]
    named = [each for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD]
    return tuple(_described(each, hints.get(each.name), helps.get(each.name)) for each in named)


def parameters_of_types(types: Mapping[str, Any], helps: Mapping[str, ParameterHelp]) -> tuple[Parameter, ...]:
    """Optional parameters with these types and no default, with their help."""
    return tuple(_parameter(name, hint, None, False, helps.get(name)) for name, hint in types.items())


def _described(parameter: inspect.Parameter, hint: Any, about: ParameterHelp | None) -> Parameter:
    required = parameter.default is inspect.Parameter.empty
    return _parameter(parameter.name, hint, None if required else parameter.default, required, about)


def _parameter(name: str, hint: Any, default: Any, required: bool, about: ParameterHelp | None) -> Parameter:
    about = about or ParameterHelp("")
    return Parameter(
        name, _type_name(hint, default), default, required, about.text, about.minimum, about.maximum, about.choices
    )


def _type_name(hint: Any, default: Any) -> str:
    if hint is None:
        return "" if default is None else type(default).__name__
    return (
        hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__args__") else str(hint).replace("typing.", "")
    )
