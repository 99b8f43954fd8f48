"""Paths of a vehicle: lawn-mower and transect patterns in metres east and north."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benthoscope.sample_data.seafloor.seascape import field

SPEED = 0.5  # metres per second
SHORTEST = 700.0  # metres; even a dive with few images crosses several habitats
SPACING = 1.1  # metres between images if there are many


@dataclass(frozen=True)
class Track:
    positions: np.ndarray  # (N, 2) metres east and north
    heading: np.ndarray  # (N,) radians, 0 north, clockwise
    seconds: np.ndarray  # (N,) since the start of the dive


def lawn_mower(length: float, rng: np.random.Generator) -> np.ndarray:
    """Return corner points of parallel legs that cover a block."""
    legs = int(rng.integers(5, 9))
    apart = rng.uniform(14, 26)
    leg = max((length - apart * (legs - 1)) / legs, 20.0)
    rows = np.repeat(np.arange(legs) * apart, 2)
    ends = np.tile([0.0, leg, leg, 0.0], legs)[: 2 * legs]
    return np.stack([ends - leg / 2, rows - rows.mean()], axis=1)


def transect(length: float, rng: np.random.Generator) -> np.ndarray:
    """Return corner points of a long line with two gentle turns."""
    turns = np.cumsum(rng.normal(0, 0.35, 3))
    steps = np.stack([np.cos(turns), np.sin(turns)], axis=1) * length / 3
    corners = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    return corners - corners.mean(axis=0)


Pattern = Callable[[float, np.random.Generator], np.ndarray]
PATTERNS: tuple[Pattern, ...] = (lawn_mower, transect)


def track(images: int, pattern: Pattern, rng: np.random.Generator) -> Track:
    """Return positions, headings and times of the images of one dive, evenly spaced along a pattern with random
    rotation."""
    corners = pattern(max(SHORTEST, images * SPACING), rng)
    angle = rng.uniform(0, 2 * np.pi)
    turned = corners @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    positions, travelled = _along(turned, images)
    positions = positions + 0.6 * np.stack([field(rng, 40, 160)(positions) for _ in range(2)], axis=1)
    return Track(positions, _headings(turned, travelled, rng), travelled / SPEED + rng.uniform(0, 0.05, images))


def _along(corners: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    reached = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    travelled = np.linspace(0, reached[-1], count + 1)[:-1]
    return np.stack([np.interp(travelled, reached, axis) for axis in corners.T], axis=1), travelled


def _headings(corners: np.ndarray, travelled: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    legs = np.diff(corners, axis=0)
    reached = np.cumsum(np.hypot(*legs.T))
    leg = np.minimum(np.searchsorted(reached, travelled, side="right"), len(legs) - 1)
    return (np.arctan2(legs[leg, 0], legs[leg, 1]) + rng.normal(0, 0.03, len(travelled))) % (2 * np.pi)
