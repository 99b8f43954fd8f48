"""Objects of a run (clusters of segments), the labels of segments, and the names of objects.

A run may have five million segments. They are counted by image once, in blocks; the rest is computed from the counts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from benthoscope.app.data.clusters.clustered_images import (
    NONE,
    Atlas,
    arrays_of,
    is_of_topics,
    names_of_topics,
    part_words,
    placed,
)
from benthoscope.app.data.labels import all_terms
from benthoscope.app.data.segments import SEGMENT_LABELS, labels_of, rows_of_image
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES, LABELS, RUNS
from benthoscope.engine.jobs.cluster.inputs import has_same_rows
from benthoscope.engine.workspace import Run
from benthoscope.engine.workspace.features import FeatureSet
from benthoscope.engine.workspace.labels.parts import standing_segments
from benthoscope.engine.workspace.labels.vocabularies import Term
from benthoscope.plots.colours import distinct

BLOCK = 20_000  # images whose segments are in memory at once
SURE = "segment_probability"


@dataclass(frozen=True)
class Objects:
    """K clusters of segments. I is the number of images in the segment features, N of images in the catalogue."""

    run: Run
    features: FeatureSet
    counts: np.ndarray  # (I, K) uint16, segments of every object in every image
    position: np.ndarray  # (I,) position of the image, NONE if it was removed from the catalogue

    @property
    def clusters(self) -> int:
        return self.counts.shape[1]

    @cached_property
    def labels(self) -> np.ndarray:
        """Object of every row of the feature set (memory-mapped); -1 for segments that are not in the run."""
        return self.run.array(SEGMENT_LABELS)

    @cached_property
    def probability(self) -> np.ndarray | None:
        return self.run.array(SURE) if SURE in arrays_of(self.run) else None

    @cached_property
    def sizes(self) -> np.ndarray:
        """(K,): segments of every object."""
        return self.counts.sum(0, dtype=np.int64)

    @cached_property
    def images(self) -> np.ndarray:
        """(K,): images with the object."""
        return (self.counts > 0).sum(0)

    @cached_property
    def clustered(self) -> int:
        """Number of images with segments in the run."""
        return int(self.counts.any(1).sum())

    def shows(self, number: int, atlas: Atlas) -> np.ndarray:
        """(N,) bool: the images that contain the object."""
        shown = np.zeros(len(atlas), bool)
        shown[self.position[(self.counts[:, number] > 0) & (self.position >= 0)]] = True
        return shown

    def by_dive(self, atlas: Atlas) -> np.ndarray:
        """(G, K): share of every object among the segments of every dive; zeros for a dive without segments."""
        known = self.position >= 0
        dive = atlas.group[self.position[known]]
        return _shares(dive, self.counts[known], len(atlas.groups))

    def by_image_cluster(self, atlas: Atlas) -> np.ndarray:
        """(T, K): share of every object in every image cluster, from the model or else by counting."""
        if "proportions" in arrays_of(self.run):
            return np.asarray(self.run.array("proportions"))
        label = np.where(self.position >= 0, atlas.labels[self.position], NONE)
        return _shares(label[label >= 0], self.counts[label >= 0], atlas.clusters)

    @cached_property
    def together(self) -> np.ndarray:
        """(K, K) int64: number of images with both objects; the diagonal counts images with one object."""
        total = np.zeros((self.clusters, self.clusters))
        for at in range(0, len(self.counts), BLOCK):
            there = (self.counts[at : at + BLOCK] > 0).astype(np.float32)
            total += there.T @ there
        return total.astype(np.int64)

    def members(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """(image ids, numbers in their masks) of all segments of an object."""
        return self.segments(np.flatnonzero(self.labels == number))

    def segments(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(image ids, numbers in their masks) of rows of the feature set."""
        image = np.searchsorted(self.features.offsets, rows, side="right") - 1
        return np.asarray(self.features.image_ids)[image], rows - np.asarray(self.features.offsets)[image]


def objects_of(app: AppState, atlas: Atlas) -> Objects | None:
    """The objects of the run; None if it has no segments, or its segments were removed or computed again."""
    run = atlas.run
    if run is None or SEGMENT_LABELS not in arrays_of(run) or run.features not in app.workspace.features:
        return None
    features = app.features(run.features)
    if features.level != "segment" or not has_same_rows(run, features):
        return None
    key = ("objects", run.id, features.folder.name, len(atlas), app.images_version)
    return app.cached(key, lambda: Objects(run, features, *_counted(run, features, atlas)), of=())


def _counted(run: Run, features: FeatureSet, atlas: Atlas) -> tuple[np.ndarray, np.ndarray]:
    labels, offsets = run.array(SEGMENT_LABELS), np.asarray(features.offsets)
    images = int(np.searchsorted(offsets, len(labels), side="right") - 1)
    clusters = int(run.summary.get("segment_clusters") or labels.max(initial=NONE) + 1)
    counts = np.zeros((images, clusters), np.uint16)
    for first, last in _blocks(images):
        block = np.asarray(labels[offsets[first] : offsets[last]])
        image = np.repeat(np.arange(last - first), np.diff(offsets[first : last + 1]))
        flat = (image * clusters + block)[block >= 0]
        counts[first:last] = np.bincount(flat, minlength=(last - first) * clusters).reshape(-1, clusters)
    ids = np.asarray(features.image_ids[:images])
    position = np.full(images, NONE, np.int64)
    image_positions, known = placed(atlas.columns, ids)
    position[known] = image_positions
    return counts, position


