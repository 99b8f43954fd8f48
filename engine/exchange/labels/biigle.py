"""Labels in the formats of BIIGLE: for each volume (a dive) a CSV of image labels and one of annotations, and label
trees.

Numbers of images, users and labels are our own, because BIIGLE assigns its own. A label tree is a ZIP with
`label_tree.json` and `labels.csv`.
"""

import io
import json
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benthoscope.engine.exchange.labels.coco import box_of, corners, opened
from benthoscope.engine.exchange.labels.export_model import (
    ExportAnnotation,
    ExportFile,
    ExportImage,
    ExportLabel,
    Loss,
    Outgoing,
    Written,
    losses,
)
from benthoscope.engine.exchange.labels.records import LabelReading, LabelRecord, moment_in, worded
from benthoscope.engine.exchange.parsing.csv_output import csv_chunks, file_name, named_rows, stamp, unguarded, unlike
from benthoscope.engine.exchange.parsing.tables import Table, read_table
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import fail
from benthoscope.engine.term_path import joined, parted
from benthoscope.engine.workspace.labels.vocabularies import COLOUR, NewTerm, Term

TREE, LABELS = "label_tree.json", "labels.csv"
HEADER = ("id", "name", "parent_id", "color", "label_tree_id", "source_id")
GREY = "9e9e9e"  # BIIGLE wants a colour of every label
NO_DATE = "2000-01-01 00:00:00"  # the vocabulary keeps no dates; the same tree gives the same file


