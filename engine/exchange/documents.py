"""JSON and YAML from bytes nobody has vouched for.

The YAML library overruns the machine's stack on deep nesting and multiplies aliases without limit, so its events are
counted before anything is built. Every YAML scalar stays text: `12:30:45` must not become a number, nor `no` False.
"""

import json
from typing import Any

import yaml

from engine.exchange.records import Complaints
from engine.exchange.tables import decoded
from engine.problems import fail

DEEPEST = 60              # an iFDO file nests 7 deep
MOST_NODES = 30_000_000   # 100,000 images of 100 fields each, three times over


def read_document(data: bytes, *, source: str, complaints: Complaints) -> Any:
    """The document's value: dicts, lists, text, numbers, None. BadInput says where it cannot be read."""
    text, _ = decoded(data, source, complaints)
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else _yaml(text, source)
    except json.JSONDecodeError as error:
        if error.pos == 0 or not _looks_like_flow_yaml(text):
            raise _broken(source, f"line {error.lineno}", error.msg) from error
        return _yaml(text, source)
    except (RecursionError, ValueError) as error:  # nested too deep, or a number of thousands of digits
        raise _broken(source, "", str(error)) from error


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


def _broken(source: str, place: str, said: str) -> Exception:
    told = " ".join(said.split())[:150]
    return fail(f"{source} {place}".strip(), f"cannot be read ({told})", "save it anew as JSON or YAML")
