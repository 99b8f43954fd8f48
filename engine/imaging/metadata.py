"""Read the metadata of an image without decoding pixels: size, format, time and position."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image

from benthoscope.engine.imaging import tags as t
from benthoscope.engine.imaging.decode import Format, metadata_block, open_picture, orientation
from benthoscope.engine.imaging.errors import readable
from benthoscope.engine.imaging.files import read_bytes

TURNED = (5, 6, 7, 8)  # orientations that swap width and height


@dataclass(frozen=True)
class ImageFacts:
    """The metadata of an image. Width and height are those of the upright image. Missing values are None."""

    width: int
    height: int
    format: str  # "JPEG", "PNG", "TIFF", "WebP", "HEIF"
    taken_at: datetime | None = None  # UTC if the camera stored its offset, else the camera's clock interpreted as UTC
    zone_known: bool = False  # whether taken_at is certainly UTC
    latitude: float | None = None  # degrees, WGS 84
    longitude: float | None = None
    elevation: float | None = None  # metres above sea level, negative below it
    heading: float | None = None  # degrees from north
    area: float | None = None  # square metres
    camera: str = ""
    notes: tuple[str, ...] = ()  # remarks for the user about a usable image


def probe(path: str | Path) -> ImageFacts:
    """Return the metadata of an image file. Raises BadImage with one reason in plain words."""
    return facts_of(read_bytes(Path(path)), where=readable(path), suffix=Path(path).suffix)


def facts_of(data: bytes, *, where: str, suffix: str = "") -> ImageFacts:
    """Like `probe`, for bytes already read. The suffix of the file name is only compared with the content."""
    kind, image = open_picture(data, where=where)
    block = t.Tags(data if kind.name == "TIFF" else metadata_block(image))
    turned = not kind.turns_itself and orientation(image) in TURNED
    width, height = image.size[::-1] if turned else image.size
    taken_at, zone_known = _taken_at(block)
    latitude, longitude = _position(block)
    return ImageFacts(
        width,
        height,
        kind.name,
        taken_at,
        zone_known,
        latitude,
        longitude,
        _elevation(block),
        _heading(block),
        _positive(block.number(block.exif, t.SUBJECT_AREA)),
        _camera(block),
        tuple(_notes(kind, image, block, suffix)),
    )


def _notes(kind: Format, image: Image.Image, block: t.Tags, suffix: str) -> list[str]:
    notes = []
    if suffix and suffix.lower() not in kind.suffixes:
        notes.append(f"contains a {kind.name} image, but its name ends in {suffix}")
    if kind.name == "TIFF":
        overview = int(block.number(block.second, t.NEW_SUBFILE) or 0) & 1
        if block.second and not overview:
            notes.append("has several pages; the first one is used")
    elif getattr(image, "is_animated", False):
        notes.append("is animated; its first frame is used")
    if image.mode == "CMYK":
        notes.append("has CMYK colours, which were converted to RGB")
    return notes


def _taken_at(block: t.Tags) -> tuple[datetime | None, bool]:
    written = block.text(block.exif, t.ORIGINAL) or block.text(block.first, t.DATE_TIME)
    try:
        moment = datetime.strptime(written, "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return None, False
    if moment.year < 1900:  # cameras with an empty battery
        return None, False
    subseconds = block.text(block.exif, t.ORIGINAL_SUBSECONDS)
    if subseconds.isascii() and subseconds.isdigit():
        moment += timedelta(seconds=float(f"0.{subseconds}"))
    return _in_utc(moment, block.text(block.exif, t.ORIGINAL_OFFSET))


def _in_utc(moment: datetime, offset: str) -> tuple[datetime, bool]:
    try:
        zone = datetime.strptime(offset, "%z").tzinfo
        return moment.replace(tzinfo=zone).astimezone(UTC), True
    except (ValueError, OverflowError):
        return moment.replace(tzinfo=UTC), False


def _position(block: t.Tags) -> tuple[float | None, float | None]:
    latitude = _degrees(block, t.GPS_LATITUDE, t.GPS_LATITUDE_REF, "S", 90)
    longitude = _degrees(block, t.GPS_LONGITUDE, t.GPS_LONGITUDE_REF, "W", 180)
    if latitude is None or longitude is None or (latitude == 0 and longitude == 0):  # 0, 0: a receiver without a fix
        return None, None
    return latitude, longitude


def _degrees(block: t.Tags, tag: int, reference: int, negative: str, limit: int) -> float | None:
    values = block.gps.get(tag)
    if not isinstance(values, tuple) or not 1 <= len(values) <= 3:
        return None
    degrees = sum(value / 60**power for power, value in enumerate(values))
    sign = -1 if block.text(block.gps, reference).upper().startswith(negative) else 1
    return sign * degrees if math.isfinite(degrees) and 0 <= degrees <= limit else None


def _elevation(block: t.Tags) -> float | None:
    height = block.number(block.gps, t.GPS_ALTITUDE)
    if height is None or not math.isfinite(height):
        return None
    below = block.number(block.gps, t.GPS_ALTITUDE_REF) == 1
    return -abs(height) if below else height


def _heading(block: t.Tags) -> float | None:
    heading = block.number(block.gps, t.GPS_DIRECTION)
    return heading if heading is not None and 0 <= heading <= 360 else None


def _positive(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value > 0 else None


def _camera(block: t.Tags) -> str:
    make, model = block.text(block.first, t.MAKE), block.text(block.first, t.MODEL)
    name = model if model.lower().startswith(make.lower()) else f"{make} {model}"
    return "".join(letter for letter in name if letter.isprintable()).strip()
