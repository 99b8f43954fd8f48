"""The kinds of metadata files an import understands, recognised by what they hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from engine.exchange import biigle, ifdo, imos, spreadsheet
from engine.exchange.columns import Columns, corrected, guessed
from engine.exchange.documents import read_document
from engine.exchange.records import Complaints, Reading
from engine.exchange.rows import read_rows
from engine.exchange.tables import Table, read_table
from engine.progress import OnStep, ignore

TABLES = frozenset({".csv", ".tsv", ".tab", ".txt"})
DOCUMENTS = frozenset({".json", ".yaml", ".yml", ".ifdo"})
METADATA = TABLES | DOCUMENTS
SEVERAL = 1.5  # rows for each image from which on a table is one of points or labels


@dataclass(frozen=True)
class Kind:
    """A kind of metadata. Where two speak of one image the one of higher trust is believed."""

    name: str
    title: str
    trust: int


IFDO = Kind("ifdo", "iFDO", 4)
TRACK = Kind("imos-track", "IMOS AUV track", 3)
BIIGLE = Kind("biigle", "BIIGLE image metadata", 2)
SPREADSHEET = Kind("table", "table", 1)


@dataclass(frozen=True)
class Source:
    """A metadata file that was recognised, and what was read from it. `table` is None for documents."""

    name: str  # its path below the folder of images
    kind: Kind
    reading: Reading
    table: Table | None = None
    mapping: Columns = field(default_factory=dict)


@dataclass(frozen=True)
class TableKind:
    """How tables of one kind are found (`cut` gives the table from its header on, or None), understood and finished."""

    kind: Kind
    cut: Callable[[Table], Table | None]
    mapping: Callable[[Table], dict[str, str]]
    finish: Callable[[Reading], Reading] = lambda reading: reading


def _guess(table: Table) -> dict[str, str]:
    return guessed(table.header, table.rows)


TABLE_KINDS = (
    TableKind(TRACK, imos.track_in, _guess, imos.with_labels),
    TableKind(BIIGLE, lambda table: table if biigle.is_biigle(table) else None, biigle.biigle_mapping),
    TableKind(SPREADSHEET, spreadsheet.with_header, _guess),
)


def read_source(
    data: bytes, *, name: str, corrections: Columns | None = None, on_step: OnStep = ignore
) -> Source | None:
    """The metadata in a file's bytes, or None when they speak of something else than images.

    Corrections of columns the file does not have are passed over. Raises BadInput when it cannot be read.
    """
    if PurePosixPath(name).suffix.lower() in DOCUMENTS:
        document = read_document(data, source=name, complaints=Complaints(name))
        return Source(name, IFDO, ifdo.read_parsed(document, source=name)) if ifdo.is_ifdo(document) else None
    return _from_table(read_table(data, source=name, on_step=on_step), name, corrections or {}, on_step)


def _from_table(table: Table, name: str, corrections: Mapping[str, str], on_step: OnStep) -> Source | None:
    one, table = next((one, cut) for one in TABLE_KINDS if (cut := one.cut(table)) is not None)
    mapping = corrected(one.mapping(table), table.header, corrections, strict=False)
    if "image" not in mapping.values():
        return None
    reading = one.finish(read_rows(table, mapping, source=name, on_step=on_step))
    return Source(name, one.kind, _of_images(reading, name), table, mapping)


def _of_images(reading: Reading, name: str) -> Reading:
    """The reading; of a table of points or labels only what holds for the image: time, place and dive."""
    images = len({record.image for record in reading.records})
    rows = len(reading.records)
    if rows <= SEVERAL * images:
        return reading
    loss = f"{name}: {rows:,} rows about {images:,} images; their points or labels stay in the file"
    return replace(reading, records=tuple(replace(record, details={}) for record in reading.records),
                   losses=(*reading.losses, loss))
