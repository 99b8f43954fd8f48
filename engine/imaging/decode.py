"""Decode image files to RGB pixels.

Formats are recognised by content, never by name. The plugin classes of Pillow are called directly, because `Image.open`
would also try decoders that are not needed here, and its pixel limit is one global number for the process.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from benthoscope.engine.imaging.errors import COPY_AGAIN, readable, refuse, translated
from benthoscope.engine.imaging.files import read_bytes
from benthoscope.engine.imaging.sixteen_bit import SHARPEST, fitted, is_dark, is_deep_colour, to_rgb, with_lower_bytes
from benthoscope.engine.imaging.tags import ORIENTATION, Tags

# Decoders warn about broken metadata. With 100,000 files, this would hide the problems that matter, which BadImage and
# notes report.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")

HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"heif")


@dataclass(frozen=True)
class Format:
    name: str
    suffixes: frozenset[str]
    recognises: Callable[[bytes], bool]  # from the first 32 bytes
    open: Callable[[bytes], Image.Image]  # reads the header only; pixels are decoded on access
    turns_itself: bool = False  # whether the decoder applies the orientation itself


def _open_heif(data: bytes) -> Image.Image:
    import pi_heif  # imported late: takes 20 ms and most workspaces never need it

    return pi_heif.open_heif(BytesIO(data), convert_hdr_to_8bit=True)


def _begins(*signatures: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(signatures)


def _is_webp(head: bytes) -> bool:
    return head[:4] == b"RIFF" and head[8:12] == b"WEBP"


def _is_heif(head: bytes) -> bool:
    return head[4:8] == b"ftyp" and head[8:12] in HEIF_BRANDS


FORMATS = (
    Format(
        "JPEG",
        frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"}),
        _begins(b"\xff\xd8\xff"),
        lambda data: JpegImageFile(BytesIO(data)),
    ),
    Format(
        "PNG", frozenset({".png", ".apng"}), _begins(b"\x89PNG\r\n\x1a\n"), lambda data: PngImageFile(BytesIO(data))
    ),
    Format(
        "TIFF",
        frozenset({".tif", ".tiff", ".gtif", ".gtiff"}),
        _begins(b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
        lambda data: TiffImageFile(BytesIO(data)),
        turns_itself=True,
    ),
    Format("WebP", frozenset({".webp"}), _is_webp, lambda data: WebPImageFile(BytesIO(data))),
    Format("HEIF", frozenset({".heic", ".heif", ".hif"}), _is_heif, _open_heif, turns_itself=True),
)
SUFFIXES = frozenset().union(*(kind.suffixes for kind in FORMATS))

# Other content found in files called .jpg. Naming it helps the user to find the cause.
FOREIGN = {
    "a GIF image": (b"GIF8",),
    "a BMP image": (b"BM",),
    "a PDF document": (b"%PDF",),
    "a Photoshop file": (b"8BPS",),
    "a web page": (b"<!doctype", b"<html", b"<!DOCTYPE", b"<HTML"),
    "a ZIP archive": (b"PK\3\4",),
    "a gzip archive": (b"\x1f\x8b",),
    "an XML text": (b"<?xml", b"<svg"),
    "a program": (b"\x7fELF", b"MZ", b"#!"),
    "a HDF5 or NetCDF file": (b"\x89HDF", b"CDF\1", b"CDF\2"),
    "a Matlab file": (b"MATLAB",),
    "a video": (b"\x1a\x45\xdf\xa3", b"\0\0\1\xba"),
    "a JPEG 2000 image": (b"\0\0\0\x0cjP", b"\xff\x4f\xff\x51"),
}


def recognise(head: bytes) -> Format | None:
    """Return the format of content that begins with these bytes, or None."""
    return next((kind for kind in FORMATS if kind.recognises(head)), None)


def describe_foreign(head: bytes) -> str:
    """Return a description of content that is not a supported image."""
    if not head.strip(b"\0"):
        return "nothing but zero bytes"
    if head[4:8] == b"ftyp":
        return "an AVIF image" if head[8:12] in (b"avif", b"avis") else "a video"
    named = (name for name, signatures in FOREIGN.items() if head.startswith(signatures))
    return next(named, "text" if _is_text(head) else "no known kind of image")


def _is_text(head: bytes) -> bool:
    return all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head)


# three 40-megapixel panoramas side by side; 0.36 GB of RGB, so that a 4 GB laptop can hold two
MAX_PIXELS = 120_000_000
UNFINISHED = bytes(512)  # an interrupted copy leaves a file of full length with zeros at its end
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def read_image(path: str | Path, *, longest: int | None = None) -> np.ndarray:
    """Return the first frame as (H, W, 3) uint8 RGB, upright. With `longest`, no side is longer; never enlarges.

    Raises BadImage with one reason in plain words. 16-bit samples are scaled to 8 bits; transparent pixels become
    black.
    """
    return decode(read_bytes(Path(path)), where=readable(path), longest=longest)


def decode(data: bytes, *, where: str, longest: int | None = None) -> np.ndarray:
    """Like `read_image`, for bytes already read. `where` names them in errors."""
    return np.asarray(decode_picture(data, where=where, longest=longest))


def decode_picture(
    data: bytes, *, where: str, longest: int | None = None, resampling: Image.Resampling = SHARPEST
) -> Image.Image:
    """Like `decode`, but returns a Pillow image of mode RGB, reduced with this filter."""
    kind, image = open_picture(data, where=where)
    try:
        turn = None if kind.turns_itself else TURNS.get(orientation(image))
        upright = to_rgb(_loaded(kind, data, image, longest), longest, resampling)
        return upright.transpose(turn) if turn is not None else upright
    except Exception as error:  # corrupt files make decoders raise almost any built-in error
        raise translated(error, where, kind.name) from error


def open_picture(data: bytes, *, where: str) -> tuple[Format, Image.Image]:
    """Return the format and the image with its header read, but no pixels. Raises for files that must not be
    decoded."""
    kind = recognise(data[:32])
    if kind is None:
        content = describe_foreign(data[:32])
        raise refuse(
            where,
            f"not a readable image: it contains {content}",
            "use JPEG, PNG, TIFF, WebP or HEIF" if content.endswith(" image") else COPY_AGAIN,
        )
    if kind.name == "JPEG" and data.endswith(UNFINISHED):
        raise refuse(where, "ends in zeros, because copying it was interrupted", COPY_AGAIN)
    try:
        image = kind.open(data)
        width, height = image.size
    except Exception as error:  # see above
        raise translated(error, where, kind.name) from error
    if width * height > MAX_PIXELS:
        reason = f"{width} x {height} pixels, more than the limit of {MAX_PIXELS // 10**6} million"
        raise refuse(where, reason, "split it into tiles or reduce its size")
    return kind, image


def metadata_block(image: Image.Image) -> bytes:
    """Return the EXIF block of an opened image (for a TIFF file, the whole file)."""
    block = image.info.get("exif") or b""
    return block if isinstance(block, bytes) else b""


def orientation(image: Image.Image) -> int:
    """Return the EXIF orientation, 1 to 8; 1 if the value is missing or invalid."""
    block = Tags(metadata_block(image))
    value = block.number(block.first, ORIENTATION)
    return int(value) if value is not None and value in range(1, 9) else 1


def _loaded(kind: Format, data: bytes, image: Image.Image, longest: int | None) -> Image.Image:
    if hasattr(image, "to_pillow"):  # HEIF
        return image.to_pillow()
    if is_deep_colour(image):
        unloaded = kind.open(data)
        image.load()
        return with_lower_bytes(image, unloaded) if is_deep_colour(unloaded) and is_dark(image) else image
    if longest is not None:
        # Only JPEG uses this: it then decodes at 1/2, 1/4 or 1/8, never below the requested size.
        image.draft(None, fitted(image.size, longest))
    image.load()
    return image
