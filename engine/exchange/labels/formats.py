"""The kinds of files labels are read from, recognised by what they hold."""

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from engine.exchange import (
    biigle_labels,
    coco,
    coral_points,
    darwin_core,
    ifdo,
    ifdo_labels,
    image_lists,
    imos_labels,
    label_table,
    squidle,
)
from engine.exchange.documents import read_document
from engine.exchange.label_records import LabelReading
from engine.exchange.label_tree import LABELS, TREE, read_label_tree
from engine.exchange.records import Complaints
from engine.exchange.sources import DOCUMENTS
from engine.exchange.tables import MAX_BYTES, Table, read_table
from engine.problems import Problem, fail

MOST_MEMBERS = 1_000  # files in a ZIP: BIIGLE puts in one for each tree or user


@dataclass(frozen=True)
class LabelSource:
    """A file that was recognised: its name, what kind it is, and what was read from it."""

    name: str
    title: str
    reading: LabelReading


@dataclass(frozen=True)
class TableOfLabels:
    """How a kind of table is recognised and read."""

    title: str
    fits: Callable[[Table], bool]
    read: Callable[..., LabelReading]


TABLES = (
    TableOfLabels("Benthoscope labels", label_table.is_label_table, label_table.read_label_table),
    TableOfLabels("Squidle+ annotations", squidle.is_squidle, squidle.read_squidle),
    TableOfLabels("BIIGLE report", biigle_labels.is_image_labels, biigle_labels.read_biigle_labels),
    TableOfLabels("Darwin Core occurrences", darwin_core.is_darwin_core, darwin_core.read_darwin_core),
    TableOfLabels("labelled IMOS AUV track", imos_labels.is_labelled_track, imos_labels.read_track_labels),
    TableOfLabels("point labels", coral_points.is_points, coral_points.read_points),
    TableOfLabels("table of labels", label_table.has_labels, label_table.read_any_table),
)


def read_labels(data: bytes, *, name: str, mapping: Mapping[str, str] | None = None) -> list[LabelSource]:
    """The labels in a file; a ZIP holds several. With a mapping a table is read by it, whatever it looks like.

    Raises BadInput when it holds no labels we can read.
    """
    found = _zipped(data, name, mapping) if zipfile.is_zipfile(io.BytesIO(data)) else [_single(data, name, mapping)]
    return [replace(source, reading=_whole_paths(source.reading, source.name)) for source in found]


def _whole_paths(reading: LabelReading, name: str) -> LabelReading:
    """Without the labels whose class has a nameless level."""
    whole = tuple(record for record in reading.records if record.path and all(map(str.strip, record.path)))
    lost = len(reading.records) - len(whole)
    if not lost:
        return reading
    told = Problem(name, f"{lost:,} labels have a class with a nameless level", "complete their paths")
    return replace(reading, records=whole, problems=(*reading.problems, told))


def _single(data: bytes, name: str, mapping: Mapping[str, str] | None) -> LabelSource:
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == coral_points.SUFFIX:
        return LabelSource(name, "CPCe points", coral_points.read_cpc(data, source=name))
    if image_lists.is_image_list(data):
        return LabelSource(name, "list of images", image_lists.read_image_list(data, source=name))
    if suffix in DOCUMENTS:
        return _document(data, name)
    return _table(read_table(data, source=name), name, mapping)


def _document(data: bytes, name: str) -> LabelSource:
    document = read_document(data, source=name, complaints=Complaints(name))
    if ifdo.is_ifdo(document):
        return LabelSource(name, "iFDO", ifdo_labels.read_ifdo_labels(document, source=name))
    if coco.is_coco(document):
        return LabelSource(name, "COCO", coco.read_coco(document, source=name))
    raise fail(name, "holds no labels we know", "give an iFDO or a COCO file, or a table")


def _table(table: Table, name: str, mapping: Mapping[str, str] | None) -> LabelSource:
    if mapping:
        reading = label_table.read_any_table(table, source=name, mapping=mapping)
        return LabelSource(name, "table of labels", reading)
    for kind in TABLES:
        if kind.fits(table):
            return LabelSource(name, kind.title, kind.read(table, source=name))
    raise fail(name, f"no columns of images and labels among {', '.join(table.header[:8])}",
               "say which they are: --mapping COLUMN=image --mapping COLUMN=label")


def _zipped(data: bytes, name: str, mapping: Mapping[str, str] | None) -> list[LabelSource]:
    files = dict(_members(data, name))
    by_name = {PurePosixPath(member).name: content for member, content in files.items()}
    if TREE in by_name and LABELS in by_name:
        complaints = Complaints(name)
        tree, version, terms = read_label_tree(by_name[TREE], by_name[LABELS], source=name, complaints=complaints)
        reading = LabelReading(problems=complaints.problems(), vocabularies={tree: (version, terms)})
        return [LabelSource(name, "BIIGLE label tree", reading)]
    found = [_single(content, f"{name}/{member}", mapping) for member, content in files.items()]
    if not found:
        raise fail(name, "holds no file", "give a report of BIIGLE or a label tree")
    return found


def _members(data: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """Every file in the ZIP; no more is unpacked than a table may have, whatever the ZIP says of sizes."""
    left = MAX_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inner = [info for info in archive.infolist() if not info.is_dir()]
            if len(inner) > MOST_MEMBERS:
                raise fail(name, f"holds {len(inner):,} files", f"give at most {MOST_MEMBERS:,}")
            for info in inner:
                with archive.open(info) as file:
                    content = file.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise fail(name, f"unpacks to more than {MAX_BYTES >> 20} MB", "unpack it and give the files")
                yield info.filename, content
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise fail(name, f"cannot be unpacked ({error})", "unpack it and give the files") from error
