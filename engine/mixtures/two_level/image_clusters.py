"""Estimate the number of image clusters by removing superfluous ones, because image clusters cannot be split (note
6.4).

With fixed segment clusters, an iteration of the image level does not read the segments. This makes several random
starts of the image level cheap, where the papers restart the complete fit.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.distributions import log_evidence, log_evidence_of_weights
from benthoscope.engine.mixtures.e_step import Division
from benthoscope.engine.mixtures.inference import EMPTY, Fit, settle, step
from benthoscope.engine.mixtures.model import Statistics
from benthoscope.engine.mixtures.search.greedy import Task
from benthoscope.engine.mixtures.search.split_merge import divided, gains_of_clusters
from benthoscope.engine.mixtures.two_level.model import SceneModel

ITERATIONS = 200
TOLERANCE = 1e-4  # nats per image by which an iteration or a merge of the image level must raise the bound
VANISHED = 1e-3  # an image cluster that owns less than this part of one image is dropped between iterations
JOINS_TRIED = 5  # pairs of image clusters, best first
RESTARTED_UP_TO = 20_000  # images; larger sets use the image clusters learned from a sample
PARTED_UP_TO = 20_000  # segments; for more of them, a sample has already found the splits that need both levels
ON_A_SAMPLE = 3  # largest number of random starts on a sample, because more starts follow on all rows
FEWEST_ANEW = 100  # image clusters of a new start, if the limit allows so many
# The same for many rows: 20, or three times the present ones. Starts with 100 take three times as long, and more
# superfluous ones remain.
FEWEST_OF_MANY, MORE_THAN_BEFORE = 20, 3
ROUNDS = 10


@dataclass(frozen=True)
class ImageAssignment:
    """Probabilities of the image clusters (I, T), and their part of the bound under fixed segment clusters."""

    owners: np.ndarray
    evidence: float


def scene_model(task: Task) -> SceneModel:
    """Return the model of a task with image clusters."""
    if not isinstance(task.model, SceneModel):
        raise TypeError(f"{type(task.model).__name__} has no image clusters")
    return task.model


def first_images(task: Task, fit: Fit, restarts: int) -> Fit:
    """Return the fit of new rows with the best image clusters for its segment clusters: the present ones, or those of
    random starts. Each start has few image clusters, because the present ones show how many are enough."""
    model, counts, pulse = scene_model(task), fit.statistics.counts, task.course.pulse
    best = with_joins(model, counts, _settled(model, counts, fit.statistics.image_owners), pulse)
    if len(counts) <= RESTARTED_UP_TO and restarts > 1:
        enough = max(FEWEST_OF_MANY, MORE_THAN_BEFORE * best.owners.shape[1])
        other = max(_other_starts(task, counts, restarts - 1, enough), key=lambda candidate: candidate.evidence)
        best = max(best, with_joins(model, counts, other, pulse), key=lambda candidate: candidate.evidence)
    return replace(fit, statistics=replace(fit.statistics, owners=best.owners))


def settled_images(task: Task, fit: Fit, restart: bool = True, restarts: int = 1) -> Fit:
    """Return the fit after its image clusters converged or, with `restart`, were replaced by better ones from random
    starts. Empty image clusters are removed."""
    if len(task.data) < task.course.total_rows:
        restarts = min(restarts, ON_A_SAMPLE)
    restarts = restarts if restart else 1
    fit = _restarted(task, fit, restarts)
    for _ in range(ROUNDS):
        better = parted_with_images(task, fit) if len(task.data) <= PARTED_UP_TO else None
        if better is None:
            return fit
        fit = _restarted(task, better, restarts)
    return fit


def _restarted(task: Task, fit: Fit, restarts: int) -> Fit:
    model, counts = scene_model(task), fit.statistics.counts
    best = _settled(model, counts, fit.statistics.image_owners)
    if len(counts) <= RESTARTED_UP_TO:
        anew = max(FEWEST_ANEW, 2 * best.owners.shape[1])
        best = max([best, *_other_starts(task, counts, restarts - 1, anew)], key=lambda candidate: candidate.evidence)
    best = with_joins(model, counts, best, task.course.pulse)
    if restarts < 2 and fit.converged and _is_hardly_better(task, fit, best):
        return fit
    fit = _converged(task, fit, best.owners)
    while (is_used := _owning(fit.statistics.image_owners)).sum() < len(is_used):
        fit = _converged(task, fit, _without(fit.statistics.image_owners, is_used))
    return fit


def _is_hardly_better(task: Task, fit: Fit, best: ImageAssignment) -> bool:
    """Return whether these are as many image clusters as those of a fit, and raise its bound by less than an iteration
    after convergence."""
    model, statistics = scene_model(task), fit.statistics
    if best.owners.shape != statistics.image_owners.shape:
        return False
    now = model.explained(statistics.counts, model.scenes(statistics.counts, statistics.image_owners))[1]
    return best.evidence - now < task.rule.threshold(len(task.data))


def _converged(task: Task, fit: Fit, owners: np.ndarray) -> Fit:
    """Converge from these probabilities without a checkpoint. A resumed fit repeats the end of the level with the same
    random numbers."""
    return settle(task.model, task.data, replace(fit.statistics, owners=owners), task.rule, task.course)[0]


def parted_with_images(task: Task, fit: Fit) -> Fit | None:
    """Split a segment cluster together with image clusters, and return the fit after one iteration. None if the bound
    does not rise.

    Overlapping kinds of objects can differ by the images in which they occur. While they form one cluster, these images
    look the same, so neither a split of segments nor a split of images alone raises the bound.
    """
    halved = divided(task, fit)
    if halved is None:
        return None
    parents, division = halved
    model, statistics = scene_model(task), fit.statistics
    parted = [_parted(model, statistics, parents, division, p) for p in range(len(parents))]
    before = _settled(model, statistics.counts, statistics.image_owners).evidence
    gains = gains_of_clusters(model, statistics, parents, division) + [
        candidate.evidence - before for candidate in parted
    ]
    best = int(gains.argmax())
    if gains[best] <= task.threshold:
        return None
    start = replace(statistics.replaced(parents[[best]], _halves(division, best)), owners=parted[best].owners)
    result = step(task.model, task.data, start)
    return result if task.gains(fit, result) else None


def _parted(
    model: SceneModel, statistics: Statistics, parents: np.ndarray, division: Division, p: int
) -> ImageAssignment:
    """Return the best image clusters if the p-th cluster of `parents` is split. Starts by splitting each image cluster
    by the half that most of its segments belong to."""
    halves = _halves(division, p)
    counts = statistics.replaced(parents[[p]], halves).counts
    first, second = halves.owned
    prefers_first = halves.counts[:, 0] * second > halves.counts[:, 1] * first
    before = statistics.image_owners
    owners = np.hstack([before * prefers_first[:, None], before * ~prefers_first[:, None]])
    return _settled(model, counts, _largest(owners, min(model.surplus, len(owners))))


def _halves(division: Division, p: int) -> Statistics:
    return division.halves.take(np.array([2 * p, 2 * p + 1]))


def _other_starts(task: Task, counts: np.ndarray, number: int, clusters: int) -> list[ImageAssignment]:
    """Return the results of several random starts, each with at most `clusters` image clusters."""
    model = scene_model(task)
    model, starts = replace(model, surplus=min(clusters, model.surplus)), []
    for _ in range(number):
        task.course.pulse()
        starts.append(_settled(model, counts, model.random_owners(task.rng)))
    return starts


def _settled(model: SceneModel, counts: np.ndarray, owners: np.ndarray) -> ImageAssignment:
    """Iterate the image level until it converges and no image cluster is empty."""
    iterated = _iterated(model, counts, owners)
    while (is_used := _owning(iterated.owners)).sum() < iterated.owners.shape[1]:
        iterated = _iterated(model, counts, _without(iterated.owners, is_used))
    return iterated


def with_joins(
    model: SceneModel, counts: np.ndarray, current: ImageAssignment, pulse: Callable[[], None]
) -> ImageAssignment:
    """Merge image clusters while a merge raises the evidence after the image level has converged again."""
    while True:
        pulse()
        joined = (
            _settled(model, counts, _merged(current.owners, a, b)) for a, b in _likely_joins(model, counts, current)
        )
        better = next(
            (candidate for candidate in joined if candidate.evidence > current.evidence + TOLERANCE * len(counts)), None
        )
        if better is None:
            return current
        current = better


def _likely_joins(model: SceneModel, counts: np.ndarray, current: ImageAssignment) -> list[tuple[int, int]]:
    """Return pairs of image clusters whose merge may raise the bound, best first. Ignores the entropy, which a merge
    only reduces."""
    scenes = model.scenes(counts, current.owners)
    segments, owned, image_features = current.owners.T @ counts, scenes.owned, model.images.image_features
    moments = None if image_features is None else image_features.moments(current.owners)
    alone = _evidence_of_images(model, segments, moments)
    shares, priced = log_evidence_of_weights(model.shares, owned).sum(), []
    for a in range(len(alone) - 1):
        later_clusters = np.arange(a + 1, len(alone))
        together = _evidence_of_images(
            model,
            segments[a] + segments[later_clusters],
            None if moments is None else moments[a] + moments[later_clusters],
        )
        for b, gain in zip(later_clusters.tolist(), together - alone[a] - alone[later_clusters], strict=True):
            after = log_evidence_of_weights(model.shares, _merged(owned, a, b)).sum()
            priced.append((gain + after - shares, a, b))
    return [(a, b) for gain, a, b in sorted(priced, reverse=True)[:JOINS_TRIED] if gain > 0]


def _evidence_of_images(model: SceneModel, segments: np.ndarray, moments: np.ndarray | None) -> np.ndarray:
    """Return the part of the lower bound that the segments and descriptors of each image cluster's images contribute
    (T,)."""
    evidence = log_evidence_of_weights(model.weights, segments)
    descriptors = model.images.image_features
    return evidence if moments is None or descriptors is None else evidence + log_evidence(descriptors.prior, moments)


def _merged(columns: np.ndarray, a: int, b: int) -> np.ndarray:
    merged = np.delete(columns, b, axis=1)
    merged[:, a - (a > b)] += columns[:, b]
    return merged


def _iterated(model: SceneModel, counts: np.ndarray, owners: np.ndarray) -> ImageAssignment:
    last = -np.inf
    for _ in range(ITERATIONS):
        owners, evidence = model.explained(counts, model.scenes(counts, owners))
        if evidence - last <= TOLERANCE * len(counts):
            break
        last, owners = evidence, _without_vanished(owners)
    return ImageAssignment(owners, evidence)


def _without_vanished(owners: np.ndarray) -> np.ndarray:
    """Drop image clusters that own practically nothing. They would not grow again, but every iteration would pay for
    them."""
    is_used = owners.sum(0) >= VANISHED
    return owners if is_used.all() else _without(owners, is_used)


def _owning(owners: np.ndarray) -> np.ndarray:
    """Return which image clusters own an image (T,) bool. The largest one always counts."""
    owned = owners.sum(0)
    is_used = owned >= EMPTY
    is_used[owned.argmax()] = True
    return is_used


def _largest(owners: np.ndarray, most: int) -> np.ndarray:
    """Keep at most `most` image clusters, the largest ones. The others are shared among them."""
    is_used = np.zeros(owners.shape[1], bool)
    is_used[np.argsort(-owners.sum(0), kind="stable")[:most]] = True
    return _without(owners + owners.sum(1, keepdims=True) * np.finfo(float).eps, is_used)


def _without(owners: np.ndarray, is_used: np.ndarray) -> np.ndarray:
    remaining = owners[:, is_used]
    return remaining / remaining.sum(1, keepdims=True)
