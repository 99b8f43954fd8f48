"""The job that stores labelled images as a memory for later campaigns.

The vectors before the projection are computed from the images, because feature sets store projected vectors only. An
interrupted job continues with the images it still lacks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.compute import computing_on
from benthoscope.engine.features import load
from benthoscope.engine.features.storage import comparable
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.describe.describe_images import DescriptionRun, describe, request_of, waters_of_dives
from benthoscope.engine.jobs.describe.describing import catalogued, in_order
from benthoscope.engine.jobs.describe.feature_sets import DescribedParts
from benthoscope.engine.labelling.accuracy.stream import drawn_images
from benthoscope.engine.labelling.memory.memory_file import LabelMemory, MemoryFacts, MemoryTerm, write_memory
from benthoscope.engine.labelling.memory.memory_folder import memory_path
from benthoscope.engine.labelling.memory.memory_in_use import identity_of
from benthoscope.engine.labelling.training_data import chosen_features, trust_of
from benthoscope.engine.parameters import ParameterHelp
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.features import FeatureSet
from benthoscope.engine.workspace.records import current_time

LIMIT = 5_000  # labels stored by default: about 13 MB for the descriptor deep, and some minutes of computing
VECTORS = "vectors"  # subfolder of the job, and the name of the descriptor in it

PARAMETERS: Mapping[str, ParameterHelp] = {
    "name": ParameterHelp("Name of the memory."),
    "features": ParameterHelp("Feature set whose descriptor is used (default: that of the current run)."),
    "limit": ParameterHelp("Largest number of labels to store. Rare terms come first."),
    "folder": ParameterHelp("Folder of memories (default: one in the data folder of this user)."),
    "overwrite": ParameterHelp("Replace a memory of the same name."),
}


@dataclass(frozen=True)
class LabelsToStore:
    """Effective labels of a workspace (n,): image, event number, term, trust."""

    images: np.ndarray
    numbers: np.ndarray
    terms: np.ndarray
    trust: np.ndarray

    def only(self, chosen: np.ndarray) -> "LabelsToStore":
        return LabelsToStore(self.images[chosen], self.numbers[chosen], self.terms[chosen], self.trust[chosen])


def remember(
    job: JobContext,
    workspace: Workspace,
    *,
    name: str,
    features: str | None = None,
    limit: int = LIMIT,
    folder: str | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Store labelled images and their vectors before the projection as a memory, which later campaigns can use."""
    feature_set, path, labels = check_memory(workspace, name, features, folder, overwrite=overwrite)
    labels = _balanced(labels, limit, np.random.default_rng(0))
    images, vectors, skipped = _vectors(job, workspace, feature_set, labels.images)
    labels = labels.only(np.searchsorted(labels.images, images))
    memory = _memory(workspace, name, feature_set, labels, vectors)
    job.progress(len(labels.images), len(labels.images), "writing the memory")
    write_memory(path, memory)
    return {
        "name": name,
        "path": str(path),
        "labels": len(labels.images),
        "looked_at": memory.facts.looked_at,
        "terms": len(memory.facts.terms),
        "skipped": skipped,
    }


def check_memory(
    workspace: Workspace, name: str, features: str | None = None, folder: str | None = None, *, overwrite: bool = False
) -> tuple[FeatureSet, Path, LabelsToStore]:
    """Return the feature set, the file and the labels of a new memory. Raises BadInput if it cannot be made. Changes
    nothing."""
    path = memory_path(name, folder)
    if path.exists() and not overwrite:
        raise fail(f"memory {name}", "exists already", "choose another name, or replace it with --overwrite")
    feature_set, _ = chosen_features(workspace, features)
    identity_of(feature_set)  # raises if the set has no stored descriptor
    labels = labels_to_store(workspace, feature_set)
    if not len(labels.images):
        raise fail(f"memory {name}", "there are no labels to store", "label some images first")
    return feature_set, path, labels


