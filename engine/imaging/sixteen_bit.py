"""Convert decoded samples of any kind (16 bits, CMYK, palette, alpha) to 8-bit RGB.

Pillow keeps only the upper byte of colour images with 16 bits per sample, so images of 12-bit cameras become almost
black. It selects the upper byte by the stated byte order; with the opposite order it returns the lower byte. A dark
image is therefore decoded twice, and both bytes are combined.
"""

import sys
from typing import TypeGuard

import numpy as np
from PIL import Image, ImageFile

DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")
DEPTHS = (8, 12, 14, 16)  # number of bits that cameras use in a 16-bit sample
SEE_THROUGH = ("RGBA", "LA", "PA", "RGBa", "La")
SHARPEST = Image.Resampling.LANCZOS


def to_rgb(image: Image.Image, longest: int | None = None, resampling: Image.Resampling = SHARPEST) -> Image.Image:
    """Return the image in mode RGB, reduced so that no side is longer than `longest`."""
    if image.mode in DEEP:
        image = Image.fromarray(to_bytes(np.asarray(image)))
    if image.mode == "1":
        image = image.convert("L")
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode in SEE_THROUGH:
        image = on_black(image)
    small = shrunk(image, longest, resampling)
    return small if small.mode == "RGB" else small.convert("RGB")


def to_bytes(samples: np.ndarray) -> np.ndarray:
    """Convert 16-bit, 32-bit or float samples to uint8.

    The depth is the smallest common one that contains all samples. With a fixed depth, cameras that use 12 of 16 bits
    would give black images; with a scale from each image's maximum, the brightness of a dive would flicker.
    """
    finite = np.nan_to_num(samples.astype(np.float32, copy=False), nan=0.0, posinf=0.0, neginf=0.0)
    brightest = float(finite.max(initial=0.0))
    if np.issubdtype(samples.dtype, np.floating) and brightest <= 1.0:
        ceiling = 1.0  # reflectances
    else:
        ceiling = next((2.0**bits - 1 for bits in DEPTHS if brightest <= 2**bits - 1), brightest)
    return (finite.clip(0.0, ceiling) * (255.0 / ceiling)).round().astype(np.uint8)


def on_black(image: Image.Image) -> Image.Image:
    """Make transparent pixels black, like the border of a mosaic. Hidden colours below them stay invisible."""
    opaque = image.convert("RGBA")
    ground = Image.new("RGBA", opaque.size, (0, 0, 0, 255))
    return Image.alpha_composite(ground, opaque).convert("RGB")


def shrunk(image: Image.Image, longest: int | None, resampling: Image.Resampling = SHARPEST) -> Image.Image:
    """Return the image with no side longer than `longest`; never enlarges."""
    if longest is None or max(image.size) <= longest:
        return image
    return image.resize(fitted(image.size, longest), resampling, reducing_gap=2.0)


def fitted(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """Return the size with the same proportions and no side longer than `longest`; never enlarges, at least one
    pixel."""
    scale = min(1.0, longest / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


NATIVE = {"little": "16L", "big": "16B"}[sys.byteorder]
OTHER = {"16L": "16B", "16B": "16L"}
BRIGHT = 0x3F  # a larger upper byte means that more than 14 of the 16 bits are used, so the upper bytes suffice


def is_deep_colour(image: Image.Image) -> TypeGuard[ImageFile.ImageFile]:
    """Return whether an opened, not yet loaded image has three or four 16-bit samples per pixel."""
    if not isinstance(image, ImageFile.ImageFile) or image.mode not in ("RGB", "RGBA"):
        return False
    return bool(image.tile) and all(_order(tile) for tile in image.tile)


def is_dark(image: Image.Image) -> bool:
    """Return whether the upper bytes of a loaded 16-bit image leave two or more bits unused."""
    return int(np.asarray(image)[..., :3].max(initial=0)) <= BRIGHT


def with_lower_bytes(upper: Image.Image, unloaded: ImageFile.ImageFile) -> Image.Image:
    """Combine the loaded upper bytes with the lower bytes of `unloaded`, the same file opened again. Scales all 16 bits
    to 8."""
    unloaded.tile = [tile._replace(args=_swapped(tile.args)) for tile in unloaded.tile]
    unloaded.load()
    high, low = np.asarray(upper), np.asarray(unloaded)
    samples = (high[..., :3].astype(np.uint16) << 8) | low[..., :3]
    colours = Image.fromarray(to_bytes(samples))
    return colours if upper.mode == "RGB" else Image.merge("RGBA", (*colours.split(), upper.getchannel("A")))


def _order(tile) -> str:
    raw = tile.args if isinstance(tile.args, str) else next(iter(tile.args), "")
    ending = str(raw).rpartition(";")[2]
    return NATIVE if ending == "16N" else ending if ending in OTHER else ""


def _swapped(args):
    raw, *options = (args,) if isinstance(args, str) else args
    mode, _, ending = raw.rpartition(";")
    swapped = f"{mode};{OTHER[NATIVE if ending == '16N' else ending]}"
    return swapped if isinstance(args, str) else (swapped, *options)
