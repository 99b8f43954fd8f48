"""The export formats of labels, and the recognition of label files by their content."""

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from benthoscope.engine.exchange.labels import biigle as biigle_labels
from benthoscope.engine.exchange.labels import (
    coco,
    coral_points,
    darwin_core,
    ecotaxa,
    fathomnet,
    image_lists,
    squidle,
    viame,
)
from benthoscope.engine.exchange.labels import ifdo as ifdo_labels
from benthoscope.engine.exchange.labels import imos as imos_labels
from benthoscope.engine.exchange.labels import table as label_table
from benthoscope.engine.exchange.labels.biigle import LABELS, TREE, read_label_tree, write_biigle
from benthoscope.engine.exchange.labels.coco import write_coco
from benthoscope.engine.exchange.labels.darwin_core import write_darwin_core
from benthoscope.engine.exchange.labels.export_model import Outgoing, Written
from benthoscope.engine.exchange.labels.ifdo import write_ifdo
from benthoscope.engine.exchange.labels.image_lists import write_image_lists
from benthoscope.engine.exchange.labels.imos import write_tracks
from benthoscope.engine.exchange.labels.records import LabelReading
from benthoscope.engine.exchange.labels.squidle import write_squidle
from benthoscope.engine.exchange.labels.table import write_label_table
from benthoscope.engine.exchange.metadata import ifdo
from benthoscope.engine.exchange.parsing.documents import DOCUMENTS, read_document
from benthoscope.engine.exchange.parsing.tables import AS_CSV, MAX_BYTES, Table, read_table
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.problems import Problem, fail, unknown


@dataclass(frozen=True)
class ExportFormat:
    """An export format. `title` describes its purpose in one line."""

    name: str
    title: str
    write: Callable[[Outgoing], Written]
    wants_tracks: bool = False


FORMATS = {
    export_format.name: export_format
    for export_format in (
        ExportFormat("csv", "table with one row per image and all data of its label", write_label_table),
        ExportFormat("ifdo", "iFDO 2.1 files, one per dive: images, metadata and labels for archives", write_ifdo),
        ExportFormat("squidle", "Squidle+ annotations", write_squidle),
        ExportFormat("biigle", "BIIGLE image labels, annotations and label trees", write_biigle),
        ExportFormat("imos", "IMOS AUV tracks with values in their column `label`", write_tracks, wants_tracks=True),
        ExportFormat("darwin-core", "Darwin Core occurrences for OBIS and GBIF: organisms only", write_darwin_core),
        ExportFormat("coco", "COCO boxes, outlines and masks for training detectors", write_coco),
        ExportFormat("lists", "one text file of image paths per class", write_image_lists),
    )
}


def format_named(name: str) -> ExportFormat:
    if name not in FORMATS:
        raise unknown("formats", name, FORMATS)
    return FORMATS[name]


ECOTAXA = "EcoTaxa objects"
ONE_OBJECT_PER_IMAGE = {"img_file_name": "image", ecotaxa.CATEGORY: "label"}  # the mapping that states this
EXCEL = "xl/workbook.xml"
MOST_MEMBERS = 1_000  # files in a ZIP; BIIGLE adds one per tree or user


@dataclass(frozen=True)
class LabelSource:
    """A recognised file: its name, its kind, and the labels read from it."""

    name: str
    title: str
    reading: LabelReading


@dataclass(frozen=True)
class TableOfLabels:
    """How to recognise and read a kind of table."""

    title: str
    fits: Callable[[Table], bool]
    read: Callable[..., LabelReading]


TABLES = (
    TableOfLabels(ECOTAXA, ecotaxa.is_ecotaxa, ecotaxa.read_ecotaxa),
    TableOfLabels("VIAME detections", viame.is_viame, viame.read_viame),
    TableOfLabels("Benthoscope labels", label_table.is_label_table, label_table.read_label_table),
    TableOfLabels("Squidle+ annotations", squidle.is_squidle, squidle.read_squidle),
    TableOfLabels("BIIGLE report", biigle_labels.is_image_labels, biigle_labels.read_biigle_labels),
    TableOfLabels("Darwin Core occurrences", darwin_core.is_darwin_core, darwin_core.read_darwin_core),
    TableOfLabels("labelled IMOS AUV track", imos_labels.is_labelled_track, imos_labels.read_track_labels),
    TableOfLabels("point labels", coral_points.is_points, coral_points.read_points),
    TableOfLabels("table of boxes in FathomNet's format", fathomnet.is_boxes, fathomnet.read_boxes),
    TableOfLabels("table of labels", label_table.has_labels, label_table.read_any_table),
)


