"""From a file's bytes to RGB pixels."""

from pathlib import Path

import numpy as np
from PIL import Image

from engine.imaging.deep import is_dark, is_deep_colour, with_lower_bytes
from engine.imaging.files import read_bytes
from engine.imaging.formats import Format, describe_foreign, recognise
from engine.imaging.refusals import COPY_AGAIN, readable, refuse, translated
from engine.imaging.samples import fitted, to_rgb
from engine.imaging.tags import ORIENTATION, Tags

MAX_PIXELS = 120_000_000  # three 40-megapixel panoramas side by side; 0.36 GB of RGB, so a 4 GB laptop survives two
UNFINISHED = bytes(512)   # an interrupted copy leaves the file at its full length, zeros at its end
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def read_image(path: str | Path, *, longest: int | None = None) -> np.ndarray:
    """(H, W, 3) uint8 RGB, upright, of the first frame; with `longest` no side is longer (never enlarged).

    Raises BadImage with one plain reason. 16-bit samples are scaled to 8, transparent pixels become black.
    """
    return decode(read_bytes(Path(path)), where=readable(path), longest=longest)


def decode(data: bytes, *, where: str, longest: int | None = None) -> np.ndarray:
    """`read_image` for bytes already read; `where` names them in errors."""
    return np.asarray(decode_picture(data, where=where, longest=longest))


def decode_picture(data: bytes, *, where: str, longest: int | None = None) -> Image.Image:
    """`decode` as a Pillow image of mode RGB, for those who go on with Pillow."""
    kind, image = open_picture(data, where=where)
    try:
        turn = None if kind.turns_itself else TURNS.get(orientation(image))
        upright = to_rgb(_loaded(kind, data, image, longest), longest)
        return upright.transpose(turn) if turn is not None else upright
    except Exception as error:  # decoders raise nearly every built-in error over hostile bytes
        raise translated(error, where, kind.name) from error


def open_picture(data: bytes, *, where: str) -> tuple[Format, Image.Image]:
    """The format and the image with its header read, its pixels not yet; refuses what must not be decoded."""
    kind = recognise(data[:32])
    if kind is None:
        held = describe_foreign(data[:32])
        raise refuse(where, f"not an image that can be read: it holds {held}",
                     "use JPEG, PNG, TIFF, WebP or HEIF" if held.endswith(" image") else COPY_AGAIN)
    if kind.name == "JPEG" and data.endswith(UNFINISHED):
        raise refuse(where, "ends in zeros: copying it was interrupted", COPY_AGAIN)
    try:
        image = kind.open(data)
        width, height = image.size
    except Exception as error:  # see above
        raise translated(error, where, kind.name) from error
    if width * height > MAX_PIXELS:
        told = f"{width} x {height} pixels, more than the {MAX_PIXELS // 10**6} million an image may have"
        raise refuse(where, told, "cut it into tiles or save it smaller")
    return kind, image


def metadata_block(image: Image.Image) -> bytes:
    """The EXIF block of an opened image (of a TIFF file the whole file is one)."""
    block = image.info.get("exif") or b""
    return block if isinstance(block, bytes) else b""


def orientation(image: Image.Image) -> int:
    """How the picture must be turned to be upright, 1 to 8; 1 when nothing sensible is said."""
    block = Tags(metadata_block(image))
    value = block.number(block.first, ORIENTATION)
    return int(value) if value in range(1, 9) else 1


def _loaded(kind: Format, data: bytes, image: Image.Image, longest: int | None) -> Image.Image:
    if hasattr(image, "to_pillow"):  # HEIF
        return image.to_pillow()
    if is_deep_colour(image):
        image.load()
        return with_lower_bytes(image, kind.open(data)) if is_dark(image) else image
    if longest is not None:
        # Only JPEG listens: it then decodes at 1/2, 1/4 or 1/8, never below the size asked for.
        image.draft(None, fitted(image.size, longest))
    image.load()
    return image
