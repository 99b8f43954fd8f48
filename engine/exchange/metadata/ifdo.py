"""Read iFDO (image FAIR Digital Object) files, version 2, as JSON or YAML.

A field may be in the header, as a default, or in an item, which takes precedence. Heights are read under the name of
the schema and under the one that BIIGLE writes.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from benthoscope.engine.exchange.metadata.columns import SHA256, cleaned
from benthoscope.engine.exchange.parsing import values
from benthoscope.engine.exchange.parsing.documents import read_document
from benthoscope.engine.exchange.parsing.values import moment
from benthoscope.engine.exchange.records import Complaints, ImageRecord, Reading
from benthoscope.engine.problems import fail

HEADER, ITEMS = "image-set-header", "image-set-items"
ANNOTATIONS = "image-annotations"
USED = {  # catalogue field: iFDO names, that of the schema first
    "latitude": (("image-latitude",), values.latitude),
    "longitude": (("image-longitude",), values.longitude),
    "elevation": (("image-altitude-meters", "image-altitude"), values.elevation),
    "altitude": (("image-meters-above-ground",), values.altitude),
    "heading": (("image-camera-yaw-degrees",), values.number),
    "pitch": (("image-camera-pitch-degrees",), values.number),
    "roll": (("image-camera-roll-degrees",), values.number),
    "area": (("image-area-square-meters", "image-area-square-meter"), values.number),
}
READ_ELSEWHERE = frozenset(
    {
        "image-datetime",
        "image-datetime-format",
        "image-event",
        "image-project",
        "image-hash-sha256",
        ANNOTATIONS,
        *(name for names, _ in USED.values() for name in names),
    }
)
LARGEST_DETAIL = 10_000  # characters of a single field stored with an image


def is_ifdo(document: Any) -> bool:
    return isinstance(document, Mapping) and HEADER in document and ITEMS in document


def open_ifdo(data: bytes, *, source: str) -> Mapping[str, Any]:
    """Return the document; BadInput if it is not an iFDO file."""
    document = read_document(data, source=source, complaints=Complaints(source))
    if not is_ifdo(document):
        raise fail(source, "is not an iFDO file", f"it needs the keys {HEADER} and {ITEMS}")
    return document


def read_ifdo(data: bytes, *, source: str) -> Reading:
    """Read records of the images, with the fields of the whole set among the details."""
    return read_parsed(open_ifdo(data, source=source), source=source)


def read_parsed(document: Mapping[str, Any], *, source: str) -> Reading:
    """Like `read_ifdo`, for an opened document."""
    complaints = Complaints(source)
    header = document[HEADER] if isinstance(document[HEADER], Mapping) else {}
    if not header:
        complaints.add(HEADER, "is empty or not an object", "check the file")
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
    """Yield the file name and fields of each image. An item may be an object or a list that begins with one."""
    if not isinstance(items, Mapping):
        complaints.add(ITEMS, "is not an object with one key per image", "check the file")
        return
    for name, item in items.items():
        first = item[0] if isinstance(item, list) and item else item
        if isinstance(item, list) and len(item) > 1:
            complaints.add(
                f"item {values.shown(name)}",
                f"has {len(item)} times, like a video; the first one is used",
                "import still images",
                "items with several times",
            )
        if isinstance(first, Mapping):
            yield str(name), first
        else:
            complaints.add(
                f"item {values.shown(name)}", "is not an object", "check the file", "items that are not objects"
            )


def _record(
    name: str, defaults: Mapping[str, Any], item: Mapping[str, Any], complaints: Complaints
) -> ImageRecord | None:
    location, merged = f"item {values.shown(name)}", {**defaults, **item}
    if not cleaned(name):
        complaints.add(location, "has no image", "add the file name", "items without a name")
        return None
    fields = {field: _first(names, read, merged, location, complaints) for field, (names, read) in USED.items()}
    both = fields["latitude"] is not None and fields["longitude"] is not None
    below = fields["elevation"]
    details = {field: fields[field] for field in ("heading", "pitch", "roll", "area") if fields[field] is not None}
    if below is not None and below > 0:
        details["elevation"] = below
    return ImageRecord(
        image=cleaned(name),
        group=_named(merged.get("image-event")),
        collection=_named(merged.get("image-project")),
        taken_at=_moment(merged, location, complaints),
        latitude=fields["latitude"] if both else None,
        longitude=fields["longitude"] if both else None,
        depth=-below if below is not None and below <= 0 else None,
        altitude=fields["altitude"],
        sha256=_hash(item.get("image-hash-sha256")),
        details=details | _other_fields(item),
    )


def _first(names: tuple[str, ...], read: Any, item: Mapping[str, Any], location: str, complaints: Complaints) -> Any:
    for name in names:
        try:
            value = read(item.get(name))
        except ValueError as error:
            complaints.add(location, f"{name}: {error}", "give a plain number", f"invalid {name}")
            continue
        if value is not None:
            return value
    return None


def _moment(item: Mapping[str, Any], location: str, complaints: Complaints) -> float | None:
    form = item.get("image-datetime-format")
    try:
        return moment(item.get("image-datetime"), form=form if isinstance(form, str) else None)
    except ValueError as error:
        complaints.add(location, f"image-datetime: {error}", "use 2019-05-13 13:14:15.000000, in UTC", "image-datetime")
        return None


def _named(value: Any) -> str | None:
    """Return the name of an event or project, which is an object in version 2 and was a text before."""
    return values.text(value.get("name") if isinstance(value, Mapping) else None if isinstance(value, list) else value)


def _hash(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) and re.fullmatch(SHA256, value) else None


def _other_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields we do not use, which are stored so that an export can write them back."""
    return {
        str(name): value
        for name, value in fields.items()
        if name not in READ_ELSEWHERE and not values.is_missing(value) and _is_keepable(value)
    }


def _of_the_set(header: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in header.items() if name != ANNOTATIONS and _is_keepable(value)}


def _is_keepable(value: Any) -> bool:
    """Return whether a value is JSON and, as text, within the limit. Stops counting at the limit."""
    budget, waiting = LARGEST_DETAIL, [value]
    while waiting and budget > 0:
        value_inside = waiting.pop()
        if isinstance(value_inside, Mapping):
            budget -= sum(len(str(name)) + 2 for name in value_inside)
            waiting += value_inside.values()
        elif isinstance(value_inside, list):
            budget -= len(value_inside)
            waiting += value_inside[: budget + 1]
        elif isinstance(value_inside, float) and not math.isfinite(value_inside):  # 1e999
            return False
        else:
            budget -= len(value_inside) if isinstance(value_inside, str) else 8
    return budget > 0
