"""The plan of a campaign: every frame of every dive, decided before anything is painted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np

from sample_data.seascape import COAST, SITES, Ground, degrees, field, some_ground, some_shares
from sample_data.tracks import PATTERNS, Track, track
from sample_data.water import BAD, BLIND, GOOD, USUAL_ALTITUDE, Water, some_water

FIRST_DAY = datetime(2015, 2, 10, tzinfo=UTC)
BAD_SHARE = 0.02     # of all frames
TRUTH_SHARE = 0.25   # of each dive's good frames gets an object mask, and as many others point labels
MASK, POINTS, NONE = "mask", "points", ""


@dataclass(frozen=True)
class Frame:
    """One image: where, when and how it is taken, and what it shows. Depth is the vehicle's, angles are radians."""

    number: int
    file: str
    when: datetime
    latitude: float
    longitude: float
    north: float
    east: float
    depth: float
    altitude: float
    roll: float
    pitch: float
    heading: float
    habitat: str
    plenty: float
    bearing: float
    tint: tuple[float, float, float]
    quality: str = GOOD
    truth: str = NONE

    @property
    def label(self) -> str:
        """What a person would call it: empty where the frame shows no sea floor."""
        return "" if self.quality in BLIND else self.habitat


@dataclass(frozen=True)
class Dive:
    number: int
    folder: str
    name: str
    water: Water
    frames: tuple[Frame, ...]


def plan(dives: int, images: int, rng: np.random.Generator) -> tuple[Dive, ...]:
    """The dives of a campaign that has so many images in all."""
    counts = _split(images, dives, rng)
    planned = [_dive(n, *each) for n, each in enumerate(zip(counts, rng.spawn(dives), strict=True))]
    return _with_truth(_with_bad_frames(planned, rng), rng)


def _split(images: int, dives: int, rng: np.random.Generator) -> list[int]:
    """Counts that differ by up to a quarter and add up; at least one each."""
    weights = rng.uniform(0.8, 1.25, dives)
    ends = np.round(np.cumsum(weights) / weights.sum() * (images - dives)).astype(int)
    return (np.diff(ends, prepend=0) + 1).tolist()


def _dive(number: int, images: int, rng: np.random.Generator) -> Dive:
    site = SITES[number % len(SITES)]
    ground, way = some_ground(rng, site), track(images, PATTERNS[number % len(PATTERNS)], rng)
    start = FIRST_DAY + timedelta(days=number, hours=float(rng.uniform(0, 9)))
    start = start.replace(microsecond=0)
    name = f"{site.name}_{number + 1:02d}"
    frames = _frames(ground, way, start, some_shares(rng, site), _origin(number, rng), rng)
    return Dive(number, f"r{start:%Y%m%d_%H%M%S}_{name}", name, some_water(rng), tuple(frames))


def _origin(number: int, rng: np.random.Generator) -> tuple[float, float]:
    """Sites follow the coast northwards, some kilometres apart."""
    return COAST[0] + 0.035 * number + rng.uniform(0, 0.01), COAST[1] + rng.uniform(0, 0.03) + 0.004 * number


def _frames(ground: Ground, way: Track, start: datetime, shares: dict[str, float], origin: tuple[float, float],
            rng: np.random.Generator) -> list[Frame]:
    places = way.places
    floor, altitude = ground.depth(places), _altitudes(places, rng)
    latitudes, longitudes = degrees(places, origin)
    plenty = np.clip(0.5 + 0.33 * field(rng, 40, 200)(places), 0, 1)
    bearing = 0.6 * field(rng, 200, 600)(places) + rng.uniform(0, 2 * np.pi) - way.heading
    tints = np.exp(np.stack([field(rng, 20, 150)(places) for _ in range(3)], axis=1) * (0.07, 0.035, 0.07))
    lean = rng.normal(0, (0.02, 0.04), (len(places), 2))
    shown = zip(_times(start, way.seconds), ground.habitats(places, shares), strict=True)
    return [
        Frame(n, _file(when), when, float(latitudes[n]), float(longitudes[n]), float(places[n, 1]), float(places[n, 0]),
              float(floor[n] - altitude[n]), float(altitude[n]), float(lean[n, 0]), float(lean[n, 1]),
              float(way.heading[n]), habitat, float(plenty[n]), float(bearing[n]), tuple(tints[n].tolist()))
        for n, (when, habitat) in enumerate(shown)
    ]


def _altitudes(places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The vehicle keeps about two metres, slowly and with jerks where the ground rises."""
    slow, quick = field(rng, 60, 300)(places), field(rng, 6, 40)(places)
    return np.clip(USUAL_ALTITUDE + 0.20 * slow + 0.12 * quick, 1.4, 3.0)


def _times(start: datetime, seconds: np.ndarray) -> list[datetime]:
    """Trigger times, whole milliseconds as the file names tell them."""
    return [start + timedelta(milliseconds=round(1000 * float(second))) for second in seconds]


def _file(when: datetime) -> str:
    return f"PR_{when:%Y%m%d_%H%M%S}_{when.microsecond // 1000:03d}_LC16.jpg"


def _with_bad_frames(dives: Sequence[Dive], rng: np.random.Generator) -> list[Dive]:
    """Spoils a few frames anywhere in the campaign, every kind of damage in turn."""
    every = [(dive.number, frame.number) for dive in dives for frame in dive.frames]
    chosen = rng.permutation(len(every))[: round(BAD_SHARE * len(every))]
    kinds = list(BAD)
    damage = {every[at]: kinds[n % len(kinds)] for n, at in enumerate(chosen)}
    return [_changed(dive, partial(_damaged, damage, dive.number)) for dive in dives]


def _damaged(damage: Mapping[tuple[int, int], str], dive: int, frame: Frame) -> Frame:
    return replace(frame, quality=damage.get((dive, frame.number), GOOD))


def _with_truth(dives: Sequence[Dive], rng: np.random.Generator) -> tuple[Dive, ...]:
    """Chooses the frames that get an object mask, and the others that get point labels."""
    def chosen(dive: Dive) -> dict[int, str]:
        good = rng.permutation([frame.number for frame in dive.frames if frame.quality == GOOD])
        each = round(TRUTH_SHARE * len(good))
        return dict.fromkeys(good[:each].tolist(), MASK) | dict.fromkeys(good[each : 2 * each].tolist(), POINTS)

    return tuple(_changed(dive, partial(_known, chosen(dive))) for dive in dives)


def _known(truth: Mapping[int, str], frame: Frame) -> Frame:
    return replace(frame, truth=truth.get(frame.number, NONE))


def _changed(dive: Dive, change: Callable[[Frame], Frame]) -> Dive:
    return replace(dive, frames=tuple(change(frame) for frame in dive.frames))
