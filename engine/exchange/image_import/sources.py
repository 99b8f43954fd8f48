"""Recognise the kinds of metadata files by their content."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from benthoscope.engine.exchange.labels import ecotaxa, fathomnet, viame
from benthoscope.engine.exchange.metadata import ifdo
from benthoscope.engine.exchange.metadata import tables as biigle
from benthoscope.engine.exchange.metadata import tables as imos
from benthoscope.engine.exchange.metadata import tables as spreadsheet
from benthoscope.engine.exchange.metadata.columns import Columns, corrected, guessed, read_rows
from benthoscope.engine.exchange.navigation.files import NAVIGATION, read_track_file, track_in_table
from benthoscope.engine.exchange.navigation.tracks import Track
from benthoscope.engine.exchange.parsing.documents import DOCUMENTS, read_document
from benthoscope.engine.exchange.parsing.tables import Table, read_table
from benthoscope.engine.exchange.records import Complaints, Reading
from benthoscope.engine.progress import OnStep, ignore

TABLES = frozenset({".csv", ".tsv", ".tab", ".txt"})
METADATA = TABLES | DOCUMENTS | NAVIGATION
SEVERAL = 1.5  # rows per image above which a table contains points or labels


@dataclass(frozen=True)
class Kind:
    """A kind of metadata. If two describe the same image, the one with the higher trust is used."""

    name: str
    title: str
    trust: int


IFDO = Kind("ifdo", "iFDO", 4)
TRACK = Kind("imos-track", "IMOS AUV track", 3)
ECOTAXA = Kind("ecotaxa", "EcoTaxa table", 2)
FATHOMNET = Kind("fathomnet", "FathomNet images", 2)
VIAME = Kind("viame", "VIAME detections", 0)
BIIGLE = Kind("biigle", "BIIGLE image metadata", 2)
SPREADSHEET = Kind("table", "table", 1)
TRACK_FILE = Kind("navigation", "navigation file", 0)


@dataclass(frozen=True)
class Source:
    """A recognised metadata file and its content. `table` is None for documents."""

    name: str  # its path below the folder of images
    kind: Kind
    reading: Reading
    table: Table | None = None
    mapping: Columns = field(default_factory=dict)
    track: Track | None = None  # of a navigation file, which has no image names


@dataclass(frozen=True)
class TableKind:
    """How to find (`cut` returns the table from its header on, or None), read and finish tables of one kind."""

    kind: Kind
    cut: Callable[[Table], Table | None]
    mapping: Callable[[Table], dict[str, str]]
    finish: Callable[[Reading], Reading] = lambda reading: reading


def _guess(table: Table) -> dict[str, str]:
    return guessed(table.header, table.rows)


TABLE_KINDS = (
    TableKind(TRACK, imos.track_in, _guess, imos.with_labels),
    TableKind(ECOTAXA, ecotaxa.ecotaxa_in, ecotaxa.ecotaxa_mapping, ecotaxa.of_images),
    TableKind(BIIGLE, lambda table: table if biigle.is_biigle(table) else None, biigle.biigle_mapping),
    TableKind(SPREADSHEET, spreadsheet.with_header, _guess),
)


def read_source(
    data: bytes, *, name: str, corrections: Columns | None = None, on_step: OnStep = ignore
) -> Source | None:
    """Return the metadata in a file's bytes, or None if they do not describe images.

    Corrections of columns that the file does not have are ignored. Raises BadInput if the file is unreadable.
    """
    if PurePosixPath(name).suffix.lower() in NAVIGATION:
        track = read_track_file(data, source=name)
        return Source(name, replace(TRACK_FILE, title=track.title), Reading(), track=track) if track else None
    if PurePosixPath(name).suffix.lower() in DOCUMENTS:
        document = read_document(data, source=name, complaints=Complaints(name))
        if fathomnet.is_fathomnet(document):
            return Source(name, FATHOMNET, fathomnet.read_fathomnet_images(document, source=name))
        return Source(name, IFDO, ifdo.read_parsed(document, source=name)) if ifdo.is_ifdo(document) else None
    return _from_table(read_table(data, source=name, on_step=on_step), name, corrections or {}, on_step)


def _from_table(table: Table, name: str, corrections: Mapping[str, str], on_step: OnStep) -> Source | None:
    if viame.is_viame(table):  # labels only, and no header to guess columns from
        return Source(name, VIAME, viame.read_viame_images(table, source=name))
    kind, table = next((candidate, cut) for candidate in TABLE_KINDS if (cut := candidate.cut(table)) is not None)
    mapping = corrected(kind.mapping(table), table.header, corrections, strict=False)
    if "image" not in mapping.values():
        track = track_in_table(table, mapping, source=name, on_step=on_step)
        return (
            Source(
                name, replace(TRACK_FILE, title=track.title), Reading(problems=track.problems), table, mapping, track
            )
            if track
            else None
        )
    reading = kind.finish(read_rows(table, mapping, source=name, on_step=on_step))
    return Source(name, kind.kind, _of_images(reading, name), table, mapping)


def _of_images(reading: Reading, name: str) -> Reading:
    """Return the reading; for a table of points or labels, only values of the image: time, position and dive."""
    images = len({record.image for record in reading.records})
    rows = len(reading.records)
    if rows <= SEVERAL * images or reading.losses:
        return reading
    loss = f"{name}: {rows:,} rows about {images:,} images; their points or labels stay in the file"
    return replace(
        reading,
        records=tuple(replace(record, details={}) for record in reading.records),
        losses=(*reading.losses, loss),
    )
