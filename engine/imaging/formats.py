"""Which image formats are read, told apart by content and never by name; each knows how to open itself.

The plugin classes are called directly: Pillow's own `open` would also try decoders nobody needs here, and its pixel
limit is one global number for the whole process.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

# Decoders warn about broken metadata; over 100,000 files that would bury what matters, which BadImage and notes tell.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")

HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"heif")


@dataclass(frozen=True)
class Format:
    name: str
    suffixes: frozenset[str]
    recognises: Callable[[bytes], bool]      # of the first 32 bytes
    open: Callable[[bytes], Image.Image]     # header only; pixels are decoded when asked for
    turns_itself: bool = False               # the decoder already applies the orientation


def _open_heif(data: bytes) -> Image.Image:
    import pi_heif  # late: 20 ms that most campaigns never need

    return pi_heif.open_heif(BytesIO(data), convert_hdr_to_8bit=True)


def _begins(*signatures: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(signatures)


def _is_webp(head: bytes) -> bool:
    return head[:4] == b"RIFF" and head[8:12] == b"WEBP"


def _is_heif(head: bytes) -> bool:
    return head[4:8] == b"ftyp" and head[8:12] in HEIF_BRANDS


FORMATS = (
    Format("JPEG", frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"}), _begins(b"\xff\xd8\xff"),
           lambda data: JpegImageFile(BytesIO(data))),
    Format("PNG", frozenset({".png", ".apng"}), _begins(b"\x89PNG\r\n\x1a\n"),
           lambda data: PngImageFile(BytesIO(data))),
    Format("TIFF", frozenset({".tif", ".tiff", ".gtif", ".gtiff"}), _begins(b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
           lambda data: TiffImageFile(BytesIO(data)), turns_itself=True),
    Format("WebP", frozenset({".webp"}), _is_webp, lambda data: WebPImageFile(BytesIO(data))),
    Format("HEIF", frozenset({".heic", ".heif", ".hif"}), _is_heif, _open_heif, turns_itself=True),
)
SUFFIXES = frozenset().union(*(kind.suffixes for kind in FORMATS))

# What files called .jpg have been found to hold instead: naming it saves a person an hour.
FOREIGN = {
    "a GIF image": (b"GIF8",), "a BMP image": (b"BM",), "a PDF document": (b"%PDF",), "a Photoshop file": (b"8BPS",),
    "a web page": (b"<!doctype", b"<html", b"<!DOCTYPE", b"<HTML"), "a ZIP archive": (b"PK\3\4",),
    "a gzip archive": (b"\x1f\x8b",), "an XML text": (b"<?xml", b"<svg"), "a program": (b"\x7fELF", b"MZ", b"#!"),
    "a HDF5 or NetCDF file": (b"\x89HDF", b"CDF\1", b"CDF\2"), "a Matlab file": (b"MATLAB",),
    "a video": (b"\x1a\x45\xdf\xa3", b"\0\0\1\xba"), "a JPEG 2000 image": (b"\0\0\0\x0cjP", b"\xff\x4f\xff\x51"),
}


def recognise(head: bytes) -> Format | None:
    """The format of content that begins with these bytes, or None."""
    return next((kind for kind in FORMATS if kind.recognises(head)), None)


def describe_foreign(head: bytes) -> str:
    """What content we do not read seems to be."""
    if not head.strip(b"\0"):
        return "nothing but zero bytes"
    if head[4:8] == b"ftyp":
        return "an AVIF image" if head[8:12] in (b"avif", b"avis") else "a video"
    named = (name for name, signatures in FOREIGN.items() if head.startswith(signatures))
    return next(named, "text" if _is_text(head) else "no known kind of image")


def _is_text(head: bytes) -> bool:
    return all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head)
