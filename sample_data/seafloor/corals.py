"""Stony corals of three growth forms, and lace-like bryozoans."""

import numpy as np
from PIL import ImageDraw

from benthoscope.sample_data.seafloor.plants import bent
from benthoscope.sample_data.seafloor.sponges import finger
from benthoscope.sample_data.seafloor.sprites import Kind, Sprite, draw_sprite, grid, hue, paint, ripple, solid
from benthoscope.sample_data.seafloor.things import Thing

CORAL_COLOURS = ((0.62, 0.48, 0.34), (0.56, 0.52, 0.36), (0.66, 0.56, 0.46), (0.50, 0.40, 0.42), (0.48, 0.50, 0.34))


def staghorn(rng: np.random.Generator, length: float) -> Sprite:
    """A thicket of thin branches with white tips."""
    colour = hue(rng, CORAL_COLOURS)

    def draw(pen: ImageDraw.ImageDraw, side: float) -> None:
        middle = np.array([side, side]) / 2
        for reach in (0.42, 0.42, 0.32, 0.22, 0.12):
            for angle in np.linspace(0, 2 * np.pi, 9, endpoint=False) + rng.uniform(0, 6.3):
                start = middle + rng.normal(0, 0.05, 2) * side
                length = side * reach * rng.uniform(0.8, 1.1)
                path = bent(start, angle + rng.normal(0, 0.2), length, rng.normal(0, 0.5), 10)
                finger(pen, path, side * 0.020, colour, tip=1.75)

    return draw_sprite(length, draw, shadow=0.7)


def plate(rng: np.random.Generator, length: float) -> Sprite:
    """A table: a flat disc with a pale growing rim and radial rows of bumps."""
    u, v = grid(length, rng.uniform(0, 6.3))
    angle = np.arctan2(v, u)
    away = np.hypot(u, v / rng.uniform(0.7, 1)) / ripple(angle, rng, lobes=(2, 3, 6, 11), depth=0.2)
    bumps = np.cos(np.round(20 + 10 * rng.random()) * angle + 3 * away) * np.cos(30 * away)
    height = np.where(away < 1, 0.42 + 0.10 * away + 0.035 * bumps, 0)
    tone = 0.78 + 0.20 * bumps + 0.65 * np.exp(-(((away - 0.97) / 0.07) ** 2))
    return solid(height, hue(rng, CORAL_COLOURS) * tone[..., None], steep=0.6, shadow=0.8)


def brain(rng: np.random.Generator, length: float) -> Sprite:
    """A dome covered in winding valleys."""
    u, v = grid(length, rng.uniform(0, 6.3))
    away = np.hypot(u, v) / ripple(np.arctan2(v, u), rng, lobes=(2, 3), depth=0.12)
    a, b, c, d = rng.uniform(0, 6.3, 4)
    maze = np.sin(16 * u + 2.2 * np.sin(5 * v + a) + b) + np.sin(15 * v + 2.2 * np.sin(6 * u + c) + d)
    valleys = np.exp(-((maze / 0.55) ** 2))
    height = np.clip(1 - away**2, 0, None) ** 0.5 * (0.62 - 0.06 * valleys)
    return solid(height, hue(rng, CORAL_COLOURS) * (1.1 - 0.55 * valleys)[..., None], shadow=0.6)


def lace(rng: np.random.Generator, length: float) -> Sprite:
    """A bryozoan fan: fine pale twigs that fork many times."""
    colour, lean = hue(rng, ((0.84, 0.74, 0.62), (0.80, 0.60, 0.46))), rng.uniform(0, 2 * np.pi)

    def draw(pen: ImageDraw.ImageDraw, side: float) -> None:
        root = np.array([side, side]) / 2 - 0.36 * side * np.array([np.cos(lean), np.sin(lean)])
        _twigs(pen, rng, root, lean, side * 0.21, paint(colour), depth=5)

    return draw_sprite(length, draw, shadow=0.5)


def _twigs(
    pen: ImageDraw.ImageDraw,
    rng: np.random.Generator,
    root: np.ndarray,
    angle: float,
    length: float,
    colour: tuple[int, int, int],
    depth: int,
) -> None:
    tip = root + length * np.array([np.cos(angle), np.sin(angle)])
    pen.line([tuple(root), tuple(tip)], fill=(*colour, 255), width=max(1, depth - 1))
    if depth:
        for turn in (-0.42, 0.42):
            _twigs(pen, rng, tip, angle + turn + rng.normal(0, 0.12), length * 0.80, colour, depth - 1)


STAGHORN = Kind("staghorn coral", Thing.CORAL, staghorn, 0.18, 0.42, 24)
PLATE = Kind("plate coral", Thing.CORAL, plate, 0.18, 0.44, 24)
BRAIN = Kind("brain coral", Thing.CORAL, brain, 0.12, 0.34, 24)
LACE = Kind("bryozoan", Thing.BRYOZOAN, lace, 0.10, 0.22, 24)
CORALS = (STAGHORN, PLATE, BRAIN)
