"""The header of an iFDO file of one dive: what its own file once said, what a person adds, what the images tell.

Version 2.1.0 requires twenty fields. Those nobody has said get a value that says so, and are counted as a loss.
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from engine.exchange.cells import stamp
from engine.exchange.outgoing import Outgoing, Picture, Place

VERSION = "v2.1.0"
FORMAT = "%Y-%m-%d %H:%M:%S.%f"
UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)
UNSAID = "not stated"
NAMED = ("image-context", "image-project", "image-event", "image-platform", "image-sensor", "image-pi", "image-license")
WRITTEN_ANEW = frozenset({"image-annotations", "image-datetime", "image-datetime-format"})
UNSURE = 1_000.0  # metres: of a position whose uncertainty nobody has said, rather too much than too little
REQUIRED = (
    "image-set-name", "image-set-uuid", "image-set-handle", "image-set-ifdo-version", "image-datetime",
    "image-latitude", "image-longitude", "image-altitude-meters", "image-coordinate-reference-system",
    "image-coordinate-uncertainty-meters", *NAMED, "image-creators", "image-copyright", "image-abstract")


def header_of(outgoing: Outgoing, place: Place, pictures: Sequence[Picture]) -> tuple[dict[str, Any], list[str]]:
    """(header without labels, required fields that nobody has said)."""
    said = {**outgoing.headers.get(place, {}), **_as_fields(outgoing.fields)}
    from_images = _from_images(outgoing, place, pictures)
    told = {name: value for name, value in said.items() if name not in WRITTEN_ANEW}
    known = {**from_images, **_in_form(told)}
    unsaid = [name for name in REQUIRED if name not in known]
    return {**_unsaid(unsaid), **known, "image-set-ifdo-version": VERSION, "image-acquisition": "photo"}, unsaid


def version_4(*words: str) -> str:
    """A UUID of the form version 4 requires, the same whenever the words are, so that an image keeps its own."""
    named = uuid.uuid5(uuid.NAMESPACE_OID, "\n".join(words))
    return str(uuid.UUID(bytes=named.bytes, version=4))


def is_version_4(value: Any) -> bool:
    return isinstance(value, str) and bool(UUID4.fullmatch(value))


def _from_images(outgoing: Outgoing, place: Place, pictures: Sequence[Picture]) -> dict[str, Any]:
    images = [picture.image for picture in pictures]
    at = min((image.taken_at for image in images if image.taken_at is not None), default=None)
    found = {
        "image-set-name": " ".join(place), "image-set-uuid": version_4(outgoing.identity, *place),
        "image-project": {"name": place[0]}, "image-event": {"name": place[1]},
        "image-coordinate-reference-system": "EPSG:4326", "image-datetime": None if at is None else stamp(at, FORMAT),
        "image-latitude": _mean(image.latitude for image in images),
        "image-longitude": _middle([image.longitude for image in images if image.longitude is not None]),
        "image-altitude-meters": _negative(_mean(image.depth for image in images)),
    }
    return {name: value for name, value in found.items() if value is not None}


def _as_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a person typed, in the form the schema wants: a name becomes an object."""
    found = dict(fields)
    for name in NAMED:
        if isinstance(found.get(name), str):
            found[name] = {"name": found[name]}
    if isinstance(found.get("image-creators"), str):
        found["image-creators"] = [{"name": name.strip()} for name in found["image-creators"].split(";")]
    return found


def _in_form(header: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an imported header that hold in this version; older ones had texts and other kinds of UUID."""
    found = _as_fields(header)
    if not is_version_4(found.get("image-set-uuid")):
        found.pop("image-set-uuid", None)
    measured = ("image-latitude", "image-longitude", "image-altitude-meters", "image-coordinate-uncertainty-meters")
    for name in measured:
        number = _number(found.get(name))
        if number is None:
            found.pop(name, None)
        else:
            found[name] = number
    return found


def _number(value: Any) -> float | None:
    """YAML gives texts."""
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _unsaid(names: Sequence[str]) -> dict[str, Any]:
    form: dict[str, Any] = {name: {"name": UNSAID} for name in NAMED}
    form |= {"image-creators": [{"name": UNSAID}], "image-datetime": "1970-01-01 00:00:00.000000",
             "image-latitude": 0.0, "image-longitude": 0.0, "image-altitude-meters": 0.0, "image-set-handle": "",
             "image-coordinate-uncertainty-meters": UNSURE}
    return {name: form.get(name, UNSAID) for name in names}


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _middle(longitudes: Sequence[float]) -> float | None:
    """The mean of degrees east, of a set on both sides of the date line as well."""
    if longitudes and max(longitudes) - min(longitudes) > 180:
        turned = _mean(value % 360 for value in longitudes)
        return turned - 360 if turned > 180 else turned
    return _mean(longitudes)


def _negative(value: float | None) -> float | None:
    return None if value is None else -value
