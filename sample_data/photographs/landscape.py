"""Tools to paint holiday scenes: skies, outlines and textured surfaces on an array of colours."""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from benthoscope.sample_data.bank import Bank, Crop, crop

Colour = tuple[float, float, float]
CLOUD = (0.97, 0.97, 0.98)


@dataclass(frozen=True)
class Easel:
    """The size, the generator and the fields for painting a scene; the shape is (height, width)."""

    rng: np.random.Generator
    bank: Bank
    shape: tuple[int, int]

    def crop(self) -> Crop:
        return crop(self.bank.side, self.shape, self.rng)

    @property
    def row(self) -> np.ndarray:
        """Return the vertical position of each row, (H, 1), 0 at the top to 1."""
        return np.linspace(0, 1, self.shape[0], dtype=np.float32)[:, None]

    @property
    def column(self) -> np.ndarray:
        """Return the horizontal position of each column, (W,), 0 at the left to 1."""
        return np.linspace(0, 1, self.shape[1], dtype=np.float32)

    def outline(self, level: float, rough: float) -> np.ndarray:
        """Return a line (W,) near a level (0 top, 1 bottom) that varies by about `rough`."""
        at = int(self.rng.integers(self.bank.side - 1))
        broad, fine = (np.roll(field[at], at)[: self.shape[1]] for field in (self.bank.drift, self.bank.patch))
        return level + rough * (broad + 0.35 * fine)

    def below(self, line: np.ndarray | np.floating) -> np.ndarray:
        """Return whether the scene lies below a line (W,): (H, W), or below a level: (H, 1)."""
        return self.row > line

    def streaks(self, across: float, down: float) -> np.ndarray:
        """Return noise stretched by these factors across and down, (H, W)."""
        height, width = self.shape
        few = (max(4, round(height / down)), max(4, round(width / across)))
        field = np.ascontiguousarray(crop(self.bank.side, few, self.rng)(self.bank.turf))
        return np.asarray(Image.fromarray(field, "F").resize((width, height), Image.Resampling.BICUBIC))


def gradient(easel: Easel, *stops: Colour) -> np.ndarray:
    """Return (H, W, 3) colours that change from top to bottom."""
    at = np.linspace(0, 1, len(stops))
    channels = [np.interp(easel.row[:, 0], at, values) for values in zip(*stops, strict=True)]
    rows = np.stack(channels, axis=1)[:, None].astype(np.float32)
    return np.repeat(rows, easel.shape[1], axis=1)


def sky(easel: Easel, top: Colour, bottom: Colour, clouds: float) -> np.ndarray:
    """Return a sky with clouds."""
    window = easel.crop()
    thick = np.clip((window(easel.bank.drift) + 0.35 * window(easel.bank.patch) + 2 * clouds - 1.6) * 0.9, 0, 0.9)
    return over(gradient(easel, top, bottom), thick, CLOUD)


def over(picture: np.ndarray, cover: np.ndarray, paint: np.ndarray | Colour) -> np.ndarray:
    """Return the picture with a colour, or another picture, painted where `cover` (H, W) is above 0."""
    share = np.asarray(cover, np.float32)[..., None]
    return picture * (1 - share) + np.asarray(paint, np.float32) * share


def tinted(tone: np.ndarray, colour: Colour) -> np.ndarray:
    """Return a colour (H, W, 3) that is brighter where the tone is above 1 and darker below."""
    return tone[..., None] * np.asarray(colour, np.float32)


def sheet(picture: np.ndarray) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """Return the picture as an image to draw on, and the pen."""
    image = Image.fromarray((np.clip(picture, 0, 1) * 255).astype(np.uint8), "RGB")
    return image, ImageDraw.Draw(image)


def ink(colour: Colour, tone: float = 1.0) -> tuple[int, int, int]:
    """Return a pen colour."""
    red, green, blue = (int(np.clip(channel * tone, 0, 1) * 255) for channel in colour)
    return red, green, blue
