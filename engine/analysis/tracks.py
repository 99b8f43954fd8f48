"""Positions of images in metres east and north of the centre of all positions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# per degree of latitude, and of longitude at the equator; accurate to 0.5 %, which suffices for drawings
METRES = 111_320.0


@dataclass(frozen=True)
class Tracks:
    """`xy` (N, 2) float32 metres, NaN for images without a position; `middle` is latitude and longitude in degrees."""

    xy: np.ndarray
    middle: tuple[float, float]

    @property
    def any(self) -> bool:
        return bool(np.isfinite(self.xy[:, 0]).any())

    @cached_property
    def extent(self) -> tuple[float, float, float, float]:
        """Return west, east, south and north in metres."""
        known = self.xy[np.isfinite(self.xy[:, 0])]
        if not len(known):
            return (-1.0, 1.0, -1.0, 1.0)
        (west, south), (east, north) = known.min(0), known.max(0)
        return float(west), float(east), float(south), float(north)


def tracks_in_metres(latitude: np.ndarray, longitude: np.ndarray) -> Tracks:
    """Return the positions of N images from degrees (N,); NaN for images without a position."""
    known = np.isfinite(latitude) & np.isfinite(longitude)
    if not known.any():
        return Tracks(np.full((len(latitude), 2), np.nan, np.float32), (0.0, 0.0))
    middle = (float(np.median(latitude[known])), _middle_longitude(longitude[known]))
    east = (longitude - middle[1] + 180) % 360 - 180  # the short way across the date line
    x, y = east * METRES * np.cos(np.radians(middle[0])), (latitude - middle[0]) * METRES
    return Tracks(np.where(known[:, None], np.column_stack([x, y]), np.nan).astype(np.float32), middle)


GAP = -1  # between two lines, and in place of images without a position


def track_lines(xy: np.ndarray, group: np.ndarray, taken_at: np.ndarray, joined: np.ndarray) -> np.ndarray:
    """Return (m,) int32: the rows of every group in the order of time, GAP where a line ends.

    `xy` (N, 2) are positions, NaN where unknown. `group` (N,) are integers, `taken_at` (N,) seconds, NaN where unknown.
    `joined` (N,) bool says which rows take part. A line ends at a row without a position and at the end of a group.
    Rows without a time are in no line.
    """
    rows = np.flatnonzero(joined & np.isfinite(taken_at))
    rows = rows[np.lexsort((rows, taken_at[rows], group[rows]))]
    if not len(rows):
        return np.empty(0, np.int32)
    ends = np.flatnonzero(np.diff(group[rows])) + 1
    line = np.where(np.isfinite(xy[rows, 0]), rows, GAP)
    return np.insert(line, ends, GAP).astype(np.int32)


def group_positions(xy: np.ndarray, group: np.ndarray) -> list[tuple[int, float, float]]:
    """Return (group, x, y) with the median position of each group that has positions. `xy` (N, 2) in metres, `group`
    (N,) integers."""
    known = np.isfinite(xy[:, 0])
    xy, group = xy[known], group[known]
    if not len(xy):
        return []
    order = np.argsort(group, kind="stable")
    numbers, starts = np.unique(group[order], return_index=True)
    positions = []
    for number, rows in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        x, y = np.median(xy[rows], axis=0)
        positions.append((int(number), float(x), float(y)))
    return positions


def _middle_longitude(longitude: np.ndarray) -> float:
    """Return the longitude of the mean direction, which is correct across the date line."""
    angle = np.radians(longitude)
    return float(np.degrees(np.arctan2(np.sin(angle).mean(), np.cos(angle).mean())))
