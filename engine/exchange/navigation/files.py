"""Recognise navigation files: tables, GPX and NetCDF files with positions or depths by time and without image names."""

import math
from collections.abc import Mapping
from pathlib import PurePosixPath

from benthoscope.engine.exchange.metadata.columns import FIX_FIELDS, read_fixes
from benthoscope.engine.exchange.navigation.gpx import read_gpx
from benthoscope.engine.exchange.navigation.netcdf import read_netcdf
from benthoscope.engine.exchange.navigation.tracks import Track
from benthoscope.engine.exchange.parsing.tables import Table
from benthoscope.engine.progress import OnStep, ignore

GPX = frozenset({".gpx"})
NETCDF = frozenset({".nc", ".nc4", ".cdf"})
NAVIGATION = GPX | NETCDF
TIMES = ("taken_at", "date", "time", "year")
PLACES = frozenset({"depth", "altitude", "elevation"})


def read_track_file(data: bytes, *, source: str) -> Track | None:
    """Return the track in a GPX or NetCDF file, chosen by its ending; None if it contains none."""
    if PurePosixPath(source).suffix.lower() in GPX:
        return read_gpx(data, source=source)
    return read_netcdf(data, source=source)


def is_navigation(mapping: Mapping[str, str]) -> bool:
    """Return whether a table without images has columns for a time and a position, depth or height."""
    fields = set(mapping.values())
    return bool(fields & set(TIMES)) and (fields >= {"latitude", "longitude"} or bool(fields & PLACES))


def track_in_table(table: Table, mapping: Mapping[str, str], *, source: str, on_step: OnStep = ignore) -> Track | None:
    """Return the track in a table of positions by time; None if too few rows are valid."""
    if not is_navigation(mapping):
        return None
    fixes, problems = read_fixes(table, mapping, source=source, on_step=on_step)
    columns = {
        name: [fix.get(name, math.nan) for fix in fixes]
        for name in FIX_FIELDS
        if name in mapping.values() or (name == "depth" and "elevation" in mapping.values())
    }
    return Track.of(source, "navigation table", [fix["time"] for fix in fixes], columns, problems)
