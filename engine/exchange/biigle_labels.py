"""Labels as BIIGLE reports them: for every volume, which is a dive, a CSV of image labels and one of annotations; and
the label trees they use. Numbers of images, users and labels are ours: BIIGLE gives its own."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.exchange.cells import csv_chunks, guarded, is_formula, joined, named_rows, parted, stamp, unguarded
from engine.exchange.file_names import file_name, unlike
from engine.exchange.label_records import LabelReading, LabelRecord, moment_in, worded
from engine.exchange.label_tree import write_label_tree
from engine.exchange.outgoing import ExportFile, Loss, Outgoing, PartSaid, Picture, Said, Written, losses
from engine.exchange.records import Complaints
from engine.exchange.shapes import box_of, corners, opened
from engine.exchange.tables import Table

WHOLE = ("image_label_id", "image_id", "filename", "longitude", "latitude", "user_id", "firstname", "lastname",
         "label_id", "label_name", "label_hierarchy", "created_at")
PARTS = ("annotation_label_id", "label_id", "label_name", "label_hierarchy", "user_id", "firstname", "lastname",
         "image_id", "filename", "image_longitude", "image_latitude", "shape_id", "shape_name", "points", "attributes",
         "annotation_id", "created_at")
SHAPES = {"point": "Point", "line": "LineString", "outline": "Polygon", "circle": "Circle", "box": "Rectangle"}
MOMENT = "%Y-%m-%d %H:%M:%S"
CARRIED = frozenset({"whole", "parts", "paths", "codes", "vocabulary", "who", "at", "group", "position"})


def write_biigle(outgoing: Outgoing) -> Written:
    files, masks = [], 0
    places = list(outgoing.by_place)
    names = unlike(file_name(*place) for place in places)
    for place, name in zip(places, names, strict=True):
        pictures = outgoing.by_place[place]
        parts = [(picture, part) for picture in pictures for part in picture.parts if part.shape in SHAPES]
        masks += sum(len(picture.parts) for picture in pictures) - len(parts)
        if any(picture.said for picture in pictures):
            files.append(ExportFile(f"{name}_image_labels.csv", csv_chunks(WHOLE, _whole_rows(outgoing, pictures))))
        if parts:
            files.append(ExportFile(f"{name}_annotations.csv", csv_chunks(PARTS, _part_rows(outgoing, parts))))
    used = sorted({vocabulary for vocabulary, _ in outgoing.used_terms.values()})
    trees = unlike(file_name(name) for name in used)
    files += [ExportFile(f"{tree}_label_tree.zip", [write_label_tree(
        name, outgoing.versions.get(name, ""), outgoing.terms[name], outgoing.identity)])
        for tree, name in zip(trees, used, strict=True)]
    rows = len(outgoing.all_said) - masks
    return Written(tuple(files), rows, losses(outgoing, CARRIED, "BIIGLE has no column for it", special=(
        Loss("masks of parts", masks, "BIIGLE has points, lines, outlines, circles and rectangles"),
        Loss("moments of labels, to the second", sum(said.at % 1 > 0 for said in outgoing.all_said), "as BIIGLE does"),
        Loss("file names a spreadsheet would take for formulas", sum(map(is_formula, outgoing.keys.values())),
             "they are left as they are, for BIIGLE finds images by them; do not open them in a spreadsheet"))))


def is_image_labels(table: Table) -> bool:
    return {name.lower() for name in table.header} >= {"filename", "label_name", "label_hierarchy"}


def read_biigle_labels(table: Table, *, source: str) -> LabelReading:
    """Image labels or annotations, whichever the columns say."""
    complaints = Complaints(source)
    found = [record for line, row in named_rows(table) if (record := _record(row, f"line {line}", complaints))]
    return LabelReading(tuple(found), (*table.problems, *complaints.problems()))


def _whole_rows(outgoing: Outgoing, pictures: Sequence[Picture]) -> Iterator[tuple[Any, ...]]:
    for picture in pictures:
        image, said = picture.image, picture.said
        if said:
            yield (image.id, image.id, outgoing.keys[image.id], image.longitude, image.latitude, *_user(said),
                   said.term.id, said.term.name, joined(said.term.path), stamp(said.at, MOMENT))


def _part_rows(outgoing: Outgoing, parts: Sequence[tuple[Picture, PartSaid]]) -> Iterator[tuple[Any, ...]]:
    for number, (picture, part) in enumerate(parts, 1):
        image, said = picture.image, part.said
        points = corners(part.numbers) if part.shape == "box" else part.numbers
        yield (number, said.term.id, said.term.name, joined(said.term.path), *_user(said), image.id,
               outgoing.keys[image.id], image.longitude, image.latitude, "", SHAPES[part.shape],
               json.dumps(list(points)), "", number, stamp(said.at, MOMENT))


def _user(said: Said) -> tuple[Any, ...]:
    """Number, first and last name; the name a person goes by here is cut at its last blank."""
    first, _, last = said.who.rpartition(" ")
    return "", guarded(first), guarded(last)


def _record(row: Mapping[str, str], place: str, complaints: Complaints) -> LabelRecord | None:
    path = parted(row["label_hierarchy"]) if row.get("label_hierarchy") else (row.get("label_name", ""),)
    if not row.get("filename", "").strip() or not all(name.strip() for name in path):
        complaints.add(place, "names no image or no label", "export the report again", "rows left out")
        return None
    who = " ".join(filter(None, (unguarded(row.get(name, "")) for name in ("firstname", "lastname"))))
    known = {"who": worded(who), "at": moment_in(row.get("created_at"), place, complaints)}
    if "shape_name" not in row or row["shape_name"].strip() == "WholeFrame":
        return LabelRecord(row["filename"], path, **known)
    part = _part(row, place, complaints)
    return LabelRecord(row["filename"], path, **known, shape=part[0], numbers=part[1]) if part else None


def _part(row: Mapping[str, str], place: str, complaints: Complaints) -> tuple[str, tuple[float, ...]] | None:
    shape = {name: ours for ours, name in SHAPES.items()}.get(row["shape_name"].strip())
    try:
        numbers = tuple(float(number) for number in json.loads(row.get("points", "")))
    except (ValueError, TypeError, RecursionError):
        numbers = ()
    if shape is None or len(numbers) < 2:
        complaints.add(place, f"a shape '{row['shape_name']}' that cannot be used",
                       f"only these are read: {', '.join(SHAPES.values())}", "shapes that cannot be used")
        return None
    if shape == "box":
        box = box_of(numbers)
        return ("box", box) if box else ("outline", numbers)
    return shape, opened(numbers) if shape == "outline" else numbers
