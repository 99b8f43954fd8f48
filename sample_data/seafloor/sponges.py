"""Sponges of six growth forms, and sea squirts."""

import numpy as np
from PIL import ImageDraw

from benthoscope.sample_data.seafloor.plants import bent
from benthoscope.sample_data.seafloor.sprites import Kind, Sprite, draw_sprite, grid, hue, paint, ripple, solid
from benthoscope.sample_data.seafloor.things import Thing

SPONGE_COLOURS = (
    (0.76, 0.62, 0.34),
    (0.72, 0.48, 0.33),
    (0.54, 0.45, 0.54),
    (0.74, 0.70, 0.60),
    (0.50, 0.47, 0.44),
    (0.60, 0.38, 0.35),
)


def ball(rng: np.random.Generator, length: float) -> Sprite:
    """A massive sponge: a lobed lump with a few dark openings."""
    u, v = grid(length)
    away = np.hypot(u, v) / ripple(np.arctan2(v, u), rng, lobes=(2, 3, 4), depth=0.25)
    height = np.clip(1 - away**2, 0, None) ** 0.5 * 0.75
    pits = _pits(u, v, rng.uniform(-0.45, 0.45, (rng.integers(2, 6), 2)), 0.11)
    fuzz = 1 + 0.07 * rng.standard_normal(away.shape)
    colour = hue(rng, SPONGE_COLOURS) * (fuzz * (1 - 0.75 * pits))[..., None]
    return solid(height * (1 - 0.3 * pits), colour, shadow=0.6)


def tubes(rng: np.random.Generator, length: float) -> Sprite:
    """A cluster of chimneys seen from above: pale rims round black holes."""
    u, v = grid(length)
    colour, height, shown = hue(rng, SPONGE_COLOURS), np.zeros((u + v).shape), np.zeros((*(u + v).shape, 3))
    for x, y, radius in _bunch(rng, int(rng.integers(4, 9)), 0.62, (0.20, 0.34)):
        away = np.hypot(u - x, v - y) / radius
        tube = np.where(away < 1, 0.35 + 0.25 * np.clip(1 - away, 0, 1), 0) * (1 - 0.6 * (away < 0.5))
        shown = np.where((away < 1)[..., None], colour * np.where(away < 0.5, 0.16, 1.05)[..., None], shown)
        height = np.where(away < 1, tube, height)
    return solid(height, shown, steep=0.5, shadow=0.7)


def cup(rng: np.random.Generator, length: float) -> Sprite:
    """A vase: a thick wavy rim and a deep shaded hollow."""
    u, v = grid(length, rng.uniform(0, 6.3))
    angle = np.arctan2(v, u)
    away = np.hypot(u, v / rng.uniform(0.7, 1)) / ripple(angle, rng, lobes=(2, 3, 5), depth=0.14)
    height = np.where(away < 1, 0.7 * np.exp(-(((away - 0.82) / 0.17) ** 2)) + 0.02, 0)
    tone = np.where(away < 0.66, 0.25 + 0.55 * away, 1.0) * (1 + 0.08 * np.cos(26 * angle))
    return solid(height, hue(rng, SPONGE_COLOURS) * tone[..., None], shadow=0.65)


def fan(rng: np.random.Generator, length: float) -> Sprite:
    """A blade on edge, leaning: a half disc with growth lines and a ragged rim."""
    u, v = grid(length, rng.uniform(0, 2 * np.pi))
    angle, away = np.arctan2(v, u + 0.8), np.hypot(v, u + 0.8) / 1.7
    rim = ripple(angle, rng, lobes=(5, 9, 14), depth=0.14)
    inside = (away < rim) & (np.abs(angle) < rng.uniform(0.7, 1.1)) & (away > 0.06)
    height = np.where(inside, 0.16 + 0.5 * away, 0)
    lines = 1 + 0.13 * np.sin(34 * away) + 0.10 * np.cos(40 * angle)
    return solid(height, hue(rng, SPONGE_COLOURS) * (lines * (0.65 + 0.5 * away))[..., None], steep=0.8, shadow=0.8)


