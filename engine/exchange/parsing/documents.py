"""JSON and YAML from bytes nobody has vouched for.

The YAML library overruns the machine's stack on deep nesting and multiplies aliases without limit, so its events are
counted before anything is built. Every YAML scalar stays text: `12:30:45` must not become a number, nor `no` False.
"""

import json
import re
from typing import Any

import yaml

from engine.exchange.records import Complaints
from engine.exchange.tables import decoded
from engine.problems import BadInput, fail

DEEPEST = 60              # an iFDO file nests 7 deep
UNSTORABLE = re.compile(r"\\(u[dD][89a-fA-F]|u0000|x00|0)")  # escapes of halves of characters, and of NUL
MOST_NODES = 10_000_000   # 100,000 images of 50 fields each


def read_document(data: bytes, *, source: str, complaints: Complaints) -> Any:
    """The document's value: dicts, lists, text, numbers, None. BadInput says where it cannot be read."""
    text, _ = decoded(data, source, complaints)
    try:
        found = _json(text, source) if text.lstrip()[:1] in ("{", "[") else _yaml(text, source)
        return _storable(found) if UNSTORABLE.search(text) else found
    except (RecursionError, ValueError) as error:  # nested too deep, or a number of thousands of digits
        if isinstance(error, BadInput):
            raise
        raise _broken(source, "", str(error)) from error


def _json(text: str, source: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda name: None)  # NaN and Infinity, which JSON does not have
    except json.JSONDecodeError as error:
        if _looks_like_flow_yaml(text):
            return _yaml(text, source)
        raise _broken(source, f"line {error.lineno}", error.msg) from error


def _storable(value: Any) -> Any:
    """The value with its texts as databases take them."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_storable(name): _storable(inner) for name, inner in value.items()}
    return [_storable(inner) for inner in value] if isinstance(value, list) else value


def _looks_like_flow_yaml(text: str) -> bool:
    """YAML's braces hold unquoted names; JSON's never do."""
    return text.lstrip()[1:].lstrip()[:1] not in ('"', "{", "[", "}", "]")


def _yaml(text: str, source: str) -> Any:
    try:
        _check(text, source)
        return yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error)
        raise _broken(source, f"line {mark.line + 1}" if mark else "", said) from error


def _check(text: str, source: str) -> None:
    """Refuses documents nested too deep or, with their aliases written out, too large."""
    open_nodes: list[list] = [[None, 0]]  # anchor and size of each node not yet closed
    sizes: dict[str, int | None] = {}
    for event in yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
        if isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor)
            if size is None and event.anchor in sizes:
                raise _broken(source, f"line {event.start_mark.line + 1}", "an alias contains itself")
            open_nodes[-1][1] += size or 1
        elif isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append([event.anchor, 1])
            sizes |= {event.anchor: None} if event.anchor else {}
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_nodes.pop()
            sizes |= {anchor: size} if anchor else {}
            open_nodes[-1][1] += size
        elif isinstance(event, yaml.ScalarEvent):
            sizes |= {event.anchor: 1} if event.anchor else {}
            open_nodes[-1][1] += 1
        if len(open_nodes) > DEEPEST or open_nodes[-1][1] > MOST_NODES:
            raise _broken(source, f"line {event.start_mark.line + 1}", "nested too deep or far too large")


def _broken(source: str, place: str, said: str) -> BadInput:
    told = " ".join(said.split())[:150]
    return fail(f"{source} {place}".strip(), f"cannot be read ({told})", "save it anew as JSON or YAML")
