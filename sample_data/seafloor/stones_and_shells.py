"""Shells, shell grit, pebbles and rhodoliths."""

import numpy as np
from PIL import Image

from benthoscope.sample_data.seafloor.sprites import Kind, Sprite, grid, hue, knobbly, ripple, solid
from benthoscope.sample_data.seafloor.things import Thing

SHELL_COLOURS = ((0.80, 0.68, 0.54), (0.70, 0.54, 0.42), (0.90, 0.84, 0.76), (0.62, 0.52, 0.47))
STONE_COLOURS = ((0.52, 0.48, 0.44), (0.40, 0.38, 0.37), (0.60, 0.52, 0.42), (0.46, 0.42, 0.34))
RHODOLITH_COLOURS = ((0.68, 0.47, 0.44), (0.60, 0.42, 0.42), (0.72, 0.56, 0.50))


def screw_shell(rng: np.random.Generator, length: float) -> Sprite:
    """A slender cone wound in seven to ten turns; some have lost their tip."""
    u, v = grid(length, rng.uniform(0, 2 * np.pi))
    along, broken = (u + 1) / 2, 1 - rng.choice((0, 0, 0.3, 0.5))
    turns = rng.integers(7, 11)
    seam = np.sin(2 * np.pi * turns * (along + 0.10 * v / 0.3))
    radius = 0.29 * (1 - along) * (1 + 0.10 * seam) + 0.015
    height = np.sqrt(np.clip(radius**2 - v**2, 0, None)) * ((along > 0) & (along < broken))
    colour = hue(rng, SHELL_COLOURS) * (0.82 + 0.26 * seam)[..., None]
    return solid(height * (1 + 0.25 * seam), colour, steep=0.9, shadow=0.6)


def shell_heap(rng: np.random.Generator, length: float) -> Sprite:
    """Screw shells lying on each other, so close that little sand shows between them."""
    heap = [screw_shell(rng, length * rng.uniform(0.40, 0.55)) for _ in range(9)]
    side = round(1.15 * length)
    image, body = Image.new("RGBA", (side, side)), Image.new("L", (side, side))
    for sprite, angle in zip(heap, rng.permutation(9) * 2 * np.pi / 9, strict=True):
        away = 0.28 * length * rng.uniform(0.2, 1)
        middle = np.array([np.cos(angle), np.sin(angle)]) * away + side / 2
        left, top = (int(v) for v in np.maximum(middle - np.array(sprite.size) / 2, 0))
        image.alpha_composite(sprite.image, (left, top))
        body.paste(255, (left, top), sprite.body)
    return Sprite(image, body)


def shell_grit(rng: np.random.Generator, length: float) -> Sprite:
    """A broken valve: a bright flake with one curved side."""
    u, v = grid(length, rng.uniform(0, 2 * np.pi))
    inside = (u**2 + (v / rng.uniform(0.5, 0.9)) ** 2 < 1) & (u > rng.uniform(-0.8, 0.2))
    rays = 1 + 0.08 * np.cos(14 * np.arctan2(v, u + 1.2))
    return solid(0.3 * inside * (1 - 0.5 * v**2), 1.08 * hue(rng, SHELL_COLOURS) * rays[..., None], steep=0.6)


def pebble(rng: np.random.Generator, length: float) -> Sprite:
    """A rounded stone."""
    u, v = grid(length, rng.uniform(0, 2 * np.pi))
    angle, squeeze = np.arctan2(v, u), rng.uniform(0.65, 0.95)
    away = np.hypot(u, v / squeeze) / ripple(angle, rng, lobes=(2, 3, 5), depth=0.16)
    height = np.clip(1 - away**2.6, 0, None) ** 0.5 * 0.5
    speckle = 1 + 0.10 * rng.standard_normal(away.shape)
    return solid(height, hue(rng, STONE_COLOURS, 0.05) * speckle[..., None], steep=0.7, shadow=0.6)


def rhodolith(rng: np.random.Generator, length: float) -> Sprite:
    """A knobby ball of coralline algae."""
    u, v = grid(length, rng.uniform(0, 2 * np.pi))
    away = np.hypot(u, v) / ripple(np.arctan2(v, u), rng, lobes=(4, 7, 9), depth=0.22)
    knobs = knobbly(u, v, rng, 6)
    height = np.clip(1 - away**2, 0, None) ** 0.5 * (0.55 + 0.08 * knobs)
    colour = hue(rng, RHODOLITH_COLOURS) * (1 + 0.14 * knobs)[..., None]
    return solid(height, colour, steep=0.9, shadow=0.6)


SCREW_SHELL = Kind("screw shell", Thing.SHELL, screw_shell, 0.045, 0.095, 64)
SHELL_HEAP = Kind("shell heap", Thing.SHELL, shell_heap, 0.14, 0.18, 40)
SHELL_GRIT = Kind("shell grit", Thing.SAND, shell_grit, 0.012, 0.035, 24)
PEBBLE = Kind("pebble", Thing.COBBLE, pebble, 0.025, 0.16, 40)
RHODOLITH = Kind("rhodolith", Thing.RHODOLITH, rhodolith, 0.03, 0.075, 48)
