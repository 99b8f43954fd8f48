"""Small images of single objects with outline and shadow, lit from the top left like all scenes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from benthoscope.sample_data.bank import Bank
from benthoscope.sample_data.seafloor.things import Thing

LIGHT = np.array([0.55, 0.65], np.float32)  # brightness of a slope that rises to the right, or downwards
FINER = 2  # objects are drawn at this resolution and averaged, so that their edges are soft


@dataclass(frozen=True)
class Sprite:
    image: Image.Image  # RGBA, including the shadow
    body: Image.Image  # L, 255 where the object covers most of the pixel

    @property
    def size(self) -> tuple[int, int]:
        return self.image.size


@dataclass(frozen=True)
class Kind:
    """A kind of object: its class, how to make one, and its smallest and largest length in metres."""

    name: str
    thing: Thing
    make: Callable[[np.random.Generator, float], Sprite]  # makes one from a length in pixels
    smallest: float
    largest: float
    variants: int = 24


@dataclass
class Collection:
    """Sprites of each kind, created on first use and cached."""

    bank: Bank
    sprites: dict[str, list[Sprite]] = field(default_factory=dict)

    def of(self, kind: Kind) -> list[Sprite]:
        if kind.name not in self.sprites:
            self.sprites[kind.name] = self._make(kind)
        return self.sprites[kind.name]

    def _make(self, kind: Kind) -> list[Sprite]:
        rng = np.random.default_rng([self.bank.seed, 78, crc32(kind.name.encode())])
        lengths = np.linspace(self.bank.length(kind.smallest), self.bank.length(kind.largest), kind.variants)
        return [kind.make(rng, float(length)) for length in lengths]


def grid(length: float, angle: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates u along and v across an object of this many pixels. The object reaches from -1 to 1, the grid
    to 1.15."""
    half = np.linspace(-1.15, 1.15, max(3, round(length * 1.15)) * FINER, dtype=np.float32)
    x, y = half[None], half[:, None]
    return x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)


def ripple(angle: np.ndarray, rng: np.random.Generator, *, lobes: tuple[int, ...], depth: float) -> np.ndarray:
    """Return a wavy rim, 1 on average, as a function of the direction from the centre."""
    waves = [np.cos(n * angle + rng.uniform(0, 6.3)) * rng.uniform(0.3, 1) / len(lobes) for n in lobes]
    return 1 + depth * np.sum(waves, axis=0)


def knobbly(u: np.ndarray, v: np.ndarray, rng: np.random.Generator, waves: float) -> np.ndarray:
    """Return lumps of deviation about 1 in all directions, with `waves` across the object."""
    angles, shifts = rng.uniform(0, 2 * np.pi, 7), rng.uniform(0, 2 * np.pi, 7)
    each = zip(np.cos(angles), np.sin(angles), rng.uniform(0.7, 1.3, 7) * waves, shifts, strict=True)
    return sum(np.sin(pitch * (c * u + s * v) + shift) for c, s, pitch, shift in each) / np.sqrt(3.5)


def solid(height: np.ndarray, colour: np.ndarray, *, steep: float = 1.0, shadow: float = 0.5) -> Sprite:
    """Return a body from its height (0 outside, in half widths) and its colour (..., 3) in 0..1."""
    rise = height * steep * len(height) / 2.3
    gy, gx = np.gradient(rise)
    light = (1 + LIGHT[0] * gx + LIGHT[1] * gy) / np.sqrt(1 + gx**2 + gy**2)
    lit = np.clip(colour * np.clip(0.25 + 0.72 * light, 0.12, 1.35)[..., None], 0, 1)
    body = (height > 0).astype(np.float32)
    rgba = np.dstack([lit * body[..., None], body])
    return finish(_coarser(rgba), shadow=shadow)


def finish(rgba: np.ndarray, *, shadow: float) -> Sprite:
    """Return a sprite from premultiplied (h, w, 4) in 0..1, with a soft shadow towards the bottom right."""
    alpha = rgba[..., 3]
    throw = max(1, round(0.05 * min(alpha.shape)))
    wide = np.pad(rgba, ((0, throw), (0, throw), (0, 0)))
    cast = _blurred(np.pad(alpha, ((throw, 0), (throw, 0))), throw) * shadow
    opacity = wide[..., 3] + cast * (1 - wide[..., 3])
    colour = wide[..., :3] / np.maximum(opacity, 1e-3)[..., None]
    image = Image.fromarray(_bytes(np.dstack([colour, opacity])), "RGBA")
    body = Image.fromarray(_bytes(wide[..., 3] > 0.5), "L")
    box = image.getbbox() or (0, 0, 1, 1)  # an empty margin costs time whenever the sprite is used
    return Sprite(image.crop(box), body.crop(box))


def draw_sprite(length: float, draw: Callable[[ImageDraw.ImageDraw, float], None], *, shadow: float = 0.5) -> Sprite:
    """Return a sprite from strokes. `draw` gets a pen and the side of its square in pixels of the finer grid."""
    side = max(6, round(length * 1.15)) * FINER
    sheet = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    draw(ImageDraw.Draw(sheet), float(side))
    rgba = np.asarray(sheet, np.float32) / 255
    rgba[..., :3] *= rgba[..., 3:]
    return finish(_coarser(rgba), shadow=shadow)


def paint(colour: np.ndarray | tuple[float, ...], tone: float = 1.0) -> tuple[int, int, int]:
    """Return a pen colour of an RGB in 0..1, lightened or darkened."""
    red, green, blue = (int(v) for v in np.clip(np.asarray(colour, float) * tone * 255, 0, 255))
    return red, green, blue


def hue(rng: np.random.Generator, colours: tuple[tuple[float, float, float], ...], spread: float = 0.06) -> np.ndarray:
    """Return one of the colours with a small random deviation."""
    return np.clip(np.array(colours[rng.integers(len(colours))]) * np.exp(rng.normal(0, spread, 3)), 0, 1)


def _coarser(fine: np.ndarray) -> np.ndarray:
    height, width = (n // FINER for n in fine.shape[:2])
    return fine[: height * FINER, : width * FINER].reshape(height, FINER, width, FINER, -1).mean((1, 3))


def _blurred(alpha: np.ndarray, radius: int) -> np.ndarray:
    return np.asarray(Image.fromarray(_bytes(alpha), "L").filter(ImageFilter.BoxBlur(radius)), np.float32) / 255


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.clip(values * np.float32(255) + 0.5, 0, 255).astype(np.uint8)
