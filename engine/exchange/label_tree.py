"""Vocabularies as BIIGLE exchanges them: a ZIP of `label_tree.json` and `labels.csv`."""

import io
import json
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.exchange.cells import csv_chunks, guarded, named_rows, unguarded
from engine.exchange.records import Complaints
from engine.exchange.tables import read_table
from engine.problems import fail
from engine.workspace.vocabularies import COLOUR, NewTerm, Term

TREE, LABELS = "label_tree.json", "labels.csv"
HEADER = ("id", "name", "parent_id", "color", "label_tree_id", "source_id")
GREY = "9e9e9e"  # BIIGLE wants a colour of every label
MOMENT = "2000-01-01 00:00:00"  # the vocabulary keeps no dates; the same tree gives the same file


def write_label_tree(name: str, version: str, terms: Sequence[Term], identity: str) -> bytes:
    """The ZIP; `identity` of the workspace tells apart trees of one name."""
    held = io.BytesIO()
    contents = {TREE: _tree(name, version, identity), LABELS: b"".join(csv_chunks(HEADER, _rows(terms)))}
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for inner, data in contents.items():
            archive.writestr(zipfile.ZipInfo(inner, (2000, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def read_label_tree(tree: bytes, labels: bytes, *, source: str, complaints: Complaints
                    ) -> tuple[str, str, list[NewTerm]]:
    """(name, version, terms with parents before children) of the two files inside."""
    about = _about(tree, source)
    version = about.get("version") if isinstance(about.get("version"), Mapping) else {}
    table = read_table(labels, source=f"{source} {LABELS}")
    rows = {row.get("id", "").strip(): (line, row) for line, row in named_rows(table)}
    terms = [term for number, (line, _) in rows.items() if (term := _term(number, line, rows, complaints))]
    return str(about["name"]), str(version.get("name") or ""), sorted(terms, key=lambda term: len(term.path))


def _tree(name: str, version: str, identity: str) -> bytes:
    told = {"id": 1, "name": name, "description": "", "created_at": MOMENT, "updated_at": MOMENT,
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{identity}/{name}")),
            "version": {"id": 1, "name": version, "doi": ""} if version else None}
    return json.dumps(told, indent=1, ensure_ascii=False).encode()


def _rows(terms: Sequence[Term]) -> Iterator[tuple[Any, ...]]:
    for term in terms:
        colour = (term.colour or "").removeprefix("#") or GREY
        yield term.id, guarded(term.name), term.parent_id, colour, 1, guarded(term.code or "")


def _about(tree: bytes, source: str) -> Mapping[str, Any]:
    try:
        about = json.loads(tree)
    except (ValueError, RecursionError) as error:
        raise fail(f"{source} {TREE}", "cannot be read", "export the label tree again") from error
    if not isinstance(about, Mapping) or not str(about.get("name") or "").strip():
        raise fail(f"{source} {TREE}", "names no label tree", "export the label tree again")
    return about


def _term(number: str, line: int, rows: Mapping[str, tuple[int, Mapping[str, str]]], complaints: Complaints
          ) -> NewTerm | None:
    path = _path(number, rows)
    row = rows[number][1]
    if not path or not all(name.strip() for name in path):
        complaints.add(f"{LABELS} line {line}", "names no class with its parents", "complete the tree", "bad classes")
        return None
    colour = f"#{row.get('color', '').strip().removeprefix('#')}"
    known = COLOUR.fullmatch(colour) and colour != f"#{GREY}"
    return NewTerm(path, unguarded(row.get("source_id", "")).strip() or None, colour if known else None)


def _path(number: str, rows: Mapping[str, tuple[int, Mapping[str, str]]]) -> tuple[str, ...]:
    """From a label up to its root; () where a parent is missing or they go in a circle."""
    path: list[str] = []
    while number:
        if number not in rows or len(path) > len(rows):
            return ()
        row = rows[number][1]
        path.append(unguarded(row.get("name", "")))
        number = row.get("parent_id", "").strip()
    return tuple(reversed(path))
