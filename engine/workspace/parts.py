"""Labels on parts of images: points, boxes, outlines and masks, many of one act packed into its rule.

One act names parts with one term; its rule holds {"shape": ..., "parts": text}. The text is compressed, for an image
has fifty points and a campaign a hundred thousand of them. A label of a part never becomes the label of its image.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.problems import fail, unknown
from engine.workspace.events import Event, standing
from engine.workspace.labels import Act
from engine.workspace.segment_labels import SEGMENT, names_segments, segments_of

# How many numbers each shape takes; None: any number above. All in pixels of the image as it is on disk, x to the right
# and y down from the top left corner.
SHAPES: Mapping[str, int | None] = {
    "point": 2,  # x, y
    "box": 4,  # left, top, width, height
    "circle": 3,  # x, y, radius
    "line": None,  # x, y, x, y, ...
    "outline": None,  # x, y, x, y, ...; closed by itself
    "mask": None,  # height, width, then lengths of runs down the columns, the first of pixels outside
}


@dataclass(frozen=True)
class Part:
    """A labelled part of one image, and the act that says so."""

    image: int
    shape: str
    numbers: tuple[float, ...]
    event: Event


def part_act(term_id: int, shape: str, parts: Sequence[tuple[int, Sequence[float]]], *, why: str,
             rule: Mapping[str, Any] | None = None, confidence: float | None = None) -> Act:
    """The act that names these parts (image id, numbers of the shape) with a term."""
    if shape not in SHAPES:
        raise unknown("shape of a part", shape, SHAPES)
    wanted = SHAPES[shape]
    for image, numbers in parts:
        if not np.isfinite(numbers).all() or len(numbers) < 2 or wanted not in (None, len(numbers)):
            raise fail(f"{shape} on image {image}", f"{list(numbers)[:6]}", f"give {wanted or 'pairs of'} numbers")
    images = np.unique(np.array([image for image, _ in parts], np.int64))
    told = {**(rule or {}), "shape": shape, "parts": _packed(parts)}
    return Act("part", images, why, term_id, rule=told, confidence=confidence)


def standing_parts(events: Sequence[Event]) -> Iterator[Part]:
    """The labelled parts that hold after these events, oldest act first."""
    for event in standing(events):
        if event.kind == "part":
            yield from parts_of(event)


def parts_of(event: Event) -> Iterator[Part]:
    if names_segments(event):
        yield from (Part(*pair, event) for pair in _segments(event))
        return
    for image, numbers in _unpacked(event.rule["parts"]):
        yield Part(image, event.rule["shape"], tuple(numbers), event)


def _segments(event: Event) -> Iterator[tuple[int, str, tuple[int]]]:
    """As parts whose one number is that in the mask the rule's feature set has of the image."""
    for image, number in zip(*(each.tolist() for each in segments_of(event)), strict=True):
        yield image, SEGMENT, (number,)


def _packed(parts: Sequence[tuple[int, Sequence[float]]]) -> str:
    plain = [[int(image), *map(_short, numbers)] for image, numbers in parts]
    return base64.b85encode(zlib.compress(json.dumps(plain, separators=(",", ":")).encode())).decode("ascii")


def _unpacked(text: str) -> Iterator[tuple[int, list[float]]]:
    for image, *numbers in json.loads(zlib.decompress(base64.b85decode(text))):
        yield image, numbers


def _short(number: float) -> float | int:
    """Whole pixels without a decimal point."""
    return int(number) if float(number).is_integer() else float(number)
