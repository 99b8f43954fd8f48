"""Labels in the tracks of IMOS and ACFR AUV dives: the integer column `label`, 0 for images without a label.

The meaning of the numbers is written above the header, where readers of tracks ignore free text. An imported track
keeps its columns, its other cells and the text above its header. For a dive without a track, one is created.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from benthoscope.engine.exchange.labels.export_model import (
    ExportFile,
    ExportImage,
    ExportTrack,
    Loss,
    Outgoing,
    Written,
    losses,
)
from benthoscope.engine.exchange.labels.records import LabelReading, LabelRecord
from benthoscope.engine.exchange.metadata.tables import FIRST, NO_LABEL, track_in
from benthoscope.engine.exchange.parsing.csv_output import (
    csv_bytes,
    file_name,
    guarded,
    is_formula,
    stamp,
    unguarded,
    unlike,
)
from benthoscope.engine.exchange.parsing.tables import Table, decoded, sniffed
from benthoscope.engine.exchange.records import Complaints
from benthoscope.engine.term_path import joined, parted

HEADER = (
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "latitude",
    "longitude",
    "depth",
    "roll",
    "pitch",
    "heading",
    "altitude",
    "leftimage",
    "rightimage",
    "label",
)
TITLE, DIVE, MEANS = "Labels by Benthoscope", "labels of dive", "label"
CARRIED = frozenset(
    {"unlabelled", "whole", "paths", "vocabulary", "codes", "group", "taken_at", "position", "depth", "altitude"}
)


def write_tracks(outgoing: Outgoing) -> Written:
    """Write a track per dive. A number has the same meaning in all of them."""
    of_images = {picture.given_label.term.id for picture in outgoing.labelled}
    used = [term_id for term_id in outgoing.used_terms if term_id in of_images]
    numbers = {term_id: number for number, term_id in enumerate(used, 1)}
    legend = [
        [
            f"{MEANS} {numbers[term_id]}",
            joined(outgoing.used_terms[term_id][1].path),
            outgoing.used_terms[term_id][0],
            outgoing.used_terms[term_id][1].code or "",
        ]
        for term_id in numbers
    ]
    made = [made for group_key in outgoing.by_group for made in _of_dive(outgoing, group_key, numbers, legend)]
    names = unlike(name for name, _, _ in made)
    written = {number for _, _, images in made for number in images}
    lost = sum(picture.image.id not in written for picture in outgoing.labelled)
    special = (
        Loss("labels of images that the track of their dive does not contain", lost, "imported tracks keep their rows"),
        Loss(
            "images without time or place",
            sum(_is_nowhere(picture) for picture in outgoing.pictures),
            "a track lists images by time and position; their cells are empty",
        ),
        Loss(
            "file names that a spreadsheet would run as formulas",
            sum(map(_is_risky, outgoing.pictures)),
            "tracks contain the exact file names; do not open them in a spreadsheet",
        ),
    )
    files = tuple(ExportFile(name, [data]) for name, (_, data, _) in zip(names, made, strict=True))
    why = "a track has only one number per image"
    carried = CARRIED | ({"details"} if outgoing.by_group.keys() <= outgoing.tracks.keys() else set())
    return Written(files, len(outgoing.labelled) - lost, losses(outgoing, carried, why, special=special))


def is_labelled_track(table: Table) -> bool:
    track = track_in(table)
    return track is not None and any(name.strip().lower() == MEANS for name in track.header)


def read_track_labels(table: Table, *, source: str) -> LabelReading:
    """Read tracks whose numbers are explained above the header. Other numbers are clusters and are only counted."""
    track, complaints = track_in(table), Complaints(source)
    assert track is not None  # `is_labelled_track` was asked before
    legend, dive = _legend(table), _dive(table)
    columns = {name.strip().lower(): at for at, name in reversed(list(enumerate(track.header)))}
    records, unexplained = [], 0
    for _, cells in track.rows:
        image, number = (_cell(cells, columns[name]) for name in ("leftimage", MEANS))
        if number in legend and image:
            records.append(LabelRecord(image, **legend[number], **dive))
        elif number and number not in map(str, NO_LABEL):
            unexplained += 1
    lines = [f"{source}: numbers of {unexplained:,} images have no known meaning"] if unexplained else []
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()), tuple(lines))


def _is_nowhere(picture: ExportImage) -> bool:
    return picture.image.taken_at is None or picture.image.latitude is None


def _is_risky(picture: ExportImage) -> bool:
    return is_formula(picture.name)


def _of_dive(
    outgoing: Outgoing, group_key: tuple[str, str], numbers: Mapping[int, int], legend: Sequence[Sequence[str]]
) -> list[tuple[str, bytes, set[int]]]:
    """Return (file name, content, ids of the images it contains) of each track of a dive."""
    pictures = outgoing.by_group[group_key]
    above = [list(map(guarded, cells)) for cells in ([TITLE], [DIVE, group_key[1], group_key[0]], *legend)]
    tracks = [_filled(track, pictures, numbers, above) for track in outgoing.tracks.get(group_key, ())]
    return tracks or [
        (
            f"{file_name(group_key[1])}_latlong.csv",
            _made(pictures, numbers, above),
            {picture.image.id for picture in pictures},
        )
    ]


def _filled(
    track: ExportTrack, pictures: Sequence[ExportImage], numbers: Mapping[int, int], above: Sequence[list[str]]
) -> tuple[str, bytes, set[int]]:
    """Return the track with values in its column `label`, which is added if missing."""
    text, _ = decoded(track.data, track.name, Complaints(track.name))
    delimiter = sniffed(text)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    start = next(at for at, cells in enumerate(rows) if cells and cells[0].strip().lower() == FIRST)
    header = [cell.strip().lower() for cell in rows[start]]
    at_image, at_label = header.index("leftimage"), header.index(MEANS) if MEANS in header else len(header)
    by_stem = {PurePosixPath(picture.image.path).stem.lower(): picture for picture in pictures}
    named, out = set(), [cells for cells in rows[:start] if not _is_ours(cells)]
    out += above
    out.append(_with_cell(rows[start], at_label, rows[start][at_label] if at_label < len(header) else MEANS))
    for cells in rows[start + 1 :]:
        picture = by_stem.get(PurePosixPath(_cell(cells, at_image).replace("\\", "/")).stem.lower())
        named |= {picture.image.id} if picture else set()
        out.append(_with_cell(cells, at_label, str(_number(picture, numbers))) if any(cells) else cells)
    return PurePosixPath(track.name).name, csv_bytes(out, delimiter), named


def _made(pictures: Sequence[ExportImage], numbers: Mapping[int, int], above: Sequence[Sequence[str]]) -> bytes:
    ordered = sorted(
        pictures,
        key=lambda picture: (picture.image.taken_at is None, picture.image.taken_at or 0.0, picture.image.path),
    )
    return csv_bytes([*above, HEADER, *(_row(picture, numbers) for picture in ordered)])


def _row(picture: ExportImage, numbers: Mapping[int, int]) -> tuple[Any, ...]:
    image, timestamp = picture.image, picture.image.taken_at
    when = (
        ("",) * 6
        if timestamp is None
        else (*(int(number) for number in stamp(timestamp, "%Y %m %d %H %M").split()), stamp(timestamp, "%S.%f"))
    )
    angles = (image.details.get(name) for name in ("roll", "pitch", "heading"))
    return (
        *when,
        image.latitude,
        image.longitude,
        image.depth,
        *angles,
        image.altitude,
        picture.name,
        image.details.get("twin", ""),
        _number(picture, numbers),
    )


def _number(picture: ExportImage | None, numbers: Mapping[int, int]) -> int:
    return numbers[picture.label.term.id] if picture and picture.label else NO_LABEL[0]


def _with_cell(cells: Sequence[str], at: int, cell: str) -> list[str]:
    filled = [*cells, *[""] * (at + 1 - len(cells))]
    return [*filled[:at], cell, *filled[at + 1 :]]


def _is_ours(cells: Sequence[str]) -> bool:
    """Return whether a row above the header is the explanation of an earlier export."""
    first = cells[0] if cells else ""
    return first in (TITLE, DIVE) or (first.startswith(f"{MEANS} ") and first.removeprefix(f"{MEANS} ").isdecimal())


def _legend(table: Table) -> dict[str, dict[str, Any]]:
    """Return the meaning of each number, from the rows above the header."""
    legend: dict[str, dict[str, Any]] = {}
    for cells in _above(table):
        if _is_ours(cells) and cells[0] not in (TITLE, DIVE) and len(cells) > 1:
            legend[cells[0].removeprefix(f"{MEANS} ")] = {
                "path": parted(unguarded(cells[1])),
                "vocabulary": _cell(cells, 2) or None,
                "code": _cell(cells, 3) or None,
            }
    return legend


def _dive(table: Table) -> dict[str, Any]:
    """Return the dive and its campaign from the rows of an earlier export."""
    dive_cells = next((cells for cells in _above(table) if cells[0] == DIVE), ())
    return {"group": _cell(dive_cells, 1) or None, "collection": _cell(dive_cells, 2) or None}


def _above(table: Table) -> Iterator[Sequence[str]]:
    for cells in (table.header, *(cells for _, cells in table.rows)):
        if cells[0].strip().lower() == FIRST:
            return
        yield cells


def _cell(cells: Sequence[str], at: int) -> str:
    return unguarded(cells[at].strip()) if at < len(cells) else ""
