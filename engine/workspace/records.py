"""What the workspace takes in and hands out."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = ("campaign", "albums")


@dataclass(frozen=True)
class Root:
    """A folder that images lie under; `path` is where it is now."""

    id: int
    path: str
    present: bool


@dataclass(frozen=True)
class Collection:
    id: int
    name: str
    kind: str
    details: Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """A dive of a campaign, or one album."""

    id: int
    collection_id: int
    name: str
    details: Mapping[str, Any]


@dataclass(frozen=True)
class KnownFile:
    """What tells whether a file has changed since it was read."""

    image_id: int
    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True)
class NewImage:
    """One image to be stored; a later one with the same root and path replaces it and keeps its id."""

    root_id: int
    path: str
    group_id: int
    size: int
    mtime_ns: int
    sha256: str
    width: int
    height: int
    taken_at: float | None = None  # seconds since 1970 UTC
    latitude: float | None = None
    longitude: float | None = None
    depth: float | None = None     # metres below the surface
    altitude: float | None = None  # metres above the sea floor
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        for name in ("taken_at", "latitude", "longitude", "depth", "altitude"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{self.path}: {name} is {value}")


@dataclass(frozen=True)
class Image(NewImage):
    id: int = 0


@dataclass(frozen=True)
class GroupSummary:
    """A group as a list shows it; None where no image says."""

    group: Group
    images: int
    first_taken: float | None
    last_taken: float | None
    depth: tuple[float, float] | None
    bounds: tuple[float, float, float, float] | None  # south, west, north, east


def now() -> float:
    return time.time()
