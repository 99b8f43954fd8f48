"""Moments as people and programs write them; what says no time zone is taken as UTC, as ships' logs are."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from engine.exchange.values import LONGEST, PLAIN, is_missing, shown

YEARS = range(1900, 2101)
SLASHED = re.compile(r"(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4})(?:[ T]+(.*))?", re.ASCII)
YEAR_FIRST = re.compile(r"(\d{4})[:/.](\d{1,2})[:/.](\d{1,2})(?:[ T]+(.*))?", re.ASCII)
PACKED = re.compile(r"(\d{8})[_T\-]?(\d{6})(?:[_.](\d{1,6}))?Z?", re.ASCII)
CLOCK = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9}))?)?\s*(am|pm)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?",
                   re.ASCII | re.IGNORECASE)
IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d{6})[_T\-](\d{6})(?:[_.\-](\d{3}))?(?!\d)", re.ASCII)
TRIGGER = re.compile(r"PR_\d{8}_\d{6}_\d{3}_", re.ASCII)  # named by the trigger's UTC clock


def moment(value: Any, *, day_first: bool = True, form: str | None = None) -> float | None:
    """Seconds since 1970 UTC. `form` is a strptime format that the source announces; ValueError tells what is wrong."""
    if is_missing(value):
        return None
    written = str(value).strip()
    if len(written) > LONGEST:
        raise ValueError(f"{shown(written)} is no time")
    found = _by_form(written, form) or _by_habit(written, day_first)
    if found is None:
        raise ValueError(f"{shown(written)} is no time")
    if found.year not in YEARS:
        raise ValueError(f"the year of {shown(written)} cannot be right")
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def from_parts(parts: dict[str, float], written: str) -> float:
    """The moment of year, month, day, hour, minute and second, of which the second may have decimals or be 60."""
    try:
        whole = [int(parts.get(name, 0)) for name in ("year", "month", "day", "hour", "minute")]
        if whole[0] not in YEARS:
            raise ValueError
        start = datetime(*whole, tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{shown(written)} is no date") from None
    seconds = parts.get("second", 0.0)
    if not 0 <= seconds <= 61:
        raise ValueError(f"{seconds:g} is no second of a minute")
    return (start + timedelta(seconds=seconds)).timestamp()


def moment_in_name(name: str) -> tuple[float | None, bool]:
    """The moment a file name holds, like PR_20170526_042555_415_LC16.tif, and whether it is surely UTC."""
    match = IN_NAME.search(name)
    if not match:
        return None, False
    try:
        found = moment(f"{match[1]}_{match[2]}" + (f".{match[3]}" if match[3] else ""))
    except ValueError:
        return None, False
    return found, bool(TRIGGER.match(name))


def is_day_first(samples: Iterable[str]) -> bool | None:
    """Whether dates such as 03/04/2019 put the day first; None when the samples do not tell."""
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
        return _built(match[1][:4], match[1][4:6], match[1][6:],
                      f"{match[2][:2]}:{match[2][2:4]}:{match[2][4:]}.{match[3] or 0}")
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
        whole = date.replace(hour=hour, minute=minute, second=second, tzinfo=offset)
    except ValueError:
        return None
    return whole + timedelta(seconds=float(f"0.{match[4] or 0}"))


def _epoch(value: float) -> datetime | None:
    """Unix time in seconds or milliseconds, of the years 1973 to 2100."""
    for scale in (1.0, 1e3):
        if 1e8 <= value / scale < 4.2e9:
            return datetime.fromtimestamp(value / scale, UTC)
    return None
