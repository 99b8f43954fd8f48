"""Check the names and types of a job's parameters against the signature of its function."""

import inspect
import math
import types
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

from benthoscope.engine.jobs.kinds import JobKind
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace import Workspace

Parameters = Mapping[str, Any]
LARGEST_SEED = 2**32 - 1  # the largest value that NumPy's RandomState accepts
TYPE_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def check_parameters(workspace: Workspace, kind: JobKind, parameters: Parameters, pending: Collection[str]) -> None:
    """Raise BadInput if the job could only fail: an unknown parameter, a wrong type, a missing object."""
    check_types(kind, parameters)
    _check_seed(parameters.get("seed"))
    kind.check_values(workspace, parameters, pending)


def check_types(kind: JobKind, parameters: Parameters) -> None:
    function = kind.function()
    signature, hints = inspect.signature(function), get_type_hints(function)
    accepted = {
        name: parameter
        for name, parameter in list(signature.parameters.items())[2:]
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values())
    if not takes_any:
        for name in parameters.keys() - accepted.keys():
            raise unknown(f"parameters of {kind.name}", name, accepted)
    check_values(parameters, hints)
    for name, parameter in accepted.items():
        if parameter.default is inspect.Parameter.empty and name not in parameters:
            raise fail(name, "is missing", f"jobs of the kind '{kind.name}' need it")


def check_values(parameters: Parameters, hints: Mapping[str, Any]) -> None:
    """Raise BadInput for a value whose type differs from the type in `hints`."""
    for name, value in parameters.items():
        if not _fits(value, hints.get(name, Any)):
            raise fail(name, f"{_shown(value)} is not {_type_name(hints[name])}", f"give {_type_name(hints[name])}")


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if origin is not None and issubclass(origin, Iterable):
        return isinstance(value, list | tuple) and all(_fits(each, get_args(hint)[0]) for each in value)
    return hint is Any or not isinstance(hint, type) or isinstance(value, hint)


def _type_name(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_type_name(each) for each in get_args(hint) if each is not type(None))
    origin = get_origin(hint)
    if origin is not None:
        return "an object of names and values" if issubclass(origin, Mapping) else "a list"
    return TYPE_NAMES.get(hint, getattr(hint, "__name__", "a value"))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_seed(seed: Any) -> None:
    if isinstance(seed, int) and not 0 <= seed <= LARGEST_SEED:
        raise fail("seed", f"must be between 0 and {LARGEST_SEED} (got {seed})")
