"""Remove the effects of water and lamp from survey images, so that clusters depend on the seafloor and not on the
camera.

The model of a dive is estimated from its own images: how colours fade with altitude, and how the light falls off
towards the corners. An image is modelled as reflectance times an attenuation exp(-rate altitude) per colour times a
fixed pattern of light and lens. In logarithms this is a sum, and the reflectance averages out over the images of a
dive.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from benthoscope.engine.features.planes import as_rgb, resize
from benthoscope.engine.problems import fail

GRID = (48, 64)  # rows and columns at which the light pattern is estimated
DEGREE = 4  # degree of the polynomial that smooths it; lamps and lenses have no fine detail
LARGEST_GAIN = 4.0  # a larger gain would only amplify the noise of a lost channel
SMALLEST_RANGE = 0.3  # m, smallest altitude range of a dive for which a rate can be estimated
# per metre; a larger rate means that altitude is confounded with something else, such as sand below and reef above
LARGEST_RATE = 2.0
ENOUGH = 8  # smallest number of images
GAP = 8  # px of white between the images of a comparison


@dataclass(frozen=True)
class WaterModel:
    """The water model of one dive."""

    pattern: np.ndarray  # (48, 64, 3) natural logarithm of the light relative to its mean over the frame
    rate: np.ndarray  # (3,) decrease of the log of red, green, blue per metre of altitude; 0 if unknown
    gain: np.ndarray  # (3,) log of the factors that make the dive's average colour grey
    altitude: float  # m, the altitude to which images are corrected

    def correct(self, image: np.ndarray, altitude: float | None = None) -> np.ndarray:
        """Return the RGB uint8 image as seen from the model's altitude under even white light. Without an altitude,
        fading is not corrected."""
        image = as_rgb(image)
        rise = 0.0 if altitude is None or not np.isfinite(altitude) else altitude - self.altitude
        factor = np.exp(np.clip(self.gain + self.rate * rise - self.pattern, None, np.log(LARGEST_GAIN)))
        wide = _enlarged(factor.astype(np.float32), image.shape[:2])
        return np.clip((image + np.float32(1)) * wide - np.float32(0.5), 0, 255).astype(np.uint8)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the model as arrays for storage; `WaterModel(**arrays)` rebuilds it."""
        return {"pattern": self.pattern, "rate": self.rate, "gain": self.gain, "altitude": np.array(self.altitude)}

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray]) -> "WaterModel":
        return cls(arrays["pattern"], arrays["rate"], arrays["gain"], float(arrays["altitude"]))


def learn_water(images: Iterable[np.ndarray], altitudes: Sequence[float | None] | None = None) -> WaterModel:
    """Estimate the model from RGB uint8 images of one dive (a hundred are plenty) and their altitudes in metres (None
    or NaN if unknown)."""
    logs = np.array([np.log((resize(as_rgb(image), *GRID) + np.float32(1)) / 256) for image in images])
    if len(logs) < ENOUGH:
        raise fail(
            "water correction",
            f"there are only {len(logs)} images to learn from",
            f"use at least {ENOUGH} images per dive, or switch the correction off",
        )
    levels = logs.mean(axis=(1, 2))
    heights = _heights(altitudes, len(logs))
    rate = _rates(levels, heights)
    middle = float(np.nanmedian(heights)) if np.isfinite(heights).any() else 0.0
    rise = np.where(np.isfinite(heights), heights - middle, 0)
    colour = np.median(levels + rise[:, None] * rate, axis=0)
    pattern = _smooth(np.median(logs - levels[:, None, None], axis=0))
    return WaterModel(pattern, rate, colour.mean() - colour, middle)


def side_by_side(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return both images side by side, before on the left."""
    white = np.full((before.shape[0], GAP, 3), 255, dtype=np.uint8)
    return np.concatenate([as_rgb(before), white, as_rgb(after)], axis=1)


def _heights(altitudes: Sequence[float | None] | None, count: int) -> np.ndarray:
    if altitudes is None:
        return np.full(count, np.nan)
    heights = np.array([np.nan if height is None else height for height in altitudes], dtype=np.float64)
    if len(heights) != count:
        raise fail("altitudes", f"there are {len(heights)} altitudes for {count} images", "give one altitude per image")
    return heights


def _rates(levels: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Return the decrease of the log of each colour per metre (3,): the median over pairs of images (Theil and Sen),
    which is robust to outliers. A camera with automatic exposure compensates the loss that all colours share, so the
    rate of the colour that fades least may be negative."""
    known = np.isfinite(heights)
    levels, heights = levels[known], heights[known]
    if len(heights) < ENOUGH or np.ptp(np.percentile(heights, [5, 95])) < SMALLEST_RANGE:
        return np.zeros(3)
    first, second = np.triu_indices(len(heights), 1)
    run = heights[first] - heights[second]
    apart = np.abs(run) > 0.25 * np.ptp(heights)  # close pairs carry little information and have extreme slopes
    slopes = (levels[first] - levels[second])[apart] / run[apart, None]
    return np.clip(-np.median(slopes, axis=0), -LARGEST_RATE, LARGEST_RATE)


def _smooth(pattern: np.ndarray) -> np.ndarray:
    """Return the least-squares polynomial surface through each plane of the pattern."""
    rows, columns = np.linspace(-1, 1, GRID[0]), np.linspace(-1, 1, GRID[1])
    powers = [(a, b) for a in range(DEGREE + 1) for b in range(DEGREE + 1 - a)]
    terms = np.stack([np.outer(rows**a, columns**b).ravel() for a, b in powers], axis=1)
    flat = pattern.reshape(-1, pattern.shape[2])
    return (terms @ np.linalg.lstsq(terms, flat, rcond=None)[0]).reshape(pattern.shape)


def _enlarged(planes: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    grown = [Image.fromarray(planes[:, :, c]).resize(shape[::-1], Image.Resampling.BILINEAR) for c in range(3)]
    return np.stack([np.asarray(plane) for plane in grown], axis=2)
