"""iFDO (image FAIR Digital Object) files, version 2, as JSON or YAML.

Any field may stand in the header, as a default, or in an item, which wins. Heights are read under the schema's name
and under the one BIIGLE writes.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.exchange import values
from engine.exchange.documents import read_document
from engine.exchange.moments import moment
from engine.exchange.records import Complaints, ImageRecord, Reading
from engine.exchange.rows import SHA256, cleaned
from engine.problems import fail

HEADER, ITEMS = "image-set-header", "image-set-items"
ANNOTATIONS = "image-annotations"
USED = {  # catalogue field: iFDO names, the schema's first
    "latitude": (("image-latitude",), values.latitude),
    "longitude": (("image-longitude",), values.longitude),
    "elevation": (("image-altitude-meters", "image-altitude"), values.elevation),
    "altitude": (("image-meters-above-ground",), values.altitude),
    "heading": (("image-camera-yaw-degrees",), values.number),
    "pitch": (("image-camera-pitch-degrees",), values.number),
    "roll": (("image-camera-roll-degrees",), values.number),
    "area": (("image-area-square-meters", "image-area-square-meter"), values.number),
}
READ_ELSEWHERE = frozenset({
    "image-datetime", "image-datetime-format", "image-event", "image-project", "image-hash-sha256", ANNOTATIONS,
    *(name for names, _ in USED.values() for name in names)})
LARGEST_DETAIL = 10_000  # characters of a single field kept with an image


def is_ifdo(document: Any) -> bool:
    return isinstance(document, Mapping) and HEADER in document and ITEMS in document


def open_ifdo(data: bytes, *, source: str) -> Mapping[str, Any]:
    """The document; BadInput when it is not an iFDO file."""
    document = read_document(data, source=source, complaints=Complaints(source))
    if not is_ifdo(document):
        raise fail(source, "is no iFDO file", f"it needs the keys {HEADER} and {ITEMS}")
    return document


def read_ifdo(data: bytes, *, source: str) -> Reading:
    """Records of the images, with the fields of the whole set among the details."""
    return read_parsed(open_ifdo(data, source=source), source=source)


def read_parsed(document: Mapping[str, Any], *, source: str) -> Reading:
    """`read_ifdo` for a document already opened."""
    complaints = Complaints(source)
    header = document[HEADER] if isinstance(document[HEADER], Mapping) else {}
    if not header:
        complaints.add(HEADER, "is empty or no object", "check the file")
    defaults = {name: value for name, value in header.items() if not str(name).startswith("image-set-")}
    records, annotated = [], 0
    for name, item in _items(document[ITEMS], complaints):
        annotated += bool(item.get(ANNOTATIONS))
        record = _record(name, defaults, item, complaints)
        if record:
            records.append(record)
    losses = [f"{source}: labels of {annotated:,} images stay in the file"] if annotated else []
    return Reading(tuple(records), complaints.problems(), tuple(losses), _of_the_set(header))


def _items(items: Any, complaints: Complaints) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """File name and fields of each image; an item may be one object or a list that begins with it."""
    if not isinstance(items, Mapping):
        complaints.add(ITEMS, "is no object with a key per image", "check the file")
        return
    for name, item in items.items():
        first = item[0] if isinstance(item, list) and item else item
        if isinstance(item, list) and len(item) > 1:
            complaints.add(f"item {values.shown(name)}", f"has {len(item)} moments, as a video; the first is used",
                           "import still images", "items with several moments")
        if isinstance(first, Mapping):
            yield str(name), first
        else:
            complaints.add(f"item {values.shown(name)}", "is no object", "check the file", "items that are no objects")


def _record(
    name: str, defaults: Mapping[str, Any], item: Mapping[str, Any], complaints: Complaints
) -> ImageRecord | None:
    place, whole = f"item {values.shown(name)}", {**defaults, **item}
    if not cleaned(name):
        complaints.add(place, "names no image", "name the file", "items without a name")
        return None
    found = {field: _first(names, read, whole, place, complaints) for field, (names, read) in USED.items()}
    both = found["latitude"] is not None and found["longitude"] is not None
    below = found["elevation"]
    details = {field: found[field] for field in ("heading", "pitch", "roll", "area") if found[field] is not None}
    if below is not None and below > 0:
        details["elevation"] = below
    return ImageRecord(
        image=cleaned(name), group=_named(whole.get("image-event")), collection=_named(whole.get("image-project")),
        taken_at=_moment(whole, place, complaints), latitude=found["latitude"] if both else None,
        longitude=found["longitude"] if both else None, depth=-below if below is not None and below <= 0 else None,
        altitude=found["altitude"], sha256=_hash(item.get("image-hash-sha256")), details=details | _rest(item))


def _first(names: tuple[str, ...], read: Any, whole: Mapping[str, Any], place: str, complaints: Complaints) -> Any:
    for name in names:
        try:
            found = read(whole.get(name))
        except ValueError as error:
            complaints.add(place, f"{name}: {error}", "give a plain number", f"{name} that cannot be used")
            continue
        if found is not None:
            return found
    return None


def _moment(whole: Mapping[str, Any], place: str, complaints: Complaints) -> float | None:
    form = whole.get("image-datetime-format")
    try:
        return moment(whole.get("image-datetime"), form=form if isinstance(form, str) else None)
    except ValueError as error:
        complaints.add(place, f"image-datetime: {error}", "use 2019-05-13 13:14:15.000000, in UTC", "image-datetime")
        return None


def _named(value: Any) -> str | None:
    """The name of an event or project, which is an object in version 2 and was a text before."""
    return values.text(value.get("name") if isinstance(value, Mapping) else None if isinstance(value, list) else value)


def _hash(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) and re.fullmatch(SHA256, value) else None


def _rest(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields we have no use for, kept so that an export can give them back."""
    return {str(name): value for name, value in fields.items()
            if name not in READ_ELSEWHERE and not values.is_missing(value) and _is_keepable(value)}


def _of_the_set(header: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in header.items() if name != ANNOTATIONS and _is_keepable(value)}


def _is_keepable(value: Any) -> bool:
    """Whether a value is JSON and, written out, stays within the limit; counts no further than that."""
    left, waiting = LARGEST_DETAIL, [value]
    while waiting and left > 0:
        one = waiting.pop()
        if isinstance(one, Mapping):
            left -= sum(len(str(name)) + 2 for name in one)
            waiting += one.values()
        elif isinstance(one, list):
            left -= len(one)
            waiting += one[:left + 1]
        elif isinstance(one, float) and not math.isfinite(one):  # 1e999
            return False
        else:
            left -= len(one) if isinstance(one, str) else 8
    return left > 0
