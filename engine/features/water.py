"""Taking the water and the lamp out of survey images: what a dive's own images say about how colour fades with
altitude and how light falls off towards the corners, so that clusters show the seafloor and not the camera.

An image is taken as reflectance times an attenuation exp(-rate altitude) for each colour times a fixed pattern of
light and lens. In logarithms that is a sum, and over a dive's images reflectance averages out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from engine.features.pixels import as_rgb, resize
from engine.problems import fail

GRID = (48, 64)          # rows and columns at which the pattern of light is learned
DEGREE = 4               # of the polynomial that smooths it: lamps and lenses have no fine detail
LARGEST_GAIN = 4.0       # more would only show the noise of a channel that is gone
SMALLEST_RANGE = 0.3     # m of altitude that a dive must span before a rate can be told from chance
LARGEST_RATE = 2.0       # a metre; beyond, altitude stands for something else, such as sand below and reef above
ENOUGH = 8               # images
GAP = 8                  # px of white between the images of a comparison


@dataclass(frozen=True)
class WaterModel:
    """What was learned of one dive."""

    pattern: np.ndarray   # (48, 64, 3) natural logarithm of the light relative to its mean over the frame
    rate: np.ndarray      # (3,) fall of the logarithm of red, green, blue a metre of altitude; 0 where not known
    gain: np.ndarray      # (3,) logarithm of what makes the dive's average colour grey
    altitude: float       # m, to which images are brought

    def correct(self, image: np.ndarray, altitude: float | None = None) -> np.ndarray:
        """The RGB uint8 image as it were at the model's altitude under even white light. Without an altitude the
        fading is left alone."""
        image = as_rgb(image)
        rise = 0.0 if altitude is None or not np.isfinite(altitude) else altitude - self.altitude
        factor = np.exp(np.clip(self.gain + self.rate * rise - self.pattern, None, np.log(LARGEST_GAIN)))
        wide = _enlarged(factor.astype(np.float32), image.shape[:2])
        return np.clip((image + np.float32(1)) * wide - np.float32(0.5), 0, 255).astype(np.uint8)

    def arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays, for storing; `WaterModel(**arrays)` is the model again."""
        return {"pattern": self.pattern, "rate": self.rate, "gain": self.gain, "altitude": np.array(self.altitude)}

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray]) -> "WaterModel":
        return cls(arrays["pattern"], arrays["rate"], arrays["gain"], float(arrays["altitude"]))


def learn_water(images: Iterable[np.ndarray], altitudes: Sequence[float | None] | None = None) -> WaterModel:
    """Learns from RGB uint8 images of one dive (a hundred are plenty) and their altitudes in metres, None or NaN where
    there is none."""
    logs = np.array([np.log((resize(as_rgb(image), *GRID) + np.float32(1)) / 256) for image in images])
    if len(logs) < ENOUGH:
        raise fail("water correction", f"{len(logs)} images to learn from",
                   f"a dive needs at least {ENOUGH}, or leave the correction out")
    levels = logs.mean(axis=(1, 2))
    heights = _heights(altitudes, len(logs))
    rate = _rates(levels, heights)
    middle = float(np.nanmedian(heights)) if np.isfinite(heights).any() else 0.0
    rise = np.where(np.isfinite(heights), heights - middle, 0)
    colour = np.median(levels + rise[:, None] * rate, axis=0)
    pattern = _smooth(np.median(logs - levels[:, None, None], axis=0))
    return WaterModel(pattern, rate, colour.mean() - colour, middle)


def side_by_side(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Both images in one, before on the left."""
    white = np.full((before.shape[0], GAP, 3), 255, dtype=np.uint8)
    return np.concatenate([as_rgb(before), white, as_rgb(after)], axis=1)


def _heights(altitudes: Sequence[float | None] | None, count: int) -> np.ndarray:
    if altitudes is None:
        return np.full(count, np.nan)
    heights = np.array([np.nan if height is None else height for height in altitudes], dtype=np.float64)
    if len(heights) != count:
        raise fail("altitudes", f"{len(heights)} for {count} images", "give one altitude per image")
    return heights


def _rates(levels: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """(3,) how much the logarithm of each colour falls a metre: the median over pairs of images (Theil and Sen), which
    a few odd frames do not move. A camera that sets its own exposure makes up for the loss all colours share, so the
    rate of the colour that travels best may come out below 0."""
    known = np.isfinite(heights)
    levels, heights = levels[known], heights[known]
    if len(heights) < ENOUGH or np.ptp(np.percentile(heights, [5, 95])) < SMALLEST_RANGE:
        return np.zeros(3)
    one, other = np.triu_indices(len(heights), 1)
    run = heights[one] - heights[other]
    apart = np.abs(run) > 0.25 * np.ptp(heights)  # close pairs say little and their slopes are wild
    slopes = (levels[one] - levels[other])[apart] / run[apart, None]
    return np.clip(-np.median(slopes, axis=0), -LARGEST_RATE, LARGEST_RATE)


def _smooth(pattern: np.ndarray) -> np.ndarray:
    """The least-squares polynomial surface through each plane of the pattern."""
    rows, columns = np.linspace(-1, 1, GRID[0]), np.linspace(-1, 1, GRID[1])
    powers = [(a, b) for a in range(DEGREE + 1) for b in range(DEGREE + 1 - a)]
    terms = np.stack([np.outer(rows**a, columns**b).ravel() for a, b in powers], axis=1)
    flat = pattern.reshape(-1, pattern.shape[2])
    return (terms @ np.linalg.lstsq(terms, flat, rcond=None)[0]).reshape(pattern.shape)


def _enlarged(planes: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    grown = [Image.fromarray(planes[:, :, c]).resize(shape[::-1], Image.Resampling.BILINEAR) for c in range(3)]
    return np.stack([np.asarray(plane) for plane in grown], axis=2)
