"""A region of an image by the topics of its patches, to find images that contain something like it."""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.features.masks import MaskFile
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run, Workspace

EXAMPLE = "write it like 17:0.2,0.1,0.5,0.4: image 17, left, top, width and height as fractions of the image"


@dataclass(frozen=True)
class Region:
    """A rectangle of an image; its sides are fractions of the image's width and height."""

    image: int
    left: float
    top: float
    width: float
    height: float

    def __str__(self) -> str:
        return f"{self.image}:{self.left:.4g},{self.top:.4g},{self.width:.4g},{self.height:.4g}"


def region_named(text: str) -> Region:
    """Read a region like "17:0.2,0.1,0.5,0.4". Raises if the text is not a region inside an image."""
    image, _, sides = text.partition(":")
    try:
        number, values = int(image), [float(side) for side in sides.split(",")]
    except ValueError:
        raise fail("region", f"'{text}' is not a region", EXAMPLE) from None
    if len(values) != 4 or not np.isfinite(values).all():
        raise fail("region", f"'{text}' is not a region", EXAMPLE)
    left, top, width, height = values
    is_inside = 0 <= left < 1 and 0 <= top < 1 and left + width <= 1 + 1e-6 and top + height <= 1 + 1e-6
    if not is_inside or width <= 0 or height <= 0:
        raise fail("region", f"'{text}' is not inside the image", EXAMPLE)
    return Region(number, left, top, width, height)


def topic_shares(workspace: Workspace, run: Run, region: Region) -> np.ndarray:
    """Return the share of each topic (T,) among the patches of a region, by their area. Shares sum to 1."""
    if run.features not in workspace.features:
        raise fail(f"features {run.features}", "were removed", "compute them again, and fit the topics again")
    features = workspace.features.open(run.features)
    position = np.flatnonzero(features.image_ids == region.image)
    if not len(position):
        raise fail(f"image {region.image}", f"has no patches in the run {run.name}", "choose an image of the run")
    mask = MaskFile(features.folder)[region.image]
    first, end = features.offsets[position[0] : position[0] + 2]
    labels = np.asarray(run.array("segment_labels")[first:end])
    patches = _cut(mask, region)
    topics = labels[patches[patches < len(labels)]]
    counts = np.bincount(topics[topics >= 0], minlength=np.asarray(run.array("image_weights")).shape[1])
    if not counts.sum():
        raise fail("region", "has no patches with topics", "choose a larger region")
    return counts / counts.sum()


def _cut(mask: np.ndarray, region: Region) -> np.ndarray:
    """Return the patch of each pixel of the region, of at least one pixel."""
    height, width = mask.shape
    top, left = int(region.top * height), int(region.left * width)
    bottom = max(int(np.ceil((region.top + region.height) * height)), top + 1)
    right = max(int(np.ceil((region.left + region.width) * width)), left + 1)
    return mask[top:bottom, left:right].ravel()
