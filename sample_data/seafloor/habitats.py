"""The habitats: their preferred depth and ground, and how they are painted."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benthoscope.sample_data.seafloor import grounds
from benthoscope.sample_data.seafloor.animals import BURROW, FISH, MOUND, SEA_STAR, URCHIN
from benthoscope.sample_data.seafloor.canvas import Brush, Ground, Painting
from benthoscope.sample_data.seafloor.corals import CORALS, LACE
from benthoscope.sample_data.seafloor.plants import BROWN_ALGA, KELP, RED_ALGA, SEA_GRASS
from benthoscope.sample_data.seafloor.sponges import CRUST, SEA_SQUIRT, SPONGES
from benthoscope.sample_data.seafloor.sprites import Kind
from benthoscope.sample_data.seafloor.stones_and_shells import PEBBLE, RHODOLITH, SCREW_SHELL, SHELL_GRIT, SHELL_HEAP

Lay = Callable[[Brush, Callable[[Ground], Painting]], Painting]


@dataclass(frozen=True)
class Habitat:
    """A class of the truth. `hardness` (0 silt to 1 rock) and `depth` (metres) are its preferred conditions."""

    name: str
    paint: Lay
    hardness: float
    depth: float


@dataclass(frozen=True)
class Cover:
    """Objects of some kinds all over the ground: `least` per square metre, and `extra` more at a plenty of one."""

    kinds: Kind | Sequence[Kind]
    least: float
    extra: float = 0.0
    power: int = 1  # of the plenty: with a larger one, most grounds have few objects

    def per_metre(self, plenty: float) -> float:
        return self.least + self.extra * plenty**self.power


def covered(ground: Callable[[Brush], Ground], *covers: Cover) -> Lay:
    """Return the function that paints a ground and scatters objects over it, in this order."""

    def paint(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
        painting = start(ground(brush))
        for cover in covers:
            painting.scatter(cover.kinds, cover.per_metre(brush.plenty))
        return painting

    return paint


def paint_low_reef(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.low_reef(brush))
    firm = painting.ground.things != 1
    painting.scatter(CRUST, 3 + 6 * brush.plenty, where=firm)
    painting.scatter((RED_ALGA, BROWN_ALGA), 2 + 8 * brush.plenty, where=firm)
    painting.scatter(SPONGES, 4.5 * brush.plenty**2, where=firm)
    painting.scatter((SEA_SQUIRT, LACE), 1.5, where=firm)
    return painting


def paint_high_reef(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.high_reef(brush))
    firm = painting.ground.things != 0
    painting.scatter(RED_ALGA, 2 + 24 * brush.plenty, where=firm)
    painting.scatter((CRUST, LACE, BROWN_ALGA), 3 + 6 * brush.plenty, where=firm)
    painting.scatter((URCHIN, FISH), 0.5)
    return painting


def paint_interface(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    sand = grounds.rippled_sand if brush.plenty < 0.5 else grounds.coarse_sand
    ground, reef = grounds.beside(brush, sand(brush), grounds.low_reef(brush))
    painting = start(ground)
    painting.scatter((RED_ALGA, BROWN_ALGA, CRUST, LACE), 11, where=reef)
    painting.scatter(SHELL_GRIT, 8, where=~reef)
    return painting


def paint_sea_grass(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.flat_sand(brush))
    field = brush.crop()(brush.bank.drift) > 0.8 - 2.6 * brush.plenty
    painting.scatter(SHELL_GRIT, 6)
    swell = round(brush.bearing * len(SEA_GRASS) / math.tau) % len(SEA_GRASS)
    painting.scatter(SEA_GRASS[swell], 65 + 60 * brush.plenty, where=field)
    return painting


HABITATS = (
    Habitat("rippled sand", covered(grounds.rippled_sand, Cover(SHELL_GRIT, 1, 5)), 0.25, 15),
    Habitat("coarse sand", covered(grounds.coarse_sand, Cover(SHELL_GRIT, 5, 40), Cover(SEA_STAR, 0.1)), 0.35, 28),
    Habitat(
        "burrowed mud",
        covered(grounds.mud, Cover(MOUND, 3, 6), Cover(BURROW, 4, 16), Cover(SEA_STAR, 0.15)),
        0.05,
        60,
    ),
    Habitat(
        "screw shell rubble > 50 %",
        covered(grounds.coarse_sand, Cover(SHELL_GRIT, 40), Cover(SHELL_HEAP, 175, 70), Cover(SCREW_SHELL, 150)),
        0.30,
        45,
    ),
    Habitat(
        "screw shell rubble < 50 %",
        covered(grounds.some_sand, Cover(SHELL_GRIT, 8), Cover(SHELL_HEAP, 0, 55, 3), Cover(SCREW_SHELL, 10, 110, 2)),
        0.25,
        42,
    ),
    Habitat("low relief reef", paint_low_reef, 0.75, 38),
    Habitat("high relief reef", paint_high_reef, 0.95, 24),
    Habitat("sand/reef interface", paint_interface, 0.55, 26),
    Habitat("kelp", covered(grounds.low_reef, Cover(RED_ALGA, 5), Cover(KELP, 4, 9)), 0.85, 11),
    Habitat("sea-grass", paint_sea_grass, 0.20, 7),
    Habitat(
        "sponge garden",
        covered(grounds.low_reef, Cover((CRUST, LACE, SEA_SQUIRT), 5), Cover(SPONGES, 8, 23)),
        0.80,
        55,
    ),
    Habitat("coral", covered(grounds.low_reef, Cover(CORALS, 11, 26), Cover(FISH, 0.5)), 0.85, 20),
    Habitat("bare rock", covered(grounds.bare_rock, Cover(URCHIN, 0.3, 1.8), Cover(CRUST, 0.8)), 0.90, 16),
    Habitat("rhodoliths", covered(grounds.some_sand, Cover(RHODOLITH, 60, 260)), 0.45, 22),
    Habitat("cobble", covered(grounds.packed_stones, Cover(PEBBLE, 9, 14), Cover((SEA_STAR, CRUST), 0.8)), 0.65, 30),
)
BY_NAME = {habitat.name: habitat for habitat in HABITATS}
