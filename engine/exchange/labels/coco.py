"""Labels of parts of images as a COCO file: boxes, outlines and masks with their classes.

COCO cannot store labels of whole images or of points. Readers of COCO ignore unknown fields, so confidence, person and
time are stored in additional fields. Shapes are in pixels, x to the right and y down.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benthoscope.engine.exchange.labels.export_model import (
    ExportAnnotation,
    ExportFile,
    ExportImage,
    Loss,
    Outgoing,
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
from benthoscope.engine.exchange.parsing.csv_output import figure, stamp
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import fail
from benthoscope.engine.term_path import joined, parted

CORNERS = 32  # corners of the outline that replaces a circle; its area is 0.6 % too small
Numbers = Sequence[float]


def pairs(numbers: Numbers) -> list[tuple[float, float]]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def flat(points: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(float(value) for point in points for value in point)


def corners(box: Numbers) -> tuple[float, ...]:
    """Return the four corners of (left, top, width, height), clockwise from the top left."""
    x, y, width, height = box
    return (x, y, x + width, y, x + width, y + height, x, y + height)


def box_of(four: Numbers) -> tuple[float, ...] | None:
    """Return (left, top, width, height) of four corners; None if the rectangle is rotated."""
    xs, ys = sorted(four[::2]), sorted(four[1::2])
    upright = len(four) == 8 and xs[0] == xs[1] and xs[2] == xs[3] and ys[0] == ys[1] and ys[2] == ys[3]
    is_box = upright and len(set(pairs(four))) == 4
    return (xs[0], ys[0], xs[2] - xs[0], ys[2] - ys[0]) if is_box else None


def opened(numbers: Numbers) -> tuple[float, ...]:
    """Return an outline without the repeated first point at its end."""
    closed = len(numbers) > 4 and tuple(numbers[:2]) == tuple(numbers[-2:])
    return tuple(numbers[:-2] if closed else numbers)


def outline(shape: str, numbers: Numbers) -> tuple[float, ...] | None:
    """Return the outline of a part with an area, as x, y, x, y ...; None for points, lines and masks."""
    if shape == "outline" and len(numbers) >= 6:
        return tuple(numbers)
    if shape == "box":
        return corners(numbers)
    return _round(numbers) if shape == "circle" else None


def outline_of(annotation: ExportAnnotation) -> tuple[float, ...]:
    """Return the outline of a part that has one."""
    around = outline(annotation.shape, annotation.numbers)
    if around is None:
        raise ValueError(f"a {annotation.shape} has no outline")
    return around


def bounds(numbers: Numbers) -> tuple[float, float, float, float]:
    """Return (left, top, width, height) of the bounding box of the points."""
    xs, ys = numbers[::2], numbers[1::2]
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


def area(numbers: Numbers) -> float:
    """Return the area of an outline in square pixels."""
    points = pairs(numbers)
    return abs(sum(x * v - u * y for (x, y), (u, v) in zip(points, points[1:] + points[:1], strict=True))) / 2


def runs(mask: np.ndarray) -> tuple[int, ...]:
    """Return (height, width, lengths of runs down the columns) of a mask (H, W). The first run is outside and may be
    empty."""
    flat_mask = np.asarray(mask, bool).ravel(order="F")
    edges = np.flatnonzero(np.diff(flat_mask.astype(np.int8), prepend=0))
    lengths = np.diff(edges, prepend=0, append=len(flat_mask))
    return (*mask.shape, *map(int, lengths))


def mask_of(numbers: Numbers) -> np.ndarray:
    """Return the mask (H, W) from the result of `runs`."""
    height, width, *lengths = map(int, numbers)
    inside = np.arange(len(lengths)) % 2 == 1
    return np.repeat(inside, lengths).reshape((height, width), order="F")


def _round(circle: Numbers) -> tuple[float, ...]:
    x, y, radius = circle
    turns = [2 * math.pi * at / CORNERS for at in range(CORNERS)]
    return flat([(x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns])


CARRIED = frozenset(
    {
        "parts",
        "paths",
        "codes",
        "vocabulary",
        "who",
        "at",
        "why",
        "status",
        "confidence",
        "sha256",
        "group",
        "taken_at",
        "position",
    }
)
KEYS = frozenset({"images", "annotations", "categories"})


def write_coco(outgoing: Outgoing) -> Written:
    """Return `coco.json`. Raises if there are no boxes, outlines or masks."""
    annotations = [annotation for picture in outgoing.pictures for annotation in picture.annotations]
    exportable = sum(map(_fits, annotations))
    if not exportable:
        points = (
            f" ({len(annotations):,} points: use --segments NAME to label the segments that contain them)"
            if annotations
            else ""
        )
        raise fail(
            "COCO",
            f"none of these labels has a box, an outline or a segment{points}",
            "COCO stores labels of parts of images; export labels of whole images as csv or ifdo",
        )
    special = (
        Loss("points and lines", len(annotations) - exportable, "COCO stores only shapes with an area"),
        Loss(
            "circles",
            sum(annotation.shape == "circle" for annotation in annotations),
            "they are converted to outlines with 32 corners",
        ),
    )
    return Written(
        (ExportFile("coco.json", _chunks(outgoing)),),
        exportable,
        losses(outgoing, CARRIED, "COCO stores labels of parts of images only", special=special),
    )


def is_coco(document: Any) -> bool:
    return isinstance(document, Mapping) and document.keys() >= KEYS


def read_coco(document: Mapping[str, Any], *, source: str) -> LabelReading:
    complaints = Complaints(source)
    images, classes = _by_id(document["images"]), _by_id(document["categories"])
    records = []
    for at, annotation in enumerate(_objects(document["annotations"]), 1):
        image, meant = images.get(annotation.get("image_id")), classes.get(annotation.get("category_id"))
        record = _record(annotation, image, meant, f"annotation {at}", complaints)
        records += [record] if record else []
    return LabelReading(tuple(records), complaints.problems())


def _fits(annotation: ExportAnnotation) -> bool:
    return annotation.shape == "mask" or outline(annotation.shape, annotation.numbers) is not None


def _chunks(outgoing: Outgoing) -> Iterator[bytes]:
    """Yield the file while it is created, because there can be many masks."""
    numbers = {term_id: at for at, term_id in enumerate(outgoing.used_terms, 1)}
    sections = {
        "images": map(_image, outgoing.pictures),
        "categories": (_category(outgoing, term_id, at) for term_id, at in numbers.items()),
        "annotations": _annotations(outgoing.pictures, numbers),
    }
    yield f'{{"info": {_json({"description": outgoing.title})}'.encode()
    for name, rows in sections.items():
        yield f',\n"{name}": ['.encode()
        for at, row in enumerate(rows):
            yield f"{',' if at else ''}\n{_json(row)}".encode()
        yield b"]"
    yield b"}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace").decode()


def _image(picture: ExportImage) -> dict[str, Any]:
    image = picture.image
    fields = {
        "id": image.id,
        "file_name": image.path,
        "width": image.width,
        "height": image.height,
        "date_captured": stamp(image.taken_at) or None,
        "latitude": image.latitude,
        "longitude": image.longitude,
        "sha256": image.sha256,
        "dive": picture.group,
        "campaign": picture.collection,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _category(outgoing: Outgoing, term_id: int, number: int) -> dict[str, Any]:
    vocabulary, term = outgoing.used_terms[term_id]
    above = term.path[-2] if len(term.path) > 1 else ""
    return {
        "id": number,
        "name": term.name,
        "supercategory": above,
        "path": joined(term.path),
        "vocabulary": vocabulary,
        "code": term.code or "",
    }


def _annotations(pictures: Sequence[ExportImage], numbers: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    number = 0
    for picture in pictures:
        for annotation in filter(_fits, picture.annotations):
            number += 1
            label = annotation.label
            sure = {} if label.confidence is None else {"score": label.confidence}
            yield {
                "id": number,
                "image_id": picture.image.id,
                "category_id": numbers[label.term.id],
                **_coordinates(annotation),
                **sure,
                "annotator": label.who,
                "created_at": stamp(label.at),
                "why": label.why,
                "status": label.status,
            }


def _coordinates(annotation: ExportAnnotation) -> dict[str, Any]:
    if annotation.shape == "mask":
        height, width, *counts = map(int, annotation.numbers)
        x, y, wide, high = _mask_bounds(annotation.numbers)
        return {
            "segmentation": {"size": [height, width], "counts": counts},
            "area": sum(counts[1::2]),
            "bbox": [x, y, wide, high],
            "iscrowd": 1,
        }
    if annotation.shape == "box":
        box = [figure(value) for value in annotation.numbers]
        return {"segmentation": [], "area": annotation.numbers[2] * annotation.numbers[3], "bbox": box, "iscrowd": 0}
    around = outline_of(annotation)
    return {
        "segmentation": [[figure(value) for value in around]],
        "area": area(around),
        "bbox": [figure(value) for value in bounds(around)],
        "iscrowd": 0,
    }


def _mask_bounds(numbers: Sequence[float]) -> tuple[int, int, int, int]:
    inside = mask_of(numbers)
    rows, columns = np.flatnonzero(inside.any(1)), np.flatnonzero(inside.any(0))
    if not len(rows):
        return 0, 0, 0, 0
    return int(columns[0]), int(rows[0]), int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)


def _record(
    annotation: Mapping[str, Any],
    image: Mapping[str, Any] | None,
    meant: Mapping[str, Any] | None,
    location: str,
    complaints: Complaints,
) -> LabelRecord | None:
    path = _path(meant) if meant else ()
    name = str(image.get("file_name") or "") if image else ""
    if image is None or meant is None or not name.strip() or not path:
        complaints.add(location, "has no image or no category of the file", "check the file", "ignored annotations")
        return None
    shape = _shape(annotation)
    if shape is None:
        complaints.add(location, "has no valid box or outline", "check the file", "invalid annotations")
        return None
    return LabelRecord(
        name,
        path,
        worded(_text(image.get("dive"))),
        worded(_text(image.get("campaign"))),
        worded(_text(image.get("sha256"))),
        worded(_text(meant.get("code"))),
        worded(_text(meant.get("vocabulary"))),
        worded(_text(annotation.get("annotator"))),
        moment_in(annotation.get("created_at"), location, complaints),
        worded(_text(annotation.get("why"))),
        state_in(_text(annotation.get("status"))),
        confidence_in(annotation.get("score"), location, complaints),
        *shape,
    )


def _path(meant: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the path of a class. Our own files contain the whole path; for others only the name is used, because a
    supercategory need not be a class."""
    name, path = _text(meant.get("name")), _text(meant.get("path"))
    return parted(path) if path.strip() else (name,) if name.strip() else ()


def _shape(annotation: Mapping[str, Any]) -> tuple[str, tuple[float, ...]] | None:
    """Return the mask, the outline (the largest of several) or, without these, the box."""
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
    return {entry["id"]: entry for entry in _objects(listed) if isinstance(entry.get("id"), str | int)}


def _objects(listed: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
