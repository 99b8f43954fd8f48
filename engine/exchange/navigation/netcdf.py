"""Positions by time in NetCDF files, such as those of IMOS moorings, ships and AUVs.

NetCDF 4, the format of IMOS, is HDF5 and is read with h5py; the classic format is read with SciPy.
"""

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benthoscope.engine.exchange.navigation.tracks import Track
from benthoscope.engine.exchange.parsing.tables import MAX_BYTES
from benthoscope.engine.exchange.parsing.values import moment
from benthoscope.engine.problems import BadInput, fail

HDF5 = b"\x89HDF\r\n\x1a\n"
CLASSIC = (b"CDF\x01", b"CDF\x02")
MOST_FIXES = 20_000_000
BAD_FLAGS = (3, 4, 9)  # IMOS quality control: bad but correctable, bad, missing
SECONDS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "min": 60,
    "minute": 60,
    "h": 3_600,
    "hr": 3_600,
    "hour": 3_600,
    "d": 86_400,
    "day": 86_400,
    "ms": 0.001,
    "millisecond": 0.001,
    "msec": 0.001,
}
SINCE = re.compile(r"\s*([A-Za-z]+)\s+since\s+(.+)", re.IGNORECASE)
NAMES = {  # field: names of variables, then standard names of the CF conventions
    "time": ("time", "juld", "datetime"),
    "latitude": ("latitude", "lat", "nominal_latitude"),
    "longitude": ("longitude", "lon", "nominal_longitude"),
    "depth": ("depth", "vehicle_depth"),
    "altitude": ("altitude", "height_above_seafloor", "height_above_sea_floor"),
    "heading": ("heading", "platform_yaw_angle", "platform_orientation", "yaw"),
    "pitch": ("pitch", "platform_pitch_angle", "platform_pitch"),
    "roll": ("roll", "platform_roll_angle", "platform_roll"),
    "sea_water_temperature": ("temp", "sea_water_temperature"),
    "sea_water_salinity": ("psal", "sea_water_salinity", "sea_water_practical_salinity"),
}


@dataclass(frozen=True)
class Variable:
    """A variable of either format. `read` returns its stored values."""

    name: str
    shape: tuple[int, ...]
    attributes: Mapping[str, Any]
    read: Callable[[], np.ndarray]


def read_netcdf(data: bytes, *, source: str) -> Track | None:
    """Return the fixes in a NetCDF file, or None if it contains no positions or depths by time."""
    if len(data) > MAX_BYTES:
        raise fail(source, f"has {len(data) >> 20} MB, more than the limit of {MAX_BYTES >> 20} MB", "split it")
    try:
        if data.startswith(HDF5):
            return _from_hdf5(data, source)
        if data.startswith(CLASSIC):
            return _from_classic(data, source)
    except BadInput:
        raise
    except Exception as error:  # damaged content makes both libraries raise any error
        raise fail(source, "is damaged or not a NetCDF file", "copy or download it again") from error
    raise fail(source, "is not a NetCDF file", "give a NetCDF file, a GPX track or a CSV table")


def _from_hdf5(data: bytes, source: str) -> Track | None:
    import h5py  # imported late: takes 40 ms and most imports never need it

    with h5py.File(io.BytesIO(data), "r") as file:
        datasets = {
            name: item
            for name, item in file.items()
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu" and not item.external
        }
        return _track(
            {
                name.lower(): Variable(name, item.shape, dict(item.attrs), _whole_of(item))
                for name, item in datasets.items()
            },
            source,
        )


def _from_classic(data: bytes, source: str) -> Track | None:
    from scipy.io import netcdf_file

    with netcdf_file(io.BytesIO(data), mmap=False) as file:
        variables = {
            name.lower(): Variable(name, each.data.shape, dict(each._attributes), _copy_of(each))
            for name, each in file.variables.items()
            if each.data.dtype.kind in "fiu"
        }
        return _track(variables, source)


def _whole_of(dataset: Any) -> Callable[[], np.ndarray]:
    return lambda: dataset[()]


def _copy_of(variable: Any) -> Callable[[], np.ndarray]:
    return lambda: variable[:].copy()


