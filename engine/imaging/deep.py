"""Colour images of 16 bits a sample: Pillow keeps the upper eight, which leaves a 12-bit camera's images near black.

Its unpackers take the upper byte by the stated byte order; stating the other order yields the lower byte. So a dark
image is decoded a second time for its lower bytes, and the samples are put together.
"""

import sys

import numpy as np
from PIL import Image

from engine.imaging.samples import to_bytes

NATIVE = {"little": "16L", "big": "16B"}[sys.byteorder]
OTHER = {"16L": "16B", "16B": "16L"}
BRIGHT = 0x3F  # an upper byte beyond it uses more than 14 of the 16 bits: the upper bytes are the image


def is_deep_colour(image: Image.Image) -> bool:
    """Whether an opened, not yet loaded image has three or four 16-bit samples a pixel."""
    return image.mode in ("RGB", "RGBA") and bool(image.tile) and all(_order(tile) for tile in image.tile)


def is_dark(image: Image.Image) -> bool:
    """Whether the upper bytes of a loaded deep image leave two or more bits unused."""
    return all(brightest <= BRIGHT for _, brightest in image.getextrema()[:3])


def with_lower_bytes(upper: Image.Image, unloaded: Image.Image) -> Image.Image:
    """The deep image whose upper bytes are loaded, scaled to 8 bits by all 16; `unloaded` is the same file anew."""
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
    raw, *rest = (args,) if isinstance(args, str) else args
    mode, _, ending = raw.rpartition(";")
    swapped = f"{mode};{OTHER[NATIVE if ending == '16N' else ending]}"
    return swapped if isinstance(args, str) else (swapped, *rest)
