"""EcoTaxa's TSV tables: one row per object, below a row of type codes.

Column names begin with `img_`, `object_`, `sample_`, `acq_` or `process_`; `img_file_name` and `object_id` are always
present. A class belongs to an object, so it becomes the label of a box in the image, never of the whole image. The box
comes from `object_bx`, `object_by`, `object_width` and `object_height`. Rows without a box are counted and ignored,
unless a mapping states that each image shows one object.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from benthoscope.engine.exchange.labels.export_model import DUBIOUS, PREDICTED, VERIFIED
from benthoscope.engine.exchange.labels.records import LabelReading, LabelRecord, complete, moment_in, number_in, worded
from benthoscope.engine.exchange.metadata.columns import guessed
from benthoscope.engine.exchange.parsing.csv_output import named_rows, unguarded
from benthoscope.engine.exchange.parsing.tables import Table
from benthoscope.engine.exchange.records import Complaints, Reading

NEEDED = frozenset({"img_file_name", "object_id"})
TYPE_CODE = re.compile(r"\[[tf]\]", re.IGNORECASE)
STATUS = {
    "validated": VERIFIED,
    "predicted": PREDICTED,
    "dubious": DUBIOUS,
    "v": VERIFIED,
    "p": PREDICTED,
    "d": DUBIOUS,
}
BOX = ("object_bx", "object_by", "object_width", "object_height")
CATEGORY = "object_annotation_category"
FIELDS = {
    "img_file_name": "image",
    "object_date": "date",
    "object_time": "time",
    "object_lat": "latitude",
    "object_lon": "longitude",
    "object_depth_min": "depth",
    "sample_id": "group",
}
OF_OBJECTS = ("object_", "process_")  # columns that describe an object, not its image


def is_ecotaxa(table: Table) -> bool:
    return {name.strip().lower() for name in table.header} >= NEEDED


def without_types(table: Table) -> Table:
    """Return the table without its row of type codes, and with times of six digits."""
    rows = table.rows[1:] if table.rows and _is_type_row(table.rows[0][1]) else table.rows
    at = {name.strip().lower(): column for column, name in enumerate(table.header)}
    times = [at[name] for name in ("object_time", "object_annotation_time") if name in at]
    return replace(table, rows=tuple((line, _with_whole_times(cells, times)) for line, cells in rows))


def ecotaxa_in(table: Table) -> Table | None:
    """Return the table for an import of images, or None if it is not from EcoTaxa."""
    return without_types(table) if is_ecotaxa(table) else None


def ecotaxa_mapping(table: Table) -> dict[str, str]:
    """Return {column name: field} of EcoTaxa's columns for an image. Columns of objects are dropped."""
    known_fields = {name: FIELDS[name.strip().lower()] for name in table.header if name.strip().lower() in FIELDS}
    guessed_fields = {
        name: field for name, field in guessed(table.header, table.rows).items() if field not in known_fields.values()
    }
    of_objects = {
        name: "drop" for name in table.header if name.lower().startswith(OF_OBJECTS) and name not in known_fields
    }
    return {**guessed_fields, **of_objects, **known_fields}


def of_images(reading: Reading) -> Reading:
    """Return the reading with a remark on the classes, which an import of images ignores."""
    loss = f"{len(reading.records):,} objects of EcoTaxa: their classes stay in the file; `import-labels` reads them"
    return replace(reading, losses=(*reading.losses, loss))


def read_ecotaxa(table: Table, *, source: str, one_object_per_image: bool = False) -> LabelReading:
    """Read the classes of objects as labelled boxes; with `one_object_per_image`, as labels of whole images.

    The status that EcoTaxa gives each class is kept: predicted, dubious or validated.
    """
    table, complaints = without_types(table), Complaints(source)
    records, unclassified, without_box = [], 0, 0
    for line, row in named_rows(table):
        path, location = class_path(row), f"line {line}"
        box = () if one_object_per_image else _box(row, location, complaints)
        if not path:
            unclassified += 1
        elif not row.get("img_file_name", "").strip():
            complaints.add(location, "has no image", "fill in img_file_name", "rows without an image")
        elif not box and not one_object_per_image:
            without_box += 1
        else:
            records.append(_record(row, path, box, location, complaints))
    losses = [f"{source}: {unclassified:,} objects without a class"] if unclassified else []
    losses += (
        [
            f"{source}: {without_box:,} objects have no box ({', '.join(BOX)}), and the class of an object is not "
            "the label of its image. If each image shows one object, give --mapping img_file_name=image "
            f"--mapping {CATEGORY}=label"
        ]
        if without_box
        else []
    )
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()), tuple(losses))


def class_path(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return the class from the root down: from the hierarchy if present, else from "child<parent"."""
    hierarchy = unguarded(row.get("object_annotation_hierarchy", "")).strip()
    names = hierarchy.split(">") if hierarchy else reversed(unguarded(row.get(CATEGORY, "")).split("<"))
    return tuple(name.strip() for name in names if name.strip())


def _record(
    row: Mapping[str, str], path: tuple[str, ...], box: tuple[float, ...], location: str, complaints: Complaints
) -> LabelRecord:
    written = row.get("object_annotation_status", "").strip().lower()
    if written and written not in STATUS:
        complaints.add(
            location,
            f"the status '{written}' is not a status of EcoTaxa",
            "use predicted, dubious or validated",
            "unknown states, treated as dubious",
        )
    day, clock = row.get("object_annotation_date", "").strip(), row.get("object_annotation_time", "").strip()
    return LabelRecord(
        row["img_file_name"].strip(),
        path,
        group=worded(row.get("sample_id")),
        who=worded(unguarded(row.get("object_annotation_person_name", ""))),
        at=moment_in(f"{day}_{clock}" if day and clock else day, location, complaints),
        status=STATUS.get(written, DUBIOUS if written else None),
        shape="box" if box else None,
        numbers=box,
    )


def _box(row: Mapping[str, str], location: str, complaints: Complaints) -> tuple[float, ...]:
    if not all(row.get(name, "").strip() for name in BOX):
        return ()
    numbers = complete(number_in(row[name], location, complaints) for name in BOX)
    return numbers if numbers and min(numbers[2:]) > 0 else ()


def _is_type_row(cells: list[str]) -> bool:
    written = [cell.strip() for cell in cells if cell.strip()]
    return bool(written) and all(TYPE_CODE.fullmatch(cell) for cell in written)


def _with_whole_times(cells: list[str], columns: list[int]) -> list[str]:
    """Restore leading zeros of times such as 093000, which spreadsheets remove."""
    fixed = list(cells)
    for at in columns:
        if at < len(fixed) and fixed[at].strip().isdecimal() and len(fixed[at].strip()) < 6:
            fixed[at] = fixed[at].strip().zfill(6)
    return fixed