def write_label_tree(name: str, version: str, terms: Sequence[Term], identity: str) -> bytes:
    """Return the ZIP. `identity` of the workspace distinguishes trees with the same name."""
    buffer = io.BytesIO()
    contents = {TREE: _tree(name, version, identity), LABELS: b"".join(csv_chunks(HEADER, _rows(terms)))}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for inner, data in contents.items():
            archive.writestr(zipfile.ZipInfo(inner, (2000, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def read_label_tree(
    tree: bytes, labels: bytes, *, source: str, complaints: Complaints
) -> tuple[str, str, list[NewTerm]]:
    """Return (name, version, terms with parents before children) from the two files of a label tree."""
    about = _about(tree, source)
    stated = about.get("version")
    version: Mapping[str, Any] = stated if isinstance(stated, Mapping) else {}
    table = read_table(labels, source=f"{source} {LABELS}")
    rows = {row.get("id", "").strip(): (line, row) for line, row in named_rows(table)}
    terms = [term for number, (line, _) in rows.items() if (term := _term(number, line, rows, complaints))]
    return str(about["name"]), str(version.get("name") or ""), sorted(terms, key=lambda term: len(term.path))


def _tree(name: str, version: str, identity: str) -> bytes:
    tree = {
        "id": 1,
        "name": name,
        "description": "",
        "created_at": NO_DATE,
        "updated_at": NO_DATE,
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{identity}/{name}")),
        "version": {"id": 1, "name": version, "doi": ""} if version else None,
    }
    return json.dumps(tree, indent=1, ensure_ascii=False).encode()


def _rows(terms: Sequence[Term]) -> Iterator[tuple[Any, ...]]:
    for term in terms:
        colour = (term.colour or "").removeprefix("#") or GREY
        yield term.id, term.name, term.parent_id, colour, 1, term.code or ""


def _about(tree: bytes, source: str) -> Mapping[str, Any]:
    try:
        about = json.loads(tree)
    except (ValueError, RecursionError) as error:
        raise fail(f"{source} {TREE}", "cannot be read", "export the label tree again") from error
    if not isinstance(about, Mapping) or not str(about.get("name") or "").strip():
        raise fail(f"{source} {TREE}", "contains no label tree", "export the label tree again")
    return about


def _term(
    number: str, line: int, rows: Mapping[str, tuple[int, Mapping[str, str]]], complaints: Complaints
) -> NewTerm | None:
    path = _path(number, rows)
    row = rows[number][1]
    if not path or not all(name.strip() for name in path):
        complaints.add(f"{LABELS} line {line}", "has no class with all its parents", "complete the tree", "bad classes")
        return None
    colour = f"#{row.get('color', '').strip().removeprefix('#')}"
    known = COLOUR.fullmatch(colour) and colour != f"#{GREY}"
    return NewTerm(path, unguarded(row.get("source_id", "")).strip() or None, colour if known else None)


def _path(number: str, rows: Mapping[str, tuple[int, Mapping[str, str]]]) -> tuple[str, ...]:
    """Return the path from the root to a label; () if a parent is missing or the parents form a cycle."""
    path: list[str] = []
    while number:
        if number not in rows or len(path) > len(rows):
            return ()
        row = rows[number][1]
        path.append(unguarded(row.get("name", "")))
        number = row.get("parent_id", "").strip()
    return tuple(reversed(path))


WHOLE = (
    "image_label_id",
    "image_id",
    "filename",
    "longitude",
    "latitude",
    "user_id",
    "firstname",
    "lastname",
    "label_id",
    "label_name",
    "label_hierarchy",
    "created_at",
)
PARTS = (
    "annotation_label_id",
    "label_id",
    "label_name",
    "label_hierarchy",
    "user_id",
    "firstname",
    "lastname",
    "image_id",
    "filename",
    "image_longitude",
    "image_latitude",
    "shape_id",
    "shape_name",
    "points",
    "attributes",
    "annotation_id",
    "created_at",
)
SHAPES = {"point": "Point", "line": "LineString", "outline": "Polygon", "circle": "Circle", "box": "Rectangle"}
EXACT = ("filename", "label_name", "label_hierarchy")  # the columns by which BIIGLE finds images and classes
MOMENT = "%Y-%m-%d %H:%M:%S"
CARRIED = frozenset({"whole", "parts", "paths", "codes", "vocabulary", "who", "at", "group", "position"})


def write_biigle(outgoing: Outgoing) -> Written:
    files, masks = [], 0
    group_keys = list(outgoing.by_group)
    names = unlike(file_name(*group_key) for group_key in group_keys)
    for group_key, name in zip(group_keys, names, strict=True):
        pictures = outgoing.by_group[group_key]
        annotations = [
            (picture, annotation)
            for picture in pictures
            for annotation in picture.annotations
            if annotation.shape in SHAPES
        ]
        masks += sum(len(picture.annotations) for picture in pictures) - len(annotations)
        if any(picture.label for picture in pictures):
            files.append(
                ExportFile(
                    f"{name}_image_labels.csv", csv_chunks(WHOLE, _image_label_rows(outgoing, pictures), exact=EXACT)
                )
            )
        if annotations:
            files.append(
                ExportFile(
                    f"{name}_annotations.csv", csv_chunks(PARTS, _annotation_rows(outgoing, annotations), exact=EXACT)
                )
            )
    used = sorted({vocabulary for vocabulary, _ in outgoing.used_terms.values()})
    trees = unlike(file_name(name) for name in used)
    files += [
        ExportFile(
            f"{tree}_label_tree.zip",
            [write_label_tree(name, outgoing.versions.get(name, ""), outgoing.terms[name], outgoing.identity)],
        )
        for tree, name in zip(trees, used, strict=True)
    ]
    rows = len(outgoing.all_labels) - masks
    return Written(
        tuple(files),
        rows,
        losses(
            outgoing,
            CARRIED,
            "BIIGLE has no column for it",
            special=(
                Loss("masks of parts", masks, "BIIGLE has points, lines, outlines, circles and rectangles"),
                Loss(
                    "times of labels",
                    sum(label.at % 1 > 0 for label in outgoing.all_labels),
                    "as BIIGLE does",
                ),
                Loss(
                    "names that a spreadsheet would run as formulas",
                    outgoing.formula_names,
                    "BIIGLE finds images and classes by them, so they are unchanged; do not open it in a spreadsheet",
                ),
            ),
        ),
    )


def is_image_labels(table: Table) -> bool:
    return {name.lower() for name in table.header} >= {"filename", "label_name", "label_hierarchy"}


def read_biigle_labels(table: Table, *, source: str) -> LabelReading:
    """Read image labels or annotations, depending on the columns."""
    complaints = Complaints(source)
    records = [record for line, row in named_rows(table) if (record := _record(row, f"line {line}", complaints))]
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()))


def _image_label_rows(outgoing: Outgoing, pictures: Sequence[ExportImage]) -> Iterator[tuple[Any, ...]]:
    for picture in pictures:
        image, label = picture.image, picture.label
        if label:
            yield (
                image.id,
                image.id,
                outgoing.keys[image.id],
                image.longitude,
                image.latitude,
                *_user(label),
                label.term.id,
                label.term.name,
                joined(label.term.path),
                stamp(label.at, MOMENT),
            )


def _annotation_rows(
    outgoing: Outgoing, annotations: Sequence[tuple[ExportImage, ExportAnnotation]]
) -> Iterator[tuple[Any, ...]]:
    for number, (picture, annotation) in enumerate(annotations, 1):
        image, label = picture.image, annotation.label
        points = corners(annotation.numbers) if annotation.shape == "box" else annotation.numbers
        yield (
            number,
            label.term.id,
            label.term.name,
            joined(label.term.path),
            *_user(label),
            image.id,
            outgoing.keys[image.id],
            image.longitude,
            image.latitude,
            "",
            SHAPES[annotation.shape],
            json.dumps(list(points)),
            "",
            number,
            stamp(label.at, MOMENT),
        )


def _user(label: ExportLabel) -> tuple[Any, ...]:
    """Return the number, first and last name. A person's name is split at its last space."""
    first, _, last = label.who.rpartition(" ")
    return "", first, last


def _record(row: Mapping[str, str], group_key: str, complaints: Complaints) -> LabelRecord | None:
    path = parted(row["label_hierarchy"]) if row.get("label_hierarchy") else (row.get("label_name", ""),)
    if not row.get("filename", "").strip() or not all(name.strip() for name in path):
        complaints.add(group_key, "has no image or no label", "export the report again", "ignored rows")
        return None
    labeller = " ".join(filter(None, (unguarded(row.get(name, "")) for name in ("firstname", "lastname"))))
    known: dict[str, Any] = {"who": worded(labeller), "at": moment_in(row.get("created_at"), group_key, complaints)}
    if "shape_name" not in row or row["shape_name"].strip() == "WholeFrame":
        return LabelRecord(row["filename"], path, **known)
    shape = _shape(row, group_key, complaints)
    return LabelRecord(row["filename"], path, **known, shape=shape[0], numbers=shape[1]) if shape else None


def _shape(row: Mapping[str, str], group_key: str, complaints: Complaints) -> tuple[str, tuple[float, ...]] | None:
    shape = {name: shape_name for shape_name, name in SHAPES.items()}.get(row["shape_name"].strip())
    try:
        numbers = tuple(float(number) for number in json.loads(row.get("points", "")))
    except (ValueError, TypeError, RecursionError):
        numbers = ()
    if shape is None or len(numbers) < 2:
        complaints.add(
            group_key,
            f"has the unsupported shape '{row['shape_name']}'",
            f"supported shapes are {', '.join(SHAPES.values())}",
            "unsupported shapes",
        )
        return None
    if shape == "box":
        box = box_of(numbers)
        return ("box", box) if box else ("outline", numbers)
    return shape, opened(numbers) if shape == "outline" else numbers
