"""The only CSV writer of the program (UTF-8, commas, CRLF, quotes where needed), and safe names for exported files.

Spreadsheets run a cell that begins with =, +, -, @ or a control character as a formula. The writer puts an apostrophe
in front of such texts, and `unguarded` removes it again, so that a table can be written and read without change. A
format of another program names the columns by which that program finds images or classes (file names, keys, class
names) as `exact`; the writer does not change those.

File names are derived from users' names: no folders, valid on all systems, each used once.
"""

import csv
import hashlib
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from numbers import Number
from typing import Any

from benthoscope.engine.exchange.parsing.tables import Table
from benthoscope.engine.exchange.parsing.values import PLAIN

FORMULA = re.compile(r"[=+\-@\t\r\n]")
# also after apostrophes, so that `unguarded` can distinguish added apostrophes from original ones
RISKY = re.compile(rf"'*{FORMULA.pattern}")
AT_ONCE = 2_000  # rows converted together


def guarded(text: str) -> str:
    """Return free text that no spreadsheet runs as a formula. Numbers stay numbers."""
    return f"'{text}" if RISKY.match(text) and not PLAIN.fullmatch(text) else text


def unguarded(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and RISKY.match(cell[1:]) else cell


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would run the text as a formula."""
    return bool(FORMULA.match(text)) and not PLAIN.fullmatch(text)


def csv_chunks(header: Sequence[str], rows: Iterable[Sequence[Any]], *, exact: Collection[str] = ()) -> Iterator[bytes]:
    """Yield the table as UTF-8, some thousand rows at a time. None becomes an empty cell. Cells that a spreadsheet
    would run as a formula get an apostrophe in front, except in the columns named in `exact`."""
    exact_columns = frozenset(at for at, name in enumerate(header) if name in exact)
    yield csv_bytes([header])
    remaining = iter(rows)
    while chunk := list(islice(remaining, AT_ONCE)):
        yield csv_bytes([_safe_row(row, exact_columns) for row in chunk])


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return the whole table as text, guarded in the same way."""
    return b"".join(csv_chunks(header, rows)).decode()


def tab_separated(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The whole table as spreadsheets take it from the clipboard, guarded in the same manner."""
    return csv_bytes([header, *(_safe_row(row, ()) for row in rows)], "\t").decode()


def csv_bytes(rows: Iterable[Sequence[Any]], delimiter: str = ",") -> bytes:
    """Return rows without any change. Only for cells that are safe, or that must stay as another program wrote them."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


def named_rows(table: Table) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line, {lower-case column: cell}) of each row."""
    names = [name.strip().lower() for name in table.header]
    for line, cells in table.rows:
        yield line, dict(zip(names, cells, strict=False))


def stamp(seconds: float | None, form: str = "%Y-%m-%dT%H:%M:%S.%fZ") -> str:
    """Return a time in UTC; "" for none."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime(form)


def figure(value: float | None) -> float | int | None:
    """Return a number in its shortest exact form."""
    return int(value) if value is not None and float(value).is_integer() and abs(value) < 1e15 else value


def _safe_row(row: Sequence[Any], exact: Collection[int]) -> list[Any]:
    return [
        cell if cell is None or at in exact or isinstance(cell, Number) else guarded(str(cell))
        for at, cell in enumerate(row)
    ]


LONGEST = 100
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def file_name(*words: str) -> str:
    """Return the words joined by underscores. A hash is added if more than spaces had to be changed."""
    joined = "_".join(words)
    safe = re.sub(r"[^\w.-]+", "_", joined.replace(" ", "_")).strip("._")
    if safe and safe == joined.replace(" ", "_") and len(safe) <= LONGEST and not RESERVED.match(safe):
        return safe
    mark = hashlib.sha256(joined.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return f"{safe[:LONGEST].replace('.', '_') or 'export'}_{mark}"


def unlike(names: Iterable[str]) -> list[str]:
    """Return the names; a name that differs from an earlier one only by case gets a number."""
    used: set[str] = set()
    names_found = []
    for name in names:
        tried, number = name, 2
        while tried.lower() in used:
            tried, number = f"{name}_{number}", number + 1
        used.add(tried.lower())
        names_found.append(tried)
    return names_found
