"""What segments were named, one by one or object by object, and by that what objects are called."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import NONE
from app.state.objects import Objects
from app.state.terms import all_terms
from engine.workspace.features import FeatureSet
from engine.workspace.segment_labels import standing_segments
from engine.workspace.vocabularies import Term

MOST_OF = 0.5  # of the segments of an object have to have a term for the object to be called so


@dataclass(frozen=True)
class NamedSegments:
    """`term` is (rows of the feature set,) int16, an index into `terms` or NONE."""

    term: np.ndarray
    terms: tuple[Term, ...]

    def name(self, row: int) -> str:
        return self.terms[self.term[row]].name if self.term[row] >= 0 else ""


@dataclass(frozen=True)
class ObjectName:
    """What an object is called: the commonest term of its segments, where most of them have it."""

    term: str        # the commonest, empty where none is named
    named: float     # share of the segments that have any term
    agreeing: float  # of those, the share that has this one

    @property
    def holds(self) -> bool:
        return self.named >= MOST_OF and self.agreeing >= MOST_OF


def named_segments(app: AppState, features: FeatureSet) -> NamedSegments:
    """Computed from the log, once in each version of the workspace."""
    return app.kept(("named segments", features.folder.name), lambda: _read(app, features))


def object_names(app: AppState, objects: Objects) -> list[ObjectName]:
    key = ("object names", objects.run.id)
    return app.kept(key, lambda: _object_names(objects, named_segments(app, objects.features)))


def words(app: AppState, objects: Objects) -> list[str]:
    """What every object is called, by its number where it has no name."""
    return [f"{name.term} ({number})" if name.holds else f"Object {number}"
            for number, name in enumerate(object_names(app, objects))]


def rows_of(features: FeatureSet, images: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Rows of segments by image and number; those the set does not have are left out."""
    ids, offsets = np.asarray(features.image_ids), np.asarray(features.offsets)
    order = np.argsort(ids, kind="stable")
    place = np.minimum(np.searchsorted(ids, images, sorter=order), max(len(ids) - 1, 0))
    at = order[place] if len(ids) else np.empty(0, np.int64)
    known = (ids[at] == images) & (numbers < offsets[at + 1] - offsets[at]) if len(ids) else np.zeros(len(images), bool)
    return offsets[at[known]] + numbers[known]


def _read(app: AppState, features: FeatureSet) -> NamedSegments:
    term, used = np.full(features.sidecar.rows, NONE, np.int16), []
    for event, images, numbers in standing_segments(app.workspace.labels.events(), features.folder.name):
        if event.term_id not in used:
            used.append(event.term_id)
        term[rows_of(features, images, numbers)] = used.index(event.term_id)
    return NamedSegments(term, tuple(all_terms(app)[number] for number in used))


def _object_names(objects: Objects, found: NamedSegments) -> list[ObjectName]:
    kinds = len(found.terms)
    if not kinds:
        return [ObjectName("", 0.0, 0.0)] * objects.clusters
    labels, term = np.asarray(objects.labels), found.term[: len(objects.labels)]
    told = (term >= 0) & (labels >= 0)
    flat = labels[told].astype(np.int64) * kinds + term[told]
    table = np.bincount(flat, minlength=objects.clusters * kinds).reshape(-1, kinds)
    return [_name(row, size, found.terms) for row, size in zip(table, objects.sizes.tolist(), strict=True)]


def _name(counts: np.ndarray, size: int, terms: Iterable[Term]) -> ObjectName:
    total, best = int(counts.sum()), int(counts.argmax())
    if not total:
        return ObjectName("", 0.0, 0.0)
    return ObjectName(tuple(terms)[best].name, total / max(size, 1), float(counts[best] / total))
