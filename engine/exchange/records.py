"""What an importer makes of a file from outside: records of images, and what could not be used."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from engine.problems import Problem

LISTED = 100  # problems of one kind from one file that are listed; the others are counted


@dataclass(frozen=True)
class ImageRecord:
    """What a source says of one image, named as the source names it. None where it says nothing."""

    image: str                        # file name or path, with forward slashes
    twin: str = ""                    # the other camera's image of the same moment and place
    group: str | None = None          # dive or album
    collection: str | None = None     # campaign
    taken_at: float | None = None     # seconds since 1970 UTC
    latitude: float | None = None     # degrees, WGS 84
    longitude: float | None = None
    depth: float | None = None        # metres of the camera below the surface
    altitude: float | None = None     # metres of the camera above the sea floor
    sha256: str | None = None         # of the file the source means
    details: Mapping[str, Any] = field(default_factory=dict)  # everything else, as JSON values

    def filled_from(self, other: "ImageRecord") -> "ImageRecord":
        """This record, with what it leaves open taken from another one of the same image."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        for name, value in values.items():
            if value is None:
                values[name] = getattr(other, name)
        if self.latitude is None or self.longitude is None:  # half a position is none
            values |= {"latitude": other.latitude, "longitude": other.longitude}
        return ImageRecord(**values | {"details": {**other.details, **self.details}})


@dataclass(frozen=True)
class Reading:
    """The records of one source. `losses`: what the source holds and an import leaves behind, one line each."""

    records: tuple[ImageRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    losses: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)  # of the whole set: licence, creators, ...


class Complaints:
    """Problems while reading one file: many of one kind become a few and a count."""

    def __init__(self, source: str):
        self._source = source
        self._problems: list[Problem] = []
        self._counts: Counter[str] = Counter()

    def add(self, place: str, what: str, remedy: str, kind: str | None = None) -> None:
        kind = kind or what
        self._counts[kind] += 1
        if self._counts[kind] <= LISTED:
            self._problems.append(Problem(f"{self._source} {place}".strip(), what, remedy))

    def problems(self) -> tuple[Problem, ...]:
        more = [Problem(self._source, f"{count - LISTED:,} more like this: {kind}", "see the lines listed")
                for kind, count in self._counts.items() if count > LISTED]
        return (*self._problems, *more)
