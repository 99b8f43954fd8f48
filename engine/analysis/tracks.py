"""Where images were taken, in metres east and north of the middle of what is shown."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import Atlas

METRES = 111_320.0  # of a degree of latitude, and of longitude at the equator: good to 0.5 %, and drawings need less


@dataclass(frozen=True)
class Tracks:
    """`xy` (N, 2) float32 metres, NaN where an image has no position; `middle` latitude and longitude in degrees."""

    xy: np.ndarray
    middle: tuple[float, float]

    @property
    def any(self) -> bool:
        return bool(np.isfinite(self.xy[:, 0]).any())

    @cached_property
    def extent(self) -> tuple[float, float, float, float]:
        """West, east, south, north in metres."""
        known = self.xy[np.isfinite(self.xy[:, 0])]
        if not len(known):
            return (-1.0, 1.0, -1.0, 1.0)
        (west, south), (east, north) = known.min(0), known.max(0)
        return float(west), float(east), float(south), float(north)


def tracks_of(app: AppState, atlas: Atlas) -> Tracks:
    return app.kept("tracks", lambda: in_metres(atlas.columns.latitude, atlas.columns.longitude), of_images=True)


def in_metres(latitude: np.ndarray, longitude: np.ndarray) -> Tracks:
    known = np.isfinite(latitude) & np.isfinite(longitude)
    if not known.any():
        return Tracks(np.full((len(latitude), 2), np.nan, np.float32), (0.0, 0.0))
    middle = (float(np.median(latitude[known])), _middle_longitude(longitude[known]))
    east = (longitude - middle[1] + 180) % 360 - 180  # across the date line by the short way
    x, y = east * METRES * np.cos(np.radians(middle[0])), (latitude - middle[0]) * METRES
    return Tracks(np.where(known[:, None], np.column_stack([x, y]), np.nan).astype(np.float32), middle)


def _middle_longitude(longitude: np.ndarray) -> float:
    """By the mean direction, which knows no date line; tracks that go around the Earth have no middle anyway."""
    angle = np.radians(longitude)
    return float(np.degrees(np.arctan2(np.sin(angle).mean(), np.cos(angle).mean())))


def dive_places(atlas: Atlas, tracks: Tracks) -> list[tuple[int, float, float]]:
    """(dive, x, y): where the pie of each dive stands, the middle of its positions."""
    places = []
    for dive in range(len(atlas.groups)):
        xy = tracks.xy[atlas.track(dive)]
        xy = xy[np.isfinite(xy[:, 0])]
        if len(xy):
            x, y = np.median(xy, axis=0)
            places.append((dive, float(x), float(y)))
    return places
