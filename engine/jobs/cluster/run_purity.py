"""How pure the clusters of a stored run are, as far as labels and features can tell."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benthoscope.engine.analysis.cluster_purity import LabelAgreement, label_agreement, separation
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.runs import proper_clusters

SAMPLE = 2000  # random images for the silhouette; its time grows with the square of their number


@dataclass(frozen=True)
class RunPurity:
    """`probability` is the mean probability of the images in their cluster; None for runs without. `separation` is the
    mean silhouette of `sample` random images; None without features or with one cluster. `clusters` and `unclustered`
    are the number of clusters and of images without one, which count as one more cluster in all measures."""

    by_labels: LabelAgreement
    probability: float | None
    separation: float | None
    sample: int
    clusters: int
    unclustered: int

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "text": purity_text(self)}


def run_purity(
    workspace: Workspace, run: Run, measured_separation: tuple[float | None, int] | None = None
) -> RunPurity:
    """Measure the clusters of whole images of a run. Labels count only if somebody looked at the image: a label given
    to a whole cluster would agree with the cluster in any case. `measured_separation` is the result of
    `run_separation`, which does not depend on labels."""
    ids, clusters = np.asarray(run.array("image_ids")), np.asarray(run.array("labels"))
    probability = float(np.mean(run.array("probability"))) if "probability" in run.arrays() else None
    distance, sample = measured_separation or run_separation(workspace, run)
    agreement = label_agreement(clusters, labels_by_looking(workspace, ids))
    count = proper_clusters(run.summary) or int(clusters.max(initial=-1)) + 1
    return RunPurity(agreement, probability, distance, sample, count, run.unclustered)


def run_separation(workspace: Workspace, run: Run) -> tuple[float | None, int]:
    """Return the mean silhouette of random images, and their number."""
    rows, sampled = _sample(workspace, run, np.asarray(run.array("image_ids")))
    return (None, 0) if rows is None else (separation(rows, np.asarray(run.array("labels"))[sampled]), len(rows))


def labels_by_looking(workspace: Workspace, ids: np.ndarray) -> np.ndarray:
    """Return a number for the label of each image (N,) that somebody looked at; -1 for the others."""
    events = workspace.labels.given_by_looking().of(ids)
    is_labelled = events > 0
    labels = np.full(len(ids), -1)
    if is_labelled.any():
        labels[is_labelled] = np.unique(workspace.labels.terms_of(events[is_labelled]), return_inverse=True)[1]
    return labels


def _sample(workspace: Workspace, run: Run, ids: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the features of random images of a run, on the axes of its fit, and their places in the run."""
    nothing = np.zeros(0, np.int64)
    try:
        features = workspace.features.open(run.features)
    except BadInput:
        return None, nothing  # the set was deleted, or the run is of a crowd
    if features.level != "image":
        return None, nothing
    stored = np.asarray(features.image_ids)
    order = np.argsort(stored, kind="stable")
    at = order[np.minimum(np.searchsorted(stored, ids, sorter=order), len(stored) - 1)]
    places = np.flatnonzero(stored[at] == ids)
    if len(places) > SAMPLE:
        places = np.sort(np.random.default_rng(0).choice(places, SAMPLE, replace=False))
    if not len(places):
        return None, nothing
    rows = np.array(features.X[at[places]], np.float64)
    if "axes" in run.arrays():
        rows = (rows - run.array("axes_centre")) @ np.asarray(run.array("axes"))
    return rows, places


def purity_text(purity: RunPurity) -> str:
    """Return the measures as sentences."""
    labels = purity.by_labels
    if labels.agreement is None:
        sentences = ["How pure the clusters are is not known yet: label some random images on Learn."]
    else:
        sentences = [
            f"Two labelled images of one cluster have the same label in {labels.agreement:.0%} of cases. "
            f"Somebody looked at {labels.labelled:,} images; clusters with at least two of them have "
            f"{labels.covered:.0%} of all images."
        ]
    if purity.probability is not None:
        sentences.append(f"The mean probability of an image in its cluster is {purity.probability:.2f}.")
    if purity.separation is not None:
        sentences.append(
            f"The mean silhouette of {purity.sample:,} images is {purity.separation:.2f} "
            "(1: clusters are far apart, 0: they touch)."
        )
    if purity.unclustered:
        sentences.append(
            f"The {purity.unclustered:,} images without a cluster count as one more cluster in these figures."
        )
    return " ".join(sentences)
