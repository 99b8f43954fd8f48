"""Labels in the format of Squidle+: one row per label, of a whole frame if it has no x and y.

Positions are fractions of the image's width and height, outlines are offsets from their point. Values without a column
in Squidle+ are stored as tags: "status: bulk", "cluster: 7".
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benthoscope.engine.exchange.labels.coco import bounds, flat, outline, outline_of, pairs
from benthoscope.engine.exchange.labels.export_model import (
    PREDICTED,
    ExportAnnotation,
    ExportFile,
    ExportImage,
    ExportLabel,
    Loss,
    Outgoing,
    Written,
    losses,
)
from benthoscope.engine.exchange.labels.records import (
    LabelReading,
    LabelRecord,
    confidence_in,
    moment_in,
    number_in,
    state_in,
    worded,
)
from benthoscope.engine.exchange.parsing.csv_output import csv_chunks, named_rows, stamp, unguarded
from benthoscope.engine.exchange.parsing.tables import Table
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.term_path import joined, parted
from benthoscope.engine.workspace.labels.events import UNCONFIRMED

KEY, DIVE, CAMPAIGN = "point.media.key", "point.media.deployment.key", "point.media.deployment.campaign.key"
HEADER = (
    CAMPAIGN,
    DIVE,
    KEY,
    "point.media.timestamp_start",
    "point.pose.timestamp",
    "point.pose.lat",
    "point.pose.lon",
    "point.pose.dep",
    "point.pose.alt",
    "point.x",
    "point.y",
    "point.polygon",
    "label.name",
    "label.lineage_names",
    "likelihood",
    "needs_review",
    "tag_names",
    "comment",
    "updated_at",
    "user.username",
)
CARRIED = frozenset(
    {
        "whole",
        "parts",
        "paths",
        "who",
        "at",
        "why",
        "status",
        "confidence",
        "group",
        "taken_at",
        "position",
        "depth",
        "altitude",
        "clusters",
    }
)
# the columns by which Squidle+ finds images and classes
EXACT = (CAMPAIGN, DIVE, KEY, "label.name", "label.lineage_names", "tag_names")
PLACES = 12  # digits of a fraction: a millionth of a pixel


def write_squidle(outgoing: Outgoing) -> Written:
    annotations = [annotation for picture in outgoing.pictures for annotation in picture.annotations]
    exportable = sum(map(_fits, annotations))
    special = (
        Loss(
            "numbers of classes",
            len(outgoing.used_terms),
            "Squidle+ assigns its own numbers; classes are matched by name and lineage, choose the scheme on upload",
        ),
        Loss("lines and masks", len(annotations) - exportable, "Squidle+ has points and outlines"),
        Loss(
            "boxes and circles",
            sum(annotation.shape in ("box", "circle") for annotation in annotations),
            "they are converted to outlines",
        ),
        Loss(
            "names that a spreadsheet would run as formulas",
            outgoing.formula_names,
            "Squidle+ finds images and classes by them, so they are unchanged; do not open it in a spreadsheet",
        ),
    )
    table = csv_chunks(HEADER, _rows(outgoing), exact=EXACT)
    return Written(
        (ExportFile("squidle.csv", table),),
        len(outgoing.labelled) + exportable,
        losses(outgoing, CARRIED, "Squidle+ has no column for it", special=special),
    )


def is_squidle(table: Table) -> bool:
    names = {name.strip().lower() for name in table.header}
    return KEY in names and bool(names & {"label.name", "label.lineage_names"})


def read_squidle(table: Table, *, source: str) -> LabelReading:
    complaints = Complaints(source)
    records = [record for line, row in named_rows(table) if (record := _record(row, f"line {line}", complaints))]
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()))


def _fits(annotation: ExportAnnotation) -> bool:
    return annotation.shape == "point" or outline(annotation.shape, annotation.numbers) is not None


def _rows(outgoing: Outgoing) -> Iterator[tuple[Any, ...]]:
    for picture in outgoing.pictures:
        key = outgoing.keys[picture.image.id]
        if picture.label:
            yield (*_of_image(picture, key), "", "", "", *_of_label(picture.label, picture))
        for annotation in filter(_fits, picture.annotations):
            yield (*_of_image(picture, key), *_of_part(annotation, picture), *_of_label(annotation.label, picture))


def _of_image(picture: ExportImage, key: str) -> tuple[Any, ...]:
    image, timestamp = picture.image, stamp(picture.image.taken_at)
    return (
        picture.collection,
        picture.group,
        key,
        timestamp,
        timestamp,
        image.latitude,
        image.longitude,
        image.depth,
        image.altitude,
    )


def _of_part(annotation: ExportAnnotation, picture: ExportImage) -> tuple[Any, ...]:
    width, height = picture.image.width, picture.image.height
    if annotation.shape == "point":
        x, y = annotation.numbers
        return _share(x, width), _share(y, height), ""
    around = outline_of(annotation)
    x_min, y_min, wide, high = bounds(around)
    x, y = x_min + wide / 2, y_min + high / 2
    offsets = [[_share(u - x, width), _share(v - y, height)] for u, v in pairs(around)]
    return _share(x, width), _share(y, height), json.dumps(offsets)


def _of_label(label: ExportLabel, picture: ExportImage) -> tuple[Any, ...]:
    tags = [f"status: {label.status}", *([] if picture.cluster is None else [f"cluster: {picture.cluster}"])]
    return (
        label.term.name,
        joined(label.term.path),
        label.confidence,
        str(label.status in UNCONFIRMED).lower(),
        ", ".join(tags),
        f"why: {label.why}",
        stamp(label.at),
        label.who,
    )


def _share(pixels: float, extent: int) -> float:
    return round(pixels / extent, PLACES)


def _record(row: Mapping[str, str], location: str, complaints: Complaints) -> LabelRecord | None:
    path = _path(row)
    if not row.get(KEY, "").strip() or not path:
        complaints.add(location, "has no image or no class", "fill in point.media.key and label.name", "ignored rows")
        return None
    tags = dict(tag.split(": ", 1) for tag in row.get("tag_names", "").split(", ") if ": " in tag)
    annotation = _shape(row, location, complaints)
    if annotation is None:
        return None
    why = worded(row.get("comment", "").removeprefix("why: ")) if row.get("comment", "").startswith("why: ") else None
    return LabelRecord(
        row[KEY],
        path,
        worded(row.get(DIVE)),
        worded(row.get(CAMPAIGN)),
        who=worded(unguarded(row.get("user.username", ""))),
        at=moment_in(row.get("updated_at"), location, complaints),
        why=why,
        status=state_in(tags.get("status")) or _review(row),
        relative=True,
        confidence=confidence_in(row.get("likelihood"), location, complaints),
        **annotation,
    )


def _path(row: Mapping[str, str]) -> tuple[str, ...]:
    lineage, name = row.get("label.lineage_names", ""), row.get("label.name", "")
    return parted(lineage) if lineage.strip() else (name,) if name.strip() else ()


def _review(row: Mapping[str, str]) -> str | None:
    return PREDICTED if row.get("needs_review", "").strip().lower() in ("true", "1", "yes", "t") else None


def _shape(row: Mapping[str, str], location: str, complaints: Complaints) -> dict[str, Any] | None:
    """Return the shape of a row; {} for a whole frame, None if it is invalid."""
    x, y = (number_in(row.get(name), location, complaints) for name in ("point.x", "point.y"))
    if x is None and y is None:
        return {}
    if x is None or y is None:
        complaints.add(location, "has an incomplete position", "give point.x and point.y", "incomplete positions")
        return None
    written = row.get("point.polygon", "").strip()
    if not written or written == "[]":
        return {"shape": "point", "numbers": (x, y)}
    try:
        around = flat([(x + u, y + v) for u, v in json.loads(written)])
    except (ValueError, TypeError, RecursionError):
        complaints.add(location, "its outline cannot be read", "write it like [[0, 0.1], [0.1, 0]]", "outlines")
        return None
    return {"shape": "outline", "numbers": around} if len(around) >= 6 else {"shape": "point", "numbers": (x, y)}
