"""Any CSV or TSV with a row per image; what its columns mean is guessed and can be corrected."""

from collections.abc import Mapping
from dataclasses import replace

from engine.exchange.columns import corrected, guessed, is_image_name
from engine.exchange.records import Reading
from engine.exchange.rows import read_rows
from engine.exchange.tables import Table, read_table


def with_header(table: Table) -> Table:
    """The table; where the first row already names an image file, its columns are called "column 1" and so on."""
    if not any(map(is_image_name, table.header)):
        return table
    names = tuple(f"column {at}" for at in range(1, len(table.header) + 1))
    return replace(table, header=names, rows=((1, list(table.header)), *table.rows))


def read_spreadsheet(data: bytes, *, source: str, corrections: Mapping[str, str] | None = None) -> Reading:
    """Records of the images and what could not be used; corrections map columns to fields, `keep` or `drop`."""
    table = with_header(read_table(data, source=source))
    mapping = corrected(guessed(table.header, table.rows), table.header, corrections or {})
    return read_rows(table, mapping, source=source)
