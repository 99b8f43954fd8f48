"""Thumbnails of one image, from one decoding."""

from collections.abc import Sequence
from io import BytesIO

from PIL import Image

from engine.imaging.decode import decode_picture
from engine.imaging.samples import shrunk

QUALITY = 85  # below it sand and silt, which are nearly noise, turn into blocks


def thumbnails(data: bytes, sizes: Sequence[int], *, where: str) -> dict[int, bytes]:
    """For every size a JPEG of the upright image whose longest side is that size, or less where the image is less."""
    picture = decode_picture(data, where=where, longest=max(sizes))
    made = {}
    for size in sorted(sizes, reverse=True):
        picture = shrunk(picture, size)  # from the next larger one, which costs a tenth of starting over
        made[size] = _jpeg(picture)
    return made


def _jpeg(picture: Image.Image) -> bytes:
    out = BytesIO()
    picture.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()
