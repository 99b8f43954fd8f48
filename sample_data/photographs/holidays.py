"""Plan the albums: the time, the position and the scene of each photo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from benthoscope.sample_data.photographs.photo import BAD, GOOD

BAD_SHARE = 0.03
NO_FIX_SHARE = 0.10  # fraction of photos without a position, because the receiver saw no satellites
DAYLIGHT = (8.5, 17.5)  # hours of the day
HOURS = {"sunset": (18.0, 20.0), "city at night": (20.5, 23.5)}


@dataclass(frozen=True)
class Journey:
    """The place of an album and its scenes, with their usual shares."""

    name: str
    start: datetime
    days: int
    destination: tuple[float, float]  # degrees
    shares: Mapping[str, float]


JOURNEYS = (
    Journey(
        "2018-03 Lisbon",
        datetime(2018, 3, 12),
        6,
        (38.71, -9.14),
        {"harbour": 4, "old town": 5, "market": 3, "sunset": 2, "city at night": 2, "beach": 1},
    ),
    Journey(
        "2019-02 Dolomites",
        datetime(2019, 2, 17),
        7,
        (46.55, 11.80),
        {"snow": 5, "mountain": 4, "forest": 2, "old town": 1},
    ),
    Journey(
        "2019-12 Tasmania",
        datetime(2019, 12, 21),
        16,
        (-43.02, 147.90),
        {"beach": 5, "forest": 4, "mountain": 2, "sunset": 2, "garden": 1},
    ),
    Journey(
        "2021-06 Gardens of Kent",
        datetime(2021, 6, 5),
        4,
        (51.12, 0.60),
        {"garden": 5, "market": 2, "forest": 2, "old town": 1, "city at night": 1},
    ),
    Journey(
        "2022-12 Winter in Vienna",
        datetime(2022, 12, 9),
        5,
        (48.21, 16.37),
        {"city at night": 5, "snow": 2, "market": 3, "old town": 3},
    ),
    Journey(
        "2023-09 Islands",
        datetime(2023, 9, 2),
        12,
        (37.44, 25.35),
        {"beach": 4, "harbour": 4, "sunset": 3, "market": 1, "old town": 2},
    ),
)


@dataclass(frozen=True)
class Visit:
    """The scene of one photo, its position in degrees relative to the journey, and its time in hours since the
    start."""

    scene: str
    offset: tuple[float, float]
    hours: float


@dataclass(frozen=True)
class Photo:
    number: int
    file: str
    when: datetime  # local time of the camera's clock
    position: tuple[float, float] | None  # latitude and longitude
    scene: str
    quality: str = GOOD


@dataclass(frozen=True)
class Album:
    number: int
    folder: str
    tint: tuple[float, float, float]  # the camera's white balance
    photos: tuple[Photo, ...]


def plan(albums: int, images: int, rng: np.random.Generator) -> tuple[Album, ...]:
    """Plan albums with this total number of photos, about equally many in each. Journeys are repeated if there are more
    albums."""
    counts = np.diff(np.linspace(0, images, albums + 1).round().astype(int))
    each = zip(counts.tolist(), rng.spawn(albums), strict=True)
    return tuple(_album(n, count, generator) for n, (count, generator) in enumerate(each))


def _album(number: int, images: int, rng: np.random.Generator) -> Album:
    journey, again = JOURNEYS[number % len(JOURNEYS)], number // len(JOURNEYS)
    folder = f"{journey.name} ({again + 1})" if again else journey.name
    start = journey.start + timedelta(days=364 * again)
    moments = zip(_moments(_visits(journey, images, rng), start), _damage(images, rng), strict=True)
    photos = [_photo(n, journey, rng, when, visit, quality) for n, ((when, visit), quality) in enumerate(moments)]
    return Album(number, folder, tuple(np.exp(rng.normal(0, (0.05, 0.02, 0.06))).tolist()), tuple(photos))


def _visits(journey: Journey, images: int, rng: np.random.Generator) -> list[Visit]:
    """Return the content of each photo; a few photos are taken at each place."""
    names, shares = list(journey.shares), np.array(list(journey.shares.values()), float)
    queue = list(rng.permutation(names))  # each scene at least once, if there are enough photos
    visits: list[Visit] = []
    while len(visits) < images:
        scene = str(queue.pop() if queue else rng.choice(names, p=shares / shares.sum()))
        offset = tuple(rng.normal(0, 0.06, 2).tolist())
        start_hour = 24 * int(rng.integers(journey.days)) + rng.uniform(*HOURS.get(scene, DAYLIGHT))
        for n in range(int(rng.integers(2, 4))):
            visits.append(Visit(scene, offset, start_hour + n * rng.uniform(0.01, 0.05)))
    return visits[:images]


def _moments(visits: Sequence[Visit], start: datetime) -> list[tuple[datetime, Visit]]:
    """Return the visits by time, in whole seconds that never repeat, because they are used in file names."""
    ordered = sorted(visits, key=lambda visit: visit.hours)
    seconds = np.array([int(3600 * visit.hours) for visit in ordered])
    ranks = np.arange(len(seconds))
    apart = np.maximum.accumulate(seconds - ranks) + ranks
    return [(start + timedelta(seconds=int(at)), visit) for at, visit in zip(apart, ordered, strict=True)]


def _damage(images: int, rng: np.random.Generator) -> list[str]:
    kinds = list(BAD)
    return [kinds[rng.integers(len(kinds))] if draw < BAD_SHARE else GOOD for draw in rng.random(images)]


def _photo(
    number: int, journey: Journey, rng: np.random.Generator, when: datetime, visit: Visit, quality: str
) -> Photo:
    location = np.array(journey.destination) + visit.offset + rng.normal(0, 0.0006, 2)
    position = None if rng.random() < NO_FIX_SHARE else tuple(location.tolist())
    return Photo(number, f"IMG_{when:%Y%m%d_%H%M%S}.jpg", when, position, visit.scene, quality)
