"""Labelled points in the formats of coral point count programs: CoralNet's CSV, similar tables, and CPCe's .cpc
files."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import PureWindowsPath

from benthoscope.engine.exchange.labels.export_model import PREDICTED
from benthoscope.engine.exchange.labels.records import (
    LabelReading,
    LabelRecord,
    confidence_in,
    moment_in,
    number_in,
    worded,
)
from benthoscope.engine.exchange.metadata.columns import column_of_images, plain
from benthoscope.engine.exchange.parsing.csv_output import named_rows, unguarded
from benthoscope.engine.exchange.parsing.tables import Table, decoded
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import fail

IMAGES = ("name", "image", "image_name", "filename", "file_name", "image_filename", "photo", "frame")
CODES = ("label", "label_code", "code", "long_label", "class", "category", "annotation", "label_id")
ROBOT = "robot"  # CoralNet's name for its automatic annotator
CORNERS = 4  # lines of a .cpc file between the first line and the number of points
SUFFIX = ".cpc"


def is_points(table: Table) -> bool:
    """Return whether a table has one row per point with an image, a row, a column and a label."""
    names = {plain(name) for name in table.header}
    return {"row", "column"} <= names and bool(names & set(CODES)) and _image_column(table) is not None


def read_points(table: Table, *, source: str) -> LabelReading:
    """Read the points of a table. `Row` counts pixels from the top, `Column` from the left, both from 0."""
    complaints = Complaints(source)
    columns = {plain(name): name.lower() for name in reversed(table.header)}
    image = (_image_column(table) or "").lower()
    code = columns[next(name for name in CODES if name in columns)]
    records, bare = [], 0
    for line, row in named_rows(table):
        if not row.get(code, "").strip():
            bare += 1
        elif record := _record(row, image, code, columns, f"line {line}", complaints):
            records.append(record)
    lines = [f"{source}: {bare:,} points without a label"] if bare else []
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()), tuple(lines))


def read_cpc(data: bytes, *, source: str) -> LabelReading:
    """Read the points of one image saved by CPCe. Positions are fractions of the size in the first line, in any
    unit."""
    complaints = Complaints(source)
    lines = list(csv.reader(io.StringIO(decoded(data, source, complaints)[0], newline="")))
    try:
        image = PureWindowsPath(lines[0][1].strip()).as_posix()
        width, height = float(lines[0][2]), float(lines[0][3])
        count = int(lines[1 + CORNERS][0])
        coordinate_lines = lines[2 + CORNERS : 2 + CORNERS + count]
        codes = lines[2 + CORNERS + count : 2 + CORNERS + 2 * count]
        points = [(float(x), float(y)) for x, y, *_ in coordinate_lines]
        if not image or min(width, height) <= 0 or len(codes) < count or min(map(len, codes), default=2) < 2:
            raise ValueError
    except (IndexError, ValueError):
        raise fail(source, "is not a .cpc file of CPCe, or is truncated", "save it again with CPCe") from None
    named = [(point, cells[1].strip()) for point, cells in zip(points, codes, strict=True)]
    records = [
        LabelRecord(image, (code,), code=code, shape="point", numbers=(x / width, y / height), relative=True)
        for (x, y), code in named
        if code
    ]
    bare = count - len(records)
    return LabelReading(
        tuple(records), complaints.problems(), (f"{source}: {bare:,} points without a label",) if bare else ()
    )


def _image_column(table: Table) -> str | None:
    known = {plain(name): name for name in reversed(table.header)}
    named = next((known[name] for name in IMAGES if name in known), None)
    return named or column_of_images(table.header, table.rows)


def _record(
    row: Mapping[str, str], image: str, code: str, columns: Mapping[str, str], location: str, complaints: Complaints
) -> LabelRecord | None:
    y, x = (number_in(row.get(columns[name]), location, complaints) for name in ("row", "column"))
    if not row.get(image, "").strip() or x is None or y is None:
        complaints.add(location, "has no image or no row and column", "fill them in", "ignored points")
        return None
    label, annotator = unguarded(row[code].strip()), _cell(row, columns, ("annotator",))
    return LabelRecord(
        row[image],
        (label,),
        code=label,
        who=worded(annotator),
        shape="point",
        numbers=(x, y),
        at=moment_in(_cell(row, columns, ("date_annotated",)), location, complaints),
        status=PREDICTED if (annotator or "").strip().lower() == ROBOT else None,
        confidence=_sure(row, columns, label, location, complaints),
    )


def _cell(row: Mapping[str, str], columns: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((row.get(columns[name]) for name in names if name in columns), None)


def _sure(
    row: Mapping[str, str], columns: Mapping[str, str], label: str, location: str, complaints: Complaints
) -> float | None:
    """Return the classifier's confidence in the chosen label. CoralNet stores it in per cent."""
    for at in range(1, 6):
        if (_cell(row, columns, (f"machine_suggestion_{at}",)) or "").strip() == label:
            percent = number_in(_cell(row, columns, (f"machine_confidence_{at}",)), location, complaints)
            return None if percent is None else confidence_in(percent / 100, location, complaints)
    return None
