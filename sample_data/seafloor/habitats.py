"""The habitats: where each likes to be, and how it is painted."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from sample_data import grounds
from sample_data.animals import BURROW, FISH, MOUND, SEA_STAR, URCHIN
from sample_data.canvas import Brush, Ground, Painting
from sample_data.corals import CORALS, LACE
from sample_data.plants import BROWN_ALGA, KELP, RED_ALGA, SEA_GRASS
from sample_data.sponges import CRUST, SEA_SQUIRT, SPONGES
from sample_data.stones_and_shells import PEBBLE, RHODOLITH, SCREW_SHELL, SHELL_GRIT, SHELL_HEAP

Lay = Callable[[Brush, Callable[[Ground], Painting]], Painting]


@dataclass(frozen=True)
class Habitat:
    """A class of the truth. `hardness` (0 silt to 1 rock) and `depth` (metres) are where it is most at home."""

    name: str
    paint: Lay
    hardness: float
    depth: float


def paint_rippled_sand(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.rippled_sand(brush))
    painting.scatter(SHELL_GRIT, 1 + 5 * brush.plenty)
    return painting


def paint_coarse_sand(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.coarse_sand(brush))
    painting.scatter(SHELL_GRIT, 5 + 40 * brush.plenty)
    painting.scatter(SEA_STAR, 0.1)
    return painting


def paint_burrowed_mud(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.mud(brush))
    painting.scatter(MOUND, 3 + 6 * brush.plenty)
    painting.scatter(BURROW, 4 + 16 * brush.plenty)
    painting.scatter(SEA_STAR, 0.15)
    return painting


def paint_dense_shells(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.coarse_sand(brush))
    painting.scatter(SHELL_GRIT, 40)
    painting.scatter(SHELL_HEAP, 175 + 70 * brush.plenty)
    painting.scatter(SCREW_SHELL, 150)
    return painting


def paint_sparse_shells(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.some_sand(brush))
    painting.scatter(SHELL_GRIT, 8)
    painting.scatter(SHELL_HEAP, 55 * brush.plenty**3)
    painting.scatter(SCREW_SHELL, 10 + 110 * brush.plenty**2)
    return painting


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


def paint_kelp(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.low_reef(brush))
    painting.scatter(RED_ALGA, 5)
    painting.scatter(KELP, 4 + 9 * brush.plenty)
    return painting


def paint_sea_grass(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.flat_sand(brush))
    field = brush.crop()(brush.bank.drift) > 0.8 - 2.6 * brush.plenty
    painting.scatter(SHELL_GRIT, 6)
    swell = round(brush.bearing * len(SEA_GRASS) / math.tau) % len(SEA_GRASS)
    painting.scatter(SEA_GRASS[swell], 65 + 60 * brush.plenty, where=field)
    return painting


def paint_sponge_garden(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.low_reef(brush))
    painting.scatter((CRUST, LACE, SEA_SQUIRT), 5)
    painting.scatter(SPONGES, 8 + 23 * brush.plenty)
    return painting


def paint_coral(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.low_reef(brush))
    painting.scatter(CORALS, 11 + 26 * brush.plenty)
    painting.scatter(FISH, 0.5)
    return painting


def paint_bare_rock(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.bare_rock(brush))
    painting.scatter(URCHIN, 0.3 + 1.8 * brush.plenty)
    painting.scatter(CRUST, 0.8)
    return painting


def paint_rhodoliths(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.some_sand(brush))
    painting.scatter(RHODOLITH, 60 + 260 * brush.plenty)
    return painting


def paint_cobble(brush: Brush, start: Callable[[Ground], Painting]) -> Painting:
    painting = start(grounds.packed_stones(brush))
    painting.scatter(PEBBLE, 9 + 14 * brush.plenty)
    painting.scatter((SEA_STAR, CRUST), 0.8)
    return painting


HABITATS = (
    Habitat("rippled sand", paint_rippled_sand, 0.25, 15),
    Habitat("coarse sand", paint_coarse_sand, 0.35, 28),
    Habitat("burrowed mud", paint_burrowed_mud, 0.05, 60),
    Habitat("screw shell rubble > 50 %", paint_dense_shells, 0.30, 45),
    Habitat("screw shell rubble < 50 %", paint_sparse_shells, 0.25, 42),
    Habitat("low relief reef", paint_low_reef, 0.75, 38),
    Habitat("high relief reef", paint_high_reef, 0.95, 24),
    Habitat("sand/reef interface", paint_interface, 0.55, 26),
    Habitat("kelp", paint_kelp, 0.85, 11),
    Habitat("sea-grass", paint_sea_grass, 0.20, 7),
    Habitat("sponge garden", paint_sponge_garden, 0.80, 55),
    Habitat("coral", paint_coral, 0.85, 20),
    Habitat("bare rock", paint_bare_rock, 0.90, 16),
    Habitat("rhodoliths", paint_rhodoliths, 0.45, 22),
    Habitat("cobble", paint_cobble, 0.65, 30),
)
BY_NAME = {habitat.name: habitat for habitat in HABITATS}
