"""Guess the meaning of table columns from their names, apply the user's corrections, and convert rows to records of
images."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from benthoscope.engine.exchange.parsing import values
from benthoscope.engine.exchange.parsing.tables import Row, Table, with_progress
from benthoscope.engine.exchange.parsing.values import from_parts, is_day_first, moment
from benthoscope.engine.exchange.records import Complaints, ImageRecord, Reading
from benthoscope.engine.imaging import SUFFIXES
from benthoscope.engine.problems import Problem, fail, unknown
from benthoscope.engine.progress import OnStep, ignore


@dataclass(frozen=True)
class Field:
    """A meaning of a column. `names` are its spellings in headers, most likely first, as `plain` writes them."""

    name: str
    title: str
    names: tuple[str, ...]
    read: Callable[[Any], Any] = values.number


FIELDS = {
    field.name: field
    for field in (
        Field(
            "image",
            "file name of the image",
            (
                "image",
                "filename",
                "file_name",
                "file",
                "image_filename",
                "image_name",
                "leftimage",
                "left_image",
                "img_file_name",
                "point_media_key",
                "media_key",
                "key",
                "image_path",
                "path",
                "filepath",
                "file_path",
                "name",
                "photo",
                "photo_name",
                "picture",
                "frame",
                "frame_name",
                "image_id",
                "sourcefile",
                "url",
            ),
            values.text,
        ),
        Field("twin", "image of the other camera at the same time", ("rightimage", "right_image"), values.text),
        Field(
            "group",
            "dive or album",
            (
                "dive",
                "dive_code",
                "dive_id",
                "dive_name",
                "deployment",
                "deployment_id",
                "deployment_name",
                "point_media_deployment_key",
                "deployment_key",
                "station",
                "station_id",
                "transect",
                "transect_id",
                "album",
                "group",
                "event",
                "image_event",
                "sample_id",
                "survey_id",
                "tow",
            ),
            values.text,
        ),
        Field(
            "collection",
            "campaign",
            (
                "campaign",
                "campaign_code",
                "campaign_name",
                "point_media_deployment_campaign_key",
                "cruise",
                "cruise_id",
                "expedition",
                "voyage",
                "project",
                "image_project",
            ),
            values.text,
        ),
        Field(
            "taken_at",
            "date and time",
            (
                "taken_at",
                "datetime",
                "date_time",
                "timestamp",
                "time_utc",
                "utc_time",
                "datetime_utc",
                "utc_datetime",
                "date_time_utc",
                "image_datetime",
                "sub_datetime",
                "point_pose_timestamp",
                "timestamp_start",
                "captured_at",
                "capture_time",
                "acquisition_time",
                "datetimeoriginal",
                "date_taken",
                "time_stamp",
                "unix_time",
            ),
            values.text,
        ),
        Field("date", "date", ("date", "day_date", "date_utc", "utc_date", "object_date", "gpsdatestamp"), values.text),
        Field(
            "time",
            "time of day, or date and time",
            ("time", "utc", "clock", "object_time", "hms", "gpstimestamp"),
            values.text,
        ),
        Field("year", "year", ("year", "yyyy")),
        Field("month", "month", ("month",)),
        Field("day", "day of the month", ("day",)),
        Field("hour", "hour", ("hour", "hours", "hh")),
        Field("minute", "minute", ("minute", "minutes")),
        Field("second", "second", ("second", "seconds")),
        Field(
            "latitude",
            "latitude",
            (
                "latitude",
                "lat",
                "image_latitude",
                "sub_latitude",
                "decimallatitude",
                "decimal_latitude",
                "lat_dd",
                "latitude_deg",
                "gpslatitude",
                "gps_latitude",
                "point_pose_lat",
                "pose_lat",
                "usbl_lat",
                "lat_deg",
                "object_lat",
                "y_lat",
                "sub_lat",
                "ship_latitude",
            ),
            values.latitude,
        ),
        Field(
            "longitude",
            "longitude",
            (
                "longitude",
                "lon",
                "lng",
                "long",
                "image_longitude",
                "sub_longitude",
                "decimallongitude",
                "decimal_longitude",
                "lon_dd",
                "longitude_deg",
                "gpslongitude",
                "gps_longitude",
                "point_pose_lon",
                "pose_lon",
                "usbl_lon",
                "lon_deg",
                "long_dd",
                "object_lon",
                "x_lon",
                "sub_lon",
                "ship_longitude",
            ),
            values.longitude,
        ),
        Field(
            "depth",
            "depth of the camera in metres",
            (
                "depth_sensor",
                "vehicle_depth",
                "camera_depth",
                "sub_depth",
                "depth",
                "depth_m",
                "point_pose_dep",
                "pose_dep",
                "dep",
                "depth_meters",
                "depthmeters",
                "depth_metres",
                "object_depth_min",
                "pressure_depth",
                "water_depth",
            ),
            values.depth,
        ),
        Field(
            "elevation",
            "height above sea level in metres (negative under water)",
            ("gps_altitude", "image_altitude_meters", "image_altitude", "sub_altitude", "elevation", "gpsaltitude"),
            values.elevation,
        ),
        Field(
            "altitude",
            "height above the sea floor in metres",
            (
                "altitude",
                "altitude_sensor",
                "distance_to_ground",
                "sub_distance",
                "image_meters_above_ground",
                "alt",
                "altitude_m",
                "point_pose_alt",
                "pose_alt",
                "height_above_bottom",
                "camera_altitude",
                "range_to_seafloor",
                "altitudemeters",
                "altitude_metres",
                "height_above_seafloor",
                "hab",
            ),
            values.altitude,
        ),
        Field(
            "heading",
            "heading in degrees from north",
            ("heading", "yaw", "sub_heading", "image_camera_yaw_degrees", "heading_deg", "gpsimgdirection", "bearing"),
        ),
        Field("pitch", "pitch in degrees", ("pitch", "image_camera_pitch_degrees", "pitch_deg")),
        Field("roll", "roll in degrees", ("roll", "image_camera_roll_degrees", "roll_deg")),
        Field(
            "area",
            "area seen, in square metres",
            ("area", "image_area_square_meters", "image_area_square_meter", "area_m2", "footprint_area"),
        ),
        Field("sha256", "SHA-256 of the file", ("sha256", "image_hash_sha256"), values.text),
    )
}
KEEP = "keep"  # as additional metadata under its own name, the default for columns with other meanings
DROP = "drop"
Columns = Mapping[str, str]  # column name to field name


def plain(name: str) -> str:
    """Return a header in the spelling of FIELDS: "Depth [m]" and "image-latitude" become "depth" and
    "image_latitude"."""
    bare = re.sub(r"[(\[{].*?[)\]}]", " ", name.lower())
    return re.sub(r"[^a-z0-9]+", "_", bare).strip("_")


def guessed(header: Sequence[str], rows: Sequence[Row] = ()) -> dict[str, str]:
    """Return {column name: field name} for the columns with a clear meaning; each field at most once."""
    columns = {plain(name): name for name in reversed(header)}  # of two equal names, the first one is used
    mapping = {}
    for field in FIELDS.values():
        named = next((columns[name] for name in field.names if name in columns and columns[name] not in mapping), None)
        if named is not None:
            mapping[named] = field.name
    by_content = column_of_images(header, rows)
    if by_content is not None and not _names_images(header, rows, mapping):
        mapping = {column: field for column, field in mapping.items() if field != "image"} | {by_content: "image"}
    return mapping


def column_of_images(header: Sequence[str], rows: Sequence[Row]) -> str | None:
    """Return the first column that contains mostly names of image files."""
    return next((name for at, name in enumerate(header) if _holds_images(at, rows)), None)


def corrected(mapping: Columns, header: Sequence[str], corrections: Columns, *, strict: bool = True) -> dict[str, str]:
    """Return the mapping after the user's corrections (column to field, `keep` or `drop`).

    Raises BadInput for an unknown field and, if `strict`, for an unknown column.
    """
    result = dict(mapping)
    for title, field in corrections.items():
        if field not in FIELDS and field not in (KEEP, DROP):
            raise unknown("mapping", field, [*FIELDS, KEEP, DROP])
        column = column_called(title, header)
        if column is None and strict:
            raise unknown("mapping", title, header)
        if column is not None:
            result = {name: old for name, old in result.items() if old != field or field in (KEEP, DROP)}
            result[column] = field
    return result


def column_called(title: str, header: Sequence[str]) -> str | None:
    """Return the column that the user means, in any spelling."""
    exact = next((name for name in header if name == title), None)
    return exact or next((name for name in header if plain(name) == plain(title)), None)


def is_image_name(cell: str) -> bool:
    return PurePosixPath(cell.strip().replace("\\", "/")[-300:]).suffix.lower() in SUFFIXES


def _names_images(header: Sequence[str], rows: Sequence[Row], mapping: Columns) -> bool:
    column = next((name for name, field in mapping.items() if field == "image"), None)
    return column is not None and _holds_images(list(header).index(column), rows)


def _holds_images(at: int, rows: Iterable[Row]) -> bool:
    cells = [cells[at] for _, cells in rows if at < len(cells) and cells[at].strip()][:50]
    return bool(cells) and sum(map(is_image_name, cells)) * 2 > len(cells)


PARTS = ("year", "month", "day", "hour", "minute", "second")
FIX_FIELDS = ("latitude", "longitude", "depth", "altitude", "heading", "pitch", "roll")
ANGLES = ("heading", "pitch", "roll", "area")  # stored as numbers among the details
LONGEST_DETAIL = 1_000
SHA256 = re.compile(r"[0-9a-fA-F]{64}")
REMEDIES = {
    "latitude": "use decimal degrees between -90 and 90; are latitude and longitude swapped?",
    "longitude": "use decimal degrees between -180 and 180",
    "time": "use 2019-05-13 13:14:15, in UTC",
}


@dataclass(frozen=True)
class Reader:
    """Converts the rows of one table to records: columns of the fields and details, and the date format."""

    fields: Mapping[str, int]  # field name to column
    detail_columns: Mapping[str, int]  # detail name to column
    day_first: bool

    def record(self, cells: Sequence[str], line: str, complaints: Complaints) -> ImageRecord | None:
        """Return the record of one row. Invalid values are reported and left out."""
        values = self._values(cells, line, complaints)
        name = cleaned(values.get("image") or "")
        if not name:
            complaints.add(line, "has no image", "fill in the file name", "rows without an image")
            return None
        position = _complete_position(values)
        below = values.get("elevation")
        depth = values.get("depth")
        details = self._details(cells) | {name: values[name] for name in ANGLES if values.get(name) is not None}
        if below is not None and below > 0:
            details["elevation"] = below
        return ImageRecord(
            image=name,
            paired_image=cleaned(values.get("twin") or ""),
            group=values.get("group"),
            collection=values.get("collection"),
            taken_at=self._moment(values, line, complaints),
            **position,
            depth=-below if depth is None and below is not None and below <= 0 else depth,
            altitude=values.get("altitude"),
            sha256=_hash(values.get("sha256")),
            details=details,
        )

    def fix(self, cells: Sequence[str], line: str, complaints: Complaints) -> dict[str, float] | None:
        """Return time, position, depth, altitude and angles of a row without an image; None without a time."""
        values = self._values(cells, line, complaints)
        at = self._moment(values, line, complaints)
        if at is None:
            if not values.get("taken_at") and not values.get("date"):  # other problems were already reported
                complaints.add(line, "has no date and time", REMEDIES["time"], "rows without a time")
            return None
        below = values.get("elevation")
        if values.get("depth") is None and below is not None and below <= 0:
            values["depth"] = -below
        return {"time": at} | {name: values[name] for name in FIX_FIELDS if values.get(name) is not None}

    def _values(self, cells: Sequence[str], line: str, complaints: Complaints) -> dict[str, Any]:
        return {name: self._value(name, cells, line, complaints) for name in self.fields}

    def _value(self, name: str, cells: Sequence[str], line: str, complaints: Complaints) -> Any:
        try:
            return FIELDS[name].read(self._cell(name, cells))
        except ValueError as error:
            complaints.add(
                line,
                str(error),
                REMEDIES.get(name, "give a plain number in metres, degrees or seconds"),
                f"invalid {name}",
            )
            return None

    def _cell(self, name: str, cells: Sequence[str]) -> str:
        at = self.fields[name]
        return cells[at] if at < len(cells) else ""

    def _moment(self, values: Mapping[str, Any], line: str, complaints: Complaints) -> float | None:
        clock_fields = {name: values[name] for name in PARTS if values.get(name) is not None}
        try:
            written = values.get("taken_at") or _date_and_time(values)
            if written:
                return moment(written, day_first=self.day_first)
            if {"year", "month", "day"} <= clock_fields.keys():
                return from_parts(clock_fields, "-".join(f"{clock_fields[name]:g}" for name in PARTS[:3]))
        except ValueError as error:
            complaints.add(line, str(error), REMEDIES["time"], "invalid times")
        return None

    def _details(self, cells: Sequence[str]) -> dict[str, Any]:
        cut = {name: cells[at].strip()[:LONGEST_DETAIL] for name, at in self.detail_columns.items() if at < len(cells)}
        return {name: as_json(cell) for name, cell in cut.items() if not values.is_missing(cell)}


def read_rows(table: Table, mapping: Mapping[str, str], *, source: str, on_step: OnStep = ignore) -> Reading:
    """Return the records of a table by a mapping (column name to field name, `keep` or `drop`; unmapped columns are
    kept)."""
    complaints = Complaints(source)
    reader, records = _reader(table, mapping, source, complaints), []
    for line, cells in with_progress(table.rows, source, on_step):
        if len(cells) > len(table.header) and any(cell.strip() for cell in cells[len(table.header) :]):
            complaints.add(
                f"line {line}",
                f"has {len(cells)} cells under {len(table.header)} columns",
                "quote cells that contain the delimiter",
                "rows with more cells than columns",
            )
        record = reader.record(cells, f"line {line}", complaints)
        if record:
            records.append(record)
    return Reading(tuple(records), (*table.problems, *complaints.problems()))


def read_fixes(
    table: Table, mapping: Mapping[str, str], *, source: str, on_step: OnStep = ignore
) -> tuple[list[dict[str, float]], tuple[Problem, ...]]:
    """Return the rows of a table of positions by time, without images: one dict of fields per row, and problems."""
    complaints = Complaints(source)
    fields = {field: column for column, name in enumerate(table.header) if (field := mapping.get(name)) in FIELDS}
    reader = Reader(fields, {}, _day_first(table, fields, complaints))
    fixes = [
        fix
        for line, cells in with_progress(table.rows, source, on_step)
        if (fix := reader.fix(cells, f"line {line}", complaints)) is not None
    ]
    return fixes, (*table.problems, *complaints.problems())


def cleaned(name: str) -> str:
    """Return a file name or path in the form of the catalogue: forward slashes, nothing before the first folder."""
    segments = [segment for segment in name.strip().replace("\\", "/").split("/") if segment not in ("", ".", "..")]
    return "/".join(segments)


def as_json(cell: str) -> str | float | int:
    """Return a free cell as a number if it certainly is one, else as text. Codes such as 007 stay text."""
    if re.fullmatch(r"-?(0|[1-9]\d{0,14})", cell, re.ASCII):
        return int(cell)
    return float(cell) if re.fullmatch(r"-?\d{1,15}\.\d{1,17}", cell, re.ASCII) else cell


def _reader(table: Table, mapping: Mapping[str, str], source: str, complaints: Complaints) -> Reader:
    at = {name: column for column, name in enumerate(table.header)}
    fields = {field: at[column] for column, field in mapping.items() if field in FIELDS}
    if "image" not in fields:
        raise fail(source, "cannot find the column of the images", "give it: --mapping COLUMN=image")
    silent = {column for column, field in mapping.items() if field != KEEP}
    detail_columns = {name: column for name, column in at.items() if name not in silent and mapping.get(name) != DROP}
    return Reader(fields, detail_columns, _day_first(table, fields, complaints))


def _day_first(table: Table, fields: Mapping[str, int], complaints: Complaints) -> bool:
    at = next((fields[name] for name in ("taken_at", "date", "time") if name in fields), None)
    if at is None:
        return True
    day_first = is_day_first(cells[at] for _, cells in table.rows if at < len(cells))
    if day_first is None:
        complaints.add(
            f"column '{table.header[at]}'",
            "has dates with an unclear order of day and month; they were read as day/month/year",
            "use dates such as 2019-05-13 if this is wrong",
        )
    return day_first is not False


def _date_and_time(values: Mapping[str, Any]) -> str | None:
    date, time = values.get("date"), values.get("time")
    if date and time and len(time) < 16 and not time.startswith(date):  # a longer time already contains the date
        return f"{date} {time}"
    return date or (time if time and len(time) > 8 else None)


def _complete_position(values: Mapping[str, Any]) -> dict[str, float | None]:
    latitude, longitude = values.get("latitude"), values.get("longitude")
    if latitude is None or longitude is None or (latitude == 0 and longitude == 0):  # 0, 0: a receiver without a fix
        return {"latitude": None, "longitude": None}
    return {"latitude": latitude, "longitude": longitude}


def _hash(written: str | None) -> str | None:
    return written.lower() if written and SHA256.fullmatch(written) else None