def fingers(rng: np.random.Generator, length: float) -> Sprite:
    """A branching sponge: thick rounded fingers that fork."""
    colour = hue(rng, SPONGE_COLOURS)

    def draw(pen: ImageDraw.ImageDraw, side: float) -> None:
        for angle in rng.permutation(np.linspace(0, 2 * np.pi, int(rng.integers(6, 10)), endpoint=False)):
            middle, length = np.array([side, side]) / 2, side * rng.uniform(0.26, 0.44)
            path = bent(middle, angle + rng.normal(0, 0.2), length, rng.normal(0, 0.6), 9)
            tine = bent(path[4], angle + rng.choice((-0.8, 0.8)), side * 0.17, 0.2, 6)
            for branch in (path, tine):
                finger(pen, branch, side * 0.042, colour)

    return draw_sprite(length, draw, shadow=0.7)


def finger(pen: ImageDraw.ImageDraw, path: np.ndarray, radius: float, colour: np.ndarray, tip: float = 1.3) -> None:
    """A rounded rod, lighter on the lit side and towards its tip."""
    for share, offset, tone in ((1.15, 0.3, 0.3), (1.0, 0.0, 0.75), (0.55, -0.3, 1.05)):
        for n, (x, y) in enumerate(path + offset * radius):
            reach = radius * share
            shade = tone * (1 + (tip - 1) * n / len(path))
            pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=(*paint(colour, shade), 255))


def crust(rng: np.random.Generator, length: float) -> Sprite:
    """A thin bright sheet with an irregular rim and pores."""
    u, v = grid(length, rng.uniform(0, 6.3))
    away = np.hypot(u, v * rng.uniform(1, 1.7)) / ripple(np.arctan2(v, u), rng, lobes=(2, 3, 5, 7), depth=0.5)
    pores = _pits(u, v, rng.uniform(-0.6, 0.6, (9, 2)), 0.05)
    rough = np.maximum(0.10 + 0.03 * rng.standard_normal(away.shape), 0.01)
    colour = hue(rng, SPONGE_COLOURS) * (1 - 0.6 * pores)[..., None]
    return solid(np.where(away < 1, rough, 0), colour, steep=0.4, shadow=0.3)


def sea_squirt(rng: np.random.Generator, length: float) -> Sprite:
    """Stalked ascidian: a pale bulb with two dark siphons."""
    u, v = grid(length, rng.uniform(0, 6.3))
    away = np.hypot(u / 0.95, v / 0.6)
    siphons = _pits(u, v, np.array([[0.35, 0.15], [-0.25, -0.1]]), 0.13)
    height = np.clip(1 - away**2, 0, None) ** 0.5 * 0.6
    return solid(height, np.array([0.82, 0.72, 0.62]) * (1 - 0.8 * siphons)[..., None])


def _pits(u: np.ndarray, v: np.ndarray, positions: np.ndarray, radius: float) -> np.ndarray:
    """1 in holes at the places, 0 away from them."""
    return sum(np.exp(-((((u - x) ** 2 + (v - y) ** 2) / radius**2) ** 2)) for x, y in positions).clip(0, 1)


def _bunch(rng: np.random.Generator, count: int, reach: float, radii: tuple[float, float]) -> list[tuple[float, ...]]:
    angles, away = rng.uniform(0, 2 * np.pi, count), reach * np.sqrt(rng.random(count))
    return [*zip(away * np.cos(angles), away * np.sin(angles), rng.uniform(*radii, count), strict=True)]


BALL = Kind("sponge ball", Thing.SPONGE, ball, 0.08, 0.26, 28)
TUBES = Kind("sponge tubes", Thing.SPONGE, tubes, 0.12, 0.28, 28)
CUP = Kind("sponge cup", Thing.SPONGE, cup, 0.12, 0.32, 24)
FAN = Kind("sponge fan", Thing.SPONGE, fan, 0.14, 0.36, 28)
FINGERS = Kind("sponge fingers", Thing.SPONGE, fingers, 0.14, 0.34, 28)
CRUST = Kind("sponge crust", Thing.SPONGE, crust, 0.05, 0.16, 24)
SEA_SQUIRT = Kind("sea squirt", Thing.ASCIDIAN, sea_squirt, 0.03, 0.07, 16)
SPONGES = (BALL, TUBES, CUP, FAN, FINGERS)
