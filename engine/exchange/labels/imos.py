"""Labels in the tracks of IMOS and ACFR AUV dives: the integer column `label`, 0 where an image has none.

What the numbers mean stands above the header, where readers of tracks pass over free text. A track that was imported
keeps its columns, its other cells and what stood above its header; of a dive without one a track is made.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from engine.exchange.cells import joined, parted, stamp
from engine.exchange.file_names import file_name, unlike
from engine.exchange.imos import FIRST, NO_LABEL, track_in
from engine.exchange.label_records import LabelReading, LabelRecord
from engine.exchange.outgoing import ExportFile, Loss, Outgoing, Picture, Track, Written, losses
from engine.exchange.records import Complaints
from engine.exchange.tables import Table, decoded, sniffed

HEADER = ("year", "month", "day", "hour", "minute", "second", "latitude", "longitude", "depth", "roll", "pitch",
          "heading", "altitude", "leftimage", "rightimage", "label")
TITLE, DIVE, MEANS = "Labels by Benthoscope", "labels of dive", "label"
CARRIED = frozenset({"unlabelled", "whole", "paths", "vocabulary", "codes", "group", "taken_at", "position", "depth",
                     "altitude"})


def write_tracks(outgoing: Outgoing) -> Written:
    """A track for every dive; a number means the same class in all of them."""
    of_images = {picture.said.term.id for picture in outgoing.labelled}
    used = [term_id for term_id in outgoing.used_terms if term_id in of_images]
    numbers = {term_id: number for number, term_id in enumerate(used, 1)}
    legend = [[f"{MEANS} {numbers[term_id]}", joined(outgoing.used_terms[term_id][1].path),
               outgoing.used_terms[term_id][0], outgoing.used_terms[term_id][1].code or ""] for term_id in numbers]
    made = [made for place in outgoing.by_place for made in _of_dive(outgoing, place, numbers, legend)]
    names = unlike(name for name, _, _ in made)
    written = {number for _, _, images in made for number in images}
    lost = sum(picture.image.id not in written for picture in outgoing.labelled)
    special = (
        Loss("labels of images their dive's track does not name", lost, "the track is kept as it was imported"),
        Loss("images without time or place", sum(_is_nowhere(picture) for picture in outgoing.pictures),
             "a track goes by time and place; their cells are empty"))
    files = tuple(ExportFile(name, [data]) for name, (_, data, _) in zip(names, made, strict=True))
    why = "a track has a number for each image, and no more"
    carried = CARRIED | ({"details"} if outgoing.by_place.keys() <= outgoing.tracks.keys() else set())
    return Written(files, len(outgoing.labelled) - lost, losses(outgoing, carried, why, special=special))


def is_labelled_track(table: Table) -> bool:
    track = track_in(table)
    return track is not None and any(name.strip().lower() == MEANS for name in track.header)


def read_track_labels(table: Table, *, source: str) -> LabelReading:
    """Of tracks whose numbers are explained above the header; other numbers are clusters, and counted."""
    track, complaints = track_in(table), Complaints(source)
    legend, dive = _legend(table), _dive(table)
    columns = {name.strip().lower(): at for at, name in reversed(list(enumerate(track.header)))}
    records, unexplained = [], 0
    for _, cells in track.rows:
        image, number = (_cell(cells, columns[name]) for name in ("leftimage", MEANS))
        if number in legend and image:
            records.append(LabelRecord(image, **legend[number], **dive))
        elif number and number not in map(str, NO_LABEL):
            unexplained += 1
    lines = [f"{source}: numbers of {unexplained:,} images mean nothing we know"] if unexplained else []
    return LabelReading(tuple(records), (*table.problems, *complaints.problems()), tuple(lines))


def _is_nowhere(picture: Picture) -> bool:
    return picture.image.taken_at is None or picture.image.latitude is None


def _of_dive(outgoing: Outgoing, place: tuple[str, str], numbers: Mapping[int, int], legend: Sequence[Sequence[str]]
             ) -> list[tuple[str, bytes, set[int]]]:
    """(file name, content, ids of the images it names) of every track of a dive."""
    pictures = outgoing.by_place[place]
    above = [[TITLE], [DIVE, place[1], place[0]], *legend]
    found = [_filled(track, pictures, numbers, above) for track in outgoing.tracks.get(place, ())]
    return found or [(f"{file_name(place[1])}_latlong.csv", _made(pictures, numbers, above),
                      {picture.image.id for picture in pictures})]


def _filled(track: Track, pictures: Sequence[Picture], numbers: Mapping[int, int], above: Sequence[Sequence[str]]
            ) -> tuple[str, bytes, set[int]]:
    """The track with its column `label` filled, added where it had none."""
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
    for cells in rows[start + 1:]:
        picture = by_stem.get(PurePosixPath(_cell(cells, at_image).replace("\\", "/")).stem.lower())
        named |= {picture.image.id} if picture else set()
        out.append(_with_cell(cells, at_label, str(_number(picture, numbers))) if any(cells) else cells)
    return PurePosixPath(track.name).name, _written(out, delimiter), named


def _made(pictures: Sequence[Picture], numbers: Mapping[int, int], above: Sequence[Sequence[str]]) -> bytes:
    ordered = sorted(pictures, key=lambda picture: (picture.image.taken_at is None, picture.image.taken_at or 0.0,
                                                    picture.image.path))
    return _written([*above, HEADER, *(_row(picture, numbers) for picture in ordered)], ",")


def _row(picture: Picture, numbers: Mapping[int, int]) -> tuple[Any, ...]:
    image, taken = picture.image, picture.image.taken_at
    when = ("",) * 6 if taken is None else (
        *(int(part) for part in stamp(taken, "%Y %m %d %H %M").split()), stamp(taken, "%S.%f"))
    angles = (image.details.get(name) for name in ("roll", "pitch", "heading"))
    return (*when, image.latitude, image.longitude, image.depth, *angles, image.altitude, picture.name,
            image.details.get("twin", ""), _number(picture, numbers))


def _number(picture: Picture | None, numbers: Mapping[int, int]) -> int:
    return numbers[picture.said.term.id] if picture and picture.said else NO_LABEL[0]


def _with_cell(cells: Sequence[str], at: int, cell: str) -> list[str]:
    filled = [*cells, *[""] * (at + 1 - len(cells))]
    return [*filled[:at], cell, *filled[at + 1:]]


def _is_ours(cells: Sequence[str]) -> bool:
    """Whether a row above the header is the explanation of an earlier export."""
    first = cells[0] if cells else ""
    return first in (TITLE, DIVE) or (first.startswith(f"{MEANS} ") and first.removeprefix(f"{MEANS} ").isdecimal())


def _legend(table: Table) -> dict[str, dict[str, Any]]:
    """What each number means, by the rows above the header."""
    found: dict[str, dict[str, Any]] = {}
    for cells in _above(table):
        if _is_ours(cells) and cells[0] not in (TITLE, DIVE) and len(cells) > 1:
            found[cells[0].removeprefix(f"{MEANS} ")] = {
                "path": parted(cells[1]), "vocabulary": _cell(cells, 2) or None, "code": _cell(cells, 3) or None}
    return found


def _dive(table: Table) -> dict[str, str | None]:
    """The dive and its campaign, where an export of ours says them."""
    told = next((cells for cells in _above(table) if cells[0] == DIVE), ())
    return {"group": _cell(told, 1) or None, "collection": _cell(told, 2) or None}


def _above(table: Table) -> Iterator[Sequence[str]]:
    for cells in (table.header, *(cells for _, cells in table.rows)):
        if cells[0].strip().lower() == FIRST:
            return
        yield cells


def _cell(cells: Sequence[str], at: int) -> str:
    return cells[at].strip() if at < len(cells) else ""


def _written(rows: Sequence[Sequence[Any]], delimiter: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")
