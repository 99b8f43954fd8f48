"""A table of text from bytes of unknown origin: encoding, delimiter, header and rows, whatever wrote it."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from engine.exchange.records import Complaints
from engine.problems import Problem, fail
from engine.progress import OnStep, Progress, ignore

MAX_BYTES = 256 << 20  # a row of 17 columns has 150 bytes: 1.7 million images
MAX_COLUMNS = 2_000
DELIMITERS = (",", "\t", ";", "|")
TELL = 5_000  # rows, which take a fifth of a second, between words on progress
SAMPLE = 30  # rows that are looked at to find the delimiter
MARKS = (  # the longer first: the UTF-32 mark begins with the UTF-16 one
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)
Row = tuple[int, list[str]]  # line number in the file, cells


@dataclass(frozen=True)
class Table:
    """Header names are unique and not empty; every row has at least one cell that is not empty."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    delimiter: str
    encoding: str
    problems: tuple[Problem, ...] = ()


def read_table(data: bytes, *, source: str, on_step: OnStep = ignore) -> Table:
    """The table in the bytes, its first row the header.

    Raises BadInput when there is no table at all; rows that cannot be used are among the problems.
    """
    complaints = Complaints(source)
    text, encoding = decoded(data, source, complaints)
    delimiter = sniffed(text)
    rows = list(told(_rows(text, delimiter, complaints), source, on_step))
    if not rows:
        raise fail(source, "holds no table", "give a table with a header row")
    header = unique([cell.strip() for cell in rows[0][1]], source, complaints)
    return Table(header, tuple(rows[1:]), delimiter, encoding, complaints.problems())


def told(rows: Iterable[Any], source: str, on_step: OnStep) -> Iterator[Any]:
    """The rows, with a word on how many there were from time to time, at which the reading may be stopped."""
    for number, row in enumerate(rows):
        if number % TELL == 0:
            on_step(Progress(0, None, f"Reading {source}: {number:,} rows so far"))
        yield row


def decoded(data: bytes, source: str, complaints: Complaints) -> tuple[str, str]:
    """The text and the encoding it was found in; NUL characters are taken out."""
    if len(data) > MAX_BYTES:
        raise fail(source, f"has {len(data) >> 20} MB, more than the {MAX_BYTES >> 20} MB a table may have", "split it")
    encoding = _encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        if encoding == "utf-8":
            complaints.add("", "is not UTF-8; letters beyond A to Z may be wrong", "save it as UTF-8")
            encoding = "cp1252"
        else:
            complaints.add("", f"is damaged: not all of it is {encoding.upper()}", "save it anew as UTF-8")
        text = data.decode(encoding, errors="replace")
    if "\0" in text:
        complaints.add("", "holds NUL characters, which were left out", "check that the file was copied whole")
        text = text.replace("\0", "")
    return text, encoding


def sniffed(text: str) -> str:
    """The delimiter that cuts most of the first rows into the same number of cells, and into the most of them."""
    sample = text[:200_000]

    def evenness(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(cells) for _, cells in islice(_rows(sample, delimiter, Complaints("")), SAMPLE))
        several = {width: rows for width, rows in widths.items() if width > 1}
        if not several:
            return 0.0, 0
        width = max(several, key=lambda one: (several[one], one))
        return several[width] / widths.total(), width

    return max(DELIMITERS, key=evenness)


def unique(names: list[str], source: str, complaints: Complaints) -> tuple[str, ...]:
    """Names for all columns: "" becomes "column 3", the second "depth" becomes "depth (2)"."""
    if len(names) > MAX_COLUMNS:
        raise fail(source, f"has {len(names):,} columns, more than {MAX_COLUMNS:,}", "give one row per image")
    seen: Counter[str] = Counter()
    found: list[str] = []
    for at, name in enumerate(names, 1):
        name = " ".join(name.split())[:100] or f"column {at}"
        seen[name.lower()] += 1
        if seen[name.lower()] == 2:
            complaints.add("header", f"names the column '{name}' twice", "rename one of them")
        found.append(name if seen[name.lower()] == 1 else f"{name} ({seen[name.lower()]})")
    return tuple(found)


def _encoding(data: bytes) -> str:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding
    head = data[:1000]
    if len(head) >= 4 and head.count(0) > len(head) // 3:  # Latin text in UTF-16 has a zero in every pair
        return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
    return "utf-8"


def _rows(text: str, delimiter: str, complaints: Complaints) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:  # the reader goes on with the line after
            complaints.add(f"line {reader.line_num}", f"cannot be read ({error})", "look for a missing quote", "lines")
            continue
        if len(cells) > MAX_COLUMNS:
            complaints.add(f"line {reader.line_num}", f"has {len(cells):,} cells", "look for a damaged line", "cells")
        elif any(cell.strip() for cell in cells):
            yield reader.line_num, cells
