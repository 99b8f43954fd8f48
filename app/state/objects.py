"""The objects of a run: clusters of segments, counted image by image.

A run of five million segments is looked at once, block by block; everything else is computed from the counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from app.state.app_state import AppState
from app.state.atlas import NONE, Atlas, arrays_of, placed
from app.state.segments import LABELS
from engine.workspace import Run
from engine.workspace.features import FeatureSet

BLOCK = 20_000  # images whose segments are in memory at once
SURE = "segment_probability"


@dataclass(frozen=True)
class Objects:
    """Of I images of a set of segments, of which K clusters were found; N images are in the catalogue."""

    run: Run
    features: FeatureSet
    counts: np.ndarray    # (I, K) uint16, segments of every object in every image
    position: np.ndarray  # (I,) of the image in the atlas, NONE where the catalogue forgot it

    @property
    def clusters(self) -> int:
        return self.counts.shape[1]

    @cached_property
    def labels(self) -> np.ndarray:
        """(rows of the feature set,) mapped; -1 where the run does not know the segment."""
        return self.run.array(LABELS)

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
        """Images of which the run knows segments."""
        return int(self.counts.any(1).sum())

    def shows(self, number: int, atlas: Atlas) -> np.ndarray:
        """(N,) bool: the images that contain the object."""
        found = np.zeros(len(atlas), bool)
        found[self.position[(self.counts[:, number] > 0) & (self.position >= 0)]] = True
        return found

    def by_dive(self, atlas: Atlas) -> np.ndarray:
        """(G, K): the share of every object among the segments of every dive; zeros where it has none."""
        known = self.position >= 0
        dive = atlas.group[self.position[known]]
        return _shares(dive, self.counts[known], len(atlas.groups))

    def by_image_cluster(self, atlas: Atlas) -> np.ndarray:
        """(T, K): the share of every object in every image cluster, as the model has it or else by counting."""
        if "proportions" in arrays_of(self.run):
            return np.asarray(self.run.array("proportions"))
        label = np.where(self.position >= 0, atlas.labels[self.position], NONE)
        return _shares(label[label >= 0], self.counts[label >= 0], atlas.clusters)

    @cached_property
    def together(self) -> np.ndarray:
        """(K, K) int64: images that show both; on the diagonal those that show the object."""
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
    """None where the run clustered no segments, or they are gone or were cut anew since."""
    run = atlas.run
    if run is None or LABELS not in arrays_of(run) or run.features not in app.workspace.features:
        return None
    features = app.features(run.features)
    if features.level != "segment" or not _same(run, features):
        return None
    key = ("objects", run.id, features.folder.name, len(atlas), app.images_version)
    return app.lasting.once(key, lambda: Objects(run, features, *_counted(run, features, atlas)))


def _same(run: Run, features: FeatureSet) -> bool:
    """Whether the run's rows are the first of the set: images may have been added since, but not cut anew."""
    rows, made = len(run.array(LABELS)), run.provenance.get("features", {}).get("data_hash")
    if rows == features.sidecar.rows:
        return made in (None, features.sidecar.data_hash)
    return rows < features.sidecar.rows


def _counted(run: Run, features: FeatureSet, atlas: Atlas) -> tuple[np.ndarray, np.ndarray]:
    labels, offsets = run.array(LABELS), np.asarray(features.offsets)
    images = int(np.searchsorted(offsets, len(labels), side="right") - 1)
    clusters = int(run.summary.get("segment_clusters") or labels.max(initial=NONE) + 1)
    counts = np.zeros((images, clusters), np.uint16)
    for first, last in _blocks(images):
        part = np.asarray(labels[offsets[first] : offsets[last]])
        image = np.repeat(np.arange(last - first), np.diff(offsets[first : last + 1]))
        flat = (image * clusters + part)[part >= 0]
        counts[first:last] = np.bincount(flat, minlength=(last - first) * clusters).reshape(-1, clusters)
    ids = np.asarray(features.image_ids[:images])
    position = np.full(images, NONE, np.int64)
    found, known = placed(atlas.columns, ids)
    position[known] = found
    return counts, position


def _shares(group: np.ndarray, counts: np.ndarray, groups: int) -> np.ndarray:
    """(groups, K): the counts of the images of each group, as shares of its segments."""
    belongs = csr_array((np.ones(len(group)), (group, np.arange(len(group)))), (groups, len(group)))
    total = belongs @ counts.astype(np.float64)
    return total / np.maximum(total.sum(1, keepdims=True), 1)


def _blocks(images: int) -> Iterator[tuple[int, int]]:
    yield from ((at, min(at + BLOCK, images)) for at in range(0, images, BLOCK))
