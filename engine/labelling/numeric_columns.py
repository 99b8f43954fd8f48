"""Columns of numbers with one value for each image: measurements, imported fields, and the cover of a term."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.labelling.terms import TermTree, find_term
from benthoscope.engine.problems import unknown
from benthoscope.engine.term_path import joined, parted
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.parts import SEGMENT, standing_parts
from benthoscope.engine.workspace.library import Library

MEASUREMENTS: Mapping[str, tuple[str, str]] = {
    "depth": ("Depth", "m"),
    "altitude": ("Altitude", "m"),
    "latitude": ("Latitude", "°"),
    "longitude": ("Longitude", "°"),
}
IMPORTED, COVER = "meta:", "cover:"  # prefixes of names
LOOKED_AT = 200  # images whose imported fields are searched for numbers


@dataclass(frozen=True)
class NumericColumn:
    """`values` (N,) are those of the images `image_ids` (N,), NaN where unknown. All values lie within `bounds`."""

    name: str
    title: str
    unit: str
    image_ids: np.ndarray
    values: np.ndarray
    bounds: tuple[float, float] = (-np.inf, np.inf)

    @property
    def images(self) -> int:
        """The number of images with a value."""
        return int(np.isfinite(self.values).sum())


def numeric_columns(workspace: Workspace) -> list[NumericColumn]:
    """Return all columns with at least two different values."""
    stored = workspace.library.columns("id", *MEASUREMENTS, "details")
    ids = stored["id"]
    columns = [NumericColumn(name, *texts, ids, stored[name]) for name, texts in MEASUREMENTS.items()]
    for field in imported_numbers(workspace.library, ids):
        columns.append(NumericColumn(IMPORTED + field, field, "", ids, _numbers(stored["details"], field)))
    columns += cover_columns(workspace)
    return [column for column in columns if len(np.unique(column.values[np.isfinite(column.values)])) > 1]


def numeric_column(workspace: Workspace, name: str) -> NumericColumn:
    """Return the column with this name: `depth`, `cover:TERM`, or the name of an imported field with or without
    `meta:`."""
    if name in MEASUREMENTS:
        columns = workspace.library.columns("id", name)
        return NumericColumn(name, *MEASUREMENTS[name], columns["id"], columns[name])
    if name.startswith(COVER):
        return _cover_column(workspace, name.removeprefix(COVER))
    ids = workspace.library.columns("id")["id"]
    field = name.removeprefix(IMPORTED)
    fields = imported_numbers(workspace.library, ids)
    if field not in fields:
        covers = [column.name for column in cover_columns(workspace)]
        raise unknown("columns", name, [*MEASUREMENTS, *(IMPORTED + each for each in fields), *covers])
    return NumericColumn(IMPORTED + field, field, "", ids, imported_values(workspace.library, field))


def imported_numbers(library: Library, ids: np.ndarray) -> list[str]:
    """Return the names of imported fields that are numbers in most of the first images with these ids (N,)."""
    images = library.images(ids[:LOOKED_AT].tolist())
    counts: dict[str, int] = {}
    for image in images:
        for name, value in image.details.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                counts[name] = counts.get(name, 0) + 1
    return sorted(name for name, count in counts.items() if count * 2 > len(images))


def imported_values(library: Library, name: str) -> np.ndarray:
    """Return the values of an imported field (N,) of all images by id, NaN where it is not a number."""
    return _numbers(library.columns("details")["details"], name)


def cover_columns(workspace: Workspace) -> list[NumericColumn]:
    """Return the cover of each term that labels an image, a point or a segment, and of their ancestors, by path."""
    labels, tree = _labels_of_images(workspace), _tree(workspace)
    ids = workspace.library.columns("id")["id"]
    return [_cover_of(term_id, labels, tree, ids) for term_id in _labelled_terms(labels, tree)]


@dataclass(frozen=True)
class _PartLabels:
    """Labels of whole images and of points or segments: image id and term id of each."""

    images: np.ndarray
    terms: np.ndarray


def _cover_column(workspace: Workspace, text: str) -> NumericColumn:
    labels, tree = _labels_of_images(workspace), _tree(workspace)
    labelled = _labelled_terms(labels, tree)
    term = find_term(tree.terms, parted(text))
    if term is None or term.id not in labelled:
        raise unknown("labelled terms", text, [joined(tree.by_id[each].path) for each in labelled])
    return _cover_of(term.id, labels, tree, workspace.library.columns("id")["id"])


def _cover_of(term_id: int, labels: _PartLabels, tree: TermTree, ids: np.ndarray) -> NumericColumn:
    """The share of an image's labels that are the term or one below it: of its points, else of its segments, else of
    the image as a whole."""
    known = np.isin(labels.images, ids)
    at = np.searchsorted(ids, labels.images[known])
    matching = np.isin(labels.terms[known], sorted(tree.below(term_id)))
    counts = np.bincount(at, minlength=len(ids))
    shares = np.bincount(at, matching, minlength=len(ids)) / np.maximum(counts, 1)
    term = tree.by_id[term_id]
    values = np.where(counts > 0, shares, np.nan)
    return NumericColumn(COVER + joined(term.path), f"Cover of {term.name}", "", ids, values, (0.0, 1.0))


def _labels_of_images(workspace: Workspace) -> _PartLabels:
    """Return the labels that the cover of an image is computed from. The latest label of the same part counts."""
    events = workspace.labels.events()
    points: dict[tuple, int] = {}
    segments: dict[tuple, int] = {}
    for labelled in standing_parts(events):
        if not labelled.event.is_confirmed:
            continue
        if labelled.shape == "point":
            points[(labelled.image, *labelled.numbers)] = labelled.event.given_term_id
        elif labelled.shape == SEGMENT:
            segments[(labelled.image, labelled.event.rule["features"], *labelled.numbers)] = (
                labelled.event.given_term_id
            )
    images, numbers = workspace.labels.current()
    confirmed = ~np.isin(numbers, [event.number for event in events if not event.is_confirmed])
    levels = [_part_labels(points), _part_labels(segments)]
    levels.append(_PartLabels(images[confirmed], workspace.labels.terms_of(numbers[confirmed])))
    used: list[_PartLabels] = []
    covered = np.empty(0, np.int64)
    for labels in levels:
        new = ~np.isin(labels.images, covered)
        used.append(_PartLabels(labels.images[new], labels.terms[new]))
        covered = np.union1d(covered, labels.images)
    return _PartLabels(
        np.concatenate([labels.images for labels in used]), np.concatenate([labels.terms for labels in used])
    )


def _part_labels(terms: Mapping[tuple, int]) -> _PartLabels:
    images = np.array([key[0] for key in terms], np.int64)
    return _PartLabels(images, np.array(list(terms.values()), np.int64))


def _tree(workspace: Workspace) -> TermTree:
    return TermTree.of(workspace.vocabularies.all_terms())


def _labelled_terms(labels: _PartLabels, tree: TermTree) -> list[int]:
    """Return the ids of the terms of labels and of their ancestors, by path."""
    used = np.unique(labels.terms).tolist()
    ids = {ancestor for term in used if term in tree.by_id for ancestor in tree.line(term)}
    return sorted(ids, key=lambda term: tree.by_id[term].path)


def _numbers(details: np.ndarray, name: str) -> np.ndarray:
    return np.array([_number(detail.get(name)) for detail in details], float)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan
