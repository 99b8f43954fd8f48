"""Labels as Squidle+ exchanges them: a row for every label, of a whole frame where it has no x and y.

Positions are shares of the image's width and height, outlines offsets from their point. What Squidle+ has no column for
travels as tags: "status: bulk", "cluster: 7".
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from engine.exchange.cells import csv_chunks, guarded, is_formula, joined, named_rows, parted, stamp, unguarded
from engine.exchange.label_records import (
    LabelReading,
    LabelRecord,
    confidence_in,
    moment_in,
    number_in,
    state_in,
    worded,
)
from engine.exchange.outgoing import PREDICTED, ExportFile, Loss, Outgoing, PartSaid, Picture, Said, Written, losses
from engine.exchange.records import Complaints
from engine.exchange.shapes import bounds, flat, outline, pairs
from engine.exchange.tables import Table

KEY, DIVE, CAMPAIGN = "point.media.key", "point.media.deployment.key", "point.media.deployment.campaign.key"
HEADER = (
    CAMPAIGN, DIVE, KEY, "point.media.timestamp_start", "point.pose.timestamp", "point.pose.lat", "point.pose.lon",
    "point.pose.dep", "point.pose.alt", "point.x", "point.y", "point.polygon", "label.name", "label.lineage_names",
    "likelihood", "needs_review", "tag_names", "comment", "updated_at", "user.username")
CARRIED = frozenset({"whole", "parts", "paths", "who", "at", "why", "status", "confidence", "group", "taken_at",
                     "position", "depth", "altitude", "clusters"})
PLACES = 12  # digits of a share: a millionth of a pixel


def write_squidle(outgoing: Outgoing) -> Written:
    parts = [part for picture in outgoing.pictures for part in picture.parts]
    kept = sum(map(_fits, parts))
    special = (
        Loss("numbers of classes", len(outgoing.used_terms),
             "Squidle+ numbers its classes itself; they go by name and lineage, choose the scheme on upload"),
        Loss("lines and masks", len(parts) - kept, "Squidle+ has points and outlines"),
        Loss("boxes and circles", sum(part.shape in ("box", "circle") for part in parts), "they become outlines"),
        Loss("names a spreadsheet would take for formulas", sum(map(is_formula, outgoing.keys.values())),
             "file names are left as they are, for Squidle+ finds images by them; do not open them in a spreadsheet"))
    return Written((ExportFile("squidle.csv", csv_chunks(HEADER, _rows(outgoing))),), len(outgoing.labelled) + kept,
                   losses(outgoing, CARRIED, "Squidle+ has no column for it", special=special))


def is_squidle(table: Table) -> bool:
    names = {name.strip().lower() for name in table.header}
    return KEY in names and bool(names & {"label.name", "label.lineage_names"})


def read_squidle(table: Table, *, source: str) -> LabelReading:
    complaints = Complaints(source)
    found = [record for line, row in named_rows(table) if (record := _record(row, f"line {line}", complaints))]
    return LabelReading(tuple(found), (*table.problems, *complaints.problems()))


def _fits(part: PartSaid) -> bool:
    return part.shape == "point" or outline(part.shape, part.numbers) is not None


def _rows(outgoing: Outgoing) -> Iterator[tuple[Any, ...]]:
    for picture in outgoing.pictures:
        key = outgoing.keys[picture.image.id]
        if picture.said:
            yield (*_of_image(picture, key), "", "", "", *_of_label(picture.said, picture))
        for part in filter(_fits, picture.parts):
            yield (*_of_image(picture, key), *_of_part(part, picture), *_of_label(part.said, picture))


def _of_image(picture: Picture, key: str) -> tuple[Any, ...]:
    image, taken = picture.image, stamp(picture.image.taken_at)
    return (picture.collection, picture.group, key, taken, taken, image.latitude, image.longitude, image.depth,
            image.altitude)


def _of_part(part: PartSaid, picture: Picture) -> tuple[Any, ...]:
    width, height = picture.image.width, picture.image.height
    if part.shape == "point":
        x, y = part.numbers
        return _share(x, width), _share(y, height), ""
    around = outline(part.shape, part.numbers)
    left, top, wide, high = bounds(around)
    x, y = left + wide / 2, top + high / 2
    offsets = [[_share(u - x, width), _share(v - y, height)] for u, v in pairs(around)]
    return _share(x, width), _share(y, height), json.dumps(offsets)


def _of_label(said: Said, picture: Picture) -> tuple[Any, ...]:
    tags = [f"status: {said.status}", *([] if picture.cluster is None else [f"cluster: {picture.cluster}"])]
    return (said.term.name, joined(said.term.path), said.confidence, str(said.status == PREDICTED).lower(),
            ", ".join(tags), guarded(f"why: {said.why}"), stamp(said.at), guarded(said.who))


def _share(pixels: float, whole: int) -> float:
    return round(pixels / whole, PLACES)


def _record(row: Mapping[str, str], place: str, complaints: Complaints) -> LabelRecord | None:
    path = _path(row)
    if not row.get(KEY, "").strip() or not path:
        complaints.add(place, "names no image or no class", "fill in point.media.key and label.name", "rows left out")
        return None
    tags = dict(tag.split(": ", 1) for tag in row.get("tag_names", "").split(", ") if ": " in tag)
    part = _part(row, place, complaints)
    if part is None:
        return None
    why = worded(row.get("comment", "").removeprefix("why: ")) if row.get("comment", "").startswith("why: ") else None
    return LabelRecord(
        row[KEY], path, worded(row.get(DIVE)), worded(row.get(CAMPAIGN)), who=worded(unguarded(row.get(
            "user.username", ""))), at=moment_in(row.get("updated_at"), place, complaints), why=why,
        status=state_in(tags.get("status")) or _review(row), relative=True,
        confidence=confidence_in(row.get("likelihood"), place, complaints), **part)


def _path(row: Mapping[str, str]) -> tuple[str, ...]:
    lineage, name = row.get("label.lineage_names", ""), row.get("label.name", "")
    return parted(lineage) if lineage.strip() else (name,) if name.strip() else ()


def _review(row: Mapping[str, str]) -> str | None:
    return PREDICTED if row.get("needs_review", "").strip().lower() in ("true", "1", "yes", "t") else None


def _part(row: Mapping[str, str], place: str, complaints: Complaints) -> dict[str, Any] | None:
    """The shape of a row; {} for a whole frame, None where it cannot be used."""
    x, y = (number_in(row.get(name), place, complaints) for name in ("point.x", "point.y"))
    if x is None and y is None:
        return {}
    if x is None or y is None:
        complaints.add(place, "has half a position", "give point.x and point.y", "half positions")
        return None
    written = row.get("point.polygon", "").strip()
    if not written or written == "[]":
        return {"shape": "point", "numbers": (x, y)}
    try:
        around = flat([(x + u, y + v) for u, v in json.loads(written)])
    except (ValueError, TypeError, RecursionError):
        complaints.add(place, "its outline cannot be read", "write it like [[0, 0.1], [0.1, 0]]", "outlines")
        return None
    return {"shape": "outline", "numbers": around} if len(around) >= 6 else {"shape": "point", "numbers": (x, y)}
