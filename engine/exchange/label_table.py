"""Labels as our own CSV files, one of images and one of parts, and as any table with an image and a label in a row."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from engine.exchange.cells import csv_chunks, figure, guarded, joined, named_rows, parted, stamp, unguarded
from engine.exchange.columns import FIELDS, column_of_images, plain
from engine.exchange.label_records import (
    LabelReading,
    LabelRecord,
    confidence_in,
    moment_in,
    number_in,
    state_in,
    worded,
)
from engine.exchange.outgoing import ExportFile, Outgoing, PartSaid, Picture, Said, Written, losses
from engine.exchange.records import Complaints
from engine.exchange.tables import Table
from engine.problems import fail, unknown
from engine.workspace.parts import SHAPES

OF_IMAGE = ("image", "collection", "dive", "sha256")
OF_LABEL = ("label", "vocabulary", "code", "confidence", "status", "why", "who", "at")
OF_SCENE = ("taken_at", "latitude", "longitude", "depth", "altitude", "width", "height", "cluster",
            "cluster_probability")
OF_PART = ("shape", "numbers")
OURS = {"image", "label", "vocabulary", "status", "why"}  # no other program's table has all of them
LABELS = ("label", "label_name", "label_code", "class", "class_name", "category", "term", "annotation", "concept",
          "habitat", "species", "taxon", "object_annotation_category", "scientific_name")
CARRIED = frozenset({"unlabelled", "whole", "parts", "paths", "codes", "vocabulary", "who", "at", "why", "status",
                     "confidence", "sha256", "group", "taken_at", "position", "depth", "altitude", "clusters"})


def write_label_table(outgoing: Outgoing) -> Written:
    """`labels.csv` has a row for every image, labelled or not; `parts.csv` one for every labelled part."""
    images = csv_chunks((*OF_IMAGE, *OF_LABEL, *OF_SCENE), map(_image_row, outgoing.pictures))
    files = [ExportFile("labels.csv", images)]
    count = sum(len(picture.parts) for picture in outgoing.pictures)
    if count:
        files.append(ExportFile("parts.csv", csv_chunks((*OF_IMAGE, *OF_LABEL, *OF_PART), _part_rows(outgoing))))
    return Written(tuple(files), len(outgoing.labelled) + count,
                   losses(outgoing, CARRIED, "the table has a column for what every image has, and for nothing more"))


def is_label_table(table: Table) -> bool:
    return {name.strip().lower() for name in table.header} >= OURS


def read_label_table(table: Table, *, source: str) -> LabelReading:
    """What `write_label_table` wrote, either file."""
    complaints = Complaints(source)
    found = [record for line, row in named_rows(table) if (record := _record(row, f"line {line}", complaints))]
    return LabelReading(tuple(found), (*table.problems, *complaints.problems()))


def read_any_table(table: Table, *, source: str, mapping: Mapping[str, str] | None = None) -> LabelReading:
    """A table with a column of images and one of labels; `mapping` says which (column name: "image" or "label") where
    the guess is wrong."""
    complaints = Complaints(source)
    image, label = _columns(table, source, mapping or {})
    more = {field: _column(table, FIELDS[field].names) for field in ("group", "collection", "sha256")}
    records = []
    for line, row in named_rows(table):
        cells = {field: worded(row.get(name.lower())) for field, name in more.items() if name}
        if not worded(row.get(image.lower())):
            complaints.add(f"line {line}", "names no image", "fill in the file name", "rows that name no image")
        elif path := _path(row.get(label.lower(), "")):
            records.append(LabelRecord(unguarded(row[image.lower()]), path, **cells))
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()))


def has_labels(table: Table) -> bool:
    """Whether the guess finds both columns."""
    return _column(table, LABELS) is not None and _image_column(table) is not None


def _columns(table: Table, source: str, mapping: Mapping[str, str]) -> tuple[str, str]:
    said = {field: column for column, field in mapping.items()}
    for field, column in said.items():
        if field not in ("image", "label"):
            raise unknown("mapping", field, ("image", "label"))
        if column not in table.header:
            raise unknown(f"columns of {source}", column, table.header)
    image, label = said.get("image") or _image_column(table), said.get("label") or _column(table, LABELS)
    if image is None or label is None:
        raise fail(source, f"no column names the {'images' if image is None else 'labels'}",
                   f"say which one does: --mapping COLUMN={'image' if image is None else 'label'}")
    return image, label


def _image_column(table: Table) -> str | None:
    return _column(table, FIELDS["image"].names) or column_of_images(table.header, table.rows)


def _column(table: Table, names: tuple[str, ...]) -> str | None:
    known = {plain(name): name for name in reversed(table.header)}
    return next((known[name] for name in names if name in known), None)


def _path(cell: str) -> tuple[str, ...]:
    """The class in a cell, of a path without empty names; () for none."""
    text = unguarded(cell)
    return tuple(name for name in map(str.strip, parted(text)) if name) if text.strip() else ()


def _image_row(picture: Picture) -> tuple[Any, ...]:
    image = picture.image
    scene = (stamp(image.taken_at), image.latitude, image.longitude, image.depth, image.altitude, image.width,
             image.height, picture.cluster, picture.probability)
    return (*_of_image(picture), *(_of_label(picture.said) if picture.said else [None] * len(OF_LABEL)), *scene)


def _part_rows(outgoing: Outgoing) -> Iterator[tuple[Any, ...]]:
    for picture in outgoing.pictures:
        for part in picture.parts:
            yield (*_of_image(picture), *_of_label(part.said), part.shape, _numbers(part))


def _of_image(picture: Picture) -> tuple[str, ...]:
    return (guarded(picture.image.path), guarded(picture.collection), guarded(picture.group), picture.image.sha256)


def _of_label(said: Said) -> tuple[Any, ...]:
    return (guarded(joined(said.term.path)), guarded(said.vocabulary), guarded(said.term.code or ""), said.confidence,
            said.status, said.why, guarded(said.who), stamp(said.at))


def _numbers(part: PartSaid) -> str:
    return " ".join(json.dumps(figure(number)) for number in part.numbers)


def _record(row: Mapping[str, str], place: str, complaints: Complaints) -> LabelRecord | None:
    text = {name: unguarded(cell) for name, cell in row.items()}
    if not text.get("label"):
        return None
    if not text.get("image"):
        complaints.add(place, "names no image", "fill in the path of the image", "rows that name no image")
        return None
    shape = worded(text.get("shape"))
    numbers = _read_numbers(text.get("numbers", ""), place, complaints) if shape else ()
    if shape and (shape not in SHAPES or not numbers):
        complaints.add(place, f"'{shape}' is no shape we know, or has no numbers", f"use one of {', '.join(SHAPES)}",
                       "shapes that cannot be used")
        return None
    return LabelRecord(
        text["image"], parted(text["label"]), worded(text.get("dive")), worded(text.get("collection")),
        worded(text.get("sha256")), worded(text.get("code")), worded(text.get("vocabulary")),
        worded(text.get("who")), moment_in(text.get("at"), place, complaints), worded(text.get("why")),
        state_in(text.get("status")), confidence_in(text.get("confidence"), place, complaints), shape, numbers)


def _read_numbers(cell: str, place: str, complaints: Complaints) -> tuple[float, ...]:
    found = [number_in(word, place, complaints) for word in cell.split()]
    return () if None in found else tuple(found)
