"""Records of the catalogue: images, groups and files."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import CursorResult

KINDS = ("campaign", "albums")


@dataclass(frozen=True)
class Root:
    """A folder with images; `path` is its current position."""

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
    """A dive, or an album."""

    id: int
    collection_id: int
    name: str
    details: Mapping[str, Any]


@dataclass(frozen=True)
class KnownFile:
    """The values that show whether a file has changed since it was read."""

    image_id: int
    size: int
    mtime_ns: int
    sha256: str


MEASURES = ("taken_at", "latitude", "longitude", "depth", "altitude")  # of an image, None where unknown


@dataclass(frozen=True)
class NewImage:
    """One image to store. It replaces an image with the same root and path, which keeps its id."""

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
    depth: float | None = None  # metres below the surface
    altitude: float | None = None  # metres above the sea floor
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        for name in MEASURES:
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{self.path}: {name} is {value}")


@dataclass(frozen=True)
class Image(NewImage):
    """A stored image. `changed_at` is the time when its content was last replaced, or None."""

    id: int = 0
    changed_at: float | None = None


@dataclass(frozen=True)
class GroupSummary:
    """A group as shown in lists; values are None if no image has them."""

    group: Group
    images: int
    first_taken: float | None
    last_taken: float | None
    depth: tuple[float, float] | None
    bounds: tuple[float, float, float, float] | None  # south, west, north, east


def inserted_id(result: CursorResult[Any]) -> int:
    """Return the number that the database gave to an inserted row."""
    key = result.inserted_primary_key
    assert key is not None
    return key[0]


def current_time() -> float:
    return time.time()
