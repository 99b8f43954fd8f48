"""Labels as Darwin Core occurrences: an organism was seen in an image at a place and time.

A class becomes an occurrence if it is an organism: if its term has a taxon (`taxon`, with `aphia_id` for the WoRMS
number), or is below a class of CATAMI that is one. Sand, ripples and burrows have no taxon.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benthoscope.engine.exchange.labels.export_model import (
    DUBIOUS,
    PREDICTED,
    VERIFIED,
    ExportFile,
    ExportImage,
    ExportLabel,
    Loss,
    Outgoing,
    Written,
    losses,
)
from benthoscope.engine.exchange.labels.ifdo import version_4
from benthoscope.engine.exchange.labels.records import (
    LabelReading,
    LabelRecord,
    confidence_in,
    moment_in,
    state_in,
    worded,
)
from benthoscope.engine.exchange.parsing.csv_output import csv_chunks, named_rows, stamp, unguarded
from benthoscope.engine.exchange.parsing.tables import Table
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.term_path import joined, parted
from benthoscope.engine.workspace.labels.vocabularies import Term

HEADER = (
    "occurrenceID",
    "eventID",
    "parentEventID",
    "datasetName",
    "basisOfRecord",
    "occurrenceStatus",
    "eventDate",
    "decimalLatitude",
    "decimalLongitude",
    "geodeticDatum",
    "minimumDepthInMeters",
    "maximumDepthInMeters",
    "scientificName",
    "scientificNameID",
    "verbatimIdentification",
    "identificationVerificationStatus",
    "identificationRemarks",
    "identifiedBy",
    "dateIdentified",
    "associatedMedia",
)
LIFE = "Biota"  # the root of CATAMI's organisms, and the WoRMS name for all organisms
TAXA = {  # classes of CATAMI's second level that are a single taxon; macroalgae, worms and jellies are several
    "Ascidians": "Ascidiacea",
    "Bacterial mats": "Bacteria",
    "Brachiopods": "Brachiopoda",
    "Bryozoa": "Bryozoa",
    "Cnidaria": "Cnidaria",
    "Crustacea": "Crustacea",
    "Echinoderms": "Echinodermata",
    "Molluscs": "Mollusca",
    "Sea spiders": "Pycnogonida",
    "Sponges": "Porifera",
}
TRACES = "Bioturbation"  # below Biota in CATAMI, but burrows and tracks are not organisms
LSID = "urn:lsid:marinespecies.org:taxname:{}"
STATES = {VERIFIED: "ValidatedByHuman", DUBIOUS: "Doubted"}
CARRIED = frozenset(
    {
        "whole",
        "paths",
        "vocabulary",
        "who",
        "at",
        "why",
        "status",
        "confidence",
        "group",
        "taken_at",
        "position",
        "depth",
    }
)


def write_darwin_core(outgoing: Outgoing) -> Written:
    occurrences = [picture for picture in outgoing.labelled if taxon(picture.given_label.term)]
    bare = [picture for picture in outgoing.labelled if not taxon(picture.given_label.term)]
    incomplete = sum(picture.image.taken_at is None or picture.image.latitude is None for picture in occurrences)
    special = (
        Loss("labels of classes without a taxon", len(bare), _describe_missing_taxa(bare)),
        Loss(
            "occurrences with a coarser taxon than their class",
            sum(_coarser(picture.given_label.term) for picture in occurrences),
            "the class is in verbatimIdentification; give its term a taxon for a more exact name",
        ),
        Loss("occurrences without time or place", incomplete, "portals reject them; import a track or positions"),
    )
    return Written(
        (ExportFile("occurrence.csv", csv_chunks(HEADER, _rows(outgoing, occurrences))),),
        len(occurrences),
        losses(outgoing, CARRIED, "Darwin Core has no term for it", special=special),
    )


def taxon(term: Term) -> str:
    """Return the scientific name of a class, "" if it is not an organism."""
    stated = str(term.details.get("taxon") or "")
    if stated or term.path[0] != LIFE or TRACES in term.path[1:2]:
        return stated
    return TAXA.get(term.path[1], LIFE) if len(term.path) > 1 else LIFE


def is_darwin_core(table: Table) -> bool:
    return {name.strip().lower() for name in table.header} >= {"basisofrecord", "scientificname", "associatedmedia"}


def read_darwin_core(table: Table, *, source: str) -> LabelReading:
    """Read occurrences whose medium is an image. Absences are counted and ignored."""
    complaints = Complaints(source)
    rows = [(line, row) for line, row in named_rows(table)]
    absent = sum(row.get("occurrencestatus", "").strip().lower() == "absent" for _, row in rows)
    records = [record for line, row in rows if (record := _record(row, f"line {line}", complaints))]
    lines = [f"{source}: {absent:,} absences, which are not labels"] if absent else []
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()), tuple(lines))


def _coarser(term: Term) -> bool:
    return not term.details.get("taxon") and len(term.path) > (2 if taxon(term) != LIFE else 1)


def _describe_missing_taxa(pictures: Sequence[ExportImage]) -> str:
    names = sorted({joined(picture.given_label.term.path) for picture in pictures})
    ending = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"an occurrence needs an organism: {', '.join(names[:10])}{ending}"


def _rows(outgoing: Outgoing, pictures: Sequence[ExportImage]) -> Iterator[tuple[Any, ...]]:
    for picture in pictures:
        image, label = picture.image, picture.given_label
        event = str(image.details.get("image-uuid") or version_4(outgoing.identity, image.sha256, image.path))
        occurrence = version_4(event, label.vocabulary, joined(label.term.path))
        yield (
            occurrence,
            event,
            picture.group,
            picture.collection,
            "MachineObservation",
            "present",
            stamp(image.taken_at),
            image.latitude,
            image.longitude,
            "" if image.latitude is None else "EPSG:4326",
            image.depth,
            image.depth,
            taxon(label.term),
            _lsid(label.term),
            joined(label.term.path),
            STATES.get(label.status, "PredictedByMachine"),
            _remarks(label),
            label.who,
            stamp(label.at),
            image.path,
        )


def _lsid(term: Term) -> str:
    number = str(term.details.get("aphia_id") or "")
    return LSID.format(number) if number.isdecimal() else ""


def _remarks(label: ExportLabel) -> str:
    """Return what Darwin Core has no term for, in a text that `_record` can read."""
    sure = "" if label.confidence is None else f"confidence: {label.confidence}; "
    return f"{sure}status: {label.status}; why: {label.why}; vocabulary: {label.vocabulary}"


def _record(row: Mapping[str, str], location: str, complaints: Complaints) -> LabelRecord | None:
    cells = {name: unguarded(cell) for name, cell in row.items()}
    if cells.get("occurrencestatus", "").strip().lower() == "absent":
        return None
    name = cells.get("verbatimidentification") or cells.get("scientificname", "")
    if not name.strip() or not cells.get("associatedmedia", "").strip():
        complaints.add(location, "has no image or no organism", "fill in associatedMedia", "ignored rows")
        return None
    remarks, _, vocabulary = cells.get("identificationremarks", "").partition("vocabulary: ")
    remark_values = dict(remark.split(": ", 1) for remark in remarks.split("; ") if ": " in remark)
    machine = cells.get("identificationverificationstatus", "").strip() == "PredictedByMachine"
    return LabelRecord(
        cells["associatedmedia"],
        parted(name),
        worded(cells.get("parenteventid")),
        worded(cells.get("datasetname")),
        vocabulary=worded(vocabulary),
        who=worded(cells.get("identifiedby")),
        why=worded(remark_values.get("why")),
        at=moment_in(cells.get("dateidentified"), location, complaints),
        status=state_in(remark_values.get("status")) or (PREDICTED if machine else None),
        confidence=confidence_in(remark_values.get("confidence"), location, complaints),
    )
