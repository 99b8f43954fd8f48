"""Labelled points as coral-point-count programs keep them: CoralNet's CSV, tables like it, and CPCe's .cpc files."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import PureWindowsPath

from engine.exchange.cells import named_rows, unguarded
from engine.exchange.columns import column_of_images, plain
from engine.exchange.label_records import LabelReading, LabelRecord, confidence_in, moment_in, number_in, worded
from engine.exchange.outgoing import PREDICTED
from engine.exchange.records import Complaints
from engine.exchange.tables import Table, decoded
from engine.problems import fail

IMAGES = ("name", "image", "image_name", "filename", "file_name", "image_filename", "photo", "frame")
CODES = ("label", "label_code", "code", "long_label", "class", "category", "annotation", "label_id")
ROBOT = "robot"   # CoralNet's name for its own machine
CORNERS = 4       # lines of a .cpc file between the first and the number of points
SUFFIX = ".cpc"


def is_points(table: Table) -> bool:
    """Whether a table has a row for every point: an image, a row, a column and a label."""
    names = {plain(name) for name in table.header}
    return {"row", "column"} <= names and bool(names & set(CODES)) and _image_column(table) is not None


def read_points(table: Table, *, source: str) -> LabelReading:
    """Points of a table; `Row` counts pixels from the top, `Column` from the left, both from 0."""
    complaints = Complaints(source)
    columns = {plain(name): name.lower() for name in reversed(table.header)}
    image = _image_column(table).lower()
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
    """Points of one image as CPCe saves them: places are shares of the size in the first line, whatever its unit."""
    complaints = Complaints(source)
    lines = list(csv.reader(io.StringIO(decoded(data, source, complaints)[0], newline="")))
    try:
        image = PureWindowsPath(lines[0][1].strip()).as_posix()
        width, height = float(lines[0][2]), float(lines[0][3])
        count = int(lines[1 + CORNERS][0])
        places = lines[2 + CORNERS : 2 + CORNERS + count]
        codes = lines[2 + CORNERS + count : 2 + CORNERS + 2 * count]
        points = [(float(x), float(y)) for x, y, *_ in places]
        if not image or min(width, height) <= 0 or len(codes) < count or min(map(len, codes), default=2) < 2:
            raise ValueError
    except (IndexError, ValueError):
        raise fail(source, "is no .cpc file of CPCe, or is cut short", "save it again with CPCe") from None
    named = [(point, cells[1].strip()) for point, cells in zip(points, codes, strict=True)]
    records = [LabelRecord(image, (code,), code=code, shape="point", numbers=(x / width, y / height), relative=True)
               for (x, y), code in named if code]
    bare = count - len(records)
    return LabelReading(tuple(records), complaints.problems(),
                        (f"{source}: {bare:,} points without a label",) if bare else ())


def _image_column(table: Table) -> str | None:
    known = {plain(name): name for name in reversed(table.header)}
    named = next((known[name] for name in IMAGES if name in known), None)
    return named or column_of_images(table.header, table.rows)


def _record(row: Mapping[str, str], image: str, code: str, columns: Mapping[str, str], place: str,
            complaints: Complaints) -> LabelRecord | None:
    y, x = (number_in(row.get(columns[name]), place, complaints) for name in ("row", "column"))
    if not row.get(image, "").strip() or x is None or y is None:
        complaints.add(place, "names no image or no row and column", "fill them in", "points left out")
        return None
    label, who = unguarded(row[code].strip()), _cell(row, columns, ("annotator",))
    return LabelRecord(
        row[image], (label,), code=label, who=worded(who), shape="point", numbers=(x, y),
        at=moment_in(_cell(row, columns, ("date_annotated",)), place, complaints),
        status=PREDICTED if (who or "").strip().lower() == ROBOT else None,
        confidence=_sure(row, columns, label, place, complaints))


def _cell(row: Mapping[str, str], columns: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((row.get(columns[name]) for name in names if name in columns), None)


def _sure(row: Mapping[str, str], columns: Mapping[str, str], label: str, place: str, complaints: Complaints
          ) -> float | None:
    """The machine's confidence in the label that was chosen; CoralNet gives it in per cent."""
    for at in range(1, 6):
        if (_cell(row, columns, (f"machine_suggestion_{at}",)) or "").strip() == label:
            found = number_in(_cell(row, columns, (f"machine_confidence_{at}",)), place, complaints)
            return None if found is None else confidence_in(found / 100, place, complaints)
    return None
