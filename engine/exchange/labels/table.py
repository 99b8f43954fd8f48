"""Labels as our own CSV files, one of images and one of parts, and as any table with an image and a label per row."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from benthoscope.engine.exchange.labels.export_model import (
    CARRIED_BY_TABLES,
    ExportAnnotation,
    ExportFile,
    ExportImage,
    Outgoing,
    Written,
    losses,
)
from benthoscope.engine.exchange.labels.records import (
    LabelReading,
    LabelRecord,
    complete,
    confidence_in,
    moment_in,
    number_in,
    state_in,
    worded,
)
from benthoscope.engine.exchange.metadata.columns import FIELDS, column_of_images, plain
from benthoscope.engine.exchange.parsing.csv_output import csv_chunks, figure, named_rows, stamp, unguarded
from benthoscope.engine.exchange.parsing.tables import Table
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.term_path import joined, parted
from benthoscope.engine.workspace.labels.parts import SHAPES


@dataclass(frozen=True)
class ExportColumn:
    """A column of the table: its name, its value in a row, and what it holds."""

    name: str
    value: Callable[[Any], Any]
    help: str


OF_IMAGE = (  # of an ExportImage
    ExportColumn(
        "image", lambda picture: picture.image.path, "Path of the image below the imported folder, with forward slashes"
    ),
    ExportColumn("collection", lambda picture: picture.collection, "Campaign or set of albums of the image"),
    ExportColumn("dive", lambda picture: picture.group, "Dive or album of the image"),
    ExportColumn(
        "sha256",
        lambda picture: picture.image.sha256,
        "SHA-256 of the image file in hexadecimal; finds the image after it was renamed",
    ),
)
OF_LABEL = (  # of an ExportLabel
    ExportColumn("label", lambda label: joined(label.term.path), "Path of the term, levels separated by >"),
    ExportColumn("vocabulary", lambda label: label.vocabulary, "Vocabulary of the term"),
    ExportColumn("code", lambda label: label.term.code or "", "Code of the term in its vocabulary"),
    ExportColumn("confidence", lambda label: label.confidence, "Confidence between 0 and 1, if one was given"),
    ExportColumn(
        "status",
        lambda label: label.status,
        "verified (seen individually), bulk (given with many others), or predicted or dubious in an imported file",
    ),
    ExportColumn(
        "why",
        lambda label: label.why,
        "How the label was given, such as manual, bulk, review, suggestion, crowd or import",
    ),
    ExportColumn("who", lambda label: label.who, "Person who gave the label"),
    ExportColumn("at", lambda label: stamp(label.at), "Time of the label in UTC"),
)
OF_SCENE = (  # of an ExportImage
    ExportColumn("taken_at", lambda picture: stamp(picture.image.taken_at), "Time of the image in UTC"),
    ExportColumn("latitude", lambda picture: picture.image.latitude, "Degrees north, WGS 84"),
    ExportColumn("longitude", lambda picture: picture.image.longitude, "Degrees east, WGS 84"),
    ExportColumn("depth", lambda picture: picture.image.depth, "Metres below the surface"),
    ExportColumn("altitude", lambda picture: picture.image.altitude, "Metres above the sea floor"),
    ExportColumn("width", lambda picture: picture.image.width, "Width in pixels"),
    ExportColumn("height", lambda picture: picture.image.height, "Height in pixels"),
    ExportColumn(
        "cluster", lambda picture: picture.cluster, "Cluster of the image in the exported run; empty without a run"
    ),
    ExportColumn(
        "cluster_probability", lambda picture: picture.probability, "Probability of that cluster, between 0 and 1"
    ),
)
OF_PART = (  # of an ExportAnnotation
    ExportColumn(
        "shape",
        lambda annotation: annotation.shape,
        "Shape of the labelled part: point, box, circle, line, outline or mask",
    ),
    ExportColumn(
        "numbers",
        lambda annotation: _numbers(annotation),
        "Numbers of the shape in pixels from the top left: x y of points; box left top width height; circle x y radius",
    ),
)
OURS = {"image", "label", "vocabulary", "status", "why"}  # the combination of these columns is unique to our tables
LABELS = (
    "label",
    "label_name",
    "label_code",
    "class",
    "class_name",
    "category",
    "term",
    "annotation",
    "concept",
    "habitat",
    "species",
    "taxon",
    "object_annotation_category",
    "scientific_name",
)


def write_label_table(outgoing: Outgoing) -> Written:
    """Write `labels.csv` with one row per image, labelled or not, and `parts.csv` with one row per labelled part."""
    images = csv_chunks(_names(OF_IMAGE, OF_LABEL, OF_SCENE), map(_image_row, outgoing.pictures))
    files = [ExportFile("labels.csv", images)]
    count = sum(len(picture.annotations) for picture in outgoing.pictures)
    if count:
        files.append(
            ExportFile("parts.csv", csv_chunks(_names(OF_IMAGE, OF_LABEL, OF_PART), _annotation_rows(outgoing)))
        )
    return Written(
        tuple(files),
        len(outgoing.labelled) + count,
        losses(outgoing, CARRIED_BY_TABLES, "the table has columns only for values that all images have"),
    )


def is_label_table(table: Table) -> bool:
    return {name.strip().lower() for name in table.header} >= OURS


def read_label_table(table: Table, *, source: str) -> LabelReading:
    """Read a table that `write_label_table` wrote, either file."""
    complaints = Complaints(source)
    records = [record for line, row in named_rows(table) if (record := _record(row, f"line {line}", complaints))]
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()))


def read_any_table(table: Table, *, source: str, mapping: Mapping[str, str] | None = None) -> LabelReading:
    """Read a table with a column of images and one of labels. `mapping` states them (column name: "image" or "label")
    if the guess is wrong."""
    complaints = Complaints(source)
    image, label = _columns(table, source, mapping or {})
    extra_columns = {field: _column(table, FIELDS[field].names) for field in ("group", "collection", "sha256")}
    records = []
    for line, row in named_rows(table):
        cells: dict[str, Any] = {field: worded(row.get(name.lower())) for field, name in extra_columns.items() if name}
        if not worded(row.get(image.lower())):
            complaints.add(f"line {line}", "has no image", "fill in the file name", "rows without an image")
        elif path := _path(row.get(label.lower(), "")):
            records.append(LabelRecord(unguarded(row[image.lower()]), path, **cells))
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()))


def has_labels(table: Table) -> bool:
    """Return whether the guess finds both columns."""
    return _column(table, LABELS) is not None and _image_column(table) is not None


def _columns(table: Table, source: str, mapping: Mapping[str, str]) -> tuple[str, str]:
    by_field = {field: column for column, field in mapping.items()}
    for field, column in by_field.items():
        if field not in ("image", "label"):
            raise unknown("mapping", field, ("image", "label"))
        if column not in table.header:
            raise unknown(f"columns of {source}", column, table.header)
    image, label = by_field.get("image") or _image_column(table), by_field.get("label") or _column(table, LABELS)
    if image is None or label is None:
        raise fail(
            source,
            f"cannot find the column of the {'images' if image is None else 'labels'}",
            f"give it: --mapping COLUMN={'image' if image is None else 'label'}",
        )
    return image, label


def _image_column(table: Table) -> str | None:
    return _column(table, FIELDS["image"].names) or column_of_images(table.header, table.rows)


def _column(table: Table, names: tuple[str, ...]) -> str | None:
    known = {plain(name): name for name in reversed(table.header)}
    return next((known[name] for name in names if name in known), None)


def _path(cell: str) -> tuple[str, ...]:
    """Return the class in a cell, as a path without empty names; () for none."""
    text = unguarded(cell)
    return tuple(name for name in map(str.strip, parted(text)) if name) if text.strip() else ()


def _names(*columns: Sequence[ExportColumn]) -> tuple[str, ...]:
    return tuple(column.name for column in chain(*columns))


def _values(columns: Sequence[ExportColumn], record: Any) -> tuple[Any, ...]:
    return tuple(column.value(record) for column in columns)


def _image_row(picture: ExportImage) -> tuple[Any, ...]:
    label = _values(OF_LABEL, picture.label) if picture.label else (None,) * len(OF_LABEL)
    return (*_values(OF_IMAGE, picture), *label, *_values(OF_SCENE, picture))


def _annotation_rows(outgoing: Outgoing) -> Iterator[tuple[Any, ...]]:
    for picture in outgoing.pictures:
        of_image = _values(OF_IMAGE, picture)
        for annotation in picture.annotations:
            yield (*of_image, *_values(OF_LABEL, annotation.label), *_values(OF_PART, annotation))


def _numbers(annotation: ExportAnnotation) -> str:
    return " ".join(json.dumps(figure(number)) for number in annotation.numbers)


def _record(row: Mapping[str, str], location: str, complaints: Complaints) -> LabelRecord | None:
    text = {name: unguarded(cell) for name, cell in row.items()}
    if not text.get("label"):
        return None
    if not text.get("image"):
        complaints.add(location, "has no image", "fill in the path of the image", "rows without an image")
        return None
    shape = worded(text.get("shape"))
    numbers = _read_numbers(text.get("numbers", ""), location, complaints) if shape else ()
    if shape and (shape not in SHAPES or not numbers):
        complaints.add(
            location,
            f"'{shape}' is not a known shape, or it has no numbers",
            f"use one of {', '.join(SHAPES)}",
            "unsupported shapes",
        )
        return None
    return LabelRecord(
        text["image"],
        parted(text["label"]),
        worded(text.get("dive")),
        worded(text.get("collection")),
        worded(text.get("sha256")),
        worded(text.get("code")),
        worded(text.get("vocabulary")),
        worded(text.get("who")),
        moment_in(text.get("at"), location, complaints),
        worded(text.get("why")),
        state_in(text.get("status")),
        confidence_in(text.get("confidence"), location, complaints),
        shape,
        numbers,
    )


def _read_numbers(cell: str, location: str, complaints: Complaints) -> tuple[float, ...]:
    return complete(number_in(word, location, complaints) for word in cell.split())