def _track(variables: Mapping[str, Variable], source: str) -> Track | None:
    chosen = {field: variable for field in NAMES if (variable := _variable_of(field, variables))}
    time = chosen.pop("time", None)
    if time is None or len(time.shape) != 1 or time.shape[0] < 2:
        return None
    if time.shape[0] > MOST_FIXES:
        raise fail(
            source, f"has {time.shape[0]:,} times, more than the limit of {MOST_FIXES:,}", "reduce the number of times"
        )
    moments = _moments(time, variables, source)
    columns = {field: _column(variable, variables, len(moments)) for field, variable in chosen.items()}
    known = {field: column for field, column in columns.items() if column is not None}
    if "depth" in known:
        known["depth"] = _depths(chosen["depth"], known["depth"])
    return Track.of(source, "NetCDF track", moments, known)


def _variable_of(field: str, variables: Mapping[str, Variable]) -> Variable | None:
    names = NAMES[field]
    by_name = next((variables[name] for name in names if name in variables), None)
    return by_name or next(
        (each for each in variables.values() if _text(each.attributes.get("standard_name")).lower() in names), None
    )


def _moments(time: Variable, variables: Mapping[str, Variable], source: str) -> np.ndarray:
    """Return seconds since 1970 UTC (n,), from units such as "days since 1950-01-01T00:00:00Z"."""
    units = _text(time.attributes.get("units"))
    match = SINCE.fullmatch(units)
    scale = SECONDS.get(match[1].lower(), SECONDS.get(match[1].lower().rstrip("s"))) if match else None
    if match is None or scale is None:
        raise fail(source, f"its times have the unit '{units[:60]}'", "use a unit such as 'seconds since 1970-01-01'")
    try:
        start = moment(re.sub(r"\s*\(UTC\)$", "", match[2].strip()))
    except ValueError:
        start = _early(match[2].strip())
    if start is None:
        raise fail(source, f"its times count from '{match[2][:60]}'", "use a unit such as 'seconds since 1970-01-01'")
    return start + _values(time, variables) * scale


def _early(written: str) -> float | None:
    """Return a reference time before 1900, which cannot be the time of an image."""
    try:
        parsed = datetime.fromisoformat(written.replace(" UTC", "").replace("Z", ""))
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def _column(variable: Variable, variables: Mapping[str, Variable], count: int) -> np.ndarray | None:
    """Return the variable along time (count,); None if it has another shape."""
    size = int(np.prod(variable.shape))
    if size == count:
        return _values(variable, variables).reshape(count)
    if size == 1 and count:  # one position for the whole file, as for a mooring
        return np.full(count, _values(variable, variables).reshape(-1)[0])
    return None


def _values(variable: Variable, variables: Mapping[str, Variable]) -> np.ndarray:
    """Return float64 after scale and offset; NaN where missing, outside the valid range, or flagged as bad."""
    raw = np.asarray(variable.read())
    result = raw.astype(np.float64)
    for name in ("_FillValue", "missing_value"):
        if name in variable.attributes:
            result[np.isin(raw, np.atleast_1d(variable.attributes[name]))] = np.nan
    for name, compare in (("valid_min", np.less), ("valid_max", np.greater)):
        limit = _number(variable.attributes.get(name))
        if limit is not None:
            result[compare(raw, limit)] = np.nan
    flags = variables.get(f"{variable.name}_quality_control".lower())
    if flags is not None and flags.shape == variable.shape:
        result[np.isin(np.asarray(flags.read()), BAD_FLAGS)] = np.nan
    scale, offset = (_number(variable.attributes.get(name)) for name in ("scale_factor", "add_offset"))
    return result * (1 if scale is None else scale) + (0 if offset is None else offset)


def _depths(variable: Variable, depths: np.ndarray) -> np.ndarray:
    """Return metres below the surface. CF files with `positive` up, and programs that write negative depths, have the
    opposite sign."""
    known = depths[np.isfinite(depths)]
    upwards = _text(variable.attributes.get("positive")).lower() == "up" or (len(known) and np.median(known) < 0)
    return -depths if upwards else depths


def _number(value: Any) -> float | None:
    array = np.atleast_1d(np.asarray(value)) if value is not None else np.empty(0)
    return float(array.reshape(-1)[0]) if array.size and array.dtype.kind in "fiu" else None


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.reshape(-1)[0] if value.size else ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
