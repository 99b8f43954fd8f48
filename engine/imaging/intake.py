"""Everything an import needs from a file, with a single read and a single decoding."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image

from benthoscope.engine.imaging.decode import decode_picture
from benthoscope.engine.imaging.errors import readable
from benthoscope.engine.imaging.files import read_file
from benthoscope.engine.imaging.metadata import ImageFacts, facts_of
from benthoscope.engine.imaging.sixteen_bit import shrunk

QUALITY = 85  # at lower quality, sand and silt, which look almost like noise, show block artefacts

# Takes half the time of the Lanczos filter, which descriptors use. The thumbnails differ by less than their JPEG
# compression changes them.
FILTER = Image.Resampling.HAMMING


def thumbnails(data: bytes, sizes: Sequence[int], *, where: str) -> dict[int, bytes]:
    """Return a JPEG for each size: the upright image with this longest side, or smaller if the image is smaller."""
    picture = decode_picture(data, where=where, longest=max(sizes), resampling=FILTER)
    made = {}
    for size in sorted(sizes, reverse=True):
        picture = shrunk(picture, size, FILTER)  # from the next larger one, at a tenth of the cost of the original
        made[size] = _jpeg(picture)
    return made


def _jpeg(picture: Image.Image) -> bytes:
    out = BytesIO()
    picture.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


@dataclass(frozen=True)
class Intake:
    """Results of reading a file. Size and time are those of the file when it was read; thumbnails are JPEGs by longest
    side."""

    size: int
    mtime_ns: int
    sha256: str
    facts: ImageFacts
    thumbnails: Mapping[int, bytes]


def take_in(path: Path, sizes: Sequence[int]) -> Intake:
    """Read, hash and inspect the image and create thumbnails. Raises BadImage with one reason in plain words."""
    data, status = read_file(path)
    where = readable(path)
    facts = facts_of(data, where=where, suffix=path.suffix)
    made = thumbnails(data, sizes, where=where)
    return Intake(status.st_size, status.st_mtime_ns, hashlib.sha256(data).hexdigest(), facts, made)
