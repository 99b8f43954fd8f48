"""Read metadata tables: tracks of IMOS and ACFR AUV dives, image metadata of BIIGLE, and any CSV or TSV with one row
per image.

Tracks are `*_latlong.csv` files with one row per stereo pair. The meaning of the columns of other tables is guessed and
can be corrected.
"""

from collections.abc import Mapping
from dataclasses import replace

from benthoscope.engine.exchange.metadata.columns import corrected, guessed, is_image_name, plain, read_rows
from benthoscope.engine.exchange.parsing.tables import Table, read_table, unique
from benthoscope.engine.exchange.records import Complaints, ImageRecord, Reading
from benthoscope.engine.problems import fail

FIRST = "year"  # the header's first cell; free text and blank rows may precede it
NEEDED = frozenset({"year", "month", "day", "latitude", "longitude", "leftimage"})
NO_LABEL = (0, 9999)  # values for images without a cluster, from different tools


def track_in(table: Table) -> Table | None:
    """Return the table from its real header on, or None if it is not a track."""
    rows = [(1, list(table.header)), *table.rows]
    start = next((at for at, (_, cells) in enumerate(rows) if cells[0].strip().lower() == FIRST), None)
    if start is None or not {plain(cell) for cell in rows[start][1]} >= NEEDED:
        return None
    header = unique([cell.strip() for cell in rows[start][1]], "", Complaints(""))
    return replace(table, header=header, rows=tuple(rows[start + 1 :]))


def with_labels(reading: Reading) -> Reading:
    """Move the column `label`, which is the cluster of a program and not a label of a person."""
    return replace(reading, records=tuple(map(_with_label, reading.records)))


def read_track(data: bytes, *, source: str) -> Reading:
    """Return records under the names of the left images, with the right ones as pairs. The cluster goes to
    `cluster_label`.

    `depth` is that of the vehicle, `altitude` its height above the sea floor. Columns are identified by name, because
    their order varies.
    """
    table = track_in(read_table(data, source=source))
    if table is None:
        raise fail(source, "is not an AUV track", f"it needs the columns {', '.join(sorted(NEEDED))}")
    return with_labels(read_rows(table, guessed(table.header, table.rows), source=source))


def _with_label(record: ImageRecord) -> ImageRecord:
    details = {name: value for name, value in record.details.items() if name.lower() != "label"}
    label = next((value for name, value in record.details.items() if name.lower() == "label"), None)
    if label is not None and label not in NO_LABEL:
        details["cluster_label"] = label
    return replace(record, details=details)


MEANINGS = {
    "file": "image",
    "filename": "image",
    "taken_at": "taken_at",
    "sub_datetime": "taken_at",
    "lng": "longitude",
    "lon": "longitude",
    "longitude": "longitude",
    "sub_longitude": "longitude",
    "lat": "latitude",
    "latitude": "latitude",
    "sub_latitude": "latitude",
    "gps_altitude": "elevation",
    "sub_altitude": "elevation",
    "distance_to_ground": "altitude",
    "sub_distance": "altitude",
    "area": "area",
    "yaw": "heading",
    "heading": "heading",
    "sub_heading": "heading",
}
OWN = frozenset(
    {
        "taken_at",
        "gps_altitude",
        "distance_to_ground",
        "sub_datetime",
        "sub_longitude",
        "sub_latitude",
        "sub_altitude",
        "sub_distance",
        "sub_heading",
    }
)


def is_biigle(table: Table) -> bool:
    """Return whether all columns are BIIGLE's, including the file name and one that no other format has."""
    names = {plain(_bare(name)) for name in table.header}
    return names <= MEANINGS.keys() and bool(names & {"file", "filename"}) and bool(names & OWN)


def biigle_mapping(table: Table) -> dict[str, str]:
    """Return the mapping. Of several columns with one meaning the last is used, as in BIIGLE; `gps_altitude` is
    negative below water."""
    last = {MEANINGS[plain(_bare(name))]: name for name in table.header}
    return dict.fromkeys(table.header, "drop") | {name: field for field, name in last.items()}


def read_biigle(data: bytes, *, source: str) -> Reading:
    """Return records of the images and problems."""
    table = read_table(data, source=source)
    if not is_biigle(table):
        raise fail(source, "is not a BIIGLE image metadata file", f"its columns are {', '.join(MEANINGS)}")
    return read_rows(table, biigle_mapping(table), source=source)


def _bare(name: str) -> str:
    """Return the name without the " (2)" added to a repeated column name."""
    return name.rpartition(" (")[0] if name.endswith(")") else name


def with_header(table: Table) -> Table:
    """Return the table. If the first row already contains an image file, the columns are called "column 1" and
    so on."""
    if not any(map(is_image_name, table.header)):
        return table
    names = tuple(f"column {at}" for at in range(1, len(table.header) + 1))
    return replace(table, header=names, rows=((1, list(table.header)), *table.rows))


def read_spreadsheet(data: bytes, *, source: str, corrections: Mapping[str, str] | None = None) -> Reading:
    """Return records of the images and problems. Corrections map columns to fields, `keep` or `drop`."""
    table = with_header(read_table(data, source=source))
    mapping = corrected(guessed(table.header, table.rows), table.header, corrections or {})
    return read_rows(table, mapping, source=source)
