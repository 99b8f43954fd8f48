"""Detections in the format of VIAME and DIVE: a CSV without a header; lines that begin with # are comments.

A row has: track, image, frame, left, top, right, bottom, confidence, length, then pairs of class and confidence, then
tokens such as `(poly) 1 2 3 4 5 6`. The class with the largest confidence is used. Boxes drawn by people have a
confidence of 1; all others come from a detector and are imported as predictions.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benthoscope.engine.exchange.labels.coco import area, opened
from benthoscope.engine.exchange.labels.export_model import PREDICTED
from benthoscope.engine.exchange.labels.records import LabelReading, LabelRecord, complete, number_in
from benthoscope.engine.exchange.metadata.columns import cleaned
from benthoscope.engine.exchange.parsing.tables import Row, Table
from benthoscope.engine.exchange.parsing.values import PLAIN
from benthoscope.engine.exchange.records import Complaints, ImageRecord, Reading

FIXED = 9  # cells before the pairs of class and confidence
WHOLE = re.compile(r"\d+", re.ASCII)
TOKEN = re.compile(r"\s*\((\+?\w+)\)\s*(.*)", re.ASCII | re.DOTALL)
SAMPLE = 30
BY_HAND = 1.0  # the confidence of what a person drew
LOST = {
    "note": "notes",
    "atr": "attributes of detections",
    "trk-atr": "attributes of tracks",
    "kp": "key points",
    "+kp": "key points",
    "hole": "holes in outlines",
    "mask": "masks in separate files",
}


@dataclass(frozen=True)
class Detection:
    """The cells of a row."""

    image: str
    box: tuple[float, ...]  # left, top, width, height; empty if invalid
    pairs: tuple[tuple[str, float | None], ...]  # class, confidence
    tokens: tuple[tuple[str, str], ...]


def is_viame(table: Table) -> bool:
    """Return whether the rows, including the first one, look like detections. Comments are ignored."""
    rows = [cells for _, cells in _rows(table)][:SAMPLE]
    return bool(rows) and all(map(_is_detection, rows))


def read_viame(table: Table, *, source: str) -> LabelReading:
    """Read the detections as labelled boxes, or as outlines if they have one."""
    complaints, records = Complaints(source), []
    lost: Counter[str] = Counter()
    for line, cells in _rows(table):
        location = f"line {line}"
        if not _is_detection(cells):
            complaints.add(location, "is not a detection", "it needs image, box, confidence and length", "ignored rows")
            continue
        detection = _detection(cells, location, complaints)
        lost.update(LOST[name] for name, _ in detection.tokens if name in LOST)
        lost["detections without a class"] += not detection.pairs
        if detection.pairs and (record := _record(detection, location, complaints)):
            records.append(record)
    predicted = sum(record.status == PREDICTED for record in records)
    losses = [f"{source}: {count:,} {text}" for text, count in lost.items() if count]
    losses += (
        [f"{source}: {predicted:,} detections with a confidence other than 1 are imported as predictions"]
        if predicted
        else []
    )
    problems = [problem for problem in table.problems if not problem.where.endswith(" header")]  # it has none
    return LabelReading(tuple(records), (*problems, *complaints.problems()), tuple(losses))


def read_viame_images(table: Table, *, source: str) -> Reading:
    """Read the images of the detections for an import of images. The detections stay in the file."""
    names = [cells[1].strip() for _, cells in _rows(table) if _is_detection(cells)]
    records = tuple(ImageRecord(name) for name in dict.fromkeys(map(cleaned, names)) if name)
    loss = f"{source}: {len(names):,} detections stay in the file; `import-labels` reads them"
    return Reading(records, losses=(loss,))


def _rows(table: Table) -> list[Row]:
    """Return all rows but comments. The apparent header is the first row."""
    rows = [(1, list(table.first_row or table.header)), *table.rows]
    return [(line, cells) for line, cells in rows if not cells[0].lstrip().startswith("#")]


def _is_detection(cells: Sequence[str]) -> bool:
    cells = [cell.strip() for cell in cells]
    return (
        len(cells) >= FIXED
        and bool(WHOLE.fullmatch(cells[0]))
        and bool(WHOLE.fullmatch(cells[2]))
        and not PLAIN.fullmatch(cells[1])
        and all(PLAIN.fullmatch(cell) for cell in cells[3:FIXED])
    )


def _detection(cells: Sequence[str], location: str, complaints: Complaints) -> Detection:
    edges = complete(number_in(cell.strip(), location, complaints) for cell in cells[3:7])
    box: tuple[float, ...] = ()
    if edges:
        x_min, top, right, bottom = edges
        box = (x_min, top, right - x_min, bottom - top)
    optional_cells = [cell for cell in cells[FIXED:] if cell.strip()]
    first = next((at for at, cell in enumerate(optional_cells) if TOKEN.fullmatch(cell)), len(optional_cells))
    named = optional_cells[:first]
    pairs = tuple(
        (name.strip(), number_in(sure.strip(), location, complaints))
        for name, sure in zip(named[::2], named[1::2], strict=False)
        if name.strip()
    )
    tokens = tuple((match[1], match[2]) for cell in optional_cells[first:] if (match := TOKEN.fullmatch(cell)))
    return Detection(cells[1].strip(), box, pairs, tokens)


def _record(detection: Detection, location: str, complaints: Complaints) -> LabelRecord | None:
    name, confidence = max(detection.pairs, key=lambda pair: -1.0 if pair[1] is None else pair[1])
    if not detection.image:
        complaints.add(location, "has no image", "export detections of an image sequence", "rows without an image")
        return None
    outlines = [ring for token, text in detection.tokens if token == "poly" and (ring := _ring(text))]
    if not outlines and (not detection.box or min(detection.box[2:]) <= 0):
        complaints.add(location, "has a box without an area", "correct or delete it", "invalid boxes")
        return None
    shape, numbers = ("outline", max(outlines, key=area)) if outlines else ("box", detection.box)
    sure = confidence if confidence is not None and 0 <= confidence <= 1 else None
    return LabelRecord(
        detection.image,
        (name,),
        confidence=None if sure == BY_HAND else sure,
        status=None if sure == BY_HAND else PREDICTED,
        shape=shape,
        numbers=numbers,
    )


def _ring(text: str) -> tuple[float, ...]:
    words = text.split()
    if len(words) < 6 or len(words) % 2 or not all(PLAIN.fullmatch(word) for word in words):
        return ()
    return opened(tuple(float(word) for word in words))
