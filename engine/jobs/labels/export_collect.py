"""Collect the data of an export: images, labels, confidence, clusters and tracks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from benthoscope.engine.exchange.labels.coco import mask_of, runs
from benthoscope.engine.exchange.labels.export_model import (
    BULK,
    PREDICTED,
    VERIFIED,
    ExportAnnotation,
    ExportImage,
    ExportLabel,
    ExportTrack,
    Outgoing,
    Place,
)
from benthoscope.engine.exchange.metadata.tables import track_in
from benthoscope.engine.exchange.parsing.tables import MAX_BYTES, read_table
from benthoscope.engine.features.masks import MaskFile, point_labels
from benthoscope.engine.jobs.describe.feature_sets import masks_of
from benthoscope.engine.problems import BadInput, fail, unknown
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.workspace import Group, Image, Run, Workspace
from benthoscope.engine.workspace.labels.events import Event, standing
from benthoscope.engine.workspace.labels.parts import names_segments, parts_of, segments_of
from benthoscope.engine.workspace.labels.vocabularies import Term

UNSEEN = frozenset({"bulk", "crowd"})  # reasons of labels for which nobody looked at each image
MODEL = "model:"  # prefix of the names of models among those who label
AT_ONCE = 2_000
PLACES = 2  # digits of a run's probability; more would be meaningless, and an import makes one event per value
TRACK_FOLDERS = (".", "track_files")


@dataclass(frozen=True)
class Wanted:
    """What to export. A `run` of None means the current one; `until` 0 means before any label."""

    images: np.ndarray
    labelled: bool = False
    until: int | None = None
    run: str | None = None
    segments: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    tracks: bool = False


@dataclass(frozen=True)
class RunProbabilities:
    """(cluster, probability) of each image in a run."""

    name: str
    of_image: Mapping[int, tuple[int, float | None]]


def chosen_images(
    workspace: Workspace, collection: str | None = None, dive: str | None = None, selection: str | None = None
) -> np.ndarray:
    """Return the ids of the images that match all given filters: collection, dive and selection."""
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


def gathered(workspace: Workspace, request: Wanted, on_step: OnStep = ignore) -> Outgoing:
    """Return all data of these images, sorted by dive, time and path."""
    history = _history(workspace, request.until)
    speaker = _Speaker(workspace, history)
    clustering = _clustering(workspace, request.run)
    pictures = _pictures(workspace, request, speaker, clustering, on_step)
    if request.segments:
        pictures = _with_segments(pictures, masks_of(workspace, request.segments), on_step)
    if request.labelled:
        pictures = [picture for picture in pictures if picture.label or picture.annotations]
    groups = {(picture.collection, picture.group) for picture in pictures}
    holding = {
        *workspace.labels.current(request.until)[1].tolist(),
        *(event.number for event in standing(history) if event.kind == "part"),
    }
    return Outgoing(
        workspace.name,
        workspace.identity.id,
        tuple(pictures),
        speaker.terms_by_vocabulary,
        speaker.versions,
        _headers(workspace, groups),
        _tracks(workspace, pictures, on_step) if request.tracks else {},
        request.fields,
        clustering.name,
        sum(event.kind == "audit" for event in standing(history)),
        sum(event.kind == "refuse" for event in standing(history)),
        sum(
            event.kind in ("label", "part", "clear", "revert", "undo") and event.number not in holding
            for event in history
        ),
    )


class _Speaker:
    """Converts each event to an ExportLabel once."""

    def __init__(self, workspace: Workspace, history: list[Event]):
        self._workspace = workspace
        self._events = {event.number: event for event in history}
        self._people = {person.id: person.name for person in workspace.people.all()}
        self._runs: dict[int, RunProbabilities] = {}
        words = workspace.vocabularies.all()
        self.versions = {vocabulary.name: vocabulary.version for vocabulary in words}
        self.terms_by_vocabulary = {
            vocabulary.name: workspace.vocabularies.terms(vocabulary.id) for vocabulary in words
        }
        self._terms = {term.id: (name, term) for name, terms in self.terms_by_vocabulary.items() for term in terms}
        self._label_of_event: dict[int, ExportLabel] = {}

    def of_image(self, number: int, image: int) -> ExportLabel:
        """Return the label that an event gives an image. For bulk labels of a cluster, the confidence is that of the
        cluster."""
        event, label = self._events[number], self.of_event(self._events[number])
        if event.confidence is None and event.run_id is not None and label.status == BULK:
            return replace(label, confidence=self._probability(event.run_id, image))
        return label

    def of_event(self, event: Event) -> ExportLabel:
        if event.number not in self._label_of_event:
            assert event.term_id is not None  # the event labels something
            vocabulary, term = self._terms[event.term_id]
            self._label_of_event[event.number] = _export_label(event, vocabulary, term, self._people[event.person_id])
        return self._label_of_event[event.number]

    def annotations(self, image_ids: set[int]) -> dict[int, list[ExportAnnotation]]:
        annotations: dict[int, list[ExportAnnotation]] = defaultdict(list)
        for event in standing(list(self._events.values())):
            if event.kind == "part":
                for image, shape, numbers in self._marked(event, image_ids):
                    annotations[image].append(ExportAnnotation(self.of_event(event), shape, numbers))
        return annotations

    def _marked(self, event: Event, image_ids: set[int]) -> Iterator[tuple[int, str, tuple[float, ...]]]:
        """Yield (image, shape, numbers) of the parts of an event; segments as masks of the stored size."""
        if not names_segments(event):
            yield from (
                (annotation.image, annotation.shape, annotation.numbers)
                for annotation in parts_of(event)
                if annotation.image in image_ids
            )
            return
        images, numbers = segments_of(event)
        masks = MaskFile(self._workspace.folder / "features" / event.rule["features"])
        marked_images, first = np.unique(images, return_index=True)
        for image, segments in zip(marked_images.tolist(), np.split(numbers, first[1:]), strict=True):
            if image in image_ids and image in masks:
                mask = masks[image]
                yield from ((image, "mask", runs(mask == number)) for number in segments.tolist())

    def _probability(self, run_id: int, image: int) -> float | None:
        if run_id not in self._runs:
            self._runs[run_id] = _of_run(self._workspace.runs.get(run_id))
        return self._runs[run_id].of_image.get(image, (0, None))[1]


def _export_label(event: Event, vocabulary: str, term: Term, person: str) -> ExportLabel:
    """Return the ExportLabel of an event. Imported labels keep the author, time and status of their source."""
    rule = event.rule if event.why == "import" else {}
    labeller, why = rule.get("by") or person, rule.get("why") or event.why
    status = PREDICTED if labeller.startswith(MODEL) else BULK if why in UNSEEN else VERIFIED
    return ExportLabel(
        term, vocabulary, labeller, rule.get("at") or event.at, why, rule.get("status") or status, event.confidence
    )


def _history(workspace: Workspace, until: int | None) -> list[Event]:
    last = workspace.labels.last_number()
    if until is not None and not 0 <= until <= last:
        raise fail("as of", f"there is no event {until}", f"use a number from 0 to {last}")
    return [event for event in workspace.labels.events() if until is None or event.number <= until]


def _pictures(
    workspace: Workspace, request: Wanted, speaker: _Speaker, clustering: RunProbabilities, on_step: OnStep
) -> list[ExportImage]:
    labelled = dict(zip(*(array.tolist() for array in workspace.labels.current(request.until)), strict=True))
    annotations = speaker.annotations(set(request.images.tolist()))
    collections = {collection.id: collection.name for collection in workspace.library.collections()}
    groups = {group.id: group for group in workspace.library.groups()}
    pictures = []
    for at in range(0, len(request.images), AT_ONCE):
        on_step(Progress(at, len(request.images), f"Gathering {at:,} of {len(request.images):,} images"))
        for image in workspace.library.images(request.images[at : at + AT_ONCE].tolist()):
            group_key = _group_key(image, groups, collections)
            label = speaker.of_image(labelled[image.id], image.id) if image.id in labelled else None
            of_image = tuple(_sized(annotation, image) for annotation in annotations.get(image.id, ()))
            pictures.append(
                ExportImage(image, *group_key, label, of_image, *clustering.of_image.get(image.id, (None, None)))
            )
    return sorted(pictures, key=_order)


def _sized(annotation: ExportAnnotation, image: Image) -> ExportAnnotation:
    """Scale a mask to the size of its image."""
    if annotation.shape != "mask" or annotation.numbers[:2] == (image.height, image.width):
        return annotation
    return replace(annotation, numbers=runs(_enlarged(mask_of(annotation.numbers), image.height, image.width)))


def _group_key(image: Image, groups: Mapping[int, Group], collections: Mapping[int, str]) -> tuple[str, str]:
    """Return (group, collection)."""
    group = groups[image.group_id]
    return group.name, collections[group.collection_id]


def _order(picture: ExportImage) -> tuple[Any, ...]:
    timestamp = picture.image.taken_at
    return picture.collection, picture.group, timestamp is None, timestamp or 0.0, picture.image.path


def _collection_id(workspace: Workspace, name: str | None) -> int | None:
    return None if name is None else workspace.library.collection_named(name).id


def _clustering(workspace: Workspace, word: str | None) -> RunProbabilities:
    run = workspace.runs.current() if word is None else workspace.runs.named(word)
    return _of_run(run) if run else RunProbabilities("", {})


def _of_run(run: Run) -> RunProbabilities:
    """Return the probabilities of a run of whole images; other runs have no single cluster per image."""
    arrays = run.arrays()
    ids, labels = arrays.get("image_ids"), arrays.get("labels")
    if ids is None or labels is None or len(ids) != len(labels):
        return RunProbabilities(run.name, {})
    shares = arrays.get("probability")
    sure = [None] * len(ids) if shares is None else np.round(np.asarray(shares, float), PLACES).tolist()
    pairs = zip(np.asarray(labels).tolist(), sure, strict=True)
    return RunProbabilities(run.name, dict(zip(np.asarray(ids).tolist(), pairs, strict=True)))


def _headers(workspace: Workspace, group_keys: set[Place]) -> dict[Place, Mapping[str, Any]]:
    """Return the iFDO headers that these dives had when they were imported."""
    names = {collection.id: collection.name for collection in workspace.library.collections()}
    headers: dict[Place, Any] = {
        (names[group.collection_id], group.name): group.details.get("ifdo") for group in workspace.library.groups()
    }
    return {group_key: headers[group_key] for group_key in group_keys if isinstance(headers.get(group_key), Mapping)}


# --- segments


def _with_segments(pictures: list[ExportImage], masks: MaskFile, on_step: OnStep) -> list[ExportImage]:
    """Add the segments that contain labelled points. Each gets the most common label of its points."""
    pictures_out = []
    for at, picture in enumerate(pictures):
        if at % AT_ONCE == 0:
            on_step(Progress(at, len(pictures), "Finding the segments of points"))
        points = [annotation for annotation in picture.annotations if annotation.shape == "point"]
        segments = (
            _segments(picture.image, points, masks[picture.image.id]) if points and picture.image.id in masks else ()
        )
        pictures_out.append(replace(picture, annotations=(*picture.annotations, *segments)))
    return pictures_out


def _segments(image: Image, points: list[ExportAnnotation], mask: np.ndarray) -> list[ExportAnnotation]:
    height, width = mask.shape
    rows = np.clip([int(annotation.numbers[1] * height / image.height) for annotation in points], 0, height - 1)
    columns = np.clip([int(annotation.numbers[0] * width / image.width) for annotation in points], 0, width - 1)
    terms = np.array([annotation.label.term.id for annotation in points])
    of_segment = point_labels(mask, rows, columns, terms)
    labels = {annotation.label.term.id: annotation.label for annotation in reversed(points)}
    full = _enlarged(mask, image.height, image.width)
    return [
        ExportAnnotation(labels[term], "mask", runs(full == segment))
        for segment, term in enumerate(of_segment.tolist())
        if term in labels
    ]


def _enlarged(mask: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the mask at the size of its image. Each pixel keeps its segment."""
    rows = np.arange(height) * mask.shape[0] // height
    columns = np.arange(width) * mask.shape[1] // width
    return mask[rows[:, None], columns]


