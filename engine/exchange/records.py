"""Records of images that importers create from metadata files, and the problems they report."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from benthoscope.engine.problems import Problem

LISTED = 100  # number of similar problems of a file that are listed; the others are counted


@dataclass(frozen=True)
class ImageRecord:
    """The data of one image in a source, named as in the source. None for missing values."""

    image: str  # file name or path, with forward slashes
    paired_image: str = ""  # the simultaneous image of the other camera
    group: str | None = None  # dive or album
    collection: str | None = None  # campaign
    taken_at: float | None = None  # seconds since 1970 UTC
    latitude: float | None = None  # degrees, WGS 84
    longitude: float | None = None
    depth: float | None = None  # metres of the camera below the surface
    altitude: float | None = None  # metres of the camera above the sea floor
    sha256: str | None = None  # of the file that the source describes
    details: Mapping[str, Any] = field(default_factory=dict)  # all other values, as JSON

    def filled_from(self, other: "ImageRecord") -> "ImageRecord":
        """Return this record with missing values filled from another record of the same image."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in values.items():
            if value is None:
                values[name] = getattr(other, name)
        if self.latitude is None or self.longitude is None:  # an incomplete position is not used
            values |= {"latitude": other.latitude, "longitude": other.longitude}
        return ImageRecord(**values | {"details": {**other.details, **self.details}})


@dataclass(frozen=True)
class Reading:
    """The records of one source. `losses` lists what the source contains and an import ignores, one line each."""

    records: tuple[ImageRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    losses: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)  # of the whole set: licence, creators, ...


class Complaints:
    """Collects the problems of one file. Many similar problems become a few and a count."""

    def __init__(self, source: str):
        self._source = source
        self._problems: list[Problem] = []
        self._counts: Counter[str] = Counter()

    def add(self, location: str, text: str, remedy: str, kind: str | None = None) -> None:
        kind = kind or text
        self._counts[kind] += 1
        if self._counts[kind] <= LISTED:
            self._problems.append(Problem(f"{self._source} {location}".strip(), text, remedy))

    def problems(self) -> tuple[Problem, ...]:
        summaries = [
            Problem(self._source, f"{count - LISTED:,} more like this: {kind}", "see the lines listed")
            for kind, count in self._counts.items()
            if count > LISTED
        ]
        return (*self._problems, *summaries)
