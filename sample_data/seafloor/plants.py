"""Kelp, sea-grass, and tufts of red and brown algae."""

from functools import partial

import numpy as np
from PIL import ImageDraw

from benthoscope.sample_data.seafloor.sprites import Kind, Sprite, draw_sprite, hue, paint
from benthoscope.sample_data.seafloor.things import Thing

KELP_COLOURS = ((0.44, 0.33, 0.14), (0.38, 0.30, 0.13), (0.50, 0.40, 0.18))
GRASS_COLOURS = ((0.30, 0.42, 0.17), (0.36, 0.44, 0.20), (0.27, 0.35, 0.17), (0.42, 0.42, 0.24))
RED_COLOURS = ((0.50, 0.17, 0.20), (0.42, 0.15, 0.22), (0.56, 0.24, 0.22))
BROWN_COLOURS = ((0.42, 0.32, 0.16), (0.36, 0.28, 0.17), (0.48, 0.36, 0.18))

Path = np.ndarray  # (n, 2) points


def bent(start: np.ndarray, angle: float, length: float, bend: float, steps: int = 14) -> Path:
    """Return a line that starts at `start` with an angle and turns by `bend` radians until its end."""
    turning = angle + bend * np.linspace(0, 1, steps)
    stride = np.stack([np.cos(turning), np.sin(turning)], axis=1) * (length / steps)
    return start + np.concatenate([np.zeros((1, 2)), np.cumsum(stride, axis=0)])


def ribbon(path: Path, width: np.ndarray) -> list[tuple[float, float]]:
    """Return the outline of a strap with the given half width at each point of a path."""
    ahead = np.gradient(path, axis=0)
    side = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1) / np.maximum(np.hypot(*ahead.T), 1e-6)[:, None]
    left_edge, right = path + side * width[:, None], path - side * width[:, None]
    return [tuple(p) for p in np.concatenate([left_edge, right[::-1]])]


def strap(pen: ImageDraw.ImageDraw, path: Path, width: np.ndarray, colour: np.ndarray, tone: float) -> None:
    """Draw a blade with a dark rim, a lit half and a midrib."""
    pen.polygon(ribbon(path + width.max() * 0.28, width), fill=(*paint(colour, 0.32 * tone), 170))
    pen.polygon(ribbon(path, width), fill=(*paint(colour, 0.78 * tone), 255))
    pen.polygon(ribbon(path - width[:, None] * 0.35, width * 0.5), fill=(*paint(colour, 1.12 * tone), 255))
    pen.line([tuple(p) for p in path], fill=(*paint(colour, 1.4 * tone), 255), width=max(1, round(width.max() / 5)))


def kelp(rng: np.random.Generator, length: float) -> Sprite:
    """Draw an Ecklonia from above: ruffled straps on both sides of a bent central blade."""
    colour, angle, bend = hue(rng, KELP_COLOURS), rng.uniform(0, 2 * np.pi), rng.uniform(-1.1, 1.1)

    def draw(pen: ImageDraw.ImageDraw, side: float) -> None:
        middle = angle + bend / 2
        start = side * (0.5 - 0.33 * np.array([np.cos(middle), np.sin(middle)]))
        spine = bent(start, angle, 0.62 * side, bend)
        for at in rng.permutation(np.repeat(np.arange(2, 14), 2)):
            _strap_of_kelp(pen, rng, spine[at], _heading(spine, at), side * (0.40 - 0.016 * at), colour)
        strap(pen, spine, _taper(len(spine), 0.032 * side), colour, 1.05)

    return draw_sprite(length, draw, shadow=0.75)


def _strap_of_kelp(
    pen: ImageDraw.ImageDraw,
    rng: np.random.Generator,
    root: np.ndarray,
    heading: float,
    length: float,
    colour: np.ndarray,
) -> None:
    leave = heading + rng.choice((-1, 1)) * rng.uniform(0.5, 1.35)
    path = bent(root, leave, length * rng.uniform(0.6, 1.1), rng.uniform(-0.8, 0.8), 22)
    ruffle = 1 + 0.28 * np.sin(np.arange(len(path)) * rng.uniform(1.2, 2.0) + rng.uniform(0, 6))
    strap(pen, path, _taper(len(path), 0.085 * length) * ruffle, colour, rng.uniform(0.62, 1.25))