# --- tracks


def _tracks(workspace: Workspace, pictures: list[ExportImage], on_step: OnStep) -> dict[Place, list[ExportTrack]]:
    """Return the tracks beside the images of each dive, if they are still readable."""
    roots = {root.id: Path(root.path) for root in workspace.library.roots() if root.present}
    of_place: dict[Place, list[ExportImage]] = defaultdict(list)
    for picture in pictures:
        of_place[picture.group_key].append(picture)
    by_group = {}
    for at, (group_key, images) in enumerate(of_place.items()):
        on_step(Progress(at, len(of_place), f"Looking for the track of {group_key[1]}"))
        tracks = _tracks_of(images, roots)
        if tracks:
            by_group[group_key] = tracks
    return by_group


def _tracks_of(pictures: list[ExportImage], roots: Mapping[int, Path]) -> list[ExportTrack]:
    """Return the tracks that name images of the dive, searching from the folders of the images upwards; the nearest
    ones."""
    stems = {PurePosixPath(picture.image.path).stem.lower() for picture in pictures}
    level = {
        (roots[picture.image.root_id], PurePosixPath(picture.image.path).parent)
        for picture in pictures
        if picture.image.root_id in roots
    }
    while level:
        files = sorted(
            {
                path
                for root, folder in level
                for below in TRACK_FOLDERS
                for path in (root / folder / below).glob("*.csv")
            }
        )
        tracks = [track for path in files if (track := _track(path, stems))]
        if tracks:
            return tracks
        level = {(root, folder.parent) for root, folder in level if folder.parts}
    return []


def _track(path: Path, stems: set[str]) -> ExportTrack | None:
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
    named = {
        PurePosixPath(cells[at].strip().replace("\\", "/")).stem.lower() for _, cells in table.rows if at < len(cells)
    }
    return ExportTrack(path.name, data) if named & stems else None
