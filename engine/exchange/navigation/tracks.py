"""Positions and depths by time: tracks from navigation files, matched to images by the time of the images.

Navigation files contain no image names. An image gets the values between the two fixes around its time, by linear
interpolation, if these fixes are at most `max_gap` seconds apart. Nothing is extrapolated beyond the ends of a track.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from benthoscope.engine.exchange.records import ImageRecord
from benthoscope.engine.problems import Problem

MAX_GAP = 60.0  # seconds between two fixes; a camera towed at half a metre per second moves 30 m in this time
MEASURES = ("latitude", "longitude", "depth", "altitude")  # other quantities are stored among the details
ANGLES = ("longitude", "heading")  # 359 and 1 degrees are 2 degrees apart
FEWEST_FIXES = 2
MATCHED, NO_FIX, NO_TIME = "matched", "no fix", "no time"
DETAIL = "navigation"  # {"file": ..., "fields": [...]}: the values of an image that came from a track


@dataclass(frozen=True)
class Series:
    """One quantity over time. `times` are strictly ascending; no value is NaN."""

    times: np.ndarray  # (n,) seconds since 1970 UTC
    values: np.ndarray  # (n,)

    @classmethod
    def of(cls, times: np.ndarray, values: np.ndarray) -> "Series":
        """Return a series sorted by time, without missing values; of several values at one time, the first."""
        known = np.isfinite(times) & np.isfinite(values)
        moments, first = np.unique(times[known], return_index=True)
        return cls(moments, np.asarray(values, np.float64)[known][first])

    def at(self, times: np.ndarray, max_gap: float, *, is_angle: bool = False) -> np.ndarray:
        """Return interpolated values (m,); NaN where the fixes around a time are more than `max_gap` apart, or
        missing."""
        if not len(self.times):
            return np.full(len(times), np.nan)
        last = len(self.times) - 1
        after = np.searchsorted(self.times, times)
        exact = (after <= last) & (self.times[np.minimum(after, last)] == times)
        before = np.where(exact, after, after - 1)
        inside = (before >= 0) & (after <= last)
        before, after = np.clip(before, 0, last), np.clip(after, 0, last)
        gap = self.times[after] - self.times[before]
        share = np.divide(times - self.times[before], gap, out=np.zeros(len(times)), where=gap > 0)
        change = self.values[after] - self.values[before]
        if is_angle:
            change = (change + 180) % 360 - 180
        return np.where(inside & (gap <= max_gap), self.values[before] + share * change, np.nan)


@dataclass(frozen=True)
class Track:
    """The fixes of one navigation file. `name` is its path; `chosen` is set if a user named the file."""

    name: str
    title: str
    series: Mapping[str, Series]
    problems: tuple[Problem, ...] = ()
    chosen: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        times: npt.ArrayLike,
        values: Mapping[str, npt.ArrayLike],
        problems: Sequence[Problem] = (),
    ) -> "Track | None":
        """Return the track, or None if too few fixes have a time and a position, depth or altitude."""
        moments = np.asarray(times, np.float64)
        columns = {field: np.asarray(column, np.float64) for field, column in values.items()}
        _drop_half_positions(columns)
        series = {field: Series.of(moments, column) for field, column in columns.items()}
        series = {field: each for field, each in series.items() if len(each.times)}
        if max((len(series[field].times) for field in MEASURES if field in series), default=0) < FEWEST_FIXES:
            return None
        return cls(name, title, series, tuple(problems))

    @property
    def fixes(self) -> int:
        return max(len(each.times) for each in self.series.values())

    @cached_property
    def span(self) -> tuple[float, float]:
        """Return the first and the last time."""
        return (
            float(min(each.times[0] for each in self.series.values())),
            float(max(each.times[-1] for each in self.series.values())),
        )

    def at(self, times: np.ndarray, max_gap: float) -> dict[str, np.ndarray]:
        """Return all quantities at these times, NaN where unknown."""
        by_field = {field: each.at(times, max_gap, is_angle=field in ANGLES) for field, each in self.series.items()}
        if "longitude" in by_field:
            by_field["longitude"] = (by_field["longitude"] + 180) % 360 - 180
        if "heading" in by_field:
            by_field["heading"] %= 360
        return by_field


@dataclass(frozen=True)
class Navigation:
    """The tracks of an import and the options for matching."""

    tracks: tuple[Track, ...] = ()
    max_gap: float = MAX_GAP
    clock_offset: float | None = None  # seconds added to the camera's times; None leaves them unchanged

    def joined(self, record: ImageRecord, path: str) -> tuple[ImageRecord, str]:
        """Return the image with missing values filled from the tracks, and MATCHED, NO_FIX or NO_TIME."""
        if record.taken_at is None:
            return record, NO_TIME
        outcome = NO_FIX
        for track in self._by_nearness(path):
            if not track.span[0] <= record.taken_at <= track.span[1]:
                continue
            fix = {
                name: float(values[0])
                for name, values in track.at(np.array([record.taken_at]), self.max_gap).items()
                if np.isfinite(values[0])
            }
            if any(name in fix for name in MEASURES):
                record, outcome = _filled(record, fix, track.name), MATCHED
        return record, outcome

    def without_old_join(self, record: ImageRecord) -> ImageRecord:
        """Return the record without the values that an earlier import took from one of these tracks."""
        source = record.details.get(DETAIL)
        if not isinstance(source, Mapping) or source.get("file") not in {track.name for track in self.tracks}:
            return record
        fields = set(source.get("fields", ()))
        details = {name: value for name, value in record.details.items() if name != DETAIL and name not in fields}
        cleared: dict[str, Any] = dict.fromkeys(fields & set(MEASURES))
        return replace(record, **cleared, details=details)

    def covers(self, times: np.ndarray) -> np.ndarray:
        """Return whether any track has a fix at these times (m,)."""
        covered = np.zeros(len(times), bool)
        for track in self.tracks:
            values = track.at(times, self.max_gap)
            for name in MEASURES:
                covered |= np.isfinite(values[name]) if name in values else False
        return covered

    def _by_nearness(self, path: str) -> list[Track]:
        """Return the tracks that a user named first, then those whose folder is nearest to the image's."""
        if len(self.tracks) < 2:
            return list(self.tracks)
        folder = str(PurePosixPath(path).parent)
        if folder not in self._order:
            self._order[folder] = sorted(
                self.tracks, key=lambda track: (not track.chosen, -_shared_folders(track.name, path))
            )
        return self._order[folder]

    @cached_property
    def _order(self) -> dict[str, list[Track]]:
        return {}


