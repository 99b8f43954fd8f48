"""Gathers what an export needs: images, the labels that hold or held, their certainty, clusters, tracks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from engine.exchange.imos import track_in
from engine.exchange.outgoing import BULK, PREDICTED, VERIFIED, Outgoing, PartSaid, Picture, Place, Said, Track
from engine.exchange.shapes import mask_of, runs
from engine.exchange.tables import MAX_BYTES, read_table
from engine.features.mask_file import MaskFile
from engine.features.masks import point_labels
from engine.jobs.feature_sets import masks_of
from engine.problems import BadInput, fail, unknown
from engine.progress import OnStep, Progress, ignore
from engine.workspace import Group, Image, Run, Workspace
from engine.workspace.events import Event, standing
from engine.workspace.parts import parts_of
from engine.workspace.segment_labels import names_segments, segments_of
from engine.workspace.vocabularies import Term

UNSEEN = frozenset({"bulk", "crowd"})  # reasons for which a person did not look at every image
MODEL = "model:"                       # how the name of a model begins among those who label
AT_ONCE = 2_000
PLACES = 2  # digits of a run's probability: it is no surer than that, and an import makes few acts of them
TRACK_FOLDERS = (".", "track_files")


@dataclass(frozen=True)
class Wanted:
    """What is to go out. `run` None stands for the current one; `until` 0 for before any label."""

    images: np.ndarray
    labelled: bool = False
    until: int | None = None
    run: str | None = None
    segments: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    tracks: bool = False


@dataclass(frozen=True)
class Clustering:
    """Of a run: (cluster, probability) by image."""

    name: str
    of_image: Mapping[int, tuple[int, float | None]]


def chosen_images(workspace: Workspace, collection: str | None = None, dive: str | None = None,
                  selection: str | None = None) -> np.ndarray:
    """Ids of the images of a collection, a dive in it or anywhere, and a selection; of all that are given."""
    library = workspace.library
    columns = library.columns("id", "group_id", collection_id=_collection_id(workspace, collection))
    ids = columns["id"]
    if dive is not None:
        groups = library.groups(_collection_id(workspace, collection))
        if dive not in {group.name for group in groups}:
            raise unknown("dives", dive, {group.name for group in groups})
        ids = ids[np.isin(columns["group_id"], [group.id for group in groups if group.name == dive])]
    if selection is not None:
        ids = np.intersect1d(ids, workspace.selections.named(selection).images)
    return ids


def gathered(workspace: Workspace, wanted: Wanted, on_step: OnStep = ignore) -> Outgoing:
    """Everything about these images, in the order of dives, times and paths."""
    history = _history(workspace, wanted.until)
    speaker = _Speaker(workspace, history)
    clustering = _clustering(workspace, wanted.run)
    pictures = _pictures(workspace, wanted, speaker, clustering, on_step)
    if wanted.segments:
        pictures = _with_segments(pictures, masks_of(workspace, wanted.segments), on_step)
    if wanted.labelled:
        pictures = [picture for picture in pictures if picture.said or picture.parts]
    groups = {(picture.collection, picture.group) for picture in pictures}
    holding = {*workspace.labels.current(wanted.until)[1].tolist(),
               *(event.number for event in standing(history) if event.kind == "part")}
    return Outgoing(
        workspace.name, workspace.identity.id, tuple(pictures), speaker.terms_by_vocabulary, speaker.versions,
        _headers(workspace, groups), _tracks(workspace, pictures, on_step) if wanted.tracks else {}, wanted.fields,
        clustering.name, sum(event.kind == "audit" for event in standing(history)),
        sum(event.kind == "refuse" for event in standing(history)),
        sum(event.kind in ("label", "part", "clear", "revert", "undo") and event.number not in holding
            for event in history))


class _Speaker:
    """Turns events into what they say, each once."""

    def __init__(self, workspace: Workspace, history: list[Event]):
        self._workspace = workspace
        self._events = {event.number: event for event in history}
        self._people = {person.id: person.name for person in workspace.people.all()}
        self._runs: dict[int, Clustering] = {}
        words = workspace.vocabularies.all()
        self.versions = {found.name: found.version for found in words}
        self.terms_by_vocabulary = {found.name: workspace.vocabularies.terms(found.id) for found in words}
        self._terms = {term.id: (name, term) for name, terms in self.terms_by_vocabulary.items() for term in terms}
        self._said: dict[int, Said] = {}

    def of_image(self, number: int, image: int) -> Said:
        """The label an event gives an image; where it named many at once by their cluster, as sure as the cluster."""
        event, said = self._events[number], self.of_event(self._events[number])
        if event.confidence is None and event.run_id is not None and said.status == BULK:
            return replace(said, confidence=self._probability(event.run_id, image))
        return said

    def of_event(self, event: Event) -> Said:
        if event.number not in self._said:
            vocabulary, term = self._terms[event.term_id]
            self._said[event.number] = _said(event, vocabulary, term, self._people[event.person_id])
        return self._said[event.number]

    def parts(self, wanted: set[int]) -> dict[int, list[PartSaid]]:
        found: dict[int, list[PartSaid]] = defaultdict(list)
        for event in standing(list(self._events.values())):
            if event.kind == "part":
                for image, shape, numbers in self._marked(event, wanted):
                    found[image].append(PartSaid(self.of_event(event), shape, numbers))
        return found

    def _marked(self, event: Event, wanted: set[int]) -> Iterator[tuple[int, str, tuple[float, ...]]]:
        """(image, shape, numbers) of the parts of an act; segments by their masks, as small as those are kept."""
        if not names_segments(event):
            yield from ((part.image, part.shape, part.numbers) for part in parts_of(event) if part.image in wanted)
            return
        images, numbers = segments_of(event)
        masks = MaskFile(self._workspace.folder / "features" / event.rule["features"])
        found, first = np.unique(images, return_index=True)
        for image, mine in zip(found.tolist(), np.split(numbers, first[1:]), strict=True):
            if image in wanted and image in masks:
                mask = masks[image]
                yield from ((image, "mask", runs(mask == number)) for number in mine.tolist())

    def _probability(self, run_id: int, image: int) -> float | None:
        if run_id not in self._runs:
            self._runs[run_id] = _of_run(self._workspace.runs.get(run_id))
        return self._runs[run_id].of_image.get(image, (0, None))[1]


def _said(event: Event, vocabulary: str, term: Term, person: str) -> Said:
    """What an event says; of an imported label, what the file it came from said."""
    rule = event.rule if event.why == "import" else {}
    who, why = rule.get("by") or person, rule.get("why") or event.why
    status = PREDICTED if who.startswith(MODEL) else BULK if why in UNSEEN else VERIFIED
    return Said(term, vocabulary, who, rule.get("at") or event.at, why, rule.get("status") or status, event.confidence)


def _history(workspace: Workspace, until: int | None) -> list[Event]:
    last = workspace.labels.last_number()
    if until is not None and not 0 <= until <= last:
        raise fail("as of", f"there is no event {until}", f"give a number from 0 to {last}")
    return [event for event in workspace.labels.events() if until is None or event.number <= until]


def _pictures(workspace: Workspace, wanted: Wanted, speaker: _Speaker, clustering: Clustering, on_step: OnStep
              ) -> list[Picture]:
    labelled = dict(zip(*(array.tolist() for array in workspace.labels.current(wanted.until)), strict=True))
    parts = speaker.parts(set(wanted.images.tolist()))
    collections = {found.id: found.name for found in workspace.library.collections()}
    groups = {group.id: group for group in workspace.library.groups()}
    found = []
    for at in range(0, len(wanted.images), AT_ONCE):
        on_step(Progress(at, len(wanted.images), f"Gathering {at:,} of {len(wanted.images):,} images"))
        for image in workspace.library.images(wanted.images[at:at + AT_ONCE].tolist()):
            place = _place(image, groups, collections)
            said = speaker.of_image(labelled[image.id], image.id) if image.id in labelled else None
            mine = tuple(_sized(part, image) for part in parts.get(image.id, ()))
            found.append(Picture(image, *place, said, mine,
                                 *clustering.of_image.get(image.id, (None, None))))
    return sorted(found, key=_order)


def _sized(part: PartSaid, image: Image) -> PartSaid:
    """A mask at the size of its image."""
    if part.shape != "mask" or part.numbers[:2] == (image.height, image.width):
        return part
    return replace(part, numbers=runs(_enlarged(mask_of(part.numbers), image.height, image.width)))


def _place(image: Image, groups: Mapping[int, Group], collections: Mapping[int, str]) -> tuple[str, str]:
    """(group, collection)."""
    group = groups[image.group_id]
    return group.name, collections[group.collection_id]


def _order(picture: Picture) -> tuple[Any, ...]:
    taken = picture.image.taken_at
    return picture.collection, picture.group, taken is None, taken or 0.0, picture.image.path


def _collection_id(workspace: Workspace, name: str | None) -> int | None:
    return None if name is None else workspace.library.collection_named(name).id


def _clustering(workspace: Workspace, word: str | None) -> Clustering:
    run = workspace.runs.current() if word is None else workspace.runs.named(word)
    return _of_run(run) if run else Clustering("", {})


def _of_run(run: Run) -> Clustering:
    """Of runs that cluster whole images; others have no one cluster for an image."""
    parts = run.parts()
    ids, labels = parts.get("image_ids"), parts.get("labels")
    if ids is None or labels is None or len(ids) != len(labels):
        return Clustering(run.name, {})
    shares = parts.get("probability")
    sure = [None] * len(ids) if shares is None else np.round(np.asarray(shares, float), PLACES).tolist()
    pairs = zip(np.asarray(labels).tolist(), sure, strict=True)
    return Clustering(run.name, dict(zip(np.asarray(ids).tolist(), pairs, strict=True)))


def _headers(workspace: Workspace, places: set[Place]) -> dict[Place, Mapping[str, Any]]:
    """What the iFDO files of these dives said when they were imported."""
    names = {found.id: found.name for found in workspace.library.collections()}
    told = {(names[group.collection_id], group.name): group.details.get("ifdo") for group in workspace.library.groups()}
    return {place: told[place] for place in places if isinstance(told.get(place), Mapping)}


# --- segments


def _with_segments(pictures: list[Picture], masks: MaskFile, on_step: OnStep) -> list[Picture]:
    """With the segments that labelled points lie in, each named as most of its points are."""
    found = []
    for at, picture in enumerate(pictures):
        if at % AT_ONCE == 0:
            on_step(Progress(at, len(pictures), "Finding the segments of points"))
        points = [part for part in picture.parts if part.shape == "point"]
        more = _segments(picture.image, points, masks[picture.image.id]) if points and picture.image.id in masks else ()
        found.append(replace(picture, parts=(*picture.parts, *more)))
    return found


def _segments(image: Image, points: list[PartSaid], mask: np.ndarray) -> list[PartSaid]:
    height, width = mask.shape
    rows = np.clip([int(part.numbers[1] * height / image.height) for part in points], 0, height - 1)
    columns = np.clip([int(part.numbers[0] * width / image.width) for part in points], 0, width - 1)
    terms = np.array([part.said.term.id for part in points])
    of_segment = point_labels(mask, rows, columns, terms)
    said = {part.said.term.id: part.said for part in reversed(points)}
    full = _enlarged(mask, image.height, image.width)
    return [PartSaid(said[term], "mask", runs(full == segment))
            for segment, term in enumerate(of_segment.tolist()) if term in said]


def _enlarged(mask: np.ndarray, height: int, width: int) -> np.ndarray:
    """The mask at the size of its image; every pixel keeps the segment it lies in."""
    rows = np.arange(height) * mask.shape[0] // height
    columns = np.arange(width) * mask.shape[1] // width
    return mask[rows[:, None], columns]


# --- tracks


def _tracks(workspace: Workspace, pictures: list[Picture], on_step: OnStep) -> dict[Place, list[Track]]:
    """The tracks beside the images of each dive, where they can still be read."""
    roots = {root.id: Path(root.path) for root in workspace.library.roots() if root.present}
    of_place: dict[Place, list[Picture]] = defaultdict(list)
    for picture in pictures:
        of_place[picture.place].append(picture)
    found = {}
    for at, (place, own) in enumerate(of_place.items()):
        on_step(Progress(at, len(of_place), f"Looking for the track of {place[1]}"))
        tracks = _tracks_of(own, roots)
        if tracks:
            found[place] = tracks
    return found


def _tracks_of(pictures: list[Picture], roots: Mapping[int, Path]) -> list[Track]:
    """Tracks that name images of the dive, from the folders of its images upwards; the nearest ones."""
    stems = {PurePosixPath(picture.image.path).stem.lower() for picture in pictures}
    level = {(roots[picture.image.root_id], PurePosixPath(picture.image.path).parent)
             for picture in pictures if picture.image.root_id in roots}
    while level:
        files = sorted({path for root, folder in level for below in TRACK_FOLDERS
                        for path in (root / folder / below).glob("*.csv")})
        tracks = [track for path in files if (track := _track(path, stems))]
        if tracks:
            return tracks
        level = {(root, folder.parent) for root, folder in level if folder.parts}
    return []


def _track(path: Path, stems: set[str]) -> Track | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        data = path.read_bytes()
        table = track_in(read_table(data, source=path.name))
    except (OSError, BadInput):
        return None
    if table is None:
        return None
    at = [name.lower() for name in table.header].index("leftimage")
    named = {PurePosixPath(cells[at].strip().replace("\\", "/")).stem.lower() for _, cells in table.rows
             if at < len(cells)}
    return Track(path.name, data) if named & stems else None
