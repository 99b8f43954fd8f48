"""Vocabularies as CSV: a path per line, or a name and its parent. Also the vocabulary that is part of the package."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

from benthoscope.engine.exchange.parsing.csv_output import csv_text, unguarded
from benthoscope.engine.exchange.parsing.tables import decoded
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import Problem, fail
from benthoscope.engine.term_path import BETWEEN, joined, parted
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import COLOUR, NewTerm, Term, Vocabulary

CATAMI, CATAMI_VERSION = "CATAMI", "1.4"
OWN_HEADER = ("path", "code", "colour", "notes", "synonyms")
MARKS = (": ", " | ", ">", "|")  # separators of a path in files of other programs; those with spaces first
HEADINGS = {
    "path": ("path", "term", "label", "class"),
    "name": ("name", "label_name"),
    "parent": ("parent", "parent_name"),
    "id": ("id",),
    "parent_id": ("parent_id",),
    "code": ("code", "caab", "species_code", "source_id"),
    "colour": ("colour", "color"),
    "notes": ("notes", "description", "note"),
    "synonyms": ("synonyms", "synonym"),
}
PALETTE = {  # by the second level of CATAMI, so that related terms have similar colours
    "Ascidians": "#e07b39",
    "Bacterial mats": "#8a6d3b",
    "Bioturbation": "#a58b6f",
    "Brachiopods": "#b07d62",
    "Bryozoa": "#c98bb9",
    "Cnidaria": "#d1495b",
    "Crustacea": "#f08a5d",
    "Echinoderms": "#b83b5e",
    "Fishes": "#3d84b8",
    "Jellies": "#9ad1d4",
    "Macroalgae": "#4f772d",
    "Molluscs": "#b08968",
    "Seagrasses": "#90be6d",
    "Sponges": "#f2c14e",
    "Worms": "#c08497",
    "Substrate": "#9e9e9e",
    "Relief": "#6d6875",
    "Bedforms": "#d4c5a0",
    "Sea spiders": "#7f5539",
}


def add_catami(workspace: Workspace) -> Vocabulary:
    """Add CATAMI 1.4 as a vocabulary of the workspace. Existing terms stay."""
    data = (files("benthoscope.assets") / "vocabularies" / "catami.csv").read_bytes()
    terms, _ = read_vocabulary(data, source="catami.csv")
    coloured = [replace(term, colour=PALETTE.get(term.path[1]) if len(term.path) > 1 else None) for term in terms]
    return workspace.vocabularies.add(CATAMI, coloured, CATAMI_VERSION)


def read_vocabulary(data: bytes, *, source: str) -> tuple[list[NewTerm], list[Problem]]:
    """Return terms, parents before children, and the problems of unusable lines. Parents that only occur in paths are
    created."""
    rows = list(_rows(data, source))
    columns = _columns(rows[0][1] if rows else {}, source)
    paths, problems = _paths(rows, columns, source)
    terms: dict[tuple[str, ...], NewTerm] = {}
    for line, row, path in paths:
        colour = _cell(row, columns, "colour") or None
        if colour and not COLOUR.fullmatch(colour if colour.startswith("#") else f"#{colour}"):
            problems.append(Problem(f"{source} line {line}", f"'{colour}' is not a colour", "write it as #rrggbb"))
            colour = None
        for depth in range(1, len(path)):
            terms.setdefault(path[:depth], NewTerm(path[:depth]))
        terms[path] = NewTerm(path, _cell(row, columns, "code") or None, _hashed(colour), _details(row, columns))
    return sorted(terms.values(), key=lambda term: len(term.path)), problems


def write_vocabulary(terms: Sequence[Term]) -> str:
    """Return the CSV from which `read_vocabulary` creates the same terms."""
    return csv_text(
        OWN_HEADER,
        (
            (
                joined(term.path),
                term.code,
                term.colour,
                term.details.get("notes"),
                "|".join(term.details.get("synonyms", ())),
            )
            for term in terms
        ),
    )


def _rows(data: bytes, source: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, {heading: cell}) of the lines that are neither comments nor empty."""
    text, _ = decoded(data, source, Complaints(source))
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise fail(source, "contains no terms", "give a CSV file with a column path, or name and parent")
    delimiter = max(",;\t", key=lines[0][1].count)
    table = csv.DictReader([line for _, line in lines], delimiter=delimiter)
    for (number, _), row in zip(lines[1:], table, strict=False):
        yield (
            number,
            {
                (key or "").strip().casefold(): (value or "").strip()
                for key, value in row.items()
                if not isinstance(value, list)
            },
        )


def _columns(row: Mapping[str, str], source: str) -> dict[str, str]:
    columns = {field: name for field, names in HEADINGS.items() for name in names if name in row}
    if "path" not in columns and "name" not in columns:
        raise fail(source, "has no column with terms", "name a column path (Biota > Sponges), or name")
    return columns


def _paths(
    rows: Iterable[tuple[int, Mapping[str, str]]], columns: Mapping[str, str], source: str
) -> tuple[list[tuple[int, Mapping[str, str], tuple[str, ...]]], list[Problem]]:
    rows, good, bad = list(rows), [], []
    split = _splitter([_cell(row, columns, "path") for _, row in rows], rows[0][1].keys() if rows else ())
    key = "id" if "parent_id" in columns else "name"
    up = "parent_id" if key == "id" else "parent"
    parents = {_cell(row, columns, key): (_cell(row, columns, "name"), _cell(row, columns, up)) for _, row in rows}
    for line, row in rows:
        if "path" in columns:
            path = tuple(name.strip() for name in split(_cell(row, columns, "path")))
        else:
            path = _climbed(_cell(row, columns, key), parents)
        if path and all(path):
            good.append((line, row, path))
        else:
            bad.append(Problem(f"{source} line {line}", "has no term with all its parents", "complete the path"))
    return good, bad


def _climbed(key: str, parents: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    """Return the path from a line to its root; () if a parent is missing or the lines form a cycle."""
    path: list[str] = []
    while key:
        if key not in parents or len(path) > len(parents):
            return ()
        name, key = parents[key]
        path.append(name)
    return tuple(reversed(path))


def _splitter(paths: Sequence[str], header: Iterable[str]) -> Callable[[str], Sequence[str]]:
    """Return the function that splits the paths of a file. Files with the header of `write_vocabulary` use " > " only;
    in other files, the first of MARKS that any path contains separates all paths."""
    if set(header) == set(OWN_HEADER) or any(BETWEEN in path or "\\>" in path for path in paths):
        return parted
    mark = next((mark for mark in MARKS if any(mark in path for path in paths)), BETWEEN)
    return lambda path: path.split(mark)


def _cell(row: Mapping[str, str], columns: Mapping[str, str], name: str) -> str:
    return unguarded(row.get(columns[name], "")) if name in columns else ""


def _details(row: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, object]:
    synonyms = [word.strip() for word in _cell(row, columns, "synonyms").split("|") if word.strip()]
    notes = _cell(row, columns, "notes")
    return {**({"notes": notes} if notes else {}), **({"synonyms": synonyms} if synonyms else {})}


def _hashed(colour: str | None) -> str | None:
    return colour if colour is None or colour.startswith("#") else f"#{colour}"
