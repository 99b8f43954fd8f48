"""Labels as Darwin Core occurrences: an organism was seen in an image at a place and time.

A class becomes an occurrence when it names organisms: when its term has a taxon of its own (`taxon`, with `aphia_id`
for the WoRMS number), or stands below a class of CATAMI that means one. Sand, ripples and burrows have no taxon.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.exchange.cells import csv_chunks, guarded, joined, named_rows, parted, stamp, unguarded
from engine.exchange.ifdo_header import version_4
from engine.exchange.label_records import LabelReading, LabelRecord, confidence_in, moment_in, state_in, worded
from engine.exchange.outgoing import PREDICTED, VERIFIED, ExportFile, Loss, Outgoing, Picture, Said, Written, losses
from engine.exchange.records import Complaints
from engine.exchange.tables import Table
from engine.workspace.vocabularies import Term

HEADER = (
    "occurrenceID", "eventID", "parentEventID", "datasetName", "basisOfRecord", "occurrenceStatus", "eventDate",
    "decimalLatitude", "decimalLongitude", "geodeticDatum", "minimumDepthInMeters", "maximumDepthInMeters",
    "scientificName", "scientificNameID", "verbatimIdentification", "identificationVerificationStatus",
    "identificationRemarks", "identifiedBy", "dateIdentified", "associatedMedia")
LIFE = "Biota"  # the root of CATAMI's organisms, and WoRMS's name for all that lives
TAXA = {  # classes of CATAMI's second level that are one taxon; macroalgae, worms and jellies are several
    "Ascidians": "Ascidiacea", "Bacterial mats": "Bacteria", "Brachiopods": "Brachiopoda", "Bryozoa": "Bryozoa",
    "Cnidaria": "Cnidaria", "Crustacea": "Crustacea", "Echinoderms": "Echinodermata", "Molluscs": "Mollusca",
    "Sea spiders": "Pycnogonida", "Sponges": "Porifera"}
TRACES = "Bioturbation"  # below Biota in CATAMI, but burrows and tracks are no organisms
LSID = "urn:lsid:marinespecies.org:taxname:{}"
STATES = {VERIFIED: "ValidatedByHuman"}
CARRIED = frozenset({"whole", "paths", "vocabulary", "who", "at", "why", "status", "confidence", "group", "taken_at",
                     "position", "depth"})


def write_darwin_core(outgoing: Outgoing) -> Written:
    seen = [picture for picture in outgoing.labelled if taxon(picture.said.term)]
    bare = [picture for picture in outgoing.labelled if not taxon(picture.said.term)]
    incomplete = sum(picture.image.taken_at is None or picture.image.latitude is None for picture in seen)
    special = (
        Loss("labels of classes that are no taxon", len(bare), _told(bare)),
        Loss("occurrences named more coarsely than their class", sum(_coarser(picture.said.term) for picture in seen),
             "the class stands in verbatimIdentification; give its term a taxon for a finer name"),
        Loss("occurrences without time or place", incomplete, "portals refuse them; import a track or positions"))
    return Written((ExportFile("occurrence.csv", csv_chunks(HEADER, _rows(outgoing, seen))),), len(seen),
                   losses(outgoing, CARRIED, "Darwin Core has no term for it", special=special))


def taxon(term: Term) -> str:
    """The scientific name of a class, "" where it names no organism."""
    own = str(term.details.get("taxon") or "")
    if own or term.path[0] != LIFE or TRACES in term.path[1:2]:
        return own
    return TAXA.get(term.path[1], LIFE) if len(term.path) > 1 else LIFE


def is_darwin_core(table: Table) -> bool:
    return {name.strip().lower() for name in table.header} >= {"basisofrecord", "scientificname", "associatedmedia"}


def read_darwin_core(table: Table, *, source: str) -> LabelReading:
    """Occurrences whose medium is an image; absences are counted and passed over."""
    complaints = Complaints(source)
    rows = [(line, row) for line, row in named_rows(table)]
    absent = sum(row.get("occurrencestatus", "").strip().lower() == "absent" for _, row in rows)
    found = [record for line, row in rows if (record := _record(row, f"line {line}", complaints))]
    lines = [f"{source}: {absent:,} absences, which are no labels"] if absent else []
    return LabelReading(tuple(found), (*table.problems, *complaints.problems()), tuple(lines))


def _coarser(term: Term) -> bool:
    return not term.details.get("taxon") and len(term.path) > (2 if taxon(term) != LIFE else 1)


def _told(pictures: Sequence[Picture]) -> str:
    names = sorted({joined(picture.said.term.path) for picture in pictures})
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"an occurrence needs an organism: {', '.join(names[:10])}{more}"


def _rows(outgoing: Outgoing, pictures: Sequence[Picture]) -> Iterator[tuple[Any, ...]]:
    for picture in pictures:
        image, said = picture.image, picture.said
        event = str(image.details.get("image-uuid") or version_4(outgoing.identity, image.sha256, image.path))
        occurrence = version_4(event, said.vocabulary, joined(said.term.path))
        yield (occurrence, event, guarded(picture.group), guarded(picture.collection), "MachineObservation", "present",
               stamp(image.taken_at), image.latitude, image.longitude, "" if image.latitude is None else "EPSG:4326",
               image.depth, image.depth, taxon(said.term), _lsid(said.term), guarded(joined(said.term.path)),
               STATES.get(said.status, "PredictedByMachine"), guarded(_remarks(said)), guarded(said.who),
               stamp(said.at), guarded(image.path))


def _lsid(term: Term) -> str:
    number = str(term.details.get("aphia_id") or "")
    return LSID.format(number) if number.isdecimal() else ""


def _remarks(said: Said) -> str:
    """What Darwin Core has no term for, in words that `_record` reads again."""
    sure = "" if said.confidence is None else f"confidence: {said.confidence}; "
    return f"{sure}status: {said.status}; why: {said.why}; vocabulary: {said.vocabulary}"


def _record(row: Mapping[str, str], place: str, complaints: Complaints) -> LabelRecord | None:
    cells = {name: unguarded(cell) for name, cell in row.items()}
    if cells.get("occurrencestatus", "").strip().lower() == "absent":
        return None
    name = cells.get("verbatimidentification") or cells.get("scientificname", "")
    if not name.strip() or not cells.get("associatedmedia", "").strip():
        complaints.add(place, "names no image or no organism", "fill in associatedMedia", "rows left out")
        return None
    remarks, _, vocabulary = cells.get("identificationremarks", "").partition("vocabulary: ")
    told = dict(part.split(": ", 1) for part in remarks.split("; ") if ": " in part)
    machine = cells.get("identificationverificationstatus", "").strip() == "PredictedByMachine"
    return LabelRecord(
        cells["associatedmedia"], parted(name), worded(cells.get("parenteventid")), worded(cells.get("datasetname")),
        vocabulary=worded(vocabulary), who=worded(cells.get("identifiedby")), why=worded(told.get("why")),
        at=moment_in(cells.get("dateidentified"), place, complaints),
        status=state_in(told.get("status")) or (PREDICTED if machine else None),
        confidence=confidence_in(told.get("confidence"), place, complaints))
