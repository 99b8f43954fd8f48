"""Tables as we write them: UTF-8, commas, CRLF, quotes where needed; and how free text and class paths stand in a cell.

Spreadsheets run a cell that begins with =, +, -, @ or a control character as a formula. Free text that does so gets an
apostrophe in front, which `unguarded` takes off again, so nothing changes on the way out and back in. Cells another
program finds images or classes by (file names, keys, class names) are left as they are in that program's own format.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from engine.exchange.tables import Table
from engine.exchange.values import PLAIN

FORMULA = re.compile(r"[=+\-@\t\r\n]")
RISKY = re.compile(rf"'*{FORMULA.pattern}")  # behind apostrophes as well, so that `unguarded` knows ours from theirs
BETWEEN = " > "
AT_ONCE = 2_000  # rows made into bytes together


def guarded(text: str) -> str:
    """Free text that no spreadsheet takes for a formula; numbers stay numbers."""
    return f"'{text}" if RISKY.match(text) and not PLAIN.fullmatch(text) else text


def unguarded(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and RISKY.match(cell[1:]) else cell


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run it."""
    return bool(FORMULA.match(text)) and not PLAIN.fullmatch(text)


def joined(path: Sequence[str]) -> str:
    """A class from its root down, as most programs write it: "Biota > Sponges". A name that would not come apart again
    has its > marked with a backslash."""
    return BETWEEN.join(map(_marked, path))


def parted(text: str) -> tuple[str, ...]:
    """The names that `joined` put together; of a text from elsewhere, its names."""
    return tuple(re.sub(r"\\([\\>])", r"\1", name) for name in text.split(BETWEEN))


def csv_chunks(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """The table as UTF-8, some thousand rows at a time; None becomes an empty cell."""
    waiting: list[Sequence[Any]] = [header]
    for row in rows:
        waiting.append(row)
        if len(waiting) >= AT_ONCE:
            yield _written(waiting)
            waiting = []
    if waiting:
        yield _written(waiting)


def named_rows(table: Table) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, {column in small letters: cell}) of every row."""
    names = [name.strip().lower() for name in table.header]
    for line, cells in table.rows:
        yield line, dict(zip(names, cells, strict=False))


def stamp(seconds: float | None, form: str = "%Y-%m-%dT%H:%M:%S.%fZ") -> str:
    """A moment in UTC; "" for none."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime(form)


def figure(value: float | None) -> float | int | None:
    """A number as short as it can be written without loss."""
    return int(value) if value is not None and float(value).is_integer() and abs(value) < 1e15 else value


def _marked(name: str) -> str:
    if "\\" in name or BETWEEN.strip() in name.split(" "):
        return name.replace("\\", "\\\\").replace(">", "\\>")
    return name


def _written(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")
