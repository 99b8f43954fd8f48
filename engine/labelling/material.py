"""What a workspace holds to learn from: images as the classifier sees them, and what people said of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.labelling.inputs import Inputs, inputs
from engine.problems import fail
from engine.workspace import Run, Workspace
from engine.workspace.events import Event, standing

GROUP_WEIGHT = 8.0  # labels that the name of a whole group counts for: its images are alike, not all are as named
LOOKED_AT = ("manual", "verification", "resolved", "audit")  # acts in which each image was looked at by itself


@dataclass(frozen=True)
class Material:
    """Images in the order of `data`; `groups` are their dives or albums."""

    features: str
    run_id: int | None
    image_ids: np.ndarray
    groups: np.ndarray
    data: Inputs

    def places(self, images: np.ndarray) -> np.ndarray:
        """Where these images are (n,), -1 for one that has no features."""
        order = np.argsort(self.image_ids)
        at = np.minimum(np.searchsorted(self.image_ids, images, sorter=order), len(order) - 1)
        found = order[at]
        return np.where(self.image_ids[found] == images, found, -1)


@dataclass(frozen=True)
class Said:
    """Labels that hold: where, which term, how far to be trusted, in which act."""

    places: np.ndarray
    terms: np.ndarray
    trust: np.ndarray
    acts: np.ndarray    # the event, or for an image that was looked at by itself a negative number of its own
    events: np.ndarray  # the events that say so
    refused: tuple[tuple[np.ndarray, int], ...] = ()  # (places, term) somebody said is wrong for them


def material(workspace: Workspace, features: str | None = None, run_id: int | None = None, seed: int = 0) -> Material:
    """Of a run and its features; without a run, of the current one; without any, of a feature set alone."""
    run = workspace.runs.get(run_id) if run_id is not None else workspace.runs.current()
    name = features or (run.features if run else _only_features(workspace))
    found = workspace.features.open(name)
    if found.level != "image":
        raise fail(f"features {name}", "describe segments, not whole images", "choose a set of whole images")
    ids = np.asarray(found.image_ids)
    group_of = workspace.library.columns("id", "group_id")
    kept = np.isin(ids, group_of["id"])
    X, ids = (np.asarray(found.X), ids) if kept.all() else (found.X[kept], ids[kept])
    groups = group_of["group_id"][np.searchsorted(group_of["id"], ids)]
    clusters = _clusters(run, ids) if run and run.features == name else None
    data = inputs(X, clusters, rng=np.random.default_rng(seed))
    return Material(name, run.id if clusters is not None else None, ids, groups, data)


def said(history: Sequence[Event], material: Material, current: tuple[np.ndarray, np.ndarray]) -> Said:
    """From the log's events and its `current()` labels; images without features are left out."""
    images, numbers = current
    places = material.places(images) if len(images) else np.empty(0, np.int64)
    places, numbers = places[places >= 0], numbers[places >= 0]
    by_number = {event.number: event for event in history}
    distinct, at = np.unique(numbers, return_inverse=True)
    events = [by_number[number] for number in distinct.tolist()]
    terms = np.array([event.term_id for event in events], np.int64)
    trust = np.array([_trust(event) for event in events])
    alone = np.array([event.count == 1 or event.why in LOOKED_AT for event in events], bool)
    acts = np.where(alone[at], -1 - np.arange(len(at)), numbers) if len(at) else numbers
    return Said(places, terms[at], trust[at], acts, numbers, _refused(history, material))


def _trust(event: Event) -> float:
    return 1.0 if event.why in LOOKED_AT else min(1.0, GROUP_WEIGHT / event.count)


def _refused(history: Sequence[Event], material: Material) -> tuple[tuple[np.ndarray, int], ...]:
    found = ((material.places(event.images), event.term_id) for event in standing(history) if event.kind == "refuse")
    return tuple((places[places >= 0], term) for places, term in found)


def _clusters(run: Run, ids: np.ndarray) -> np.ndarray:
    """The cluster of every image (N,); one number more for those the run does not know."""
    known, labels = np.asarray(run.array("image_ids")), np.asarray(run.array("labels"))
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, ids, sorter=order), len(known) - 1)
    place = order[at]
    return np.where(known[place] == ids, labels[place], labels.max(initial=-1) + 1)


def _only_features(workspace: Workspace) -> str:
    whole = [name for name in workspace.features.names() if workspace.features.open(name).level == "image"]
    if not whole:
        raise fail("features", "there are none of whole images", "make some with `benthoscope features`")
    return "deep" if "deep" in whole else whole[0]