def labels_to_store(workspace: Workspace, feature_set: FeatureSet) -> LabelsToStore:
    """Return the labels of images with features, without unconfirmed ones, sorted by image."""
    images, numbers = workspace.labels.current()
    events = {event.number: event for event in workspace.labels.events()}
    distinct, at = np.unique(numbers, return_inverse=True)
    of_event = [events[number] for number in distinct.tolist()]
    is_confirmed = np.array([event.is_confirmed for event in of_event], bool)
    trust = np.where(
        np.isin(images, drawn_images(workspace)), 1.0, np.array([trust_of(event) for event in of_event], float)[at]
    )
    terms = np.array([event.given_term_id for event in of_event], np.int64)[at]
    labels = LabelsToStore(images, numbers, terms, trust)
    return labels.only(np.flatnonzero(is_confirmed[at] & np.isin(images, feature_set.image_ids)))


def _balanced(labels: LabelsToStore, limit: int, rng: np.random.Generator) -> LabelsToStore:
    """Return at most `limit` labels: of each term the most trusted ones, and as many of each term as possible."""
    if len(labels.images) <= limit:
        return labels
    order = rng.permutation(len(labels.images))
    order = order[np.argsort(-labels.trust[order], kind="stable")]
    by_term = order[np.argsort(labels.terms[order], kind="stable")]
    counts = np.unique(labels.terms, return_counts=True)[1]
    rank = np.arange(len(by_term)) - np.repeat(np.cumsum(counts) - counts, counts)
    return labels.only(np.sort(by_term[np.argsort(rank, kind="stable")[:limit]]))


def _vectors(
    job: JobContext, workspace: Workspace, feature_set: FeatureSet, images: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (images, their vectors before the projection, number of images that could not be read)."""
    request = request_of(workspace, {})
    descriptor = load(feature_set.descriptor_folder, cache=request.choices.cache)
    base = comparable(descriptor)
    if base is descriptor:  # the stored vectors can be compared as they are
        order = np.argsort(np.asarray(feature_set.image_ids))
        positions = order[np.searchsorted(feature_set.image_ids, images, sorter=order)]
        return images, np.asarray(feature_set.X[positions]), 0
    stored = DescribedParts(job.folder / VECTORS)
    finished = stored.images
    missing = set(images.tolist()) - finished
    pictures = [replace(picture, lacked_by=(VECTORS,)) for picture in catalogued(workspace) if picture.id in missing]
    with computing_on() as compute:
        run = DescriptionRun(job, workspace, compute, request, pictures, done=len(finished))
        if feature_set.sidecar.extractor.get("water"):
            run.waters = waters_of_dives(run, [])
        describe(run, pictures, {VECTORS: base}, {VECTORS: stored}, "describing labelled images")
    filled = [batch for batch in stored if len(batch.ids)]
    if not filled:
        raise fail("memory", "no labelled image could be read", "`benthoscope relink FOLDER` finds images that moved")
    described = in_order(filled)
    return described.ids, described.rows, len(stored.problems)


def _memory(
    workspace: Workspace, name: str, feature_set: FeatureSet, labels: LabelsToStore, vectors: np.ndarray
) -> LabelMemory:
    events = {event.number: event for event in workspace.labels.events()}
    of_label = [events[number] for number in labels.numbers.tolist()]
    reasons, reason_of_label = np.unique([event.why for event in of_label], return_inverse=True)
    ids, term_of_label = np.unique(labels.terms, return_inverse=True)
    known = {
        term.id: MemoryTerm(vocabulary.name, term.path)
        for vocabulary in workspace.vocabularies.all()
        for term in workspace.vocabularies.terms(vocabulary.id)
    }
    facts = MemoryFacts(
        name,
        workspace.name,
        current_time(),
        **identity_of(feature_set),
        width=vectors.shape[1],
        labels=len(vectors),
        looked_at=int((labels.trust == 1).sum()),
        terms=tuple(known[number] for number in ids.tolist()),
        reasons=tuple(reasons.tolist()),
    )
    return LabelMemory(
        facts,
        np.asarray(vectors, np.float32),
        term_of_label.astype(np.int32),
        reason_of_label.astype(np.int32),
        labels.trust.astype(np.float32),
        np.array([event.at for event in of_label], np.float64),
        np.array([image.path for image in workspace.library.images(labels.images.tolist())], np.str_),
    )
