"""Numbers, coordinates and measures as people and programs write them in tables.

Each reader gives None for a value that is missing and raises ValueError, in words for a person, for one that is wrong.
"""

import math
import re
from typing import Any

LONGEST = 80  # characters of a number, coordinate or moment; longer cells are something else
NOTHING = frozenset({"", "-", "--", "na", "n/a", "nan", "nil", "none", "null", "nodata", "no data", "#n/a", "missing"})
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
SEXAGESIMAL = re.compile(
    r"(?P<before>[NSEW])?\s*(?P<sign>[+-]?)(?P<degrees>\d{1,3}(\.\d+)?)\s*(°|º|deg|d|\s|(?=[NSEW])|$)\s*"
    r"((?P<minutes>\d{1,2}(\.\d+)?)\s*('|′|m|min|\s|$)\s*)?((?P<seconds>\d{1,2}(\.\d+)?)\s*(\"|″|''|s|sec|$)\s*)?"
    r"(?P<after>[NSEW])?", re.ASCII | re.IGNORECASE)


def is_missing(value: Any) -> bool:
    """Whether a cell stands for no value."""
    return value is None or (isinstance(value, str) and value.strip().lower() in NOTHING)


def number(value: Any) -> float | None:
    """A finite number; a single comma is read as the decimal sign."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        value = _parsed(value.strip())
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{shown(value)} is no number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if math.isnan(found):
        return None
    if math.isinf(found):
        raise ValueError("the number is infinite or too large")
    return found


def latitude(value: Any) -> float | None:
    """Degrees north, from decimal degrees or degrees, minutes and seconds."""
    return _angle(value, 90, "NS", "latitude")


def longitude(value: Any) -> float | None:
    """Degrees east, -180 to 180; 180 to 360 is taken as counted eastwards all the way round."""
    found = _angle(value, 360, "EW", "longitude")
    return found - 360 if found is not None and found > 180 else found


def depth(value: Any) -> float | None:
    """Metres below the surface; programs that count it as negative mean the same."""
    found = number(value)
    return None if found is None else _between(abs(found), 0, 11_100, "depth")


def elevation(value: Any) -> float | None:
    """Metres above sea level, negative under water."""
    return _between(number(value), -11_100, 10_000, "elevation")


def altitude(value: Any) -> float | None:
    """Metres above the sea floor."""
    return _between(number(value), -1, 11_100, "altitude")


def text(value: Any) -> str | None:
    """A name on one line."""
    if is_missing(value):
        return None
    return " ".join(str(value).split())[:500] or None


def shown(value: Any) -> str:
    """A value from outside, short and on one line, for an error."""
    told = " ".join(str(value).split())
    return f"'{told[:40]}...'" if len(told) > 43 else f"'{told}'"


def _parsed(written: str) -> str:
    if written.startswith("="):
        raise ValueError(f"{shown(written)} is a formula, not a number")
    if written.lstrip("+-").lower() in ("inf", "infinity"):
        raise ValueError("the number is infinite or too large")
    if written.count(",") == 1 and "." not in written:
        written = written.replace(",", ".")
    if len(written) > LONGEST or not PLAIN.fullmatch(written):
        raise ValueError(f"{shown(written)} is no number")
    return written


def _angle(value: Any, limit: float, letters: str, name: str) -> float | None:
    if is_missing(value):
        return None
    found = _sexagesimal(value.strip(), letters) if isinstance(value, str) else None
    found = number(value) if found is None else found
    if found is not None and not -min(limit, 180) <= found <= limit:
        raise ValueError(f"{name} {shown(value)} is not on Earth")
    return found


def _sexagesimal(written: str, letters: str) -> float | None:
    """Degrees of "33°30'36\\"S", "33 30.6 S" or "S33.51"; None when it is written otherwise."""
    match = SEXAGESIMAL.fullmatch(written) if len(written) <= LONGEST else None
    if not match or not (match["before"] or match["after"] or match["minutes"]):
        return None
    letter = (match["before"] or match["after"] or letters[0]).upper()
    minutes, seconds = float(match["minutes"] or 0), float(match["seconds"] or 0)
    if letter not in letters or minutes >= 60 or seconds >= 60:
        raise ValueError(f"{shown(written)} is no such angle")
    size = float(match["degrees"]) + minutes / 60 + seconds / 3600
    return -size if (letter == letters[1]) != (match["sign"] == "-") else size


def _between(found: float | None, low: float, high: float, name: str) -> float | None:
    if found is not None and not low <= found <= high:
        raise ValueError(f"{name} {found:g} m is not possible")
    return found
