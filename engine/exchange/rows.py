"""Rows of a table become records of images, by a mapping of columns to fields."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.exchange import values
from engine.exchange.columns import DROP, FIELDS, KEEP
from engine.exchange.moments import from_parts, is_day_first, moment
from engine.exchange.records import Complaints, ImageRecord, Reading
from engine.exchange.tables import Table, told
from engine.problems import fail
from engine.progress import OnStep, ignore

PARTS = ("year", "month", "day", "hour", "minute", "second")
ANGLES = ("heading", "pitch", "roll", "area")  # kept among the details, as numbers
LONGEST_DETAIL = 1_000
SHA256 = re.compile(r"[0-9a-fA-F]{64}")
REMEDIES = {
    "latitude": "use decimal degrees between -90 and 90; are latitude and longitude swapped?",
    "longitude": "use decimal degrees between -180 and 180",
    "time": "use 2019-05-13 13:14:15, in UTC",
}


@dataclass(frozen=True)
class Reader:
    """What turns the rows of one table into records: places of the fields, of the columns kept, and date habits."""

    fields: Mapping[str, int]  # field name to column
    kept: Mapping[str, int]    # detail name to column
    day_first: bool

    def record(self, cells: Sequence[str], line: str, complaints: Complaints) -> ImageRecord | None:
        """The record of one row; what is wrong in it is complained of and left out."""
        found = {name: self._value(name, cells, line, complaints) for name in self.fields}
        if not found.get("image"):
            complaints.add(line, "names no image", "fill in the file name", "rows that name no image")
            return None
        place = _whole_position(found)
        below = found.get("elevation")
        depth = found.get("depth")
        details = self._details(cells) | {name: found[name] for name in ANGLES if found.get(name) is not None}
        if below is not None and below > 0:
            details["elevation"] = below
        return ImageRecord(
            image=cleaned(found["image"]), twin=cleaned(found.get("twin") or ""), group=found.get("group"),
            collection=found.get("collection"), taken_at=self._moment(found, line, complaints), **place,
            depth=-below if depth is None and below is not None and below <= 0 else depth,
            altitude=found.get("altitude"), sha256=_hash(found.get("sha256")), details=details)

    def _value(self, name: str, cells: Sequence[str], line: str, complaints: Complaints) -> Any:
        try:
            return FIELDS[name].read(self._cell(name, cells))
        except ValueError as error:
            complaints.add(line, str(error), REMEDIES.get(name, "give a plain number in metres, degrees or seconds"),
                           f"{name} that cannot be used")
            return None

    def _cell(self, name: str, cells: Sequence[str]) -> str:
        at = self.fields[name]
        return cells[at] if at < len(cells) else ""

    def _moment(self, found: Mapping[str, Any], line: str, complaints: Complaints) -> float | None:
        parts = {name: found[name] for name in PARTS if found.get(name) is not None}
        try:
            written = found.get("taken_at") or _date_and_time(found)
            if written:
                return moment(written, day_first=self.day_first)
            if {"year", "month", "day"} <= parts.keys():
                return from_parts(parts, "-".join(f"{parts[name]:g}" for name in PARTS[:3]))
        except ValueError as error:
            complaints.add(line, str(error), REMEDIES["time"], "times that cannot be used")
        return None

    def _details(self, cells: Sequence[str]) -> dict[str, Any]:
        cut = {name: cells[at].strip()[:LONGEST_DETAIL] for name, at in self.kept.items() if at < len(cells)}
        return {name: as_json(cell) for name, cell in cut.items() if not values.is_missing(cell)}


def read_rows(table: Table, mapping: Mapping[str, str], *, source: str, on_step: OnStep = ignore) -> Reading:
    """The records of a table by a mapping (column name to field name, `keep` or `drop`; the rest is kept)."""
    complaints = Complaints(source)
    reader, records = _reader(table, mapping, source, complaints), []
    for line, cells in told(table.rows, source, on_step):
        if len(cells) > len(table.header) and any(cell.strip() for cell in cells[len(table.header):]):
            complaints.add(f"line {line}", f"has {len(cells)} cells under {len(table.header)} columns",
                           "quote cells that contain the delimiter", "rows with more cells than columns")
        record = reader.record(cells, f"line {line}", complaints)
        if record:
            records.append(record)
    return Reading(tuple(records), (*table.problems, *complaints.problems()))


def cleaned(name: str) -> str:
    """A file name or path as the catalogue writes paths: forward slashes, nothing before the first folder."""
    parts = [part for part in name.strip().replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts)


def as_json(cell: str) -> str | float | int:
    """A free cell as a number where it is one without doubt, else as its text. Codes such as 007 stay text."""
    if re.fullmatch(r"-?(0|[1-9]\d{0,14})", cell, re.ASCII):
        return int(cell)
    return float(cell) if re.fullmatch(r"-?\d{1,15}\.\d{1,17}", cell, re.ASCII) else cell


def _reader(table: Table, mapping: Mapping[str, str], source: str, complaints: Complaints) -> Reader:
    at = {name: place for place, name in enumerate(table.header)}
    fields = {field: at[column] for column, field in mapping.items() if field in FIELDS}
    if "image" not in fields:
        raise fail(source, "no column names the images", "say which one does: --mapping COLUMN=image")
    silent = {column for column, field in mapping.items() if field != KEEP}
    kept = {name: place for name, place in at.items() if name not in silent and mapping.get(name) != DROP}
    return Reader(fields, kept, _day_first(table, fields, complaints))


def _day_first(table: Table, fields: Mapping[str, int], complaints: Complaints) -> bool:
    at = next((fields[name] for name in ("taken_at", "date", "time") if name in fields), None)
    if at is None:
        return True
    day_first = is_day_first(cells[at] for _, cells in table.rows if at < len(cells))
    if day_first is None:
        complaints.add(f"column '{table.header[at]}'", "does not tell days from months; read as day/month/year",
                       "write dates as 2019-05-13 if that is wrong")
    return day_first is not False


def _date_and_time(found: Mapping[str, Any]) -> str | None:
    date, time = found.get("date"), found.get("time")
    if date and time and len(time) < 16 and not time.startswith(date):  # a longer time holds the date already
        return f"{date} {time}"
    return date or (time if time and len(time) > 8 else None)


def _whole_position(found: Mapping[str, Any]) -> dict[str, float | None]:
    latitude, longitude = found.get("latitude"), found.get("longitude")
    if latitude is None or longitude is None or (latitude == 0 and longitude == 0):  # 0, 0: a receiver without a fix
        return {"latitude": None, "longitude": None}
    return {"latitude": latitude, "longitude": longitude}


def _hash(written: str | None) -> str | None:
    return written.lower() if written and SHA256.fullmatch(written) else None
