"""Plan a campaign: all frames of all dives, before anything is painted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np

from benthoscope.sample_data.seafloor.seascape import COAST, SITES, Ground, degrees, field, some_ground, some_shares
from benthoscope.sample_data.seafloor.water import BAD, BLIND, GOOD, USUAL_ALTITUDE, Water, some_water
from benthoscope.sample_data.tracks import PATTERNS, Track, track

FIRST_DAY = datetime(2015, 2, 10, tzinfo=UTC)
BAD_SHARE = 0.02  # fraction of all frames
TRUTH_SHARE = 0.25  # fraction of each dive's good frames with an object mask; as many others have point labels
MASK, POINTS, NONE = "mask", "points", ""


@dataclass(frozen=True)
class Frame:
    """One image: where, when and how it is taken, and its content. Depth is that of the vehicle, angles are in
    radians."""

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
        """Return the label of the frame: empty if no sea floor is visible."""
        return "" if self.quality in BLIND else self.habitat


@dataclass(frozen=True)
class Dive:
    number: int
    folder: str
    name: str
    water: Water
    frames: tuple[Frame, ...]


def plan(dives: int, images: int, rng: np.random.Generator) -> tuple[Dive, ...]:
    """Plan the dives of a campaign with this total number of images."""
    counts = _split(images, dives, rng)
    planned = [_dive(n, *each) for n, each in enumerate(zip(counts, rng.spawn(dives), strict=True))]
    return _with_truth(_with_bad_frames(planned, rng), rng)


def _split(images: int, dives: int, rng: np.random.Generator) -> list[int]:
    """Return counts that differ by up to a quarter and sum to `images`; at least one each."""
    weights = rng.uniform(0.8, 1.25, dives)
    ends = np.round(np.cumsum(weights) / weights.sum() * (images - dives)).astype(int)
    return (np.diff(ends, prepend=0) + 1).tolist()


def _dive(number: int, images: int, rng: np.random.Generator) -> Dive:
    site = SITES[number % len(SITES)]
    ground, dive_track = some_ground(rng, site), track(images, PATTERNS[number % len(PATTERNS)], rng)
    start = FIRST_DAY + timedelta(days=number, hours=float(rng.uniform(0, 9)))
    start = start.replace(microsecond=0)
    name = f"{site.name}_{number + 1:02d}"
    frames = _frames(ground, dive_track, start, some_shares(rng, site), _origin(number, rng), rng)
    return Dive(number, f"r{start:%Y%m%d_%H%M%S}_{name}", name, some_water(rng), tuple(frames))


def _origin(number: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the position of a site. Sites follow the coast northwards, some kilometres apart."""
    return COAST[0] + 0.035 * number + rng.uniform(0, 0.01), COAST[1] + rng.uniform(0, 0.03) + 0.004 * number


def _frames(
    ground: Ground,
    dive_track: Track,
    start: datetime,
    shares: dict[str, float],
    origin: tuple[float, float],
    rng: np.random.Generator,
) -> list[Frame]:
    positions = dive_track.positions
    floor, altitude = ground.depth(positions), _altitudes(positions, rng)
    latitudes, longitudes = degrees(positions, origin)
    plenty = np.clip(0.5 + 0.33 * field(rng, 40, 200)(positions), 0, 1)
    bearing = 0.6 * field(rng, 200, 600)(positions) + rng.uniform(0, 2 * np.pi) - dive_track.heading
    tints = np.exp(np.stack([field(rng, 20, 150)(positions) for _ in range(3)], axis=1) * (0.07, 0.035, 0.07))
    lean = rng.normal(0, (0.02, 0.04), (len(positions), 2))
    shown = zip(_times(start, dive_track.seconds), ground.habitats(positions, shares), strict=True)
    return [
        Frame(
            n,
            _file(when),
            when,
            float(latitudes[n]),
            float(longitudes[n]),
            float(positions[n, 1]),
            float(positions[n, 0]),
            float(floor[n] - altitude[n]),
            float(altitude[n]),
            float(lean[n, 0]),
            float(lean[n, 1]),
            float(dive_track.heading[n]),
            habitat,
            float(plenty[n]),
            float(bearing[n]),
            tuple(tints[n].tolist()),
        )
        for n, (when, habitat) in enumerate(shown)
    ]


def _altitudes(positions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return altitudes of about two metres that change slowly, and abruptly where the ground rises."""
    slow, quick = field(rng, 60, 300)(positions), field(rng, 6, 40)(positions)
    return np.clip(USUAL_ALTITUDE + 0.20 * slow + 0.12 * quick, 1.4, 3.0)


def _times(start: datetime, seconds: np.ndarray) -> list[datetime]:
    """Return trigger times in whole milliseconds, as in the file names."""
    return [start + timedelta(milliseconds=round(1000 * float(second))) for second in seconds]


def _file(when: datetime) -> str:
    return f"PR_{when:%Y%m%d_%H%M%S}_{when.microsecond // 1000:03d}_LC16.jpg"


def _with_bad_frames(dives: Sequence[Dive], rng: np.random.Generator) -> list[Dive]:
    """Damage a few frames of the campaign, with each kind of damage in turn."""
    every = [(dive.number, frame.number) for dive in dives for frame in dive.frames]
    chosen = rng.permutation(len(every))[: round(BAD_SHARE * len(every))]
    kinds = list(BAD)
    damage = {every[at]: kinds[n % len(kinds)] for n, at in enumerate(chosen)}
    return [_changed(dive, partial(_damaged, damage, dive.number)) for dive in dives]


def _damaged(damage: Mapping[tuple[int, int], str], dive: int, frame: Frame) -> Frame:
    return replace(frame, quality=damage.get((dive, frame.number), GOOD))


def _with_truth(dives: Sequence[Dive], rng: np.random.Generator) -> tuple[Dive, ...]:
    """Choose the frames with an object mask, and the others with point labels."""

    def chosen(dive: Dive) -> dict[int, str]:
        good = rng.permutation([frame.number for frame in dive.frames if frame.quality == GOOD])
        each = round(TRUTH_SHARE * len(good))
        return dict.fromkeys(good[:each].tolist(), MASK) | dict.fromkeys(good[each : 2 * each].tolist(), POINTS)

    return tuple(_changed(dive, partial(_known, chosen(dive))) for dive in dives)


def _known(truth: Mapping[int, str], frame: Frame) -> Frame:
    return replace(frame, truth=truth.get(frame.number, NONE))


def _changed(dive: Dive, change: Callable[[Frame], Frame]) -> Dive:
    return replace(dive, frames=tuple(change(frame) for frame in dive.frames))
