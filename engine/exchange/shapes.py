"""Shapes of labelled parts in the notations of other programs; pixels, x to the right and y down."""

import math
from collections.abc import Sequence

import numpy as np

CORNERS = 32  # of the outline that stands for a circle: its area is 0.6 % too small
Numbers = Sequence[float]


def pairs(numbers: Numbers) -> list[tuple[float, float]]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def flat(points: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(float(value) for point in points for value in point)


def corners(box: Numbers) -> tuple[float, ...]:
    """The four corners of left, top, width, height, clockwise from the top left."""
    left, top, width, height = box
    return (left, top, left + width, top, left + width, top + height, left, top + height)


def box_of(four: Numbers) -> tuple[float, ...] | None:
    """Left, top, width, height of four corners; None where the rectangle is not upright."""
    xs, ys = sorted(four[::2]), sorted(four[1::2])
    upright = len(four) == 8 and xs[0] == xs[1] and xs[2] == xs[3] and ys[0] == ys[1] and ys[2] == ys[3]
    whole = upright and len(set(pairs(four))) == 4
    return (xs[0], ys[0], xs[2] - xs[0], ys[2] - ys[0]) if whole else None


def opened(numbers: Numbers) -> tuple[float, ...]:
    """An outline without its first point repeated at the end."""
    closed = len(numbers) > 4 and tuple(numbers[:2]) == tuple(numbers[-2:])
    return tuple(numbers[:-2] if closed else numbers)


def outline(shape: str, numbers: Numbers) -> tuple[float, ...] | None:
    """The outline of a part that has an inside, as x, y, x, y ...; None for points, lines and masks."""
    if shape == "outline" and len(numbers) >= 6:
        return tuple(numbers)
    if shape == "box":
        return corners(numbers)
    return _round(numbers) if shape == "circle" else None


def bounds(numbers: Numbers) -> tuple[float, float, float, float]:
    """Left, top, width, height of what the points span."""
    xs, ys = numbers[::2], numbers[1::2]
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


def area(numbers: Numbers) -> float:
    """Of an outline, in square pixels."""
    points = pairs(numbers)
    return abs(sum(x * v - u * y for (x, y), (u, v) in zip(points, points[1:] + points[:1], strict=True))) / 2


def runs(mask: np.ndarray) -> tuple[int, ...]:
    """(height, width, lengths of runs down the columns) of a mask (H, W); the first run lies outside, be it empty."""
    flat_mask = np.asarray(mask, bool).ravel(order="F")
    edges = np.flatnonzero(np.diff(flat_mask.astype(np.int8), prepend=0))
    lengths = np.diff(edges, prepend=0, append=len(flat_mask))
    return (*mask.shape, *map(int, lengths))


def mask_of(numbers: Numbers) -> np.ndarray:
    """The mask (H, W) that `runs` told."""
    height, width, *lengths = map(int, numbers)
    inside = np.arange(len(lengths)) % 2 == 1
    return np.repeat(inside, lengths).reshape((height, width), order="F")


def _round(circle: Numbers) -> tuple[float, ...]:
    x, y, radius = circle
    turns = [2 * math.pi * at / CORNERS for at in range(CORNERS)]
    return flat([(x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns])
