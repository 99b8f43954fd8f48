"""The job that trains the model on all labels and suggests the rest. It is fast enough to run after each batch."""

import threading
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.labelling.accuracy.stream import answered_stream, drawn_images
from benthoscope.engine.labelling.classifier import Learned, learn
from benthoscope.engine.labelling.cover.guesses import refresh_guesses
from benthoscope.engine.labelling.measured_accuracy import measure
from benthoscope.engine.labelling.memory.memory_in_use import remembered
from benthoscope.engine.labelling.memory.transfer import memory_facts
from benthoscope.engine.labelling.page_choice.next_page import GROUPS, Unlabelled, next_pages
from benthoscope.engine.labelling.people.known_reliability import label_likelihoods
from benthoscope.engine.labelling.suggestions import Suggestions, SuggestionStore, suggested
from benthoscope.engine.labelling.training_data import LearningData, chosen_features, labelled_rows, material
from benthoscope.engine.workspace import Workspace

# sets of training data in memory, about 50 MB each for 100,000 images, because loading takes longer than training
CACHED = 2
KNOWN = 8_000  # labelled images with which groups of others are compared
SEARCHED = 20_000  # images without a label from which the next page is predicted

_materials: "OrderedDict[tuple, LearningData]" = OrderedDict()
_models: dict[tuple, Learned] = {}
_lock = threading.Lock()


def learn_labels(
    job: JobContext, workspace: Workspace, *, features: str | None = None, run: int | None = None, seed: int = 0
) -> dict[str, Any]:
    """Store suggestions for all images, with the run's clusters as additional inputs, and the accuracy measured on
    random draws."""
    job.progress(0, None, "reading images and labels")
    key, training_material = material_of(workspace, features, run)
    log, rng = workspace.labels, np.random.default_rng(seed)
    last = log.last_number()
    labels = labelled_rows(log.events(), training_material, log.current(), drawn_images(workspace))
    memory = remembered(workspace, training_material, float(labels.trust.sum()), np.random.default_rng(seed))
    likelihoods = label_likelihoods(workspace, labels, training_material.image_ids)
    train = partial(
        learn,
        training_material.data,
        labels.rows,
        labels.terms,
        labels.trust,
        labels.event_of_row,
        labels.context(training_material),
        likelihoods=likelihoods,
        on_step=job.on_step,
    )
    learned = train(before=_models.get(key), remembered=memory, rng=rng)
    _models[key] = learned
    store = SuggestionStore(workspace.folder)
    measured = measure(answered_stream(workspace))
    result = suggested(training_material, learned, labels, last, measured)
    result = replace(result, facts={**result.facts, "next": _next_page(result, training_material, measured.answered)})
    if likelihoods is not None:
        result = replace(result, facts={**result.facts, "reliable_people": likelihoods.people})
    if memory is not None:
        without = partial(train, rng=np.random.default_rng(seed))
        result = replace(result, facts={**result.facts, "memory": memory_facts(memory, learned, labels, without)})
    store.put(result)
    store.note(result.facts)
    refresh_guesses(workspace, training_material)
    return {name: value for name, value in result.facts.items() if name != "next"}  # that is for the page Learn


def _next_page(result: Suggestions, training_material: LearningData, answered: int) -> dict[str, Any] | None:
    """The page to label next, predicted from a random part of the images without a label; and the best one that is no
    group of images."""
    rng = np.random.default_rng(0)
    free = rng.permutation(np.flatnonzero(~result.labelled))
    part = max(len(free) / SEARCHED, 1.0)  # images that each of the searched ones represents
    some = free[:SEARCHED]
    images = Unlabelled(
        np.asarray(result.probabilities[some], np.float64),
        training_material.data.appearance[some],
        training_material.data.appearance[np.flatnonzero(result.labelled)[:KNOWN]],
        round(result.labelled.sum() / part),
        answered,
    )
    offers = next_pages(images, rng)
    if not offers:
        return None
    others = [offer for offer in offers if offer.queue != GROUPS]
    return offers[0].facts() | {"without_groups": others[0].facts()}


def material_of(
    workspace: Workspace, features: str | None = None, run: int | None = None
) -> tuple[tuple, LearningData]:
    """Return the training data and its cache key. The data are cached between jobs."""
    key = material_key(workspace, features, run)
    with _lock:
        if key in _materials:
            _materials.move_to_end(key)
            return key, _materials[key]
    made = material(workspace, key[1], key[3])
    with _lock:
        _materials[key] = made
        while len(_materials) > CACHED:
            _models.pop(_materials.popitem(last=False)[0], None)
    return key, made


def material_key(workspace: Workspace, features: str | None = None, run: int | None = None) -> tuple:
    """Return what the training data depend on: (workspace, features, their hash, run, images, newest replacement)."""
    feature_set, chosen = chosen_features(workspace, features, run)
    replaced = workspace.library.replaced_images()
    return (
        workspace.identity.id,
        feature_set.name,
        feature_set.sidecar.data_hash,
        chosen.id if chosen else None,
        workspace.library.count_images(),
        max((moment for _, moment in replaced.values()), default=0.0),
    )
