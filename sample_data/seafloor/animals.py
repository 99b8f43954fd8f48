"""Urchins, sea stars, fish, and the holes and mounds of burrowing animals."""

import numpy as np
from PIL import ImageDraw

from benthoscope.sample_data.seafloor.sprites import Kind, Sprite, draw_sprite, grid, hue, knobbly, paint, solid
from benthoscope.sample_data.seafloor.things import Thing

FISH_COLOURS = ((0.46, 0.46, 0.42), (0.60, 0.52, 0.34), (0.40, 0.44, 0.50))
STAR_COLOURS = ((0.76, 0.40, 0.18), (0.60, 0.26, 0.30), (0.70, 0.60, 0.44))


def urchin(rng: np.random.Generator, length: float) -> Sprite:
    """Draw a black ball of spines."""

    def draw(pen: ImageDraw.ImageDraw, side: float) -> None:
        middle = side / 2
        for angle in rng.uniform(0, 2 * np.pi, 70):
            reach = side * rng.uniform(0.28, 0.47)
            tip = (middle + reach * np.cos(angle), middle + reach * np.sin(angle))
            pen.line([(middle, middle), tip], fill=(*paint((0.16, 0.11, 0.15), rng.uniform(0.6, 2)), 255), width=2)
        pen.ellipse((0.33 * side, 0.33 * side, 0.67 * side, 0.67 * side), fill=(18, 13, 18, 255))

    return draw_sprite(length, draw, shadow=0.4)


def sea_star(rng: np.random.Generator, length: float) -> Sprite:
    """Draw five tapering arms with a bumpy back."""
    u, v = grid(length, rng.uniform(0, 6.3))
    angle = np.arctan2(v, u)
    arms = np.abs((angle * 5 / (2 * np.pi)) % 1 - 0.5) * 2
    away = np.hypot(u, v) / (0.30 + 0.70 * arms**2.2)
    height = np.clip(1 - away, 0, None) ** 0.6 * 0.35
    dots = 1 + 0.2 * np.sin(28 * np.hypot(u, v)) * np.cos(20 * angle)
    return solid(height, hue(rng, STAR_COLOURS) * dots[..., None])


def fish(rng: np.random.Generator, length: float) -> Sprite:
    """Draw a fish from above, well over the ground: a spindle with a tail and a distant shadow."""
    u, v = grid(length, rng.uniform(0, 2 * np.pi))
    swing = v - 0.10 * np.sin(2.5 * u)
    width = np.where(u > -0.55, 0.20 * np.sqrt(np.clip(1 - ((u - 0.15) / 0.85) ** 2, 0, None)), 0)
    tail = np.where((u < -0.5) & (u > -0.92), np.clip((-0.45 - u) * 0.55, 0, 0.2), 0)
    inside = np.abs(swing) < np.maximum(width, tail) + 0.03 * (np.abs(u) < 0.92)
    height = np.where(inside, 0.05 + np.sqrt(np.clip(np.maximum(width, 0.05) ** 2 - swing**2, 0, None)), 0)
    bars = 1 + 0.35 * np.sin(9 * u + 1) * (np.abs(swing) < 0.12)
    return solid(height, hue(rng, FISH_COLOURS) * bars[..., None], shadow=0.8)


def burrow(rng: np.random.Generator, length: float) -> Sprite:
    """Draw a hole with a rim of mud."""
    u, v = grid(length, rng.uniform(0, 6.3))
    away = np.hypot(u, v / rng.uniform(0.7, 1))
    rim = 0.16 * np.exp(-(((away - 0.52) / 0.22) ** 2)) * (away < 0.98)
    hole = 1 / (1 + np.exp((away - 0.30) * 30))
    colour = np.array([0.50, 0.48, 0.42]) * (1 - 0.88 * hole)[..., None]
    return solid(np.where(away < 0.98, np.maximum(rim, 0.004), 0), colour, steep=1.2, shadow=0.0)


def mound(rng: np.random.Generator, length: float) -> Sprite:
    """Draw a heap of pellets."""
    u, v = grid(length)
    away = np.hypot(u, v)
    lumps = knobbly(u, v, rng, 7)
    height = np.where(away < 1, 0.45 * np.exp(-(away**2) * 3.5) * (1 + 0.03 * lumps), 0)
    return solid(height, np.array([0.54, 0.52, 0.46]) * (1 + 0.05 * lumps)[..., None], steep=1.1, shadow=0.25)


URCHIN = Kind("urchin", Thing.ECHINODERM, urchin, 0.09, 0.16, 16)
SEA_STAR = Kind("sea star", Thing.ECHINODERM, sea_star, 0.08, 0.20, 20)
FISH = Kind("fish", Thing.FISH, fish, 0.16, 0.40, 20)
BURROW = Kind("burrow", Thing.MUD, burrow, 0.05, 0.15, 28)
MOUND = Kind("mound", Thing.MUD, mound, 0.07, 0.20, 20)
