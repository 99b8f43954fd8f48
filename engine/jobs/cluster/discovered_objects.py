"""The objects that a clustering of images discovered: examples, names, and how well they recognise images."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.analysis import Recognition, most_probable, recognise
from benthoscope.engine.analysis.recognition import NAMED_FROM
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run, Workspace


@dataclass(frozen=True)
class DiscoveredObject:
    cluster: int
    images: int
    name: str  # most frequent label of its most probable labelled images; empty if none is labelled
    example_ids: list[int]  # most probable images
    examples: list[str]  # their paths


def discovered_objects(workspace: Workspace, run: Run) -> tuple[list[DiscoveredObject], Recognition]:
    """Return the clusters of a run of whole images, the largest first, and how well their names recognise the labelled
    images. Raises for runs whose images have no probability of their cluster."""
    if "probability" not in run.arrays():
        raise fail(f"run {run.name}", "has no probabilities of its images", "choose a run of `benthoscope discover`")
    ids, clusters, probability = (np.asarray(run.array(name)) for name in ("image_ids", "labels", "probability"))
    term_ids = _terms_of(workspace, ids)
    distinct, known = np.unique(term_ids, return_inverse=True)
    count = int(run.summary["clusters"])
    recognition = recognise(clusters, probability, np.where(term_ids >= 0, known, -1), count)
    names = [workspace.vocabularies.term(int(term)).name if term >= 0 else "" for term in distinct]
    order = np.argsort(-np.bincount(clusters, minlength=count), kind="stable").tolist()
    members = {cluster: np.flatnonzero(clusters == cluster) for cluster in order}
    examples = {
        cluster: ids[most_probable(rows, probability[rows], NAMED_FROM)].tolist() for cluster, rows in members.items()
    }
    shown = workspace.library.images(number for each in examples.values() for number in each)
    paths = {image.id: image.path for image in shown}
    labels = {cluster: int(recognition.name_of_cluster[cluster]) for cluster in order}
    objects = [
        DiscoveredObject(
            cluster,
            len(members[cluster]),
            names[labels[cluster]] if labels[cluster] >= 0 else "",
            examples[cluster],
            [paths[number] for number in examples[cluster] if number in paths],
        )
        for cluster in order
    ]
    return objects, recognition


def _terms_of(workspace: Workspace, ids: np.ndarray) -> np.ndarray:
    """Return the term of each image (N,), -1 without a label."""
    labelled, terms = workspace.labels.current_terms()
    term_ids = np.full(len(ids), -1, np.int64)
    if len(labelled):
        at = np.minimum(np.searchsorted(labelled, ids), len(labelled) - 1)
        is_labelled = np.asarray(labelled)[at] == ids
        term_ids[is_labelled] = terms[at[is_labelled]]
    return term_ids


def recognition_text(recognition: dict[str, Any]) -> str:
    """Return how well the names of clusters recognise images, as a sentence."""
    if recognition["accuracy"] is None:
        return "Label some images to see how well the objects recognise the others."
    return (
        f"If each object is named after its {NAMED_FROM} most typical labelled images, "
        f"{recognition['accuracy']:.1%} of the other {recognition['tested']:,} labelled images get the right name."
    )