def _shares(group: np.ndarray, counts: np.ndarray, groups: int) -> np.ndarray:
    """(groups, K): shares of the objects among the segments of each group."""
    belongs = scipy.sparse.csr_array((np.ones(len(group)), (group, np.arange(len(group)))), (groups, len(group)))
    total = belongs @ counts.astype(np.float64)
    return total / np.maximum(total.sum(1, keepdims=True), 1)


def _blocks(images: int) -> Iterator[tuple[int, int]]:
    yield from ((at, min(at + BLOCK, images)) for at in range(0, images, BLOCK))


MOST_OF = 0.5  # share of the segments of an object that must have a term for the object to be named by it


@dataclass(frozen=True)
class NamedSegments:
    """`term` is (rows of the feature set,) int16, an index into `terms` or NONE."""

    term: np.ndarray
    terms: tuple[Term, ...]

    def name(self, row: int) -> str:
        return self.terms[self.term[row]].name if self.term[row] >= 0 else ""


@dataclass(frozen=True)
class ObjectName:
    """The most frequent label of the segments of an object, and how many have it."""

    term: str  # empty if no segment is labelled
    named: float  # share of the segments that have a label
    agreeing: float  # share of these with this label

    @property
    def holds(self) -> bool:
        return self.named >= MOST_OF and self.agreeing >= MOST_OF


def named_segments(app: AppState, features: FeatureSet) -> NamedSegments:
    """Labels of the segments of a feature set, from the label log."""
    return app.cached(
        ("named segments", features.folder.name), lambda: _read(app, features), (IMAGES, LABELS, FEATURES)
    )


def object_names(app: AppState, objects: Objects) -> list[ObjectName]:
    key = ("object names", objects.run.id)
    return app.cached(
        key, lambda: _object_names(objects, named_segments(app, objects.features)), (IMAGES, LABELS, RUNS, FEATURES)
    )


def words(app: AppState, objects: Objects) -> list[str]:
    """The name of every object: its label, or "Object" and its number. For a run of topics, the names of the topics."""
    if is_of_topics(objects.run):
        return list(names_of_topics(app, objects.run))
    return [
        f"{name.term} ({number})" if name.holds else f"Object {number}"
        for number, name in enumerate(object_names(app, objects))
    ]


def rows_of(features: FeatureSet, images: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Rows of segments by image and number; unknown segments are left out."""
    ids, offsets = np.asarray(features.image_ids), np.asarray(features.offsets)
    order = np.argsort(ids, kind="stable")
    position = np.minimum(np.searchsorted(ids, images, sorter=order), max(len(ids) - 1, 0))
    at = order[position] if len(ids) else np.empty(0, np.int64)
    known = (ids[at] == images) & (numbers < offsets[at + 1] - offsets[at]) if len(ids) else np.zeros(len(images), bool)
    return offsets[at[known]] + numbers[known]


def _read(app: AppState, features: FeatureSet) -> NamedSegments:
    term = np.full(features.sidecar.rows, NONE, np.int16)
    used: list[int] = []
    for event, images, numbers in standing_segments(app.workspace.labels.events(), features.folder.name):
        if event.given_term_id not in used:
            used.append(event.given_term_id)
        term[rows_of(features, images, numbers)] = used.index(event.given_term_id)
    return NamedSegments(term, tuple(all_terms(app)[number] for number in used))


def _object_names(objects: Objects, named: NamedSegments) -> list[ObjectName]:
    kinds = len(named.terms)
    if not kinds:
        return [ObjectName("", 0.0, 0.0)] * objects.clusters
    labels, term = np.asarray(objects.labels), named.term[: len(objects.labels)]
    is_named = (term >= 0) & (labels >= 0)
    flat = labels[is_named].astype(np.int64) * kinds + term[is_named]
    table = np.bincount(flat, minlength=objects.clusters * kinds).reshape(-1, kinds)
    return [_name(row, size, named.terms) for row, size in zip(table, objects.sizes.tolist(), strict=True)]


def _name(counts: np.ndarray, size: int, terms: Iterable[Term]) -> ObjectName:
    total, best = int(counts.sum()), int(counts.argmax())
    if not total:
        return ObjectName("", 0.0, 0.0)
    return ObjectName(tuple(terms)[best].name, total / max(size, 1), float(counts[best] / total))


def objects_in(app: AppState, atlas: Atlas, features: FeatureSet, image_id: int) -> dict[str, Any]:
    """{set, title, part_words, labels, names, objects: [{number, name, colour, segments}]} of an image with segments.

    `set` is the folder name of the segment features, `labels` the object of every segment (-1 for none), `names` the
    label of each segment ('' for none). Without a run of objects, no segment has an object."""
    objects = objects_of(app, atlas)
    rows = rows_of_image(features, image_id)
    labels = labels_of(atlas, features, image_id) if objects else None
    labels = np.full(len(rows), -1) if labels is None or len(labels) < len(rows) else labels
    named = named_segments(app, features)
    return {
        "set": features.folder.name,
        "title": "Topics" if objects and is_of_topics(objects.run) else "Objects",
        "part_words": part_words(objects.run if objects else None),
        "labels": labels.tolist(),
        "names": [named.name(row) for row in rows],
        "objects": _listed(words(app, objects), distinct(objects.clusters), labels) if objects else [],
    }


def _listed(names: list[str], colours: list[str], labels: np.ndarray) -> list[dict[str, Any]]:
    """The objects in the image, that with most segments first."""
    counts = np.bincount(labels[labels >= 0], minlength=len(names))
    return [
        {"number": int(at), "name": names[at], "colour": colours[at], "segments": int(counts[at])}
        for at in np.argsort(-counts, kind="stable")
        if counts[at]
    ]