def shifted(record: ImageRecord, seconds: float | None) -> ImageRecord:
    """Return the record with the camera's time corrected. The details record the correction."""
    if record.taken_at is None or not seconds:
        return record
    return replace(record, taken_at=record.taken_at + seconds, details={**record.details, "clock_offset": seconds})


def reshifted(record: ImageRecord, seconds: float | None) -> ImageRecord:
    """Return a stored record with another clock offset in place of its present one; None leaves it unchanged."""
    if record.taken_at is None or seconds is None:
        return record
    old = record.details.get("clock_offset", 0)
    details = {name: value for name, value in record.details.items() if name != "clock_offset"}
    return shifted(replace(record, taken_at=record.taken_at - old, details=details), seconds)


@dataclass
class JoinTally:
    """Numbers of matched images, and the images without a match."""

    matched: int = 0
    by_camera_clock: int = 0  # of these, with an uncorrected camera clock interpreted as UTC
    without_fix: list[str] = field(default_factory=list)  # paths
    without_time: list[str] = field(default_factory=list)

    def note(self, path: str, record: ImageRecord, outcome: str) -> None:
        if outcome == MATCHED:
            self.matched += 1
            self.by_camera_clock += "clock" in record.details and "clock_offset" not in record.details
        else:
            (self.without_fix if outcome == NO_FIX else self.without_time).append(path)


def _filled(record: ImageRecord, fix: Mapping[str, float], source: str) -> ImageRecord:
    """Return the record with missing values filled from a fix. A position is used completely or not at all."""
    missing = [name for name in ("depth", "altitude") if getattr(record, name) is None]
    if record.latitude is None or record.longitude is None:
        missing += ["latitude", "longitude"]
    values: dict[str, Any] = {name: fix[name] for name in missing if name in fix}
    details: dict[str, Any] = {
        name: value for name, value in fix.items() if name not in MEASURES and name not in record.details
    }
    if not values and not details:
        return record
    earlier = record.details.get(DETAIL)
    fields = [*(earlier["fields"] if earlier else ()), *values, *details]
    mark = {"file": earlier["file"] if earlier else source, "fields": sorted(set(fields))}
    return replace(record, **values, details={**record.details, **details, DETAIL: mark})


def _drop_half_positions(columns: dict[str, np.ndarray]) -> None:
    """Remove incomplete positions, and 0, 0, which means a receiver without a fix."""
    if "latitude" not in columns or "longitude" not in columns:
        columns.pop("latitude", None)
        columns.pop("longitude", None)
        return
    latitude, longitude = columns["latitude"], columns["longitude"]
    bad = ~np.isfinite(latitude) | ~np.isfinite(longitude) | ((latitude == 0) & (longitude == 0))
    bad |= (np.abs(latitude) > 90) | (np.abs(longitude) > 360)
    columns["latitude"], columns["longitude"] = np.where(bad, np.nan, latitude), np.where(bad, np.nan, longitude)


def _shared_folders(first: str, second: str) -> int:
    count = 0
    for a, b in zip(first.split("/")[:-1], second.split("/")[:-1], strict=False):
        if a != b:
            break
        count += 1
    return count
