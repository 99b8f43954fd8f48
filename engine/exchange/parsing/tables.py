"""Read a table of text from bytes of unknown origin: encoding, delimiter, header and rows."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import Problem, fail, printable
from benthoscope.engine.progress import OnStep, Progress, ignore

MAX_BYTES = 256 << 20  # a row of 17 columns has 150 bytes: 1.7 million images
MAX_COLUMNS = 2_000
DELIMITERS = (",", "\t", ";", "|")
TELL = 5_000  # rows between progress reports; they take a fifth of a second
SAMPLE = 30  # rows used to find the delimiter
MARKS = (  # longer marks first, because the UTF-32 mark begins with the UTF-16 one
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
BINARY_SAMPLE = 4_096
SMALLEST_SAMPLE = 48  # characters; in a smaller sample, one or two control characters would be too large a fraction
TEXT_CONTROLS = frozenset("\t\n\v\f\r\x1a\x1b")
AS_CSV = "open it in its own program and save it as CSV in UTF-8"
BINARY_FORMATS = (  # first bytes, name, what to do
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook", AS_CSV),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel or Word file in the old format", AS_CSV),
    (b"SQLite format 3\0", "an SQLite database", "export its table as CSV"),
    (b"\x1f\x8b", "a gzip archive", "decompress it first"),
    (b"BZh", "a bzip2 archive", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it first"),
    (b"%PDF-", "a PDF document", "give the table it was made from"),
    (b"\x89PNG", "a PNG image", "rename it to .png"),
    (b"\xff\xd8\xff", "a JPEG image", "rename it to .jpg"),
    (b"GIF8", "a GIF image", "give a text file"),
    (b"\x89HDF", "a NetCDF4 or HDF5 file", "rename it to .nc if it contains positions by time"),
    (b"CDF\x01", "a NetCDF file", "rename it to .nc if it contains positions by time"),
    (b"CDF\x02", "a NetCDF file", "rename it to .nc if it contains positions by time"),
    (b"PAR1", "a Parquet file", "export it as CSV"),
)
Row = tuple[int, list[str]]  # line number in the file, cells


@dataclass(frozen=True)
class Table:
    """A table. Header names are unique and not empty; each row has at least one cell that is not empty."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    delimiter: str
    encoding: str
    problems: tuple[Problem, ...] = ()
    first_row: tuple[str, ...] = ()  # the original cells of the header, for tables without one


def read_table(data: bytes, *, source: str, on_step: OnStep = ignore) -> Table:
    """Return the table in the bytes. The first row is the header.

    Raises BadInput if there is no table at all; unusable rows are among the problems.
    """
    complaints = Complaints(source)
    text, encoding = decoded(data, source, complaints)
    delimiter = sniffed(text)
    rows = list(with_progress(_rows(text, delimiter, complaints), source, on_step))
    if not rows:
        raise fail(source, "contains no table", "give a table with a header row")
    header = unique([cell.strip() for cell in rows[0][1]], source, complaints)
    return Table(header, tuple(rows[1:]), delimiter, encoding, complaints.problems(), tuple(rows[0][1]))


def with_progress(rows: Iterable[Any], source: str, on_step: OnStep) -> Iterator[Any]:
    """Yield the rows and report their number from time to time, which allows cancellation."""
    for number, row in enumerate(rows):
        if number % TELL == 0:
            on_step(Progress(0, None, f"Reading {source}: {number:,} rows so far"))
        yield row


def decoded(data: bytes, source: str, complaints: Complaints) -> tuple[str, str]:
    """Return the text without NUL characters, and its encoding. Raises BadInput for binary files."""
    _refuse_binary(data, source)
    if len(data) > MAX_BYTES:
        raise fail(source, f"has {len(data) >> 20} MB, more than the limit of {MAX_BYTES >> 20} MB", "split it")
    encoding = _encoding(data)
    _refuse_control_characters(data, encoding, source)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        if encoding == "utf-8":
            complaints.add("", "is not UTF-8; letters beyond A to Z may be wrong", "save it as UTF-8")
            encoding = "cp1252"
        else:
            complaints.add("", f"is damaged: some of it is not {encoding.upper()}", "save it again as UTF-8")
        text = data.decode(encoding, errors="replace")
    if "\0" in text:
        complaints.add("", "contains NUL characters, which were removed", "check that the file was copied completely")
        text = text.replace("\0", "")
    return text, encoding


