"""Parse numbers, coordinates, measures and times in the notations of people and programs.

Each parser returns None for a missing value and raises ValueError with a plain message for an invalid one. Times
without a time zone are interpreted as UTC, as in ships' logs.
"""

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

LONGEST = 80  # characters of a number, coordinate or time; longer cells are something else
NOTHING = frozenset({"", "-", "--", "na", "n/a", "nan", "nil", "none", "null", "nodata", "no data", "#n/a", "missing"})
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
SEXAGESIMAL = re.compile(
    r"(?P<before>[NSEW])?\s*(?P<sign>[+-]?)(?P<degrees>\d{1,3}(\.\d+)?)\s*(°|º|deg|d|\s|(?=[NSEW])|$)\s*"
    r"((?P<minutes>\d{1,2}(\.\d+)?)\s*('|′|m|min|\s|$)\s*)?((?P<seconds>\d{1,2}(\.\d+)?)\s*(\"|″|''|s|sec|$)\s*)?"
    r"(?P<after>[NSEW])?",
    re.ASCII | re.IGNORECASE,
)


def is_missing(value: Any) -> bool:
    """Return whether a cell means that there is no value."""
    return value is None or (isinstance(value, str) and value.strip().lower() in NOTHING)


def number(value: Any) -> float | None:
    """Return a finite number. A single comma is read as the decimal separator."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        value = _parsed(value.strip())
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{shown(value)} is not a number")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if math.isnan(result):
        return None
    if math.isinf(result):
        raise ValueError("the number is infinite or too large")
    return result


def latitude(value: Any) -> float | None:
    """Return degrees north, from decimal degrees or degrees, minutes and seconds."""
    return _angle(value, 90, "NS", "latitude")


def longitude(value: Any) -> float | None:
    """Return degrees east, -180 to 180. Values from 180 to 360 are converted."""
    angle = _angle(value, 360, "EW", "longitude")
    return angle - 360 if angle is not None and angle > 180 else angle


def depth(value: Any) -> float | None:
    """Return metres below the surface. The sign of negative values is dropped."""
    metres = number(value)
    return None if metres is None else _between(abs(metres), 0, 11_100, "depth")


def elevation(value: Any) -> float | None:
    """Return metres above sea level, negative under water."""
    return _between(number(value), -11_100, 10_000, "elevation")


def altitude(value: Any) -> float | None:
    """Return metres above the sea floor."""
    return _between(number(value), -1, 11_100, "altitude")


def text(value: Any) -> str | None:
    """Return a name on one line."""
    if is_missing(value):
        return None
    return " ".join(str(value).split())[:500] or None


def shown(value: Any) -> str:
    """Return an external value, short and on one line, for an error message."""
    text = " ".join(str(value).split())
    return f"'{text[:40]}...'" if len(text) > 43 else f"'{text}'"


def _parsed(written: str) -> str:
    if written.startswith("="):
        raise ValueError(f"{shown(written)} is a formula, not a number")
    if written.lstrip("+-").lower() in ("inf", "infinity"):
        raise ValueError("the number is infinite or too large")
    if written.count(",") == 1 and "." not in written:
        written = written.replace(",", ".")
    if len(written) > LONGEST or not PLAIN.fullmatch(written):
        raise ValueError(f"{shown(written)} is not a number")
    return written


def _angle(value: Any, limit: float, letters: str, name: str) -> float | None:
    if is_missing(value):
        return None
    angle = _sexagesimal(value.strip(), letters) if isinstance(value, str) else None
    angle = number(value) if angle is None else angle
    if angle is not None and not -min(limit, 180) <= angle <= limit:
        raise ValueError(f"{name} {shown(value)} is not on Earth")
    return angle


def _sexagesimal(written: str, letters: str) -> float | None:
    """Return degrees from "33°30'36\"S", "33 30.6 S" or "S33.51"; None for other notations."""
    match = SEXAGESIMAL.fullmatch(written) if len(written) <= LONGEST else None
    if not match or not (match["before"] or match["after"] or match["minutes"]):
        return None
    letter = (match["before"] or match["after"] or letters[0]).upper()
    minutes, seconds = float(match["minutes"] or 0), float(match["seconds"] or 0)
    if letter not in letters or minutes >= 60 or seconds >= 60:
        raise ValueError(f"{shown(written)} is not a valid angle")
    size = float(match["degrees"]) + minutes / 60 + seconds / 3600
    return -size if (letter == letters[1]) != (match["sign"] == "-") else size


def _between(value: float | None, low: float, high: float, name: str) -> float | None:
    if value is not None and not low <= value <= high:
        raise ValueError(f"{name} {value:g} m is not possible")
    return value


YEARS = range(1900, 2101)
SLASHED = re.compile(r"(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4})(?:[ T]+(.*))?", re.ASCII)
YEAR_FIRST = re.compile(r"(\d{4})[:/.](\d{1,2})[:/.](\d{1,2})(?:[ T]+(.*))?", re.ASCII)
PACKED = re.compile(r"(\d{8})[_T\-]?(\d{6})(?:[_.](\d{1,6}))?Z?", re.ASCII)
CLOCK = re.compile(
    r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9}))?)?\s*(am|pm)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?",
    re.ASCII | re.IGNORECASE,
)
IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d{6})[_T\-](\d{6})(?:[_.\-](\d{3}))?(?!\d)", re.ASCII)
TRIGGER = re.compile(r"PR_\d{8}_\d{6}_\d{3}_", re.ASCII)  # named by the trigger's UTC clock


def moment(value: Any, *, day_first: bool = True, form: str | None = None) -> float | None:
    """Return seconds since 1970 UTC. `form` is a strptime format that the source declares. Raises ValueError."""
    if is_missing(value):
        return None
    written = str(value).strip()
    if len(written) > LONGEST:
        raise ValueError(f"{shown(written)} is not a time")
    parsed = _by_form(written, form) or _by_habit(written, day_first)
    if parsed is None:
        raise ValueError(f"{shown(written)} is not a time")
    if parsed.year not in YEARS:
        raise ValueError(f"the year of {shown(written)} cannot be right")
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def from_parts(fields: dict[str, float], written: str) -> float:
    """Return the time of year, month, day, hour, minute and second. Seconds may have decimals or be 60."""
    try:
        year, month, day, hour, minute = (
            int(fields.get(name, 0)) for name in ("year", "month", "day", "hour", "minute")
        )
        if year not in YEARS:
            raise ValueError
        start = datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{shown(written)} is not a date") from None
    seconds = fields.get("second", 0.0)
    if not 0 <= seconds <= 61:
        raise ValueError(f"{seconds:g} is not a valid second")
    return (start + timedelta(seconds=seconds)).timestamp()


def moment_in_name(name: str) -> tuple[float | None, bool]:
    """Return the time in a file name such as PR_20170526_042555_415_LC16.tif, and whether it is certainly UTC."""
    match = IN_NAME.search(name)
    if not match:
        return None, False
    try:
        timestamp = moment(f"{match[1]}_{match[2]}" + (f".{match[3]}" if match[3] else ""))
    except ValueError:
        return None, False
    return timestamp, bool(TRIGGER.match(name))


def is_day_first(samples: Iterable[str]) -> bool | None:
    """Return whether dates such as 03/04/2019 begin with the day; None if the samples are not conclusive."""
    firsts, seconds = 0, 0
    for sample in samples:
        match = SLASHED.match(sample.strip()[:LONGEST])
        if match:
            firsts, seconds = max(firsts, int(match[1])), max(seconds, int(match[2]))
    if firsts > 12:
        return True
    return False if seconds > 12 else None if firsts else True


def _by_form(written: str, form: str | None) -> datetime | None:
    if not form or len(form) > LONGEST:
        return None
    try:
        return datetime.strptime(written, form)
    except ValueError:
        return None


def _by_habit(written: str, day_first: bool) -> datetime | None:
    if match := PACKED.fullmatch(written):
        return _built(
            match[1][:4], match[1][4:6], match[1][6:], f"{match[2][:2]}:{match[2][2:4]}:{match[2][4:]}.{match[3] or 0}"
        )
    if PLAIN.fullmatch(written):
        return _epoch(float(written)) if len(written) != 8 else _built(written[:4], written[4:6], written[6:], None)
    if match := YEAR_FIRST.fullmatch(written):
        return _built(match[1], match[2], match[3], match[4])
    if match := SLASHED.fullmatch(written):
        day, month = (match[1], match[2]) if day_first else (match[2], match[1])
        return _built(match[3], month, day, match[4])
    try:
        return datetime.fromisoformat(re.sub(r"\s*(UTC|GMT)$", "Z", written))
    except ValueError:
        return None


def _built(year: str, month: str, day: str, clock: str | None) -> datetime | None:
    try:
        date = datetime(int(year), int(month), int(day))
    except ValueError:
        return None
    return _at_clock(date, clock.strip()) if clock and clock.strip() else date


def _at_clock(date: datetime, clock: str) -> datetime | None:
    match = CLOCK.fullmatch(clock)
    if not match:
        return None
    hour, minute, second = (int(match[group] or 0) for group in (1, 2, 3))
    if match[5]:
        hour = hour % 12 + (12 if match[5].lower() == "pm" else 0)
    zone = (match[6] or "Z").upper()
    try:
        offset = datetime.strptime("+0000" if zone in ("Z", "UTC", "GMT") else zone, "%z").tzinfo
        to_the_second = date.replace(hour=hour, minute=minute, second=second, tzinfo=offset)
    except ValueError:
        return None
    return to_the_second + timedelta(seconds=float(f"0.{match[4] or 0}"))


def _epoch(value: float) -> datetime | None:
    """Return a Unix time in seconds or milliseconds, between the years 1973 and 2100."""
    for scale in (1.0, 1e3):
        if 1e8 <= value / scale < 4.2e9:
            return datetime.fromtimestamp(value / scale, UTC)
    return None
