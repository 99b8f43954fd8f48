"""Labels in iFDO files, version 2.1, with one file per dive.

Heights and areas are written under the names of the schema and under those that other readers use. Position and time
are written for each image, because some readers ignore the header. Fields of an imported file that we do not use are
written back.

The header combines the imported header of the dive, fields added by the user, and values from the images. Version 2.1.0
requires twenty fields. Unknown ones get a value that states this, and are reported as a loss.
"""

import json
import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benthoscope.engine.exchange.labels.coco import box_of, corners, opened
from benthoscope.engine.exchange.labels.export_model import (
    CARRIED_BY_TABLES,
    ExportAnnotation,
    ExportFile,
    ExportImage,
    ExportLabel,
    Loss,
    Outgoing,
    Place,
    Written,
    losses,
)
from benthoscope.engine.exchange.labels.records import (
    LabelReading,
    LabelRecord,
    confidence_in,
    moment_in,
    state_in,
    worded,
)
from benthoscope.engine.exchange.metadata.ifdo import ANNOTATIONS, HEADER, ITEMS
from benthoscope.engine.exchange.parsing.csv_output import file_name, stamp, unlike
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.term_path import joined, parted

VERSION = "v2.1.0"
FORMAT = "%Y-%m-%d %H:%M:%S.%f"
UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)
UNSAID = "not stated"
NAMED = ("image-context", "image-project", "image-event", "image-platform", "image-sensor", "image-pi", "image-license")
WRITTEN_ANEW = frozenset({"image-annotations", "image-datetime", "image-datetime-format"})
UNSURE = 1_000.0  # metres: uncertainty of positions if unknown, rather too large than too small
REQUIRED = (
    "image-set-name",
    "image-set-uuid",
    "image-set-handle",
    "image-set-ifdo-version",
    "image-datetime",
    "image-latitude",
    "image-longitude",
    "image-altitude-meters",
    "image-coordinate-reference-system",
    "image-coordinate-uncertainty-meters",
    *NAMED,
    "image-creators",
    "image-copyright",
    "image-abstract",
)


def header_of(
    outgoing: Outgoing, group_key: Place, pictures: Sequence[ExportImage]
) -> tuple[dict[str, Any], list[str]]:
    """Return (header without labels, required fields that nobody has stated)."""
    stated = {**outgoing.headers.get(group_key, {}), **_as_fields(outgoing.fields)}
    from_images = _from_images(outgoing, group_key, pictures)
    carried = {name: value for name, value in stated.items() if name not in WRITTEN_ANEW}
    known = {**from_images, **_in_form(carried)}
    unsaid = [name for name in REQUIRED if name not in known]
    return {**_unsaid(unsaid), **known, "image-set-ifdo-version": VERSION, "image-acquisition": "photo"}, unsaid


def version_4(*words: str) -> str:
    """Return a UUID in the form that version 4 requires. It is the same for the same words, so that an image keeps its
    UUID."""
    named = uuid.uuid5(uuid.NAMESPACE_OID, "\n".join(words))
    return str(uuid.UUID(bytes=named.bytes, version=4))


def is_version_4(value: Any) -> bool:
    return isinstance(value, str) and bool(UUID4.fullmatch(value))


