"""The segments a model is to see, image by image, with the descriptors of those images where the model wants them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.jobs.rows import Rows, chosen_rows, groups_of_images, narrowed
from engine.problems import fail
from engine.workspace import Workspace
from engine.workspace.features import FeatureSet

SEGMENTS = "segments"  # the set that `benthoscope features --kind segments` makes


@dataclass(frozen=True)
class SegmentRows:
    features: FeatureSet
    values: np.ndarray            # (S, D)
    places: np.ndarray | None     # (S,) rows of the feature set these are; None: all of them
    image_of_segment: np.ndarray  # (S,) int32, ascending
    image_ids: np.ndarray         # (I,)
    groups: np.ndarray            # (I,)
    images: Rows | None = None    # descriptors of these images, in this order

    @property
    def source(self) -> np.ndarray | Path:
        """The file where all of its rows are wanted; else the values."""
        return self.features.path if self.places is None else self.values

    def aligned(self, values: np.ndarray, missing: float) -> np.ndarray:
        """Values of these segments as an array with an entry for every row of the feature set."""
        if self.places is None:
            return values
        whole = np.full(self.features.sidecar.rows, missing, values.dtype)
        whole[self.places] = values
        return whole

    @property
    def told(self) -> dict[str, Any]:
        """What a run's provenance says of them."""
        sidecar = self.features.sidecar
        found = {"features": {"name": self.features.name, "data_hash": sidecar.data_hash,
                              "dimensions": self.values.shape[1], "extractor": dict(sidecar.extractor)}}
        return found | ({"image_features": self.images.told} if self.images else {})


def segment_set(workspace: Workspace, word: str | None) -> FeatureSet:
    """The set of segments of this name, or the usual one."""
    if word is not None:
        found = workspace.features.open(word)
        if found.level != "segment":
            raise fail(f"features {word}", "describe whole images, not segments",
                       "choose a set of segments, or make one with `benthoscope features --kind segments`")
        return found
    names = [name for name in workspace.features.names() if workspace.features.open(name).level == "segment"]
    if not names:
        raise fail("segments", "the images are not cut into segments yet",
                   "run `benthoscope features --kind segments` first")
    return workspace.features.open(SEGMENTS if SEGMENTS in names else names[0])


def segment_rows(workspace: Workspace, features: FeatureSet, image_features: str | None, collection: str | None,
                 dimensions: int | None) -> SegmentRows:
    """The segments of all images that the catalogue still knows, of one collection or all; with descriptors of whole
    images where a set of those is named, and then only of images that have both."""
    group_of = groups_of_images(workspace, collection)
    ids, counts = np.asarray(features.image_ids), np.diff(features.offsets)
    wanted = np.isin(ids, np.fromiter(group_of, np.int64, len(group_of))) & (counts > 0)
    described = chosen_rows(workspace, image_features, collection) if image_features else None
    if described is not None:
        wanted &= np.isin(ids, described.image_ids)
    if not wanted.any():
        raise fail(f"features {features.name}", "has none of the images wanted", "run `benthoscope features` first")
    groups = np.array([group_of[number] for number in ids[wanted].tolist()])
    images = described and narrowed(_of_images(described, ids[wanted]), dimensions)
    return SegmentRows(features, *_values(features, wanted), _numbers(counts[wanted]), ids[wanted], groups, images)


def _values(features: FeatureSet, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    if wanted.all():
        return features.X, None
    places = np.flatnonzero(wanted[features.image_of_row])
    return features.X[places], places


def _numbers(counts: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def _of_images(described: Rows, ids: np.ndarray) -> Rows:
    """The descriptors of these images, in this order."""
    order = np.argsort(described.image_ids, kind="stable")
    at = order[np.searchsorted(described.image_ids, ids, sorter=order)]
    return replace(described, values=described.values[at], image_ids=ids, groups=described.groups[at])
