"""Simulate a compact camera: the photo of a scene and its EXIF block."""

from collections.abc import Callable, Mapping
from datetime import datetime

import numpy as np
from PIL import ExifTags, Image, ImageFilter

from benthoscope.sample_data.bank import Bank, crop

GOOD = "good"


def developed(
    scene: Image.Image, tint: tuple[float, float, float], quality: str, rng: np.random.Generator, bank: Bank
) -> Image.Image:
    """Return the photo of a scene: white balance, exposure, a little blur and noise, or a defect."""
    soft = scene.filter(ImageFilter.BoxBlur(bank.scale * rng.uniform(0.2, 0.7)))
    return CONDITIONS[quality](soft, tint, rng, bank)


def exif(when: datetime, position: tuple[float, float] | None) -> Image.Exif:
    """Return the time and, if known, the position."""
    tags = Image.Exif()
    tags[ExifTags.Base.Make], tags[ExifTags.Base.Model] = "Benthoscope", "Synthetic"
    moment = f"{when:%Y:%m:%d %H:%M:%S}"
    tags[ExifTags.Base.DateTime] = moment
    tags.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = moment
    if position is not None:
        tags.get_ifd(ExifTags.IFD.GPSInfo).update(_gps(*position))
    return tags


def _gps(latitude: float, longitude: float) -> dict[int, object]:
    return {
        ExifTags.GPS.GPSLatitudeRef: "N" if latitude >= 0 else "S",
        ExifTags.GPS.GPSLatitude: _sexagesimal(abs(latitude)),
        ExifTags.GPS.GPSLongitudeRef: "E" if longitude >= 0 else "W",
        ExifTags.GPS.GPSLongitude: _sexagesimal(abs(longitude)),
    }


def _sexagesimal(degrees: float) -> tuple[float, float, float]:
    minutes = degrees % 1 * 60
    return float(int(degrees)), float(int(minutes)), round(minutes % 1 * 60, 3)


def _good(
    scene: Image.Image, tint: tuple[float, float, float], rng: np.random.Generator, bank: Bank, gain: float = 1.0
) -> Image.Image:
    light = np.asarray(scene, np.float32) * (np.array(tint, np.float32) * np.float32(gain * rng.uniform(0.85, 1.12)))
    light += np.float32(255 * rng.uniform(0.008, 0.022)) * crop(bank.side, light.shape[:2], rng)(bank.static)
    return Image.fromarray(np.clip(light, 0, 255).astype(np.uint8), "RGB")


def _shaken(scene: Image.Image, tint: tuple[float, float, float], rng: np.random.Generator, bank: Bank) -> Image.Image:
    return _good(scene.filter(ImageFilter.BoxBlur((9 * bank.scale, 1.5 * bank.scale))), tint, rng, bank)


def _over_exposed(
    scene: Image.Image, tint: tuple[float, float, float], rng: np.random.Generator, bank: Bank
) -> Image.Image:
    return _good(scene, tint, rng, bank, gain=2.4)


def _dark(scene: Image.Image, tint: tuple[float, float, float], rng: np.random.Generator, bank: Bank) -> Image.Image:
    return _good(scene, tint, rng, bank, gain=0.22)


BAD: Mapping[str, Callable[..., Image.Image]] = {"blurred": _shaken, "over-exposed": _over_exposed, "dark": _dark}
CONDITIONS: Mapping[str, Callable[..., Image.Image]] = {GOOD: _good, **BAD}