def _from_images(outgoing: Outgoing, group_key: Place, pictures: Sequence[ExportImage]) -> dict[str, Any]:
    images = [picture.image for picture in pictures]
    at = min((image.taken_at for image in images if image.taken_at is not None), default=None)
    fields = {
        "image-set-name": " ".join(group_key),
        "image-set-uuid": version_4(outgoing.identity, *group_key),
        "image-project": {"name": group_key[0]},
        "image-event": {"name": group_key[1]},
        "image-coordinate-reference-system": "EPSG:4326",
        "image-datetime": None if at is None else stamp(at, FORMAT),
        "image-latitude": _mean(image.latitude for image in images),
        "image-longitude": _middle([image.longitude for image in images if image.longitude is not None]),
        "image-altitude-meters": _negative(_mean(image.depth for image in images)),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _as_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's fields in the form of the schema: a name becomes an object."""
    result = dict(fields)
    for name in NAMED:
        if isinstance(result.get(name), str):
            result[name] = {"name": result[name]}
    if isinstance(result.get("image-creators"), str):
        result["image-creators"] = [{"name": name.strip()} for name in result["image-creators"].split(";")]
    return result


def _in_form(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an imported header that are valid in this version. Older versions had texts and other kinds
    of UUID."""
    result = _as_fields(header)
    if not is_version_4(result.get("image-set-uuid")):
        result.pop("image-set-uuid", None)
    measured = ("image-latitude", "image-longitude", "image-altitude-meters", "image-coordinate-uncertainty-meters")
    for name in measured:
        number = _number(result.get(name))
        if number is None:
            result.pop(name, None)
        else:
            result[name] = number
    return result


def _number(value: Any) -> float | None:
    """Return a number; YAML returns texts."""
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _unsaid(names: Sequence[str]) -> dict[str, Any]:
    form: dict[str, Any] = {name: {"name": UNSAID} for name in NAMED}
    form |= {
        "image-creators": [{"name": UNSAID}],
        "image-datetime": "1970-01-01 00:00:00.000000",
        "image-latitude": 0.0,
        "image-longitude": 0.0,
        "image-altitude-meters": 0.0,
        "image-set-handle": "",
        "image-coordinate-uncertainty-meters": UNSURE,
    }
    return {name: form.get(name, UNSAID) for name in names}


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _middle(longitudes: Sequence[float]) -> float | None:
    """Return the mean longitude, also for positions on both sides of the date line."""
    if longitudes and max(longitudes) - min(longitudes) > 180:
        turned = _mean(value % 360 for value in longitudes)
        return turned - 360 if turned is not None and turned > 180 else turned
    return _mean(longitudes)


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


LABELS, CREATORS = "image-annotation-labels", "image-annotation-creators"
SHAPES = {"point": "single-pixel", "line": "polyline", "outline": "polygon", "circle": "circle", "box": "rectangle"}
WHOLE = "whole-image"
STATUS, WHY = "benthoscope-status", "benthoscope-why"
OWN = frozenset({"image-uuid", "image-handle", "image-hash-sha256", ANNOTATIONS})  # written for each item


def write_ifdo(outgoing: Outgoing) -> Written:
    files, unsaid, rows, dropped = [], 0, 0, 0
    group_keys = list(outgoing.by_group)
    for group_key, name in zip(group_keys, unlike(file_name(*group_key) for group_key in group_keys), strict=True):
        pictures = outgoing.by_group[group_key]
        header, missing = header_of(outgoing, group_key, pictures)
        header |= _labels_of(pictures)
        unsaid += len(missing)
        dropped += sum(not _fits(annotation) for picture in pictures for annotation in picture.annotations)
        rows += sum(bool(picture.label) + len(picture.annotations) for picture in pictures)
        files.append(ExportFile(f"{name}.ifdo.json", _chunks(header, outgoing, pictures)))
    nowhere = sum(picture.image.latitude is None for picture in outgoing.pictures)
    with_extra_fields = sum(any(not _is_field(name) for name in picture.image.details) for picture in outgoing.pictures)
    special = (
        Loss(
            "required iFDO header fields that nobody has stated",
            unsaid,
            "written as 'not stated', 0 or 1,000 m; state them with --field image-license='CC BY 4.0' and so on",
        ),
        Loss("images without a position", nowhere, "by the rule of iFDO they have the position of the header"),
        Loss("masks and degenerate shapes", dropped, "iFDO has points, lines, polygons, circles and rectangles"),
        Loss(
            "images with metadata without an iFDO field", with_extra_fields, "only fields called image-... are written"
        ),
    )
    return Written(
        tuple(files),
        rows - dropped,
        losses(outgoing, CARRIED_BY_TABLES | {"details"}, "iFDO has no field for it", special=special),
    )


def read_ifdo_labels(document: Mapping[str, Any], *, source: str) -> LabelReading:
    """Read the annotations of an opened document. Their classes are in the header or, in some files, in the items."""
    complaints = Complaints(source)
    header = document[HEADER] if isinstance(document[HEADER], Mapping) else {}
    items = document[ITEMS] if isinstance(document[ITEMS], Mapping) else {}
    records = [record for name, item in items.items() for record in _of_item(str(name), item, header, complaints)]
    return LabelReading(tuple(records), complaints.problems())


# --- writing


def _chunks(header: Mapping[str, Any], outgoing: Outgoing, pictures: Sequence[ExportImage]) -> Iterator[bytes]:
    yield f'{{"{HEADER}": {_json(header)},\n"{ITEMS}": {{'.encode()
    for at, picture in enumerate(pictures):
        key = outgoing.keys[picture.image.id]
        yield f"{',' if at else ''}\n{_json(key)}: {_json(_item(picture, outgoing))}".encode()
    yield b"\n}}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace").decode()


def _labels_of(pictures: Sequence[ExportImage]) -> dict[str, Any]:
    used = [label for picture in pictures for label in _all_said(picture)]
    labels = {
        _label_id(label): {
            "id": _label_id(label),
            "name": label.term.name,
            "info": joined(label.term.path),
            "vocabulary": label.vocabulary,
            "code": label.term.code or "",
        }
        for label in used
    }
    people = {label.who: {"id": label.who, "name": label.who} for label in used}
    return {LABELS: [labels[key] for key in sorted(labels)], CREATORS: [people[key] for key in sorted(people)]}


def _all_said(picture: ExportImage) -> list[ExportLabel]:
    return [*([picture.label] if picture.label else []), *(annotation.label for annotation in picture.annotations)]


def _label_id(label: ExportLabel) -> str:
    return f"{label.vocabulary}/{joined(label.term.path)}"


def _item(picture: ExportImage, outgoing: Outgoing) -> dict[str, Any]:
    image = picture.image
    stored = {name: value for name, value in image.details.items() if _is_field(name) and name not in OWN}
    uuid = image.details.get("image-uuid")
    fields = {
        "image-uuid": uuid if is_version_4(uuid) else version_4(outgoing.identity, image.sha256, image.path),
        "image-hash-sha256": image.sha256,
        "image-handle": str(image.details.get("image-handle") or ""),
        "image-datetime": stamp(image.taken_at, FORMAT) or None,
        **_scene(picture),
        "benthoscope-cluster": picture.cluster,
        "benthoscope-cluster-probability": picture.probability,
        ANNOTATIONS: _annotations(picture) or None,
    }
    return stored | {name: value for name, value in fields.items() if value is not None}


def _is_field(name: str) -> bool:
    """Return whether a detail of an image came from an iFDO file, or is written under another name."""
    return name.startswith("image-") or name in ("heading", "pitch", "roll", "area")


def _scene(picture: ExportImage) -> dict[str, Any]:
    image = picture.image
    height = None if image.depth is None else -image.depth
    area, heading, pitch, roll = (_finite(image.details.get(name)) for name in ("area", "heading", "pitch", "roll"))
    return {
        "image-latitude": image.latitude,
        "image-longitude": image.longitude,
        "image-altitude-meters": height,
        "image-altitude": height,
        "image-meters-above-ground": image.altitude,
        "image-area-square-meters": area,
        "image-area-square-meter": area,
        "image-camera-yaw-degrees": heading,
        "image-camera-pitch-degrees": pitch,
        "image-camera-roll-degrees": roll,
    }


def _finite(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if number else None


def _annotations(picture: ExportImage) -> list[dict[str, Any]]:
    image_labels = [{"shape": WHOLE, "coordinates": [[]], "labels": [_label(picture.label)]}] if picture.label else []
    return image_labels + [
        {
            "shape": SHAPES[annotation.shape],
            "coordinates": [_coordinates(annotation)],
            "labels": [_label(annotation.label)],
        }
        for annotation in picture.annotations
        if _fits(annotation)
    ]


def _fits(annotation: ExportAnnotation) -> bool:
    """Return whether the shape has the number of values that the schema requires."""
    least = {"line": 4, "outline": 6}
    return annotation.shape in SHAPES and len(annotation.numbers) >= least.get(annotation.shape, 2)


def _coordinates(annotation: ExportAnnotation) -> list[float]:
    if annotation.shape == "box":
        return list(corners(annotation.numbers))
    return [*annotation.numbers, *annotation.numbers[:2]] if annotation.shape == "outline" else list(annotation.numbers)


def _label(label: ExportLabel) -> dict[str, Any]:
    sure = {} if label.confidence is None else {"confidence": label.confidence}
    return {
        "label": _label_id(label),
        "annotator": label.who,
        "created-at": stamp(label.at, FORMAT),
        **sure,
        STATUS: label.status,
        WHY: label.why,
    }


# --- reading


def _of_item(name: str, item: Any, header: Mapping[str, Any], complaints: Complaints) -> Iterator[LabelRecord]:
    first = item[0] if isinstance(item, list) and item else item
    if not isinstance(first, Mapping):
        return
    if not name.strip(" /."):  # a name of backslashes only is possible where they do not separate folders
        complaints.add(f"item '{name[:60]}'", "has no image", "add the file name", "items without a name")
        return
    merged = {**header, **first}
    known: dict[str, Any] = {
        "sha256": worded(_text(first.get("image-hash-sha256"))),
        "group": _named(merged.get("image-event")),
        "collection": _named(merged.get("image-project")),
    }
    classes, people = _by_id(merged.get(LABELS)), _by_id(merged.get(CREATORS))
    for annotation in _objects(first.get(ANNOTATIONS)):
        group_key = f"item '{name[:60]}'"
        shape = _shape(annotation, group_key, complaints)
        if shape is None:
            continue
        for label in _objects(annotation.get("labels")):
            label_values = _label_values(label, classes, people, group_key, complaints)
            if label_values:
                yield LabelRecord(name, **label_values, **known, **shape)


def _label_values(
    label: Mapping[str, Any],
    classes: Mapping[str, Mapping[str, Any]],
    people: Mapping[str, Mapping[str, Any]],
    group_key: str,
    complaints: Complaints,
) -> dict[str, Any] | None:
    number = _text(label.get("label"))
    meant = classes.get(number, {})
    path = _path(meant) or ((number,) if number.strip() else ())
    if not path:
        complaints.add(group_key, "has an annotation without a label", "check the file", "annotations without a label")
        return None
    annotator = _text(label.get("annotator"))
    return {
        "path": path,
        "code": worded(_text(meant.get("code"))),
        "vocabulary": worded(_text(meant.get("vocabulary"))),
        "who": worded(_text(people.get(annotator, {}).get("name")) or annotator),
        "at": moment_in(label.get("created-at"), group_key, complaints),
        "why": worded(_text(label.get(WHY))),
        "status": state_in(_text(label.get(STATUS))),
        "confidence": confidence_in(label.get("confidence"), group_key, complaints),
    }


def _path(meant: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the path of a class. Our own files have it in `info`; other files use that field as free text, so it must
    end in the name."""
    info, name = _text(meant.get("info")), _text(meant.get("name"))
    path = parted(info)
    return path if path[-1] == name and name.strip() else (name,) if name.strip() else ()


def _shape(annotation: Mapping[str, Any], group_key: str, complaints: Complaints) -> dict[str, Any] | None:
    """Return the shape of an annotation; {} for a whole image, None if it is invalid."""
    shape = _text(annotation.get("shape"))
    if shape == WHOLE:
        return {}
    shape_name = {name: shape_key for shape_key, name in SHAPES.items()}.get(shape)
    try:
        numbers = tuple(float(number) for number in annotation["coordinates"][0])
    except (KeyError, IndexError, TypeError, ValueError):
        numbers = ()
    if shape_name is None or len(numbers) < 2 or not all(map(math.isfinite, numbers)):
        complaints.add(
            group_key,
            f"has the unsupported shape '{shape[:30]}'",
            f"supported shapes are {', '.join(SHAPES.values())}",
            "unsupported shapes",
        )
        return None
    if shape_name == "box" and (box := box_of(numbers)):
        return {"shape": "box", "numbers": box}
    shape_name = "outline" if shape_name == "box" else shape_name
    return {"shape": shape_name, "numbers": opened(numbers) if shape_name == "outline" else numbers}


def _by_id(listed: Any) -> dict[str, Mapping[str, Any]]:
    return {_text(entry.get("id")): entry for entry in _objects(listed)}


def _objects(listed: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []


def _named(value: Any) -> str | None:
    return worded(_text(value.get("name") if isinstance(value, Mapping) else value))


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
