"""Read JSON and YAML from untrusted bytes.

The YAML library overflows the stack on deep nesting and expands aliases without limit, so its events are counted before
anything is built. All YAML scalars stay text: `12:30:45` must not become a number, nor `no` False.
"""

import json
import re
from typing import Any

import yaml

from benthoscope.engine.exchange.parsing.tables import decoded
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import BadInput, fail

DOCUMENTS = frozenset({".json", ".yaml", ".yml", ".ifdo"})  # suffixes of the files that are read here
DEEPEST = 60  # an iFDO file nests 7 deep
UNSTORABLE = re.compile(r"\\(u[dD][89a-fA-F]|u0000|x00|0)")  # escapes of unpaired surrogates and of NUL
MOST_NODES = 10_000_000  # 100,000 images of 50 fields each


def read_document(data: bytes, *, source: str, complaints: Complaints) -> Any:
    """Return the document's value: dicts, lists, text, numbers, None. Raises BadInput with the position of an error."""
    text, _ = decoded(data, source, complaints)
    try:
        document = _json(text, source) if text.lstrip()[:1] in ("{", "[") else _yaml(text, source)
        return _storable(document) if UNSTORABLE.search(text) else document
    except (RecursionError, ValueError) as error:  # nested too deep, or a number with thousands of digits
        if isinstance(error, BadInput):
            raise
        raise _broken(source, "", str(error)) from error


def _json(text: str, source: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda name: None)  # NaN and Infinity, which are not JSON
    except json.JSONDecodeError as error:
        if _looks_like_flow_yaml(text):
            return _yaml(text, source)
        raise _broken(source, f"line {error.lineno}", error.msg) from error


def _storable(value: Any) -> Any:
    """Return the value with texts that databases can store."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_storable(name): _storable(inner) for name, inner in value.items()}
    return [_storable(inner) for inner in value] if isinstance(value, list) else value


def _looks_like_flow_yaml(text: str) -> bool:
    """Return whether the braces are YAML's, which contain unquoted names, unlike those of JSON."""
    return text.lstrip()[1:].lstrip()[:1] not in ('"', "{", "[", "}", "]")


def _yaml(text: str, source: str) -> Any:
    try:
        _check(text, source)
        return yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error)
        raise _broken(source, f"line {mark.line + 1}" if mark else "", reason) from error


def _check(text: str, source: str) -> None:
    """Raise for documents that are nested too deep or, with expanded aliases, too large."""
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


def _broken(source: str, location: str, reason: str) -> BadInput:
    short_reason = " ".join(reason.split())[:150]
    return fail(f"{source} {location}".strip(), f"cannot be read ({short_reason})", "save it again as JSON or YAML")
