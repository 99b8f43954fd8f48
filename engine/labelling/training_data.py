"""The training data in a workspace: the inputs of the classifier for each image, and the labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.labelling.classifier import Inputs, LabelContext, inputs
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.features import FeatureSet
from benthoscope.engine.workspace.labels.events import Event, accepted_on_page, standing

# number of single labels that the label of a whole group counts as; its images are similar, and some labels are wrong
GROUP_WEIGHT = 8.0
# kinds of events in which each image was looked at individually
LOOKED_AT = ("manual", "verification", "resolved", "audit")
CORRECTED = "corrected"  # in the rule of an event: whether it corrected a label that was listed as suspicious


@dataclass(frozen=True)
class LearningData:
    """Images in the order of `data`. `groups` are their dives or albums, `times` seconds, NaN if unknown."""

    features: str
    run_id: int | None
    image_ids: np.ndarray
    groups: np.ndarray
    times: np.ndarray
    data: Inputs

    def rows_of(self, images: np.ndarray) -> np.ndarray:
        """Return the rows of these images (n,), -1 for images without features."""
        order = np.argsort(self.image_ids)
        at = np.minimum(np.searchsorted(self.image_ids, images, sorter=order), len(order) - 1)
        rows = order[at]
        return np.where(self.image_ids[rows] == images, rows, -1)


@dataclass(frozen=True)
class LabelsOfRows:
    """Effective labels: row, term, trust and event."""

    rows: np.ndarray
    terms: np.ndarray
    trust: np.ndarray
    event_of_row: np.ndarray  # the event, or a unique negative number for an image that was looked at individually
    events: np.ndarray  # events of the labels
    refused: tuple[tuple[np.ndarray, int], ...] = ()  # (rows, term) that somebody rejected
    is_drawn: np.ndarray | None = None  # (n,) whether each answers a random draw; None: none does

    def context(self, material: LearningData) -> LabelContext:
        """Return the dives, times and draws of the labels."""
        drawn_rows = np.zeros(len(self.rows), bool) if self.is_drawn is None else self.is_drawn
        return LabelContext(material.groups[self.rows], material.times[self.rows], drawn_rows)


def material(
    workspace: Workspace, features: str | None = None, run_id: int | None = None, seed: int = 0
) -> LearningData:
    """Return the data of a run and its features; by default, of the current run or, without runs, of a feature set."""
    feature_set, run = chosen_features(workspace, features, run_id)
    name = feature_set.name
    ids = np.asarray(feature_set.image_ids)
    group_of = workspace.library.columns("id", "group_id", "taken_at")
    included = np.isin(ids, group_of["id"]) & ~np.isin(ids, workspace.stale_images(feature_set))
    X, ids = feature_set.learning_rows(slice(None) if included.all() else np.flatnonzero(included)), ids[included]
    at = np.searchsorted(group_of["id"], ids)
    groups, times = group_of["group_id"][at], group_of["taken_at"][at]
    clusters = _clusters(run, ids) if run and run.features == name else None
    data = inputs(X, clusters, leading=feature_set.sidecar.width, rng=np.random.default_rng(seed))
    return LearningData(name, run.id if run and clusters is not None else None, ids, groups, times, data)


def chosen_features(
    workspace: Workspace, features: str | None = None, run_id: int | None = None
) -> tuple[FeatureSet, Run | None]:
    """Return the feature set from which the classifier learns, and the run whose clusters it uses."""
    run = workspace.runs.get(run_id) if run_id is not None else workspace.runs.current()
    feature_set = workspace.features.open(features or _features_of(workspace, run, is_chosen=run_id is not None))
    name = feature_set.name
    if feature_set.level != "image":
        raise fail(f"features {name}", "describes segments, not whole images", "choose a feature set of whole images")
    return feature_set, run


def labelled_rows(
    history: Sequence[Event],
    material: LearningData,
    current: tuple[np.ndarray, np.ndarray],
    drawn_images: np.ndarray | None = None,
) -> LabelsOfRows:
    """Return labels from the log's events and its `current()` labels, without imported predictions and images without
    features. `drawn_images` are ids of images that answer a random draw, each of which was looked at individually."""
    images, numbers = current
    rows = material.rows_of(images) if len(images) else np.empty(0, np.int64)
    unconfirmed = [event.number for event in history if not event.is_confirmed]
    included = (rows >= 0) & ~np.isin(numbers, unconfirmed)
    images, rows, numbers = images[included], rows[included], numbers[included]
    by_number = {event.number: event for event in history}
    distinct, at = np.unique(numbers, return_inverse=True)
    events = [by_number[number] for number in distinct.tolist()]
    terms = np.array([event.term_id for event in events], np.int64)
    by_draw = np.isin(images, [] if drawn_images is None else drawn_images)
    trust = np.array([trust_of(event) for event in events])[at] if len(at) else np.empty(0)
    hunted = np.array([event.rule.get(CORRECTED) is True for event in events], bool)
    alone = np.array([event.count == 1 or event.why in LOOKED_AT for event in events], bool)
    event_of_row = np.where(alone[at] | by_draw, -1 - np.arange(len(at)), numbers) if len(at) else numbers
    is_drawn = by_draw & ~hunted[at] if len(at) else by_draw  # a corrected label was found, not drawn
    return LabelsOfRows(
        rows, terms[at], np.where(by_draw, 1.0, trust), event_of_row, numbers, _refused(history, material), is_drawn
    )


def trust_of(event: Event) -> float:
    """Return the weight of a label of this event: 1 if each image was looked at individually, or accepted on a page.
    Labels of whole groups weigh less, and so do suggestions accepted without being shown."""
    was_seen = event.why in LOOKED_AT or accepted_on_page(event)
    return 1.0 if was_seen else min(1.0, GROUP_WEIGHT / event.count)


def _refused(history: Sequence[Event], material: LearningData) -> tuple[tuple[np.ndarray, int], ...]:
    rejections = (
        (material.rows_of(event.images), event.given_term_id) for event in standing(history) if event.kind == "refuse"
    )
    return tuple((rows[rows >= 0], term) for rows, term in rejections)


def _clusters(run: Run, ids: np.ndarray) -> np.ndarray:
    """Return the cluster of each image (N,); images unknown to the run get one additional number."""
    known, labels = np.asarray(run.array("image_ids")), np.asarray(run.array("labels"))
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, ids, sorter=order), len(known) - 1)
    position = order[at]
    return np.where(known[position] == ids, labels[position], labels.max(initial=-1) + 1)


def _features_of(workspace: Workspace, run: Run | None, is_chosen: bool) -> str:
    """The features of a run. The current run, which nobody chose for learning, may be one of segments: then others."""
    if run is None:
        return _only_features(workspace)
    of_segments = run.features in workspace.features and workspace.features.open(run.features).level != "image"
    return _only_features(workspace) if of_segments and not is_chosen else run.features


def _only_features(workspace: Workspace) -> str:
    image_sets = [name for name in workspace.features.names() if workspace.features.open(name).level == "image"]
    if not image_sets:
        raise fail("features", "there is no feature set of whole images", "compute one with `benthoscope features`")
    return "deep" if "deep" in image_sets else image_sets[0]
