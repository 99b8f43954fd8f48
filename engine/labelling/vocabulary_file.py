"""Vocabularies as CSV: a path per line, or a name and its parent; and the one that ships with the package."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

from engine.problems import Problem, fail
from engine.workspace import Workspace
from engine.workspace.vocabularies import COLOUR, NewTerm, Term, Vocabulary

CATAMI, CATAMI_VERSION = "CATAMI", "1.4"
HEADINGS = {
    "path": ("path", "term", "label", "class"), "name": ("name", "label_name"), "parent": ("parent", "parent_name"),
    "id": ("id",), "parent_id": ("parent_id",), "code": ("code", "caab", "species_code", "source_id"),
    "colour": ("colour", "color"), "notes": ("notes", "description", "note"), "synonyms": ("synonyms", "synonym"),
}
PALETTE = {  # by the second level of CATAMI, so that relatives look alike
    "Ascidians": "#e07b39", "Bacterial mats": "#8a6d3b", "Bioturbation": "#a58b6f", "Brachiopods": "#b07d62",
    "Bryozoa": "#c98bb9", "Cnidaria": "#d1495b", "Crustacea": "#f08a5d", "Echinoderms": "#b83b5e",
    "Fishes": "#3d84b8", "Jellies": "#9ad1d4", "Macroalgae": "#4f772d", "Molluscs": "#b08968",
    "Seagrasses": "#90be6d", "Sponges": "#f2c14e", "Worms": "#c08497", "Substrate": "#9e9e9e", "Relief": "#6d6875",
    "Bedforms": "#d4c5a0", "Sea spiders": "#7f5539",
}


def add_catami(workspace: Workspace) -> Vocabulary:
    """CATAMI 1.4 as a vocabulary of the workspace; what is there already stays."""
    data = (files("assets") / "vocabularies" / "catami.csv").read_bytes()
    terms, _ = read_vocabulary(data, source="catami.csv")
    coloured = [replace(term, colour=PALETTE.get(term.path[1]) if len(term.path) > 1 else None) for term in terms]
    return workspace.vocabularies.add(CATAMI, coloured, CATAMI_VERSION)


def read_vocabulary(data: bytes, *, source: str) -> tuple[list[NewTerm], list[Problem]]:
    """Terms, parents before children, and the lines that say nothing usable. Parents a path only implies are made."""
    rows = list(_rows(data, source))
    columns = _columns(rows[0][1] if rows else {}, source)
    paths, problems = _paths(rows, columns, source)
    terms: dict[tuple[str, ...], NewTerm] = {}
    for line, row, path in paths:
        colour = _cell(row, columns, "colour") or None
        if colour and not COLOUR.fullmatch(colour if colour.startswith("#") else f"#{colour}"):
            problems.append(Problem(f"{source} line {line}", f"'{colour}' is no colour", "write it as #rrggbb"))
            colour = None
        for depth in range(1, len(path)):
            terms.setdefault(path[:depth], NewTerm(path[:depth]))
        terms[path] = NewTerm(path, _cell(row, columns, "code") or None, _hashed(colour), _details(row, columns))
    return sorted(terms.values(), key=lambda term: len(term.path)), problems


def write_vocabulary(terms: Sequence[Term]) -> str:
    """The CSV that `read_vocabulary` makes the same terms of."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["path", "code", "colour", "notes", "synonyms"])
    for term in terms:
        synonyms = "|".join(term.details.get("synonyms", ()))
        table.writerow([" > ".join(term.path), term.code or "", term.colour or "", term.details.get("notes", ""),
                        synonyms])
    return out.getvalue()


def _rows(data: bytes, source: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, {heading: cell}) of the lines that are neither comments nor empty."""
    text = data.decode("utf-8-sig", errors="replace")
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1)
             if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise fail(source, "holds no terms", "give a CSV file with a column path, or name and parent")
    delimiter = max(",;\t", key=lines[0][1].count)
    table = csv.DictReader([line for _, line in lines], delimiter=delimiter)
    for (number, _), row in zip(lines[1:], table, strict=False):
        yield number, {(key or "").strip().casefold(): (value or "").strip() for key, value in row.items()
                       if not isinstance(value, list)}


def _columns(row: Mapping[str, str], source: str) -> dict[str, str]:
    found = {ours: name for ours, names in HEADINGS.items() for name in names if name in row}
    if "path" not in found and "name" not in found:
        raise fail(source, "has no column of terms", "name one of its columns path (Biota > Sponges), or name")
    return found


def _paths(rows: Iterable[tuple[int, Mapping[str, str]]], columns: Mapping[str, str],
           source: str) -> tuple[list[tuple[int, Mapping[str, str], tuple[str, ...]]], list[Problem]]:
    rows, good, bad = list(rows), [], []
    key = "id" if "parent_id" in columns else "name"
    up = "parent_id" if key == "id" else "parent"
    parents = {_cell(row, columns, key): (_cell(row, columns, "name"), _cell(row, columns, up)) for _, row in rows}
    for line, row in rows:
        if "path" in columns:
            path = _split(_cell(row, columns, "path"))
        else:
            path = _climbed(_cell(row, columns, key), parents)
        if path and all(path):
            good.append((line, row, path))
        else:
            bad.append(Problem(f"{source} line {line}", "names no term with its parents", "complete the path"))
    return good, bad


def _climbed(key: str, parents: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    """From a line up to its root; () where a parent is missing or the lines go in a circle."""
    path: list[str] = []
    while key:
        if key not in parents or len(path) > len(parents):
            return ()
        name, key = parents[key]
        path.append(name)
    return tuple(reversed(path))


def _split(path: str) -> tuple[str, ...]:
    marks = (" > ", ": ", " | ", ">", "|")  # with blanks first: "Waves (>10 cm)" is one name
    separator = next((mark for mark in marks if mark in path), ">")
    return tuple(part.strip() for part in path.split(separator))


def _cell(row: Mapping[str, str], columns: Mapping[str, str], name: str) -> str:
    return row.get(columns[name], "") if name in columns else ""


def _details(row: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, object]:
    synonyms = [word.strip() for word in _cell(row, columns, "synonyms").split("|") if word.strip()]
    notes = _cell(row, columns, "notes")
    return {**({"notes": notes} if notes else {}), **({"synonyms": synonyms} if synonyms else {})}


def _hashed(colour: str | None) -> str | None:
    return colour if colour is None or colour.startswith("#") else f"#{colour}"