def sea_grass(rng: np.random.Generator, length: float, *, lean: float) -> Sprite:
    """Draw a shoot: a few narrow straps with the same direction (radians), older ones overgrown."""
    colour, ahead = hue(rng, GRASS_COLOURS), np.array([np.cos(lean), np.sin(lean)])

    def draw(pen: ImageDraw.ImageDraw, side: float) -> None:
        for _ in range(int(rng.integers(4, 8))):
            start = (0.5 - 0.36 * ahead + rng.normal(0, 0.03, 2)) * side
            path = bent(start, lean + rng.normal(0, 0.20), side * rng.uniform(0.5, 0.86), rng.normal(0, 0.35), 12)
            width, tone = _taper(len(path), side * 0.018, blunt=True), rng.uniform(0.55, 1.3)
            pen.polygon(ribbon(path + 0.03 * side, width), fill=(*paint(colour, 0.25), 130))
            pen.polygon(ribbon(path, width), fill=(*paint(colour, tone), 255))
            pen.line([tuple(p) for p in path[2:-2] - width.max() / 2], fill=(*paint(colour, tone * 1.35), 255), width=1)

    return draw_sprite(length, draw, shadow=0.35)


def bush(rng: np.random.Generator, length: float, colours: tuple, *, stems: int, width: float) -> Sprite:
    """Draw a tuft of forking branches that spread from the centre, the upper ones lighter."""
    colour = hue(rng, colours, 0.10)

    def draw(pen: ImageDraw.ImageDraw, side: float) -> None:
        middle = np.array([side, side]) / 2
        for n in range(stems):
            angle, tone = rng.uniform(0, 2 * np.pi), 0.45 + 0.85 * n / stems
            path = bent(middle, angle, side * rng.uniform(0.22, 0.47), rng.normal(0, 0.5), 8)
            _branch(pen, path, width * side, paint(colour, tone))
            for at in (3, 5, 6):
                fork = bent(path[at], _heading(path, at) + rng.choice((-1, 1)) * 0.7, side * 0.12, 0.3, 4)
                _branch(pen, fork, width * side * 0.7, paint(colour, tone * 1.15))

    return draw_sprite(length, draw, shadow=0.55)


def red_alga(rng: np.random.Generator, length: float) -> Sprite:
    """A feathery red tuft."""
    return bush(rng, length, RED_COLOURS, stems=26, width=0.022)


def brown_alga(rng: np.random.Generator, length: float) -> Sprite:
    """A coarse brown bush."""
    return bush(rng, length, BROWN_COLOURS, stems=18, width=0.042)


def _branch(pen: ImageDraw.ImageDraw, path: Path, width: float, colour: tuple[int, int, int]) -> None:
    pen.line([tuple(p) for p in path], fill=(*colour, 255), width=max(1, round(width)), joint="curve")


def _heading(path: Path, at: int) -> float:
    step = path[min(at + 1, len(path) - 1)] - path[at - 1]
    return float(np.arctan2(step[1], step[0]))


def _taper(points: int, width: float, *, blunt: bool = False) -> np.ndarray:
    """Return half widths along a blade: widest before the middle, pointed or blunt at the end."""
    at = np.linspace(0.02, 1, points)
    return width * (np.minimum(1, 4 * at) * np.minimum(1, (1.05 - at) * (9 if blunt else 2.2)))


KELP = Kind("kelp", Thing.KELP, kelp, 0.75, 1.25, 20)
SEA_GRASS = tuple(  # one kind for each of eight directions of the swell
    Kind(f"sea-grass {lean}", Thing.SEAGRASS, partial(sea_grass, lean=lean * np.pi / 4), 0.28, 0.55, 16)
    for lean in range(8)
)
RED_ALGA = Kind("red alga", Thing.RED_ALGAE, red_alga, 0.07, 0.22, 32)
BROWN_ALGA = Kind("brown alga", Thing.BROWN_ALGAE, brown_alga, 0.12, 0.34, 20)