def read_labels(data: bytes, *, name: str, mapping: Mapping[str, str] | None = None) -> list[LabelSource]:
    """Read the labels of a file; a ZIP contains several. With a mapping, a table is read by it.

    Raises BadInput if the file has no readable labels.
    """
    sources = _zipped(data, name, mapping) if zipfile.is_zipfile(io.BytesIO(data)) else [_single(data, name, mapping)]
    return [replace(source, reading=_complete_paths(source.reading, source.name)) for source in sources]


def _complete_paths(reading: LabelReading, name: str) -> LabelReading:
    """Return the labels without those whose class has a level without a name."""
    complete = tuple(record for record in reading.records if record.path and all(map(str.strip, record.path)))
    lost = len(reading.records) - len(complete)
    if not lost:
        return reading
    problem = Problem(name, f"{lost:,} labels have a class with an empty level", "complete their paths")
    return replace(reading, records=complete, problems=(*reading.problems, problem))


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
    if fathomnet.is_fathomnet(document):
        return LabelSource(name, "FathomNet boxes", fathomnet.read_fathomnet(document, source=name))
    raise fail(name, "contains no labels in a known format", "give an iFDO, COCO or FathomNet file, or a table")


def _table(table: Table, name: str, mapping: Mapping[str, str] | None) -> LabelSource:
    if mapping and ecotaxa.is_ecotaxa(table) and dict(mapping) == ONE_OBJECT_PER_IMAGE:
        return LabelSource(name, ECOTAXA, ecotaxa.read_ecotaxa(table, source=name, one_object_per_image=True))
    if mapping:
        table = ecotaxa.without_types(table) if ecotaxa.is_ecotaxa(table) else table
        reading = label_table.read_any_table(table, source=name, mapping=mapping)
        return LabelSource(name, "table of labels", reading)
    for kind in TABLES:
        if kind.fits(table):
            return LabelSource(name, kind.title, kind.read(table, source=name))
    raise fail(
        name,
        f"cannot find the columns of images and labels among {', '.join(table.header[:8])}",
        "give them: --mapping COLUMN=image --mapping COLUMN=label",
    )


def _zipped(data: bytes, name: str, mapping: Mapping[str, str] | None) -> list[LabelSource]:
    files = dict(_members(data, name))
    if EXCEL in files:
        raise fail(name, "is an Excel workbook", AS_CSV)
    by_name = {PurePosixPath(member).name: content for member, content in files.items()}
    if TREE in by_name and LABELS in by_name:
        complaints = Complaints(name)
        tree, version, terms = read_label_tree(by_name[TREE], by_name[LABELS], source=name, complaints=complaints)
        reading = LabelReading(problems=complaints.problems(), vocabularies={tree: (version, terms)})
        return [LabelSource(name, "BIIGLE label tree", reading)]
    sources = [_single(content, f"{name}/{member}", mapping) for member, content in files.items()]
    if not sources:
        raise fail(name, "contains no files", "give a report of BIIGLE or a label tree")
    return sources


def _members(data: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files in the ZIP. Unpacks no more than the size limit of a table, whatever sizes the ZIP states."""
    bytes_left = MAX_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inner = [info for info in archive.infolist() if not info.is_dir()]
            if len(inner) > MOST_MEMBERS:
                raise fail(name, f"contains {len(inner):,} files", f"use at most {MOST_MEMBERS:,}")
            for info in inner:
                with archive.open(info) as file:
                    content = file.read(bytes_left + 1)
                bytes_left -= len(content)
                if bytes_left < 0:
                    raise fail(name, f"unpacks to more than {MAX_BYTES >> 20} MB", "unpack it and give the files")
                yield info.filename, content
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise fail(name, f"cannot be unpacked ({error})", "unpack it and give the files") from error
