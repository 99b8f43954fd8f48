"""Image metadata as BIIGLE takes it: CSV with fixed column names."""

from engine.exchange.columns import plain
from engine.exchange.records import Reading
from engine.exchange.rows import read_rows
from engine.exchange.tables import Table, read_table
from engine.problems import fail

MEANINGS = {
    "file": "image", "filename": "image", "taken_at": "taken_at", "sub_datetime": "taken_at",
    "lng": "longitude", "lon": "longitude", "longitude": "longitude", "sub_longitude": "longitude",
    "lat": "latitude", "latitude": "latitude", "sub_latitude": "latitude",
    "gps_altitude": "elevation", "sub_altitude": "elevation",
    "distance_to_ground": "altitude", "sub_distance": "altitude", "area": "area",
    "yaw": "heading", "heading": "heading", "sub_heading": "heading",
}
OWN = frozenset({"taken_at", "gps_altitude", "distance_to_ground", "sub_datetime", "sub_longitude", "sub_latitude",
                 "sub_altitude", "sub_distance", "sub_heading"})


def is_biigle(table: Table) -> bool:
    """Whether every column is one of BIIGLE's, the file name among them, and one is nobody else's."""
    names = {plain(_bare(name)) for name in table.header}
    return names <= MEANINGS.keys() and bool(names & {"file", "filename"}) and bool(names & OWN)


def biigle_mapping(table: Table) -> dict[str, str]:
    """Of several columns with one meaning the last holds, as in BIIGLE; `gps_altitude` is negative below water."""
    last = {MEANINGS[plain(_bare(name))]: name for name in table.header}
    return dict.fromkeys(table.header, "drop") | {name: field for field, name in last.items()}


def read_biigle(data: bytes, *, source: str) -> Reading:
    """Records of the images and what could not be used."""
    table = read_table(data, source=source)
    if not is_biigle(table):
        raise fail(source, "is no image metadata of BIIGLE", f"its columns are {', '.join(MEANINGS)}")
    return read_rows(table, biigle_mapping(table), source=source)


def _bare(name: str) -> str:
    """The name without the " (2)" that a second column of one name was given."""
    return name.rpartition(" (")[0] if name.endswith(")") else name
