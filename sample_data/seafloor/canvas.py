"""A piece of sea floor while it is being painted: its colours and, where wanted, what every pixel shows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from sample_data.bank import Bank, Crop, crop
from sample_data.sprites import LIGHT, Collection, Kind, Sprite
from sample_data.things import Thing

TONES = 256  # a ground colour is looked up by its tone


@dataclass(frozen=True)
class Ground:
    """Colours (H, W) uint32, red, green, blue and a spare byte in each, and things (H, W) uint8.

    One number for a colour makes choosing between two grounds three times as fast as rows of three bytes do.
    """

    colours: np.ndarray
    things: np.ndarray


@dataclass(frozen=True)
class Brush:
    """What a habitat paints with. `plenty` in 0..1 says how dense its objects stand, `bearing` (radians) which way
    ripples and leaves run; both change slowly along a dive."""

    rng: np.random.Generator
    bank: Bank
    collection: Collection
    shape: tuple[int, int]
    plenty: float
    bearing: float

    def crop(self) -> Crop:
        return crop(self.bank.side, self.shape, self.rng)

    def along(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates in metres, (H, W) each: across the bearing and along it."""
        y, x = (np.arange(n, dtype=np.float32) / np.float32(self.bank.length(1)) for n in self.shape)
        cosine, sine = np.float32(np.cos(self.bearing)), np.float32(np.sin(self.bearing))
        return x[None] * cosine + y[:, None] * sine, y[:, None] * cosine - x[None] * sine

    def area(self) -> float:
        """Square metres in view."""
        return self.shape[0] * self.shape[1] / self.bank.length(1) ** 2


class Painting:
    """The ground, and whatever is stamped on it."""

    def __init__(self, brush: Brush, ground: Ground, *, with_things: bool):
        self.brush, self.ground = brush, ground
        height, width = ground.colours.shape
        self.image = Image.frombuffer("RGBX", (width, height), ground.colours, "raw", "RGBX", 0, 1).convert("RGB")
        self.things = Image.fromarray(ground.things, "L") if with_things else None

    def scatter(self, kinds: Kind | Sequence[Kind], per_metre: float, *, where: np.ndarray | None = None) -> None:
        """Stamps so many objects to the square metre, with every kind as likely, only where `where` (H, W) is true."""
        choices = [kinds] if isinstance(kinds, Kind) else list(kinds)
        places = self._places(self.brush.rng.poisson(per_metre * self.brush.area()), where)
        sorts, lots = (self._picks(len(places), n) for n in (len(choices), 2**30))
        for (x, y), n, lot in zip(places, sorts, lots, strict=True):
            kept = self.brush.collection.of(choices[n])
            self.stamp(kept[lot % len(kept)], x, y, choices[n].thing)

    def stamp(self, sprite: Sprite, x: int, y: int, thing: Thing) -> None:
        """Puts the sprite's middle at column x and row y."""
        corner = (x - sprite.size[0] // 2, y - sprite.size[1] // 2)
        self.image.paste(sprite.look, corner, sprite.look)
        if self.things is not None:
            self.things.paste(int(thing), corner, sprite.body)

    def _picks(self, count: int, choices: int) -> list[int]:
        return self.brush.rng.integers(0, choices, count).tolist()

    def _places(self, count: int, where: np.ndarray | None) -> list[tuple[int, int]]:
        height, width = self.brush.shape
        tries = count if where is None else 6 * count
        spots = self.brush.rng.random((tries, 2)) * (width, height)
        if where is not None:
            x, y = spots.astype(int).T
            spots = spots[where[y, x]][:count]
        return [(int(x), int(y)) for x, y in spots]


def ramp(*stops: tuple[float, float, float]) -> np.ndarray:
    """(256,) uint32: colours from the darkest to the lightest stop, evenly spaced."""
    at = np.linspace(0, 1, TONES)
    channels = [np.interp(at, np.linspace(0, 1, len(stops)), values) for values in zip(*stops, strict=True)]
    parts = np.clip(np.stack([*channels, np.ones(TONES)], axis=1) * 255, 0, 255).astype(np.uint8)
    return np.ascontiguousarray(parts).view(np.uint32)[:, 0]


def coloured(tone: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """(H, W) uint32 of tones around 0.5 looked up in a ramp; beyond 0..1 they saturate."""
    return colours.take(np.clip(tone * np.float32(TONES - 1), 0, TONES - 1).astype(np.uint8))


def lit(height: np.ndarray) -> np.ndarray:
    """How much slopes of a height (in pixels) gain or lose in the light from the top left, (H, W), limited to +-1."""
    slope = np.zeros_like(height)
    slope[:, 1:] = (height[:, 1:] - height[:, :-1]) * LIGHT[0]
    slope[1:] += (height[1:] - height[:-1]) * LIGHT[1]
    return slope / np.sqrt(1 + slope * slope)
