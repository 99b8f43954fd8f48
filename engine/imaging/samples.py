"""Whatever the samples of a decoded image are (16 bits, CMYK, palette, alpha): 8-bit RGB in the end."""

import numpy as np
from PIL import Image

DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")
DEPTHS = (8, 12, 14, 16)  # bits that cameras really fill in a 16-bit sample
SEE_THROUGH = ("RGBA", "LA", "PA", "RGBa", "La")


def to_rgb(image: Image.Image, longest: int | None = None) -> Image.Image:
    """The image as mode RGB, shrunk so that no side is longer than `longest`."""
    if image.mode in DEEP:
        image = Image.fromarray(to_bytes(np.asarray(image)))
    if image.mode == "1":
        image = image.convert("L")
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode in SEE_THROUGH:
        image = on_black(image)
    return shrunk(image, longest).convert("RGB")


def to_bytes(samples: np.ndarray) -> np.ndarray:
    """16-bit, 32-bit or float samples as uint8.

    A camera that fills only 12 of 16 bits would come out black under a fixed scale, and a scale taken from each
    image's maximum would make frames of one dive flicker: the depth is the least usual one that holds every sample.
    """
    finite = np.nan_to_num(samples.astype(np.float32, copy=False), nan=0.0, posinf=0.0, neginf=0.0)
    brightest = float(finite.max(initial=0.0))
    if np.issubdtype(samples.dtype, np.floating) and brightest <= 1.0:
        ceiling = 1.0  # reflectances
    else:
        ceiling = next((2.0**bits - 1 for bits in DEPTHS if brightest <= 2**bits - 1), brightest)
    return (finite.clip(0.0, ceiling) * (255.0 / ceiling)).round().astype(np.uint8)


def on_black(image: Image.Image) -> Image.Image:
    """Transparent pixels black, as the border of a mosaic is; what colour lies hidden under them does not show."""
    opaque = image.convert("RGBA")
    ground = Image.new("RGBA", opaque.size, (0, 0, 0, 255))
    return Image.alpha_composite(ground, opaque).convert("RGB")


def shrunk(image: Image.Image, longest: int | None) -> Image.Image:
    """The image with no side longer than `longest`, never enlarged."""
    if longest is None or max(image.size) <= longest:
        return image
    return image.resize(fitted(image.size, longest), Image.Resampling.LANCZOS, reducing_gap=2.0)


def fitted(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """The size with its proportions kept and no side longer than `longest`, never enlarged, never below one pixel."""
    scale = min(1.0, longest / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
