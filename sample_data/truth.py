"""The truth of a sample, read from its folder."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benthoscope.sample_data.seafloor.things import Thing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FOLDER = "truth"
IMAGES, POINTS, CLASSES, MASKS = "images.csv", "points.csv", "object_classes.csv", "object_masks.npz"


@dataclass(frozen=True)
class ImageTruth:
    """The truth of one image. The label is empty if nothing identifiable is visible."""

    image: str  # path relative to the sample's folder, with forward slashes
    group: str  # the dive or album
    label: str  # the habitat or scene
    quality: str  # "good", or the defect of the frame
    truth: str  # "mask" or "points" if the objects are known, else empty


@dataclass(frozen=True)
class PointLabel:
    """One of the random points of a point count; row and column are pixels from the top left."""

    image: str
    point: int
    row: int
    column: int
    label: str


@dataclass(frozen=True)
class Truth:
    """The truth of a sample. Object masks stay on disk until they are needed."""

    folder: Path
    images: tuple[ImageTruth, ...]
    points: tuple[PointLabel, ...] = ()

    @cached_property
    def labels(self) -> dict[str, str]:
        """Return the label of each image that has one."""
        return {image.image: image.label for image in self.images if image.label}

    @cached_property
    def masked(self) -> tuple[str, ...]:
        """Return the images that have an object mask."""
        return tuple(image.image for image in self.images if image.truth == "mask")

    def mask(self, image: str) -> np.ndarray:
        """Return the object class of each pixel (H, W) uint8, 0 for unidentified."""
        with np.load(self.folder / FOLDER / MASKS) as masks:
            return masks[image]

    @property
    def classes(self) -> dict[int, str]:
        """Return the names of the numbers in the masks."""
        return {int(thing): thing.label for thing in Thing}


def read_truth(folder: Path | str) -> Truth:
    """Return the truth of a sample campaign or of sample albums. Raises FileNotFoundError if the folder
    contains none."""
    folder = Path(folder)
    points = folder / FOLDER / POINTS
    images = tuple(ImageTruth(**row) for row in _rows(folder / FOLDER / IMAGES))
    return Truth(folder, images, tuple(_points(points)) if points.exists() else ())


def csv_text(kind: type["DataclassInstance"], records: "Iterable[DataclassInstance]") -> str:
    """Return records of a dataclass as CSV with a header."""
    return table(tuple(each.name for each in fields(kind)), (astuple(record) for record in records))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a header and rows as CSV."""
    return "".join(",".join(map(_cell, row)) + "\n" for row in (header, *rows))


def _cell(value: object) -> str:
    text = str(value)
    return f'"{text}"' if "," in text else text


def _points(path: Path) -> Iterable[PointLabel]:
    for row in _rows(path):
        numbers: dict[str, Any] = {name: int(row[name]) for name in ("point", "row", "column")}
        yield PointLabel(**row | numbers)


def _rows(path: Path) -> Iterable[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)
