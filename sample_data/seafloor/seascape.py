"""The sea floor off the coast: smooth bathymetry, hardness of the ground, and the distribution of habitats."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benthoscope.sample_data.seafloor.habitats import BY_NAME

METRES_PER_DEGREE = 111_320.0
COAST = (-43.12, 148.02)  # latitude and longitude of the south-west corner: east of a rocky peninsula
ROUNDS = 60  # of balancing; shares converge within a percent or two after forty


@dataclass(frozen=True)
class Field:
    """A smooth random function of position: waves in many directions, mean 0 and deviation 1."""

    vectors: np.ndarray  # (n, 2) radians per metre
    phases: np.ndarray  # (n,)

    def __call__(self, positions: np.ndarray) -> np.ndarray:
        """Return the values (N,) at positions (N, 2) in metres east and north."""
        return np.sqrt(2 / len(self.phases)) * np.cos(positions @ self.vectors.T + self.phases).sum(axis=1)


def field(rng: np.random.Generator, shortest: float, longest: float, waves: int = 40) -> Field:
    """Return a field with wave lengths between two limits in metres."""
    angles = rng.uniform(0, 2 * np.pi, waves)
    lengths = np.exp(rng.uniform(np.log(shortest), np.log(longest), waves))
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (2 * np.pi / lengths)[:, None]
    return Field(vectors, rng.uniform(0, 2 * np.pi, waves))


@dataclass(frozen=True)
class Site:
    """A part of the coast: its depths in metres and its possible habitats, with their usual shares."""

    name: str
    shallow: float
    deep: float
    shares: Mapping[str, float]


SITES = (
    Site(
        "kelp_point",
        8,
        24,
        {"kelp": 4, "high relief reef": 4, "sand/reef interface": 2, "rippled sand": 2, "bare rock": 2},
    ),
    Site("grass_bay", 4, 14, {"sea-grass": 5, "rippled sand": 4, "coarse sand": 2, "rhodoliths": 3}),
    Site(
        "north_slope",
        24,
        46,
        {"high relief reef": 3, "low relief reef": 4, "sand/reef interface": 3, "coarse sand": 3, "sponge garden": 2},
    ),
    Site(
        "shell_plain",
        36,
        58,
        {"screw shell rubble > 50 %": 5, "screw shell rubble < 50 %": 5, "coarse sand": 3, "burrowed mud": 2},
    ),
    Site("deep_reef", 48, 88, {"sponge garden": 4, "low relief reef": 4, "burrowed mud": 3, "cobble": 3}),
    Site(
        "coral_bank", 12, 34, {"coral": 5, "bare rock": 3, "rhodoliths": 2, "sand/reef interface": 2, "coarse sand": 1}
    ),
    Site(
        "storm_cape",
        10,
        40,
        {"bare rock": 3, "cobble": 4, "kelp": 3, "low relief reef": 2, "screw shell rubble < 50 %": 2},
    ),
    Site(
        "tide_channel",
        18,
        45,
        {"rippled sand": 4, "screw shell rubble > 50 %": 3, "sand/reef interface": 2, "sponge garden": 3},
    ),
)


@dataclass(frozen=True)
class Ground:
    """The sea floor around one dive, on a plane in metres east and north."""

    site: Site
    relief: Field
    hardness: Field
    liking: Mapping[str, Field]  # random suitability of each position for each habitat
    seaward: tuple[float, float]

    def depth(self, positions: np.ndarray) -> np.ndarray:
        """Return the water depth in metres, which increases seawards, with rises and hollows."""
        out = np.tanh(positions @ np.asarray(self.seaward) / 700)
        middle, half = (self.site.deep + self.site.shallow) / 2, (self.site.deep - self.site.shallow) / 2
        return np.maximum(middle + half * (0.8 * out + 0.22 * self.relief(positions)), 3.0)

    def habitats(self, positions: np.ndarray, shares: Mapping[str, float]) -> list[str]:
        """Return the habitat at each position. Each habitat covers about its share, where depth, hardness of the ground
        and chance suit it best, so that neighbours agree."""
        names = list(shares)
        suits = np.stack([self._suits(name, positions) for name in names], axis=1)
        return [names[n] for n in np.argmax(suits + _balance(suits, np.array(list(shares.values()))), axis=1)]

    def _suits(self, name: str, positions: np.ndarray) -> np.ndarray:
        home = BY_NAME[name]
        hard = 0.5 + 0.28 * self.hardness(positions)
        off_depth = np.log(self.depth(positions) / home.depth) / 0.55
        return 1.1 * self.liking[name](positions) - ((hard - home.hardness) / 0.40) ** 2 - off_depth**2


def some_ground(rng: np.random.Generator, site: Site) -> Ground:
    """Create the sea floor of a dive at the site."""
    angle = rng.uniform(-0.6, 0.6)
    liking = {name: field(rng, 60, 260) for name in site.shares}
    return Ground(site, field(rng, 150, 600), field(rng, 90, 420), liking, (float(np.cos(angle)), float(np.sin(angle))))


def some_shares(rng: np.random.Generator, site: Site) -> dict[str, float]:
    """Return the shares of the site's habitats in one dive; they sum to 1."""
    shares = rng.dirichlet(3.0 * np.array(list(site.shares.values())))
    return dict(zip(site.shares, shares.tolist(), strict=True))


def degrees(positions: np.ndarray, origin: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return latitudes and longitudes of positions in metres east and north of an origin in degrees."""
    latitude = origin[0] + positions[:, 1] / METRES_PER_DEGREE
    return latitude, origin[1] + positions[:, 0] / (METRES_PER_DEGREE * np.cos(np.radians(origin[0])))


def _balance(suits: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the values to add to each column so that its share of the row maxima is near the target."""
    extra = np.zeros(len(shares))
    for n in range(ROUNDS):
        got = np.bincount(np.argmax(suits + extra, axis=1), minlength=len(shares)) / len(suits)
        extra += 1.2 / (1 + n / 12) * (np.log(shares + 0.02) - np.log(got + 0.02))
    return extra
