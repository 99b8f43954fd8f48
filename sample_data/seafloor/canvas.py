"""A painting of the sea floor: its colours and, if required, the object class of each pixel."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from benthoscope.sample_data.bank import Bank, Crop, crop
from benthoscope.sample_data.seafloor.sprites import LIGHT, Collection, Kind, Sprite
from benthoscope.sample_data.seafloor.things import Thing

TONES = 256  # a ground colour is looked up by its tone


@dataclass(frozen=True)
class Ground:
    """Colours (H, W) uint32 (red, green, blue and an unused byte) and things (H, W) uint8.

    One number per colour makes choosing between two grounds three times faster than rows of three bytes.
    """

    colours: np.ndarray
    things: np.ndarray


@dataclass(frozen=True)
class Brush:
    """The settings with which a habitat is painted. `plenty` in 0..1 is the density of objects, `bearing` (radians) the
    direction of ripples and leaves. Both change slowly along a dive."""

    rng: np.random.Generator
    bank: Bank
    collection: Collection
    shape: tuple[int, int]
    plenty: float
    bearing: float

    def crop(self) -> Crop:
        return crop(self.bank.side, self.shape, self.rng)

    def along(self) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates in metres, (H, W) each: across the bearing and along it."""
        y, x = (np.arange(n, dtype=np.float32) / np.float32(self.bank.length(1)) for n in self.shape)
        cosine, sine = np.float32(np.cos(self.bearing)), np.float32(np.sin(self.bearing))
        return x[None] * cosine + y[:, None] * sine, y[:, None] * cosine - x[None] * sine

    def area(self) -> float:
        """Return the visible area in square metres."""
        return self.shape[0] * self.shape[1] / self.bank.length(1) ** 2


class Painting:
    """The ground, and all objects on it."""

    def __init__(self, brush: Brush, ground: Ground, *, with_things: bool):
        self.brush, self.ground = brush, ground
        height, width = ground.colours.shape
        self.image = Image.frombuffer("RGBX", (width, height), ground.colours, "raw", "RGBX", 0, 1).convert("RGB")
        self.things = Image.fromarray(ground.things, "L") if with_things else None

    def scatter(self, kinds: Kind | Sequence[Kind], per_metre: float, *, where: np.ndarray | None = None) -> None:
        """Add this many objects per square metre, all kinds with equal probability, only where `where` (H, W)
        is true."""
        choices = [kinds] if isinstance(kinds, Kind) else list(kinds)
        positions = self._positions(self.brush.rng.poisson(per_metre * self.brush.area()), where)
        sorts, lots = (self._picks(len(positions), n) for n in (len(choices), 2**30))
        for (x, y), n, lot in zip(positions, sorts, lots, strict=True):
            sprites = self.brush.collection.of(choices[n])
            self.stamp(sprites[lot % len(sprites)], x, y, choices[n].thing)

    def stamp(self, sprite: Sprite, x: int, y: int, thing: Thing) -> None:
        """Add a sprite with its centre at column x and row y."""
        corner = (x - sprite.size[0] // 2, y - sprite.size[1] // 2)
        self.image.paste(sprite.image, corner, sprite.image)
        if self.things is not None:
            self.things.paste(int(thing), corner, sprite.body)

    def _picks(self, count: int, choices: int) -> list[int]:
        return self.brush.rng.integers(0, choices, count).tolist()

    def _positions(self, count: int, where: np.ndarray | None) -> list[tuple[int, int]]:
        height, width = self.brush.shape
        tries = count if where is None else 6 * count
        spots = self.brush.rng.random((tries, 2)) * (width, height)
        if where is not None:
            x, y = spots.astype(int).T
            spots = spots[where[y, x]][:count]
        return [(int(x), int(y)) for x, y in spots]


def ramp(*stops: tuple[float, float, float]) -> np.ndarray:
    """Return (256,) uint32 colours from the darkest to the lightest stop, evenly spaced."""
    at = np.linspace(0, 1, TONES)
    channels = [np.interp(at, np.linspace(0, 1, len(stops)), values) for values in zip(*stops, strict=True)]
    colours = np.clip(np.stack([*channels, np.ones(TONES)], axis=1) * 255, 0, 255).astype(np.uint8)
    return np.ascontiguousarray(colours).view(np.uint32)[:, 0]


def coloured(tone: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """Return (H, W) uint32 colours of tones around 0.5 from a ramp. Tones outside 0..1 saturate."""
    return colours.take(np.clip(tone * np.float32(TONES - 1), 0, TONES - 1).astype(np.uint8))


def lit(height: np.ndarray) -> np.ndarray:
    """Return how much slopes of a height (in pixels) gain or lose in the light from the top left, (H, W), limited to
    +-1."""
    slope = np.zeros_like(height)
    slope[:, 1:] = (height[:, 1:] - height[:, :-1]) * LIGHT[0]
    slope[1:] += (height[1:] - height[:-1]) * LIGHT[1]
    return slope / np.sqrt(1 + slope * slope)
