"""Tracks of IMOS and ACFR AUV dives: `*_latlong.csv`, one row per stereo pair."""

from dataclasses import replace

from engine.exchange.columns import guessed, plain
from engine.exchange.records import Complaints, ImageRecord, Reading
from engine.exchange.rows import read_rows
from engine.exchange.tables import Table, read_table, unique
from engine.problems import fail

FIRST = "year"  # the header's first cell; free text and blank rows may stand above it
NEEDED = frozenset({"year", "month", "day", "latitude", "longitude", "leftimage"})
NO_LABEL = (0, 9999)  # written by different tools where an image has no cluster


def track_in(table: Table) -> Table | None:
    """The table from its true header on, or None when it is no track."""
    rows = [(1, list(table.header)), *table.rows]
    start = next((at for at, (_, cells) in enumerate(rows) if cells[0].strip().lower() == FIRST), None)
    if start is None or not {plain(cell) for cell in rows[start][1]} >= NEEDED:
        return None
    header = unique([cell.strip() for cell in rows[start][1]], "", Complaints(""))
    return replace(table, header=header, rows=tuple(rows[start + 1:]))


def with_labels(reading: Reading) -> Reading:
    """The column `label` is the cluster a program gave the image, not a name a person gave it."""
    return replace(reading, records=tuple(map(_with_label, reading.records)))


def read_track(data: bytes, *, source: str) -> Reading:
    """Records under the left images' names, the right ones as twins; the cluster goes to `cluster_label`.

    `depth` is the vehicle's, `altitude` its height above the sea floor. Columns go by name: their order varies.
    """
    table = track_in(read_table(data, source=source))
    if table is None:
        raise fail(source, "is no AUV track", f"it needs the columns {', '.join(sorted(NEEDED))}")
    return with_labels(read_rows(table, guessed(table.header, table.rows), source=source))


def _with_label(record: ImageRecord) -> ImageRecord:
    details = {name: value for name, value in record.details.items() if name.lower() != "label"}
    label = next((value for name, value in record.details.items() if name.lower() == "label"), None)
    if label is not None and label not in NO_LABEL:
        details["cluster_label"] = label
    return replace(record, details=details)
