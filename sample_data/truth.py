"""What is known of every image of a sample: read back from the folder that holds it."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from sample_data.things import Thing

FOLDER = "truth"
IMAGES, POINTS, CLASSES, MASKS = "images.csv", "points.csv", "object_classes.csv", "object_masks.npz"


@dataclass(frozen=True)
class ImageTruth:
    """One image. The label is empty where nothing can be seen that has a name."""

    image: str    # path relative to the sample's folder, with forward slashes
    group: str    # the dive or album
    label: str    # the habitat or scene
    quality: str  # "good", or what is wrong with the frame
    truth: str    # "mask" or "points" where the objects in it are known, else empty


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
    """All that is known of a sample. Object masks stay on disk until they are asked for."""

    folder: Path
    images: tuple[ImageTruth, ...]
    points: tuple[PointLabel, ...] = ()

    @cached_property
    def labels(self) -> dict[str, str]:
        """The label of every image that has one."""
        return {image.image: image.label for image in self.images if image.label}

    @cached_property
    def masked(self) -> tuple[str, ...]:
        """The images that have an object mask."""
        return tuple(image.image for image in self.images if image.truth == "mask")

    def mask(self, image: str) -> np.ndarray:
        """(H, W) uint8: the number of the object class at every pixel, 0 where nobody could name it."""
        with np.load(self.folder / FOLDER / MASKS) as masks:
            return masks[image]

    @property
    def classes(self) -> dict[int, str]:
        """Names of the numbers in the masks."""
        return {int(thing): thing.label for thing in Thing}


def read_truth(folder: Path | str) -> Truth:
    """The truth of a sample campaign or of sample albums. Raises FileNotFoundError where the folder holds no truth."""
    folder = Path(folder)
    points = folder / FOLDER / POINTS
    images = tuple(ImageTruth(**row) for row in _rows(folder / FOLDER / IMAGES))
    return Truth(folder, images, tuple(_points(points)) if points.exists() else ())


def csv_text(kind: type, records: Iterable[object]) -> str:
    """Records of a dataclass as CSV with a header."""
    return table(tuple(each.name for each in fields(kind)), (astuple(record) for record in records))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A header and rows as CSV."""
    return "".join(",".join(map(_cell, row)) + "\n" for row in (header, *rows))


def _cell(value: object) -> str:
    text = str(value)
    return f'"{text}"' if "," in text else text


def _points(path: Path) -> Iterable[PointLabel]:
    for row in _rows(path):
        numbers = {name: int(row[name]) for name in ("point", "row", "column")}
        yield PointLabel(**{**row, **numbers})


def _rows(path: Path) -> Iterable[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)
