"""Labels in iFDO files, version 2.1: a file for every dive.

Heights and areas stand under the schema's names and under those other readers know; position and time stand with every
image, for some readers do not look into the header. Fields of an imported file that we had no use for are given back.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.exchange.cells import joined, parted, stamp
from engine.exchange.file_names import file_name, unlike
from engine.exchange.ifdo import ANNOTATIONS, HEADER, ITEMS
from engine.exchange.ifdo_header import FORMAT, header_of, is_version_4, version_4
from engine.exchange.label_records import LabelReading, LabelRecord, confidence_in, moment_in, state_in, worded
from engine.exchange.outgoing import ExportFile, Loss, Outgoing, PartSaid, Picture, Said, Written, losses
from engine.exchange.records import Complaints
from engine.exchange.rows import cleaned
from engine.exchange.shapes import box_of, corners, opened

LABELS, CREATORS = "image-annotation-labels", "image-annotation-creators"
SHAPES = {"point": "single-pixel", "line": "polyline", "outline": "polygon", "circle": "circle", "box": "rectangle"}
WHOLE = "whole-image"
STATUS, WHY = "benthoscope-status", "benthoscope-why"
OWN = frozenset({"image-uuid", "image-handle", "image-hash-sha256", ANNOTATIONS})  # written anew in every item
CARRIED = frozenset({"unlabelled", "whole", "parts", "paths", "codes", "vocabulary", "who", "at", "why", "status",
                     "confidence", "sha256", "group", "taken_at", "position", "depth", "altitude", "clusters"})


def write_ifdo(outgoing: Outgoing) -> Written:
    files, unsaid, rows, dropped = [], 0, 0, 0
    places = list(outgoing.by_place)
    for place, name in zip(places, unlike(file_name(*place) for place in places), strict=True):
        pictures = outgoing.by_place[place]
        header, missing = header_of(outgoing, place, pictures)
        header |= _labels_of(pictures)
        unsaid += len(missing)
        dropped += sum(not _fits(part) for picture in pictures for part in picture.parts)
        rows += sum(bool(picture.said) + len(picture.parts) for picture in pictures)
        files.append(ExportFile(f"{name}.ifdo.json", _chunks(header, outgoing, pictures)))
    nowhere = sum(picture.image.latitude is None for picture in outgoing.pictures)
    kept = sum(any(not _is_field(name) for name in picture.image.details) for picture in outgoing.pictures)
    special = (
        Loss("fields of headers that iFDO requires and nobody has stated", unsaid,
             "written as 'not stated', 0 or 1,000 m; state them with --field image-license='CC BY 4.0' and so on"),
        Loss("images without a position", nowhere, "by iFDO's rule they take that of the header"),
        Loss("masks and degenerate shapes", dropped, "iFDO has points, lines, polygons, circles and rectangles"),
        Loss("images with metadata iFDO has no field for", kept, "only fields called image-... are written"))
    return Written(tuple(files), rows - dropped,
                   losses(outgoing, CARRIED | {"details"}, "iFDO has no field for it", special=special))


def read_ifdo_labels(document: Mapping[str, Any], *, source: str) -> LabelReading:
    """The annotations of a document already opened; what they mean stands in the header or, in some files, in items."""
    complaints = Complaints(source)
    header = document[HEADER] if isinstance(document[HEADER], Mapping) else {}
    items = document[ITEMS] if isinstance(document[ITEMS], Mapping) else {}
    records = [record for name, item in items.items()
               for record in _of_item(str(name), item, header, complaints)]
    return LabelReading(tuple(records), complaints.problems())


# --- out


def _chunks(header: Mapping[str, Any], outgoing: Outgoing, pictures: Sequence[Picture]) -> Iterator[bytes]:
    yield f'{{"{HEADER}": {_json(header)},\n"{ITEMS}": {{'.encode()
    for at, picture in enumerate(pictures):
        key = outgoing.keys[picture.image.id]
        yield f'{"," if at else ""}\n{_json(key)}: {_json(_item(picture, outgoing))}'.encode()
    yield b"\n}}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace").decode()


def _labels_of(pictures: Sequence[Picture]) -> dict[str, Any]:
    said = [said for picture in pictures for said in _all_said(picture)]
    labels = {_label_id(one): {"id": _label_id(one), "name": one.term.name, "info": joined(one.term.path),
                               "vocabulary": one.vocabulary, "code": one.term.code or ""} for one in said}
    people = {one.who: {"id": one.who, "name": one.who} for one in said}
    return {LABELS: [labels[key] for key in sorted(labels)], CREATORS: [people[key] for key in sorted(people)]}


def _all_said(picture: Picture) -> list[Said]:
    return [*([picture.said] if picture.said else []), *(part.said for part in picture.parts)]


def _label_id(said: Said) -> str:
    return f"{said.vocabulary}/{joined(said.term.path)}"


def _item(picture: Picture, outgoing: Outgoing) -> dict[str, Any]:
    image = picture.image
    given = {name: value for name, value in image.details.items() if _is_field(name) and name not in OWN}
    uuid = image.details.get("image-uuid")
    found = {
        "image-uuid": uuid if is_version_4(uuid) else version_4(outgoing.identity, image.sha256, image.path),
        "image-hash-sha256": image.sha256, "image-handle": str(image.details.get("image-handle") or ""),
        "image-datetime": stamp(image.taken_at, FORMAT) or None, **_scene(picture),
        "benthoscope-cluster": picture.cluster, "benthoscope-cluster-probability": picture.probability,
        ANNOTATIONS: _annotations(picture) or None,
    }
    return given | {name: value for name, value in found.items() if value is not None}


def _is_field(name: str) -> bool:
    """Whether a detail of an image came from an iFDO file, or goes into one under another name."""
    return name.startswith("image-") or name in ("heading", "pitch", "roll", "area")


def _scene(picture: Picture) -> dict[str, Any]:
    image = picture.image
    height = None if image.depth is None else -image.depth
    area, heading, pitch, roll = (_finite(image.details.get(name)) for name in ("area", "heading", "pitch", "roll"))
    return {
        "image-latitude": image.latitude, "image-longitude": image.longitude, "image-altitude-meters": height,
        "image-altitude": height, "image-meters-above-ground": image.altitude, "image-area-square-meters": area,
        "image-area-square-meter": area, "image-camera-yaw-degrees": heading, "image-camera-pitch-degrees": pitch,
        "image-camera-roll-degrees": roll}


def _finite(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if number else None


def _annotations(picture: Picture) -> list[dict[str, Any]]:
    whole = [{"shape": WHOLE, "coordinates": [[]], "labels": [_label(picture.said)]}] if picture.said else []
    return whole + [{"shape": SHAPES[part.shape], "coordinates": [_coordinates(part)], "labels": [_label(part.said)]}
                    for part in picture.parts if _fits(part)]


def _fits(part: PartSaid) -> bool:
    """Whether the shape has as many numbers as the schema demands."""
    least = {"line": 4, "outline": 6}
    return part.shape in SHAPES and len(part.numbers) >= least.get(part.shape, 2)


def _coordinates(part: PartSaid) -> list[float]:
    if part.shape == "box":
        return list(corners(part.numbers))
    return [*part.numbers, *part.numbers[:2]] if part.shape == "outline" else list(part.numbers)


def _label(said: Said) -> dict[str, Any]:
    sure = {} if said.confidence is None else {"confidence": said.confidence}
    return {"label": _label_id(said), "annotator": said.who, "created-at": stamp(said.at, FORMAT), **sure,
            STATUS: said.status, WHY: said.why}


# --- in


def _of_item(name: str, item: Any, header: Mapping[str, Any], complaints: Complaints) -> Iterator[LabelRecord]:
    first = item[0] if isinstance(item, list) and item else item
    if not isinstance(first, Mapping) or not cleaned(name):
        return
    whole = {**header, **first}
    known = {"sha256": worded(_text(first.get("image-hash-sha256"))),
             "group": _named(whole.get("image-event")), "collection": _named(whole.get("image-project"))}
    classes, people = _by_id(whole.get(LABELS)), _by_id(whole.get(CREATORS))
    for annotation in _objects(first.get(ANNOTATIONS)):
        place = f"item '{name[:60]}'"
        part = _part(annotation, place, complaints)
        for label in _objects(annotation.get("labels")) if part is not None else ():
            said = _said(label, classes, people, place, complaints)
            if said:
                yield LabelRecord(name, **said, **known, **part)


def _said(label: Mapping[str, Any], classes: Mapping[str, Mapping[str, Any]], people: Mapping[str, Mapping[str, Any]],
          place: str, complaints: Complaints) -> dict[str, Any] | None:
    number = _text(label.get("label"))
    meant = classes.get(number, {})
    path = _path(meant) or ((number,) if number.strip() else ())
    if not path:
        complaints.add(place, "has an annotation without a label", "check the file", "annotations without a label")
        return None
    who = _text(label.get("annotator"))
    return {
        "path": path, "code": worded(_text(meant.get("code"))), "vocabulary": worded(_text(meant.get("vocabulary"))),
        "who": worded(_text(people.get(who, {}).get("name")) or who),
        "at": moment_in(label.get("created-at"), place, complaints), "why": worded(_text(label.get(WHY))),
        "status": state_in(_text(label.get(STATUS))),
        "confidence": confidence_in(label.get("confidence"), place, complaints)}


def _path(meant: Mapping[str, Any]) -> tuple[str, ...]:
    """Our own files tell the path in `info`; in others that field is free text, so it must end in the name."""
    info, name = _text(meant.get("info")), _text(meant.get("name"))
    path = parted(info)
    return path if path[-1] == name and name.strip() else (name,) if name.strip() else ()


def _part(annotation: Mapping[str, Any], place: str, complaints: Complaints) -> dict[str, Any] | None:
    """The shape of an annotation; {} for a whole image, None where it cannot be used."""
    shape = _text(annotation.get("shape"))
    if shape == WHOLE:
        return {}
    ours = {name: mine for mine, name in SHAPES.items()}.get(shape)
    try:
        numbers = tuple(float(number) for number in annotation["coordinates"][0])
    except (KeyError, IndexError, TypeError, ValueError):
        numbers = ()
    if ours is None or len(numbers) < 2 or not all(map(math.isfinite, numbers)):
        complaints.add(place, f"a shape '{shape[:30]}' that cannot be used",
                       f"only these are read: {', '.join(SHAPES.values())}", "shapes that cannot be used")
        return None
    if ours == "box" and (box := box_of(numbers)):
        return {"shape": "box", "numbers": box}
    ours = "outline" if ours == "box" else ours
    return {"shape": ours, "numbers": opened(numbers) if ours == "outline" else numbers}


def _by_id(listed: Any) -> dict[str, Mapping[str, Any]]:
    return {_text(one.get("id")): one for one in _objects(listed)}


def _objects(listed: Any) -> list[Mapping[str, Any]]:
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _named(value: Any) -> str | None:
    return worded(_text(value.get("name") if isinstance(value, Mapping) else value))


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
