"""Cluster again with constraints: from labels (images with different labels are separated) or from a crowd's
answers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benthoscope.engine.crowd import Bonds, bonds, settled, telling_axes
from benthoscope.engine.exchange.crowd_answers import numbered
from benthoscope.engine.features.compression import LinearProjection
from benthoscope.engine.jobs.cluster.inputs import Rows, chosen_rows, narrowed, supported
from benthoscope.engine.jobs.cluster.label_constraints import NO_TERM, joined_by_term, kept_apart, mixed
from benthoscope.engine.jobs.cluster.model_catalog import DISTANCE_MODELS
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.mixtures import GMC, MODELS, BayesianMixture
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import NewRun, Run, Workspace
from benthoscope.engine.workspace.runs import counted_clusters, counted_shares

GROUPED = "gmc"  # the model of a constrained run if that of the earlier run cannot start from given clusters


@dataclass(frozen=True)
class RunLabels:
    """The rows of a run's images, the cluster of each in the run, and its current term (0 for none)."""

    run: Run
    rows: Rows
    clusters: np.ndarray
    terms: np.ndarray


def steer(
    job: JobContext, workspace: Workspace, *, run: int | None = None, name: str | None = None, seed: int = 0
) -> dict[str, Any]:
    """Store a new run of the same model. The fit starts from the clusters of a run (by default the current one), with
    clusters of several terms split by term, and continues the search. Clusters mixed again by the fit are split again,
    so that no cluster of the new run contains two terms."""
    job.progress(0, None, "reading the run and the labels")
    training = _material(workspace, run)
    before = len(mixed(training.clusters, training.terms))
    start = kept_apart(training.rows.values, training.clusters, training.terms)
    estimator = _estimator(training.run, seed)
    estimator.fit(training.rows.values, groups=training.rows.groups, start=start, on_step=job.on_step)
    fitted, probability = estimator.assign(training.rows.values, training.rows.groups)
    labels = kept_apart(training.rows.values, fitted, training.terms)
    parted = labels != np.unique(fitted, return_inverse=True)[1]
    named = joined_by_term(labels, training.terms)
    made = _stored(
        workspace,
        training,
        labels,
        np.where(parted, 1.0, probability),
        name,
        {"mixed_before": before, "parted_after": int(labels.max() - fitted.max()), "named": len(named), "seed": seed},
    )
    return {"run": made.id, "name": made.name, **made.summary, "mixed_before": before, "named": len(named)}


def _estimator(run: Run, seed: int) -> BayesianMixture:
    """Return an estimator of the run's model if it can start from given clusters, else a grouped mixture."""
    if run.model in MODELS:
        return MODELS[run.model](**{**run.parameters, "random_state": seed})
    return GMC(random_state=seed)


def chosen_run(workspace: Workspace, run: int | None) -> Run:
    """Return the run with this number, or the current one."""
    chosen = workspace.runs.current() if run is None else workspace.runs.get(run)
    if chosen is None:
        raise fail("steer", "there is no run to start from", "cluster the images first")
    return chosen


def _material(workspace: Workspace, run: int | None) -> RunLabels:
    chosen = chosen_run(workspace, run)
    rows = narrowed(chosen_rows(workspace, chosen.features))
    clusters = _by_id(rows.image_ids, np.asarray(chosen.array("image_ids")), np.asarray(chosen.array("labels")), -1)
    terms = _by_id(rows.image_ids, *workspace.labels.current_terms(), NO_TERM)
    if len(np.unique(terms[terms != NO_TERM])) < 2:
        raise fail("steer", "there are no labels of two different terms", "label some images of two terms first")
    clusters[clusters < 0] = 0  # images added since; the fit assigns them
    return RunLabels(chosen, rows, np.unique(clusters, return_inverse=True)[1], terms)


def _by_id(image_ids: np.ndarray, ids: np.ndarray, values: np.ndarray, otherwise: int) -> np.ndarray:
    """Return the value of each requested id."""
    result = np.full(len(image_ids), otherwise, np.int64)
    order = np.argsort(ids)
    positions = np.minimum(np.searchsorted(ids, image_ids, sorter=order), max(len(ids) - 1, 0))
    if len(ids):
        known = ids[order[positions]] == image_ids
        result[known] = values[order[positions[known]]]
    return result


