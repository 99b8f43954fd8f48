"""What all descriptors have in common: they learn from images, describe an image, and say what they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from engine.progress import OnStep, ignore


@dataclass(frozen=True)
class Segments:
    """The regions of one image."""

    vectors: np.ndarray  # (S, D) float32
    mask: np.ndarray     # (H, W) int32: the segment of every pixel of the image at the size it was described


class Descriptor(Protocol):
    """Describes images one by one, independently of each other: what is common to a collection (a dictionary, filters,
    principal axes) is learned once by `fit` and then stands still, so images may be added later at their own cost."""

    name: str            # of the method
    version: int         # grows when the same parameters and image give other numbers
    level: str           # "image": describe gives a vector; "segment": it gives Segments
    longest: int | None  # px: images may be decoded at this size, nothing finer is looked at

    @property
    def parameters(self) -> dict[str, Any]:
        """All choices, as JSON holds them; with `arrays` they make the same descriptor again."""

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """What was learned; empty where nothing is."""

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> Self:
        """The descriptor with what it learned from the RGB uint8 images, which are walked over at least once."""

    def describe(self, image: np.ndarray) -> np.ndarray | Segments:
        """float32 vector, or Segments, of an RGB uint8 image of any size; the image is not changed."""
