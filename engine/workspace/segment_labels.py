"""Labels on segments: an act names any number of segments, each by its image and its number in that image's mask.

A run of objects names a quarter of a million segments at once; their outlines would fill the log, so that the rule of
such an act holds {"shape": "segment", "features": folder, "parts": text}: the folder of the feature set whose masks are
meant, which is new whenever images are cut anew, and the packed codes of the segments.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.problems import fail
from engine.workspace.events import Event, standing
from engine.workspace.labels import Act
from engine.workspace.packing import pack_ids, unpack_ids

SEGMENT = "segment"  # the shape
BITS = 16            # of a segment's number: masks have no more
MOST = 1 << BITS


def segment_act(term_id: int, features: str, images: np.ndarray, numbers: np.ndarray, *, why: str,
                run_id: int | None = None, rule: Mapping[str, Any] | None = None) -> Act:
    """The act that names these segments (image ids and, in step, numbers in their masks) with a term."""
    images, numbers = np.asarray(images, np.int64), np.asarray(numbers, np.int64)
    if len(images) != len(numbers) or not len(images):
        raise fail("segments", f"{len(numbers)} numbers for {len(images)} images", "give each segment with its image")
    if numbers.min() < 0 or numbers.max() >= MOST:
        raise fail("segments", f"numbers from {numbers.min()} to {numbers.max()}", f"number segments 0 to {MOST - 1}")
    codes = np.unique(images << BITS | numbers)
    told = {**(rule or {}), "shape": SEGMENT, "features": features, "segments": len(codes),
            "parts": base64.b85encode(pack_ids(codes)).decode("ascii")}
    return Act("part", np.unique(images), why, term_id, run_id, told)


def names_segments(event: Event) -> bool:
    return event.rule.get("shape") == SEGMENT


def segments_of(event: Event) -> tuple[np.ndarray, np.ndarray]:
    """(image ids, numbers in their masks), ordered by both."""
    codes = unpack_ids(base64.b85decode(event.rule["parts"]))
    return codes >> BITS, codes & (MOST - 1)


def count_of(event: Event, image: int) -> int:
    """How many segments of an image an act names."""
    return int((segments_of(event)[0] == image).sum())


def standing_segments(events: Sequence[Event], features: str) -> Iterator[tuple[Event, np.ndarray, np.ndarray]]:
    """(event, image ids, numbers) of the acts on these masks that hold, oldest first: the later one is right."""
    for event in standing(events):
        if names_segments(event) and event.rule["features"] == features:
            yield event, *segments_of(event)