def _stored(
    workspace: Workspace,
    training: RunLabels,
    labels: np.ndarray,
    probability: np.ndarray,
    name: str | None,
    steering: dict[str, Any],
) -> Run:
    """Store the run. Its mixture weights are counted, because no model contains clusters split after the fit."""
    count = int(labels.max()) + 1
    groups, shares = counted_shares(labels, training.rows.groups, count)
    arrays = {
        "image_ids": training.rows.image_ids,
        "labels": labels.astype(np.int32),
        "probability": probability.astype(np.float32),
        "group_ids": groups,
        "weights": shares,
    }
    before = {name: value for name, value in training.run.summary_without_level.items() if name != "unclustered"}
    has_other_model = training.run.model in DISTANCE_MODELS  # they cannot start from clusters: a grouped mixture did
    new = NewRun(
        name or f"{training.run.name}, constrained by labels",
        GROUPED if has_other_model else training.run.model,
        training.run.features,
        {} if has_other_model else dict(training.run.parameters),
        {**training.run.provenance, "steered_from": training.run.id, "labels": steering},
        {**before, "clusters": count, "images": len(labels), "derived": True},
    )
    return workspace.runs.add(new, arrays, counted_clusters(labels, count))


FEWEST_JUDGED = 20  # smallest number of judged images among the rows
JUDGED_AN_AXIS = 4  # judged images needed for each dimension of the crowd's axes


@dataclass(frozen=True, eq=False)
class Steering:
    """Constraints from a crowd's answers. `row_numbers` (n,) are the rows of judged images; the pair constraints refer
    to them."""

    run: Run
    row_numbers: np.ndarray
    constraints: Bonds

    def members(self, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cluster of each judged image and its probability, from the probabilities by features (n, K)."""
        settled_shares = settled(probability, self.constraints)
        best = settled_shares.argmax(1)
        return best, settled_shares[np.arange(len(best)), best]

    def to_dict(self, labels: np.ndarray) -> dict[str, Any]:
        """Return the facts for the run's summary. `labels` are those of all rows."""
        together, apart = self.constraints.satisfied(labels[self.row_numbers])
        return {
            "run": self.run.id,
            "name": self.run.name,
            "images": len(self.row_numbers),
            "together": round(together, 3),
            "apart": round(apart, 3),
        }


def steering_by(workspace: Workspace, crowd: str, rows: Rows) -> Steering:
    """Return the constraints of the crowd run with this number or name."""
    run = workspace.runs.named(str(crowd))
    arrays = run.arrays()
    if "campaign" not in run.summary or "quality" not in arrays:
        raise fail(
            f"run {run.name}",
            "is not a run of crowd answers made by the method bayes",
            "cluster the answers of a campaign first",
        )
    asked = workspace.crowd.get(run.summary["campaign"])
    encoded = numbered(workspace.crowd.answers(asked.id), len(asked.images), len(workspace.crowd.workers(asked.id)))
    # other workers joined after the run
    known = encoded.judgements.take(encoded.judgements.worker < len(arrays["quality"]))
    all_held = bonds(
        known, np.asarray(arrays["confusion"]), np.bincount(arrays["labels"]), _trusted(arrays, known.n_workers)
    )
    return Steering(run, *_among(rows, asked.images, all_held))


def turned(rows: Rows, steering: Steering, dimensions: int | None) -> Rows:
    """Return the rows along the axes that separate what people keep apart."""
    support = min(supported(len(rows.values)), max(len(steering.row_numbers) // JUDGED_AN_AXIS, 1))
    short = narrowed(rows, support)
    axes = telling_axes(short.values[steering.row_numbers], steering.constraints, dimensions or support)
    before = short.projection or _as_they_are(short)
    turn = LinearProjection(before.centre, np.ascontiguousarray(before.axes @ axes, np.float32), np.empty(0))
    return replace(rows, values=turn(rows.values), projection=turn)


def _trusted(arrays: Any, n_workers: int) -> np.ndarray:
    looking = np.zeros(n_workers, bool)
    looking[: len(arrays["looking"])] = arrays["looking"]
    return looking


def _among(rows: Rows, images: np.ndarray, constraints: Bonds) -> tuple[np.ndarray, Bonds]:
    """Return the rows of the images that occur in both (n,), and the constraints between their positions in
    that list."""
    order = np.argsort(rows.image_ids, kind="stable")
    at = np.clip(np.searchsorted(rows.image_ids, images, sorter=order), 0, len(order) - 1)
    row = np.where(rows.image_ids[order[at]] == images, order[at], -1)
    used = np.zeros(len(images), bool)
    used[constraints.first], used[constraints.second] = True, True
    used &= row >= 0
    if used.sum() < FEWEST_JUDGED:
        raise fail(
            "crowd",
            f"{used.sum()} of its judged images are selected for clustering",
            "choose the images and the feature set of the campaign",
        )
    positions = np.where(used, np.cumsum(used) - 1, -1)
    both = used[constraints.first] & used[constraints.second]
    return row[used], Bonds(
        positions[constraints.first[both]],
        positions[constraints.second[both]],
        constraints.odds[both],
        constraints.beforehand,
    )


def _as_they_are(rows: Rows) -> LinearProjection:
    width = rows.values.shape[1]
    return LinearProjection(np.zeros(width, np.float32), np.eye(width, dtype=np.float32), np.empty(0))
