"""Segments and their images as people hand them in, made into rows in the order of their images, or refused."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.mixtures import checking
from engine.problems import fail


@dataclass(frozen=True)
class SceneInput:
    """Rows sorted by image."""

    source: np.ndarray | Path
    images: np.ndarray          # (S,) int32, ascending
    dives: np.ndarray           # (I,) int32
    names: np.ndarray           # of the dives
    looks: np.ndarray | None    # (I, D1)
    order: np.ndarray | None    # (S,) which row came first; None where they came in order

    def as_given(self, values: np.ndarray) -> np.ndarray:
        """Values of the sorted rows in the order the rows came in."""
        if self.order is None:
            return values
        back = np.empty_like(values)
        back[self.order] = values
        return back


def scene_input(X: Any, image_of_segment: Any, group_of_image: Any, image_features: Any) -> SceneInput:
    source = checking.rows_of(X)
    S = checking.width_of(source)[0]
    looks = None if image_features is None else _looks(image_features)
    images = _images(image_of_segment, S)
    count = _count(images, group_of_image, looks)
    names, dives = checking.numbered(None if group_of_image is None else _dives(group_of_image, count), count)
    if (np.diff(images) >= 0).all():
        return SceneInput(source, images, dives, names, looks, None)
    order = np.argsort(images, kind="stable")
    rows = np.load(source, mmap_mode="r") if isinstance(source, Path) else source
    return SceneInput(rows[order], images[order], dives, names, looks, order)


def _looks(image_features: Any) -> np.ndarray:
    rows = checking.rows_of(image_features)
    return np.load(rows, mmap_mode="r") if isinstance(rows, Path) else rows


def _images(image_of_segment: Any, S: int) -> np.ndarray:
    """Nobody tells: all segments are of one image."""
    if image_of_segment is None:
        return np.zeros(S, np.int32)
    given = np.asarray(image_of_segment)
    if given.shape != (S,) or given.dtype.kind not in "iu" or given.min() < 0:
        raise fail("image_of_segment", f"{given.dtype} of shape {given.shape} for {S} rows of X",
                   "give the number of its image, 0 or greater, for every segment")
    return given.astype(np.int32)


def _count(images: np.ndarray, group_of_image: Any, looks: np.ndarray | None) -> int:
    told = {"group_of_image": None if group_of_image is None else len(group_of_image),
            "image_features": None if looks is None else len(looks)}
    needed = int(images.max()) + 1
    for name, count in told.items():
        if count is not None and count < needed:
            raise fail(name, f"{count} images, but segments are of image {needed - 1}", "give one row per image")
    counts = {count for count in told.values() if count is not None} or {needed}
    if len(counts) > 1:
        raise fail("image_features", f"{told['image_features']} rows for {told['group_of_image']} images",
                   "give one row per image")
    return counts.pop()


def _dives(group_of_image: Any, count: int) -> np.ndarray:
    try:
        return checking.group_column(group_of_image, count)
    except ValueError as error:
        raise fail("group_of_image", str(error), "name the dive or album of every image") from error


def one_dive(group_of_image: Any) -> np.ndarray | None:
    """As many images, all of the same dive."""
    return None if group_of_image is None else np.zeros(len(group_of_image), np.int8)
