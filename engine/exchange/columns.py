"""Which column of a table means what: guessed from its name, corrected by a person."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from engine.exchange import values
from engine.exchange.tables import Row
from engine.imaging import SUFFIXES
from engine.problems import unknown


@dataclass(frozen=True)
class Field:
    """Something a column can mean. `names`: how headers spell it, the likeliest first, as `plain` writes them."""

    name: str
    title: str
    names: tuple[str, ...]
    read: Callable[[Any], Any] = values.number


FIELDS = {one.name: one for one in (
    Field("image", "file name of the image", (
        "image", "filename", "file_name", "file", "image_filename", "image_name", "leftimage", "left_image",
        "img_file_name", "point_media_key", "media_key", "key", "image_path", "path", "filepath", "file_path", "name",
        "photo", "photo_name", "picture", "frame", "frame_name", "image_id", "sourcefile", "url"), values.text),
    Field("twin", "image of the other camera at the same moment", ("rightimage", "right_image"), values.text),
    Field("group", "dive or album", (
        "dive", "dive_code", "dive_id", "dive_name", "deployment", "deployment_id", "deployment_name",
        "point_media_deployment_key", "deployment_key", "station", "station_id", "transect", "transect_id", "album",
        "group", "event", "image_event", "sample_id", "survey_id", "tow"), values.text),
    Field("collection", "campaign", (
        "campaign", "campaign_code", "campaign_name", "point_media_deployment_campaign_key", "cruise", "cruise_id",
        "expedition", "voyage", "project", "image_project"), values.text),
    Field("taken_at", "date and time", (
        "taken_at", "datetime", "date_time", "timestamp", "time_utc", "utc_time", "datetime_utc", "utc_datetime",
        "date_time_utc", "image_datetime", "sub_datetime", "point_pose_timestamp", "timestamp_start", "captured_at",
        "capture_time", "acquisition_time", "datetimeoriginal", "date_taken", "time_stamp", "unix_time"), values.text),
    Field("date", "date", ("date", "day_date", "date_utc", "utc_date", "object_date", "gpsdatestamp"), values.text),
    Field("time", "time of day, or date and time", ("time", "utc", "clock", "object_time", "hms", "gpstimestamp"),
          values.text),
    Field("year", "year", ("year", "yyyy")),
    Field("month", "month", ("month",)),
    Field("day", "day of the month", ("day",)),
    Field("hour", "hour", ("hour", "hours", "hh")),
    Field("minute", "minute", ("minute", "minutes")),
    Field("second", "second", ("second", "seconds")),
    Field("latitude", "latitude", (
        "latitude", "lat", "image_latitude", "sub_latitude", "decimallatitude", "decimal_latitude", "lat_dd",
        "latitude_deg", "gpslatitude", "gps_latitude", "point_pose_lat", "pose_lat", "usbl_lat", "lat_deg",
        "object_lat", "y_lat", "sub_lat", "ship_latitude"), values.latitude),
    Field("longitude", "longitude", (
        "longitude", "lon", "lng", "long", "image_longitude", "sub_longitude", "decimallongitude",
        "decimal_longitude", "lon_dd", "longitude_deg", "gpslongitude", "gps_longitude", "point_pose_lon", "pose_lon",
        "usbl_lon", "lon_deg", "long_dd", "object_lon", "x_lon", "sub_lon", "ship_longitude"), values.longitude),
    Field("depth", "depth of the camera in metres", (
        "depth_sensor", "vehicle_depth", "camera_depth", "sub_depth", "depth", "depth_m", "point_pose_dep", "pose_dep",
        "dep", "depth_meters", "depthmeters", "depth_metres", "object_depth_min", "pressure_depth", "water_depth"),
          values.depth),
    Field("elevation", "height above sea level in metres (negative under water)", (
        "gps_altitude", "image_altitude_meters", "image_altitude", "sub_altitude", "elevation", "gpsaltitude"),
          values.elevation),
    Field("altitude", "height above the sea floor in metres", (
        "altitude", "altitude_sensor", "distance_to_ground", "sub_distance", "image_meters_above_ground", "alt",
        "altitude_m", "point_pose_alt", "pose_alt", "height_above_bottom", "camera_altitude", "range_to_seafloor",
        "altitudemeters", "altitude_metres", "height_above_seafloor", "hab"), values.altitude),
    Field("heading", "heading in degrees from north", (
        "heading", "yaw", "sub_heading", "image_camera_yaw_degrees", "heading_deg", "gpsimgdirection", "bearing")),
    Field("pitch", "pitch in degrees", ("pitch", "image_camera_pitch_degrees", "pitch_deg")),
    Field("roll", "roll in degrees", ("roll", "image_camera_roll_degrees", "roll_deg")),
    Field("area", "area seen, in square metres", (
        "area", "image_area_square_meters", "image_area_square_meter", "area_m2", "footprint_area")),
    Field("sha256", "SHA-256 of the file", ("sha256", "image_hash_sha256"), values.text),
)}
KEEP = "keep"  # as free metadata under its own name, which is what happens to a column that means none of these
DROP = "drop"
Columns = Mapping[str, str]  # column name to field name


def plain(name: str) -> str:
    """A header as FIELDS spells it: "Depth [m]" and "image-latitude" become "depth" and "image_latitude"."""
    bare = re.sub(r"[(\[{].*?[)\]}]", " ", name.lower())
    return re.sub(r"[^a-z0-9]+", "_", bare).strip("_")


def guessed(header: Sequence[str], rows: Sequence[Row] = ()) -> dict[str, str]:
    """Column name to field name, for the columns whose meaning is clear; every field at most once."""
    columns = {plain(name): name for name in reversed(header)}  # of two alike the first holds
    found = {}
    for one in FIELDS.values():
        named = next((columns[name] for name in one.names if name in columns and columns[name] not in found), None)
        if named is not None:
            found[named] = one.name
    by_content = column_of_images(header, rows)
    if by_content is not None and not _names_images(header, rows, found):
        found = {column: field for column, field in found.items() if field != "image"} | {by_content: "image"}
    return found


def column_of_images(header: Sequence[str], rows: Sequence[Row]) -> str | None:
    """The first column that mostly holds names of image files."""
    return next((name for at, name in enumerate(header) if _holds_images(at, rows)), None)


def corrected(mapping: Columns, header: Sequence[str], corrections: Columns, *, strict: bool = True) -> dict[str, str]:
    """The mapping after a person's corrections (column to field, `keep` or `drop`).

    BadInput for a word that is no field and, when strict, for a column that is not there.
    """
    found = dict(mapping)
    for said, field in corrections.items():
        if field not in FIELDS and field not in (KEEP, DROP):
            raise unknown("mapping", field, [*FIELDS, KEEP, DROP])
        column = column_called(said, header)
        if column is None and strict:
            raise unknown("mapping", said, header)
        if column is not None:
            found = {name: old for name, old in found.items() if old != field or field in (KEEP, DROP)}
            found[column] = field
    return found


def column_called(said: str, header: Sequence[str]) -> str | None:
    """The column a person means, however they spell it."""
    exact = next((name for name in header if name == said), None)
    return exact or next((name for name in header if plain(name) == plain(said)), None)


def is_image_name(cell: str) -> bool:
    return PurePosixPath(cell.strip().replace("\\", "/")[-300:]).suffix.lower() in SUFFIXES


def _names_images(header: Sequence[str], rows: Sequence[Row], found: Columns) -> bool:
    column = next((name for name, field in found.items() if field == "image"), None)
    return column is not None and _holds_images(list(header).index(column), rows)


def _holds_images(at: int, rows: Iterable[Row]) -> bool:
    cells = [cells[at] for _, cells in rows if at < len(cells) and cells[at].strip()][:50]
    return bool(cells) and sum(map(is_image_name, cells)) * 2 > len(cells)
