"""Labels of parts of images: points, boxes, outlines, masks and segments, many of them packed into the rule of one
event.

One event labels parts with one term; its rule contains {"shape": ..., "parts": text}. The text is compressed, because
there can be a hundred thousand images with fifty points each. A label of a part never becomes the label of its image.

A segment is identified by its image and its number in the mask of that image. A run of objects labels a quarter of a
million segments at once, and their outlines would be too large for the log. Its rule therefore contains {"shape":
"segment", "features": folder, "parts": text}: the folder of the feature set with the masks, which is new for each
segmentation, and the packed codes of the segments.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace.labels.events import Event, standing
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.storage.id_packing import pack_ids, unpack_ids

SEGMENT = "segment"  # the shape
BITS = 16  # bits of a segment's number; masks have no more
MOST = 1 << BITS


def segment_act(
    term_id: int,
    features: str,
    images: np.ndarray,
    numbers: np.ndarray,
    *,
    why: str,
    run_id: int | None = None,
    rule: Mapping[str, Any] | None = None,
) -> Act:
    """Return the event that labels these segments (image ids and their numbers in the masks) with a term."""
    images, numbers = np.asarray(images, np.int64), np.asarray(numbers, np.int64)
    if len(images) != len(numbers) or not len(images):
        raise fail(
            "segments", f"there are {len(numbers)} numbers for {len(images)} images", "give each segment with its image"
        )
    if numbers.min() < 0 or numbers.max() >= MOST:
        raise fail(
            "segments", f"the numbers range from {numbers.min()} to {numbers.max()}", f"number segments 0 to {MOST - 1}"
        )
    codes = np.unique(images << BITS | numbers)
    full_rule = {
        **(rule or {}),
        "shape": SEGMENT,
        "features": features,
        "segments": len(codes),
        "parts": base64.b85encode(pack_ids(codes)).decode("ascii"),
    }
    return Act("part", np.unique(images), why, term_id, run_id, full_rule)


def names_segments(event: Event) -> bool:
    return event.rule.get("shape") == SEGMENT


def segments_of(event: Event) -> tuple[np.ndarray, np.ndarray]:
    """Return (image ids, numbers in their masks), sorted by both."""
    codes = unpack_ids(base64.b85decode(event.rule["parts"]))
    return codes >> BITS, codes & (MOST - 1)


def count_of(event: Event, image: int) -> int:
    """Return the number of segments of an image that an event labels."""
    return int((segments_of(event)[0] == image).sum())


def standing_segments(events: Sequence[Event], features: str) -> Iterator[tuple[Event, np.ndarray, np.ndarray]]:
    """Yield (event, image ids, numbers) of the effective events for these masks, oldest first; later events override
    earlier ones."""
    for event in standing(events):
        if names_segments(event) and event.rule["features"] == features:
            yield event, *segments_of(event)


# The number of values of each shape; None: any. All are pixels of the image file, x to the right and y down from the
# top left corner.
SHAPES: Mapping[str, int | None] = {
    "point": 2,  # x, y
    "box": 4,  # left, top, width, height
    "circle": 3,  # x, y, radius
    "line": None,  # x, y, x, y, ...
    "outline": None,  # x, y, x, y, ...; closed automatically
    "mask": None,  # height, width, then lengths of runs down the columns, the first run outside
}


@dataclass(frozen=True)
class Part:
    """A labelled part of one image, and the event that labels it."""

    image: int
    shape: str
    numbers: tuple[float, ...]
    event: Event


def part_act(
    term_id: int,
    shape: str,
    shapes: Sequence[tuple[int, Sequence[float]]],
    *,
    why: str,
    rule: Mapping[str, Any] | None = None,
    confidence: float | None = None,
) -> Act:
    """Return the event that labels these parts (image id, numbers of the shape) with a term."""
    if shape not in SHAPES:
        raise unknown("shape of a part", shape, SHAPES)
    expected = SHAPES[shape]
    for image, numbers in shapes:
        if not np.isfinite(numbers).all() or len(numbers) < 2 or expected not in (None, len(numbers)):
            raise fail(f"{shape} on image {image}", f"{list(numbers)[:6]}", f"give {expected or 'pairs of'} numbers")
    images = np.unique(np.array([image for image, _ in shapes], np.int64))
    full_rule = {**(rule or {}), "shape": shape, "parts": _packed(shapes)}
    return Act("part", images, why, term_id, rule=full_rule, confidence=confidence)


def standing_parts(events: Sequence[Event]) -> Iterator[Part]:
    """Yield the labelled parts after these events, oldest event first."""
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
    """Yield segments as parts with one number, that of the segment in the mask."""
    for image, number in zip(*(each.tolist() for each in segments_of(event)), strict=True):
        yield image, SEGMENT, (number,)


def _packed(shapes: Sequence[tuple[int, Sequence[float]]]) -> str:
    plain = [[int(image), *map(_short, numbers)] for image, numbers in shapes]
    return base64.b85encode(zlib.compress(json.dumps(plain, separators=(",", ":")).encode())).decode("ascii")


def _unpacked(text: str) -> Iterator[tuple[int, list[float]]]:
    for image, *numbers in json.loads(zlib.decompress(base64.b85decode(text))):
        yield image, numbers


def _short(number: float) -> float | int:
    """Return whole pixels without a decimal point."""
    return int(number) if float(number).is_integer() else float(number)
