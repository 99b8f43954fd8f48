"""Check the segments and images passed by the caller, and sort the segments by image."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.problems import fail


@dataclass(frozen=True)
class SceneInput:
    """Segments sorted by image, and their images."""

    source: np.ndarray | Path
    images: np.ndarray  # (S,) int32, ascending
    dives: np.ndarray  # (I,) int32
    names: np.ndarray  # of the dives
    image_features: np.ndarray | None  # (I, D1)
    order: np.ndarray | None  # (S,) original position of each row; None if the rows came sorted

    def as_given(self, values: np.ndarray) -> np.ndarray:
        """Return values of the sorted rows in the original order."""
        if self.order is None:
            return values
        back = np.empty_like(values)
        back[self.order] = values
        return back


def scene_input(X: Any, image_of_segment: Any, group_of_image: Any, image_features: Any) -> SceneInput:
    source = checking.rows_of(X)
    S = checking.width_of(source)[0]
    checked_features = None if image_features is None else _checked_image_features(image_features)
    images = _images(image_of_segment, S)
    count = _count(images, group_of_image, checked_features)
    names, dives = checking.numbered(None if group_of_image is None else _dives(group_of_image, count), count)
    if (np.diff(images) >= 0).all():
        return SceneInput(source, images, dives, names, checked_features, None)
    order = np.argsort(images, kind="stable")
    rows = np.load(source, mmap_mode="r") if isinstance(source, Path) else source
    return SceneInput(rows[order], images[order], dives, names, checked_features, order)


def _checked_image_features(image_features: Any) -> np.ndarray:
    rows = checking.rows_of(image_features)
    return np.load(rows, mmap_mode="r") if isinstance(rows, Path) else rows


def _images(image_of_segment: Any, S: int) -> np.ndarray:
    """Return the image number of each segment. None means that all segments belong to one image."""
    if image_of_segment is None:
        return np.zeros(S, np.int32)
    numbers = np.asarray(image_of_segment)
    if numbers.shape != (S,) or numbers.dtype.kind not in "iu" or numbers.min() < 0:
        raise fail(
            "image_of_segment",
            f"{numbers.dtype} of shape {numbers.shape} for {S} rows of X",
            "give an image number of 0 or more for each segment",
        )
    return numbers.astype(np.int32)


def _count(images: np.ndarray, group_of_image: Any, image_features: np.ndarray | None) -> int:
    stated = {
        "group_of_image": None if group_of_image is None else len(group_of_image),
        "image_features": None if image_features is None else len(image_features),
    }
    needed = int(images.max()) + 1
    for name, count in stated.items():
        if count is not None and count < needed:
            raise fail(name, f"{count} images, but there are segments of image {needed - 1}", "give one row per image")
    counts = {count for count in stated.values() if count is not None} or {needed}
    if len(counts) > 1:
        raise fail(
            "image_features",
            f"{stated['image_features']} rows for {stated['group_of_image']} images",
            "give one row per image",
        )
    return counts.pop()


def _dives(group_of_image: Any, count: int) -> np.ndarray:
    try:
        return checking.group_column(group_of_image, count)
    except ValueError as error:
        raise fail("group_of_image", str(error), "give the dive or album of each image") from error


def one_dive(group_of_image: Any) -> np.ndarray | None:
    """Return the group column for these images in a single dive."""
    return None if group_of_image is None else np.zeros(len(group_of_image), np.int8)
