"""The model of the suggestions: a calibrated classifier of few labels, many unlabelled images and their clusters.

Its input for each image is its descriptor. Clusters say which images are like labelled ones, and are no input: their
boundaries cross those of the terms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.discriminative.coefficients import BLOCK, Coefficients, log_softmax
from benthoscope.engine.discriminative.objective import (
    Information,
    InformationObjective,
    UncertainExamples,
    WeightedExamples,
)
from benthoscope.engine.discriminative.optimisation import Precision, climb
from benthoscope.engine.labelling.calibration import WITHIN_ACTS, temperature
from benthoscope.engine.labelling.holding_out import FOLDS, LabelledRows, Split, split
from benthoscope.engine.labelling.row_map import RowMap, learned_map
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore


@dataclass(frozen=True)
class Inputs:
    """`rows` (N, D') float32, computed once for many fits; `clusters` (N,) the cluster of each image. `row_map` gives
    the rows of images from other workspaces. `appearance` (N, d) float32 are the rows by which pages are arranged: few
    columns, in which near and far images differ most in their distance."""

    rows: np.ndarray
    clusters: np.ndarray
    row_map: RowMap
    appearance: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_clusters(self) -> int:
        return int(self.clusters.max(initial=0)) + 1

    def familiarity(self) -> np.ndarray:
        """Return how typical each image is (N,): minus its squared distance to the mean of its cluster."""
        means = means_of_clusters(self.rows, self.clusters, self.n_clusters)
        return -((self.rows - means[self.clusters]) ** 2).sum(1)


def means_of_clusters(rows: np.ndarray, clusters: np.ndarray, count: int) -> np.ndarray:
    """Return the mean row of each cluster (count, D), 0 for empty ones."""
    sizes = np.bincount(clusters, minlength=count)
    order = np.argsort(clusters, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    filled = sizes > 0
    means = np.zeros((count, rows.shape[1]))
    means[filled] = np.add.reduceat(rows[order], starts[filled], axis=0) / sizes[filled, None]
    return means


def inputs(
    X: np.ndarray, clusters: np.ndarray | None = None, *, leading: int | None = None, rng: np.random.Generator
) -> Inputs:
    """Create the inputs from descriptors X (N, D), with the clusters (N,) of a run. Pages are arranged by the `leading`
    columns, or by all."""
    if clusters is not None and len(clusters) != len(X):
        raise fail("clusters", f"there are {len(clusters)} for {len(X)} images", "use a run of this feature set")
    row_map, rows = learned_map(X, rng)
    of_image = np.zeros(len(X), np.int64) if clusters is None else np.asarray(clusters).astype(np.int64)
    is_wider = leading is not None and leading < X.shape[1]
    appearance = learned_map(np.asarray(X[:, :leading]), rng)[1] if is_wider else rows
    return Inputs(rows, of_image, row_map, appearance)


LEAST_TRUST = 0.05  # in the mean of labels, so that the penalty stays finite
ENOUGH = 4_000  # largest number of labels used, because thousands of labels from one bulk event add little


@dataclass(frozen=True)
class LearnerSettings:
    """Settings of the semi-supervised objective: `penalty` is lambda, `information` is tau, `unlabelled` the number of
    unlabelled images."""

    penalty: float = 0.005
    information: float = 30.0
    unlabelled: int = 5_000
    steps: int = 60


@dataclass(frozen=True)
class LabelContext:
    """Additional data of labels (n,) each: dives, seconds (NaN if unknown), and whether they answer a random draw."""

    groups: np.ndarray
    times: np.ndarray
    is_drawn: np.ndarray

    @classmethod
    def unknown(cls, count: int) -> "LabelContext":
        return cls(np.zeros(count, np.int64), np.full(count, np.nan), np.zeros(count, bool))

    def only(self, chosen: np.ndarray) -> "LabelContext":
        return LabelContext(self.groups[chosen], self.times[chosen], self.is_drawn[chosen])


@dataclass(frozen=True)
class Remembered:
    """Labelled images of an earlier campaign, as additional training examples: rows (m, D'), terms (m,), weights (m,).

    They are always in training and never held out, so no figure about suggestions rests on them.
    """

    rows: np.ndarray
    terms: np.ndarray
    weights: np.ndarray

    @classmethod
    def nothing(cls, width: int) -> "Remembered":
        return cls(np.empty((0, width), np.float32), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True)
class TermLikelihoods:
    """How probable the labels of each image are if its true term is each of `terms` (T,), sorted: `values` (n, T), the
    largest of each row is 1. They follow from the reliability of this many `people`."""

    terms: np.ndarray
    values: np.ndarray
    people: int = 0

    def of(self, terms: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return the values of some labels for these sorted terms (m, K); 0 for terms that nobody has given."""
        result = np.zeros((len(chosen), len(terms)))
        _, columns, own_columns = np.intersect1d(terms, self.terms, return_indices=True)
        result[:, columns] = self.values[np.ix_(chosen, own_columns)]
        return result


@dataclass(frozen=True)
class HeldOut:
    """Scores of labels by models that did not see them.

    `weights` say how many images each represents, `drawn` which ones answer a random draw: only these may be used to
    report accuracy, the others select models. `kind` says how the labels were split.
    """

    rows: np.ndarray  # (n,) rows of the inputs
    scores: np.ndarray  # (n, K), before the temperature
    y: np.ndarray  # (n,) columns of the true terms
    weights: np.ndarray  # (n,)
    is_drawn: np.ndarray  # (n,) bool
    kind: str

    def probabilities(self, heat: float) -> np.ndarray:
        return np.exp(log_softmax(self.scores / heat))

    def temperature(self) -> float:
        """Return the temperature from random draws, shrunk towards that of all held-out labels."""
        prior = temperature(self.scores, self.y, self.weights) if len(self.y) else 1.0
        if self.kind in ("dives", "times", "duplicates"):
            prior = float(np.clip(prior, *WITHIN_ACTS))
        if not self.is_drawn.any():
            return prior
        return temperature(self.scores[self.is_drawn], self.y[self.is_drawn], prior=prior)


@dataclass(frozen=True)
class Learned:
    terms: np.ndarray  # (K,) term ids, sorted
    coefficients: Coefficients
    temperature: float
    held_out: HeldOut

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return calibrated probabilities (n, K)."""
        blocks = [
            np.exp(log_softmax(self.coefficients.scores(rows[at : at + BLOCK]) / self.temperature))
            for at in range(0, len(rows), BLOCK)
        ]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.terms)))

    def selection_score(self) -> float:
        """Return the weighted fraction of held-out labels predicted correctly. It compares models and does not estimate
        the accuracy for unlabelled images. 0.5 if nothing could be held out."""
        if not len(self.held_out.y):
            return 0.5
        return float(np.average(self.held_out.scores.argmax(1) == self.held_out.y, weights=self.held_out.weights))


def learn(
    data: Inputs,
    rows: np.ndarray,
    term_ids: np.ndarray,
    trust: np.ndarray | None = None,
    events: np.ndarray | None = None,
    context: LabelContext | None = None,
    *,
    settings: LearnerSettings | None = None,
    before: Learned | None = None,
    remembered: Remembered | None = None,
    likelihoods: TermLikelihoods | None = None,
    rng: np.random.Generator,
    on_step: OnStep = ignore,
) -> Learned:
    """Train the classifier from labels of images, given by rows of the inputs.

    `trust` (n,) is the weight of each label: 1 if somebody looked at the image, less for labels of whole groups.
    `events` (n,) are the events of the labels: labels of one event resemble each other, so, where possible, labels are
    tested by models fitted without their event. With `before`, starts from that model. `remembered` are labels of an
    earlier campaign; with them, no own labels are needed. With `likelihoods`, a label is evidence for several terms, as
    far as its author confuses them.
    """
    chosen = settings or LearnerSettings()
    earlier = remembered or Remembered.nothing(data.rows.shape[1])
    terms = np.union1d(np.asarray(term_ids, np.int64), earlier.terms)
    if len(terms) < 2:
        raise fail("learning", f"there are labels of {len(terms)} term", "label images of two different terms first")
    y = np.searchsorted(terms, term_ids)
    known = LabelContext.unknown(len(y)) if context is None else context
    training_rows = _thinned(y, data.clusters[rows], known.is_drawn, rng)
    weights = np.ones(len(training_rows)) if trust is None else np.asarray(trust, float)[training_rows]
    rows, y, event_of_row = (
        np.asarray(rows)[training_rows],
        y[training_rows],
        np.arange(len(training_rows)) if events is None else np.asarray(events)[training_rows],
    )
    task = _Task(
        data,
        rows,
        y,
        weights,
        event_of_row,
        known.only(training_rows),
        terms,
        chosen,
        _unlabelled(data, rows, chosen.unlabelled, rng),
        earlier,
        None if likelihoods is None else likelihoods.of(terms, training_rows),
    )
    on_step(Progress(0, FOLDS + 1, "training on all labels"))
    coefficients = task.climbed(np.ones(len(y), bool), task.start(before), chosen.unlabelled)
    held_out = task.held_out(coefficients, rng, on_step)
    return Learned(terms, coefficients, held_out.temperature(), held_out)


@dataclass(frozen=True)
class _Task:
    data: Inputs
    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    events: np.ndarray
    context: LabelContext
    terms: np.ndarray
    settings: LearnerSettings
    unlabelled: np.ndarray
    remembered: Remembered
    likelihoods: np.ndarray | None = None  # (n, K), None for certain labels

    def start(self, before: Learned | None) -> Coefficients:
        """Return initial coefficients: known terms start from the previous model, new terms from zero."""
        start = Coefficients.zeros(len(self.terms), self.data.rows.shape[1])
        if before is None or before.coefficients.weights.shape[1] != self.data.rows.shape[1]:
            return start
        _, new_terms, then = np.intersect1d(self.terms, before.terms, return_indices=True)
        start.weights[new_terms], start.biases[new_terms] = (
            before.coefficients.weights[then],
            before.coefficients.biases[then],
        )
        return start

    def climbed(self, shown: np.ndarray, start: Coefficients, unlabelled: int) -> Coefficients:
        """Fit to the labels `shown` and to unlabelled images. Images of clusters without a label are left out: they may
        belong to a term that has no label yet, and the model would become confident of a wrong one."""
        labelled = self.examples(shown)
        precision = Precision(gain=1e-6, slope=1e-4, steps=self.settings.steps)
        free = self.data.rows[self.unlabelled[:unlabelled]]
        covered = np.isin(self.data.clusters[self.unlabelled[:unlabelled]], self.data.clusters[self.rows[shown]])
        information = None
        if covered.any():
            information = Information(free[covered], log_sizes=np.log(self.expected_sizes(shown)))
        strength = self.settings.information * (covered.mean() if len(covered) else 0.0) * self.own_share(shown) ** 2
        objective = InformationObjective(self.penalty(shown), information, labelled, strength)
        return climb(objective, start, precision).coefficients

    def penalty(self, shown: np.ndarray) -> float:
        """Return the penalty for the labels `shown`. It is larger for labels of whole groups: a model of such labels
        would otherwise be confident about kinds without a label."""
        mean_trust = float(self.weights[shown].mean()) if shown.any() else 1.0
        return self.settings.penalty / max(mean_trust, LEAST_TRUST)

    def examples(self, shown: np.ndarray) -> WeightedExamples | UncertainExamples:
        """Return the labels `shown` and those of a memory as training examples."""
        X = np.concatenate([self.data.rows[self.rows[shown]], self.remembered.rows])
        weights = np.concatenate([self.weights[shown], self.remembered.weights])
        remembered_y = np.searchsorted(self.terms, self.remembered.terms)
        if self.likelihoods is None:
            return WeightedExamples(X, np.concatenate([self.y[shown], remembered_y]), weights)
        certain = np.eye(len(self.terms))[remembered_y]
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([self.likelihoods[shown], certain]))
        return UncertainExamples(X, logs, weights)

    def own_share(self, shown: np.ndarray) -> float:
        """Return the fraction of own labels in all weights, by which unlabelled images count less beside a memory. The
        expected sizes of terms come from own labels; a few of them are little evidence about the terms of a memory."""
        own_weight = float(self.weights[shown].sum())
        return own_weight / (own_weight + float(self.remembered.weights.sum())) if own_weight else 0.0

    def expected_sizes(self, shown: np.ndarray) -> np.ndarray:
        """Return the fractions of the terms among the images of clusters with labels (K,), from the labels of each
        cluster."""
        clusters, K = self.data.clusters, len(self.terms)
        sizes = np.bincount(clusters, minlength=self.data.n_clusters).astype(float)
        sizes[np.setdiff1d(np.arange(len(sizes)), clusters[self.rows[shown]])] = 0.0
        counts = np.zeros((len(sizes), K))
        np.add.at(counts, (clusters[self.rows[shown]], self.y[shown]), self.weights[shown])
        overall = (counts.sum(0) + 1) / (counts.sum() + K)
        shares = (counts + overall) / (counts.sum(1, keepdims=True) + 1)
        return sizes @ shares / sizes.sum()

    def held_out(self, coefficients: Coefficients, rng: np.random.Generator, on_step: OnStep) -> HeldOut:
        """Return the scores of the labels of each fold, by a model fitted to the other folds."""
        folds = self._split(rng)
        scores = np.zeros((len(self.y), len(self.terms)))
        for number in range(folds.folds.max(initial=-1) + 1):
            hidden = folds.folds == number
            if (~hidden).any():
                start = Coefficients.zeros(
                    *coefficients.weights.shape
                )  # a start from `whole` would contain information about the held-out labels
                model = self.climbed(~hidden, start, self.settings.unlabelled // FOLDS)
                scores[hidden] = model.scores(self.data.rows[self.rows[hidden]])
            on_step(Progress(number + 2, FOLDS + 1, "validating on held-out labels"))
        tested = folds.folds >= 0
        return HeldOut(
            self.rows[tested],
            scores[tested],
            self.y[tested],
            self._stand_for()[tested],
            self.context.is_drawn[tested],
            folds.kind,
        )

    def _split(self, rng: np.random.Generator) -> Split:
        known = self.context
        return split(
            LabelledRows(self.y, self.events, known.groups, known.times, self.data.rows[self.rows], known.is_drawn), rng
        )

    def _stand_for(self) -> np.ndarray:
        """Return how many images of its cluster each label represents, reduced by its trust."""
        clusters = self.data.clusters
        sizes = np.bincount(clusters, minlength=self.data.n_clusters)
        labelled = np.bincount(clusters[self.rows], minlength=len(sizes))
        return (sizes / np.maximum(labelled, 1))[clusters[self.rows]] * self.weights


def _thinned(y: np.ndarray, clusters: np.ndarray, is_drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return positions of at most ENOUGH labels: all random draws, and a proportional part of each term and cluster."""
    if len(y) <= ENOUGH:
        return np.arange(len(y))
    order = rng.permutation(len(y))
    order = order[np.argsort(~is_drawn[order], kind="stable")]  # draws come first in their cells
    _, cell = np.unique(np.stack([y, clusters])[:, order], axis=1, return_inverse=True)
    by_cell = np.argsort(cell, kind="stable")
    counts = np.bincount(cell)
    rank = np.empty(len(y), np.int64)
    rank[by_cell] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    rank[is_drawn[order]] = -1
    chosen = order[np.argsort(rank, kind="stable")[:ENOUGH]]
    return np.sort(chosen)


def _unlabelled(data: Inputs, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    free = np.setdiff1d(np.arange(len(data)), rows)
    return rng.permutation(free)[:size]


def suggestions(
    probabilities: np.ndarray, terms: np.ndarray, refused: Sequence[tuple[np.ndarray, int]] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Return (term, probability) of the best guess for each image. Rejected pairs (rows, term) are not
    suggested again."""
    P = probabilities.copy()
    for rows, term in refused:
        P[np.ix_(rows, terms == term)] = 0.0
    best = P.argmax(1)
    return terms[best], P[np.arange(len(P)), best]
