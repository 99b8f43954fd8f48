"""Simulate the imaging between sea floor and file: water, strobes, lens, sensor, and occasional defects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from benthoscope.sample_data.bank import Bank, crop

USUAL_ALTITUDE = 2.0  # metres; altitude at which the camera's white balance was set
EXPOSURE = 0.42  # mean brightness of the automatic exposure
GOOD = "good"  # the quality of a frame without defects


@dataclass(frozen=True)
class Water:
    """The water and lights of one dive; some values are per channel."""

    loss: tuple[float, float, float]  # per metre of path; red is lost first
    haze: tuple[float, float, float]  # colour of the backscattered light
    cast: tuple[float, float, float]  # colour of the ground and of the white balance
    strobe: tuple[float, float]  # distance of the lit centre from the image centre, in half widths
    vignette: float  # brightness lost in the corners


@dataclass(frozen=True)
class Shot:
    """How one frame was taken; `tint` is its own colour deviation."""

    size: tuple[int, int]
    altitude: float
    water: Water
    tint: tuple[float, float, float]
    quality: str = GOOD


def some_water(rng: np.random.Generator) -> Water:
    """Return the water of one dive: from clear and blue to green and murky."""
    murk = rng.uniform(0.6, 1.5)
    green = rng.uniform(-0.5, 0.5)
    return Water(
        loss=(0.22 * murk, 0.06 * murk * (1 - 0.4 * green), 0.06 * murk * (1 + 0.9 * green)),
        haze=(0.10 * murk, (0.30 + 0.05 * green) * murk, (0.32 - 0.10 * green) * murk),
        cast=tuple(np.array([0.88, 0.96, 0.92]) * np.exp(rng.normal(0, (0.10, 0.05, 0.10)))),
        strobe=tuple(rng.normal(0, 0.20, 2)),
        vignette=rng.uniform(0.22, 0.40),
    )


def photograph(scene: Image.Image, shot: Shot, rng: np.random.Generator, bank: Bank) -> Image.Image:
    """Return the frame that the camera stores of a painted scene, at the size of the shot."""
    return CONDITIONS[shot.quality](scene, shot, rng, bank)


def _good(scene: Image.Image, shot: Shot, rng: np.random.Generator, bank: Bank, gain: float = 1.0) -> Image.Image:
    soft = 0.25 + 0.12 * abs(shot.altitude - USUAL_ALTITUDE) + 0.15 * rng.random()
    blurred = scene.resize(shot.size, Image.Resampling.BILINEAR).filter(ImageFilter.BoxBlur(soft * bank.scale))
    light = np.asarray(blurred, np.float32) * (_transmission(shot, rng) / np.float32(255))
    murk = np.float32(1 - np.exp(-0.12 * shot.altitude)) * np.array(shot.water.haze, np.float32)
    light += murk
    light *= np.float32(gain * (EXPOSURE * np.exp(rng.normal(0, 0.10)) / light.mean()) ** 0.8)
    return _developed(light, shot, rng, bank)


def _blurred(scene: Image.Image, shot: Shot, rng: np.random.Generator, bank: Bank) -> Image.Image:
    return _good(scene.filter(ImageFilter.GaussianBlur(9 * bank.scale)), shot, rng, bank)


def _over_exposed(scene: Image.Image, shot: Shot, rng: np.random.Generator, bank: Bank) -> Image.Image:
    return _good(scene, shot, rng, bank, gain=2.6)


def _black(scene: Image.Image, shot: Shot, rng: np.random.Generator, bank: Bank) -> Image.Image:
    return _developed(np.full((*shot.size[::-1], 3), 0.02, np.float32), shot, rng, bank)


def _mid_water(scene: Image.Image, shot: Shot, rng: np.random.Generator, bank: Bank) -> Image.Image:
    """Return a frame taken far above the bottom: blue-green haze and drifting flakes."""
    haze = Image.new("RGB", shot.size)
    pen = ImageDraw.Draw(haze)
    for x, y in rng.random((90, 2)) * shot.size:
        reach = bank.scale * rng.uniform(0.4, 1.8)
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=(int(rng.integers(40, 150)),) * 3)
    flakes = np.asarray(haze.filter(ImageFilter.GaussianBlur(0.8 * bank.scale)), np.float32) / 255
    glow = np.array(shot.water.haze, np.float32) * 1.2 * _transmission(shot, rng)
    return _developed(glow + flakes, shot, rng, bank)


Condition = Callable[[Image.Image, Shot, np.random.Generator, Bank], Image.Image]
BAD: Mapping[str, Condition] = {
    "black": _black,
    "blurred": _blurred,
    "over-exposed": _over_exposed,
    "mid-water": _mid_water,
}
CONDITIONS: Mapping[str, Condition] = {GOOD: _good, **BAD}
BLIND = ("black", "mid-water")  # frames that show no sea floor, so no habitat can be labelled


def _transmission(shot: Shot, rng: np.random.Generator) -> np.ndarray:
    """Return the fraction of each colour (H, W, 3) that lights, lens and water leave."""
    x, y, away = _lens(shot.size)
    dx, dy = np.asarray(shot.water.strobe) + rng.normal(0, 0.04, 2)
    lamp = (1 - np.float32(shot.water.vignette) * away) * (1 + np.float32(dx) * x + np.float32(dy) * y)
    loss = np.asarray(shot.water.loss)
    colour = np.exp(-2 * loss * (shot.altitude - USUAL_ALTITUDE)) * shot.water.cast * shot.tint
    further = -0.22 * loss * shot.altitude  # corners are farther from lamp and lens
    light_shares = np.stack(
        [lamp, lamp * away], axis=-1
    )  # this product is three times faster than broadcasting over channels
    return light_shares @ np.stack([colour, colour * further]).astype(np.float32)


@lru_cache(maxsize=4)
def _lens(size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coordinates in half widths from the centre, and their squared distance, 1 in the corners."""
    width, height = size
    x = (np.arange(width, dtype=np.float32) + 0.5) / width * 2 - 1
    y = ((np.arange(height, dtype=np.float32) + 0.5) / height * 2 - 1)[:, None]
    flat = np.float32(height / width)
    away = (x**2 + (flat * y) ** 2) / (1 + flat**2)
    return np.broadcast_to(x, away.shape), np.broadcast_to(y, away.shape), away


def _developed(light: np.ndarray, shot: Shot, rng: np.random.Generator, bank: Bank) -> Image.Image:
    """Add sensor noise and convert to eight bits."""
    noise = crop(bank.side, light.shape[:2], rng)(bank.static)
    light += np.float32(rng.uniform(0.010, 0.024) * (0.7 + 0.15 * shot.altitude)) * noise
    return Image.fromarray(np.clip(light * np.float32(255), 0, 255).astype(np.uint8), "RGB")
