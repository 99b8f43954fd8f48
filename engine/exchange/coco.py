"""Labels of parts of images as a COCO file: boxes, outlines and masks with their classes.

COCO has no place for the label of a whole image, nor for a point. Fields beyond COCO's own are allowed and passed over
by its readers: certainty, person and moment travel in them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.exchange.cells import figure, joined, parted, stamp
from engine.exchange.label_records import LabelReading, LabelRecord, confidence_in, moment_in, state_in, worded
from engine.exchange.outgoing import ExportFile, Loss, Outgoing, PartSaid, Picture, Written, losses
from engine.exchange.records import Complaints
from engine.exchange.shapes import area, bounds, box_of, corners, mask_of, opened, outline
from engine.problems import fail

CARRIED = frozenset({"parts", "paths", "codes", "vocabulary", "who", "at", "why", "status", "confidence", "sha256",
                     "group", "taken_at", "position"})
KEYS = frozenset({"images", "annotations", "categories"})


def write_coco(outgoing: Outgoing) -> Written:
    """`coco.json`. Refuses what has neither boxes nor outlines nor masks."""
    parts = [part for picture in outgoing.pictures for part in picture.parts]
    kept = sum(map(_fits, parts))
    if not kept:
        points = f" ({len(parts):,} points: say --segments NAME to label the segments they lie in)" if parts else ""
        raise fail("COCO", f"none of these labels has a box, an outline or a segment{points}",
                   "COCO holds labels of parts of images; export labels of whole images as csv or ifdo")
    special = (Loss("points and lines", len(parts) - kept, "COCO annotations enclose something"),
               Loss("circles", sum(part.shape == "circle" for part in parts), "they become outlines of 32 corners"))
    return Written((ExportFile("coco.json", _chunks(outgoing)),), kept,
                   losses(outgoing, CARRIED, "COCO holds labels of parts of images only", special=special))


def is_coco(document: Any) -> bool:
    return isinstance(document, Mapping) and document.keys() >= KEYS


def read_coco(document: Mapping[str, Any], *, source: str) -> LabelReading:
    complaints = Complaints(source)
    images, classes = _by_id(document["images"]), _by_id(document["categories"])
    found = []
    for at, annotation in enumerate(_objects(document["annotations"]), 1):
        image, meant = images.get(annotation.get("image_id")), classes.get(annotation.get("category_id"))
        record = _record(annotation, image, meant, f"annotation {at}", complaints)
        found += [record] if record else []
    return LabelReading(tuple(found), complaints.problems())


def _fits(part: PartSaid) -> bool:
    return part.shape == "mask" or outline(part.shape, part.numbers) is not None


def _chunks(outgoing: Outgoing) -> Iterator[bytes]:
    """Written as it is made: masks of a campaign are many."""
    numbers = {term_id: at for at, term_id in enumerate(outgoing.used_terms, 1)}
    parts = {"images": map(_image, outgoing.pictures),
             "categories": (_category(outgoing, term_id, at) for term_id, at in numbers.items()),
             "annotations": _annotations(outgoing.pictures, numbers)}
    yield f'{{"info": {_json({"description": outgoing.title})}'.encode()
    for name, rows in parts.items():
        yield f',\n"{name}": ['.encode()
        for at, row in enumerate(rows):
            yield f'{"," if at else ""}\n{_json(row)}'.encode()
        yield b"]"
    yield b"}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace").decode()


def _image(picture: Picture) -> dict[str, Any]:
    image = picture.image
    found = {"id": image.id, "file_name": image.path, "width": image.width, "height": image.height,
             "date_captured": stamp(image.taken_at) or None, "latitude": image.latitude, "longitude": image.longitude,
             "sha256": image.sha256, "dive": picture.group, "campaign": picture.collection}
    return {name: value for name, value in found.items() if value is not None}


def _category(outgoing: Outgoing, term_id: int, number: int) -> dict[str, Any]:
    vocabulary, term = outgoing.used_terms[term_id]
    above = term.path[-2] if len(term.path) > 1 else ""
    return {"id": number, "name": term.name, "supercategory": above, "path": joined(term.path),
            "vocabulary": vocabulary, "code": term.code or ""}


def _annotations(pictures: Sequence[Picture], numbers: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    number = 0
    for picture in pictures:
        for part in filter(_fits, picture.parts):
            number += 1
            said = part.said
            sure = {} if said.confidence is None else {"score": said.confidence}
            yield {"id": number, "image_id": picture.image.id, "category_id": numbers[said.term.id], **_place(part),
                   **sure, "annotator": said.who, "created_at": stamp(said.at), "why": said.why,
                   "status": said.status}


def _place(part: PartSaid) -> dict[str, Any]:
    if part.shape == "mask":
        height, width, *counts = map(int, part.numbers)
        left, top, wide, high = _mask_bounds(part.numbers)
        return {"segmentation": {"size": [height, width], "counts": counts}, "area": sum(counts[1::2]),
                "bbox": [left, top, wide, high], "iscrowd": 1}
    if part.shape == "box":
        box = [figure(value) for value in part.numbers]
        return {"segmentation": [], "area": part.numbers[2] * part.numbers[3], "bbox": box, "iscrowd": 0}
    around = outline(part.shape, part.numbers)
    return {"segmentation": [[figure(value) for value in around]], "area": area(around),
            "bbox": [figure(value) for value in bounds(around)], "iscrowd": 0}


def _mask_bounds(numbers: Sequence[float]) -> tuple[int, int, int, int]:
    inside = mask_of(numbers)
    rows, columns = inside.any(1).nonzero()[0], inside.any(0).nonzero()[0]
    if not len(rows):
        return 0, 0, 0, 0
    return int(columns[0]), int(rows[0]), int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)


def _record(annotation: Mapping[str, Any], image: Mapping[str, Any] | None, meant: Mapping[str, Any] | None,
            place: str, complaints: Complaints) -> LabelRecord | None:
    path = _path(meant) if meant else ()
    name = str(image.get("file_name") or "") if image else ""
    if not name.strip() or not path:
        complaints.add(place, "names no image or no category of the file", "check the file", "annotations left out")
        return None
    part = _part(annotation)
    if part is None:
        complaints.add(place, "has neither a box nor an outline that can be used", "check the file", "bad annotations")
        return None
    return LabelRecord(
        name, path, worded(_text(image.get("dive"))), worded(_text(image.get("campaign"))),
        worded(_text(image.get("sha256"))), worded(_text(meant.get("code"))), worded(_text(meant.get("vocabulary"))),
        worded(_text(annotation.get("annotator"))), moment_in(annotation.get("created_at"), place, complaints),
        worded(_text(annotation.get("why"))), state_in(_text(annotation.get("status"))),
        confidence_in(annotation.get("score"), place, complaints), *part)


def _path(meant: Mapping[str, Any]) -> tuple[str, ...]:
    """Ours tell the whole path; of others the name, for a supercategory need not be a class."""
    name, path = _text(meant.get("name")), _text(meant.get("path"))
    return parted(path) if path.strip() else (name,) if name.strip() else ()


def _part(annotation: Mapping[str, Any]) -> tuple[str, tuple[float, ...]] | None:
    """The mask, the outline (the largest of several) or, where there is none, the box."""
    where = annotation.get("segmentation")
    try:
        if isinstance(where, Mapping):
            numbers = tuple(int(number) for number in (*where["size"], *where["counts"]))
            return ("mask", numbers) if sum(numbers[2:]) == numbers[0] * numbers[1] else None
        if isinstance(where, list) and where:
            rings = [opened(tuple(float(value) for value in ring)) for ring in where]
            return "outline", max((ring for ring in rings if len(ring) >= 6 and not len(ring) % 2), key=area)
        box = tuple(float(value) for value in annotation["bbox"])
        return ("box", box) if box_of(corners(box)) else None
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _by_id(listed: Any) -> dict[Any, Mapping[str, Any]]:
    return {one["id"]: one for one in _objects(listed) if isinstance(one.get("id"), str | int)}


def _objects(listed: Any) -> list[Mapping[str, Any]]:
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