def _refuse_binary(data: bytes, source: str) -> None:
    """Raise BadInput for files of common binary formats."""
    for signature, name, remedy in BINARY_FORMATS:
        if data.startswith(signature):
            raise fail(source, f"is not text but {name}", remedy)


def _refuse_control_characters(data: bytes, encoding: str, source: str) -> None:
    """Raise BadInput for bytes that are not text, judged by the control characters at their beginning.

    Bytes that cannot be decoded are text in an 8-bit encoding or binary. In such a text, up to one character in a
    hundred may be a control character; in compressed or random bytes it is one in ten. Bytes that can be decoded are
    almost always text; they are binary if control characters outnumber all others, as in packed numbers, most of whose
    bytes are zero.
    """
    head, decodes = _beginning(data, encoding)
    controls = sum(letter < " " and letter not in TEXT_CONTROLS for letter in head)
    limit = max(len(head), SMALLEST_SAMPLE) / 2 if decodes else max(1, len(head) / 100)
    if controls > limit:
        raise fail(source, "is not text but a binary file", "give a text file, such as CSV saved as UTF-8")


def _beginning(data: bytes, encoding: str) -> tuple[str, bool]:
    """Return the first characters, and whether their bytes are valid in the encoding. The last character may be
    incomplete."""
    decoder, sample = codecs.getincrementaldecoder(encoding), data[:BINARY_SAMPLE]
    try:
        return decoder().decode(sample), True
    except UnicodeDecodeError:
        return decoder("replace").decode(sample), False


def sniffed(text: str) -> str:
    """Return the delimiter that splits most of the first rows into the same, and largest, number of cells."""
    sample = text[:200_000]

    def evenness(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(cells) for _, cells in islice(_rows(sample, delimiter, Complaints("")), SAMPLE))
        several = {width: rows for width, rows in widths.items() if width > 1}
        if not several:
            return 0.0, 0
        width = max(several, key=lambda count: (several[count], count))
        return several[width] / widths.total(), width

    return max(DELIMITERS, key=evenness)


def unique(names: list[str], source: str, complaints: Complaints) -> tuple[str, ...]:
    """Return names for all columns: "" becomes "column 3", the second "depth" becomes "depth (2)"."""
    if len(names) > MAX_COLUMNS:
        raise fail(source, f"has {len(names):,} columns, more than {MAX_COLUMNS:,}", "give one row per image")
    counts: Counter[str] = Counter()
    result: list[str] = []
    for at, name in enumerate(names, 1):
        name = printable(" ".join(name.split())[:100]) or f"column {at}"
        counts[name.lower()] += 1
        if counts[name.lower()] == 2:
            complaints.add("header", f"contains the column '{name}' twice", "rename one of them")
        result.append(name if counts[name.lower()] == 1 else f"{name} ({counts[name.lower()]})")
    return tuple(result)


def _encoding(data: bytes) -> str:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding
    head = data[:1000]
    if len(head) >= 4 and head.count(0) > len(head) // 3:  # in UTF-16, every second byte of Latin text is zero
        return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
    return "utf-8"


def _rows(text: str, delimiter: str, complaints: Complaints) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:  # the reader continues with the next line
            complaints.add(f"line {reader.line_num}", f"cannot be read ({error})", "look for a missing quote", "lines")
            continue
        if len(cells) > MAX_COLUMNS:
            complaints.add(f"line {reader.line_num}", f"has {len(cells):,} cells", "look for a damaged line", "cells")
        elif any(cell.strip() for cell in cells):
            yield reader.line_num, cells
