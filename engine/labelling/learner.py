"""The model behind suggestions: a calibrated classifier of few labels, many unlabelled images and their clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.discriminative.climbing import Precision, climb
from engine.discriminative.logit import BLOCK, Coefficients, log_softmax
from engine.discriminative.objective import Information, Labelled, Objective
from engine.labelling.acceptance import Curve, accuracy_coverage
from engine.labelling.calibration import Reliability, reliability, temperature
from engine.labelling.conformal import conformal_threshold
from engine.labelling.inputs import Inputs
from engine.problems import fail
from engine.progress import OnStep, Progress, ignore

FOLDS = 5
ENOUGH = 4_000  # labelled rows learnt from: a bulk act of thousands tells little more than a part of it


@dataclass(frozen=True)
class Settings:
    """`penalty` is lambda, `information` tau of the semi-supervised objective; `unlabelled` images inform it."""

    penalty: float = 0.03
    information: float = 30.0
    unlabelled: int = 5_000
    steps: int = 60


@dataclass(frozen=True)
class HeldOut:
    """What folds that had not seen an image's label said of it; `weights` say for how many images each stands."""

    places: np.ndarray   # (n,) rows of the inputs
    scores: np.ndarray   # (n, K), before the temperature
    y: np.ndarray        # (n,) columns of the true terms
    weights: np.ndarray  # (n,)

    def probabilities(self, heat: float) -> np.ndarray:
        return np.exp(log_softmax(self.scores / heat))


@dataclass(frozen=True)
class Learned:
    terms: np.ndarray           # (K,) term ids, sorted
    coefficients: Coefficients
    temperature: float
    held_out: HeldOut

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Calibrated (n, K)."""
        parts = [np.exp(log_softmax(self.coefficients.scores(rows[at : at + BLOCK]) / self.temperature))
                 for at in range(0, len(rows), BLOCK)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.terms)))

    def curve(self) -> Curve:
        """Accuracy against coverage, from held-out labels."""
        P = self.held_out.probabilities(self.temperature)
        return accuracy_coverage(P.max(1), P.argmax(1) == self.held_out.y, self.held_out.weights)

    def reliability(self) -> Reliability:
        P = self.held_out.probabilities(self.temperature)
        return reliability(P.max(1), P.argmax(1) == self.held_out.y, self.held_out.weights)

    def conformal_threshold(self, error: float) -> float:
        """The least probability of a term in a set that misses the true one in a share `error` at most."""
        P = self.held_out.probabilities(self.temperature)
        return conformal_threshold(P[np.arange(len(P)), self.held_out.y], error, self.held_out.weights)

    def accuracy(self) -> float:
        """Estimated share of all images whose first guess is right."""
        P = self.held_out.probabilities(self.temperature)
        return float(np.average(P.argmax(1) == self.held_out.y, weights=self.held_out.weights))


def learn(data: Inputs, places: np.ndarray, term_ids: np.ndarray, trust: np.ndarray | None = None,
          acts: np.ndarray | None = None, *, settings: Settings | None = None, before: Learned | None = None,
          rng: np.random.Generator, on_step: OnStep = ignore) -> Learned:
    """From labels of images (rows of the inputs by place). `trust` (n,) weighs each: 1 for one that somebody looked
    at, less for one that came with a whole group. Labels of one act (n,) are held back together when the model checks
    itself: they are alike, so one would give the other away. With `before`, begins where that model ended."""
    chosen = settings or Settings()
    terms, y = np.unique(term_ids, return_inverse=True)
    if len(terms) < 2:
        raise fail("learning", f"labels of {len(terms)} term", "label images of two different terms first")
    kept = _thinned(y, data.clusters[places], rng)
    weights = np.ones(len(kept)) if trust is None else np.asarray(trust, float)[kept]
    places, y, act = np.asarray(places)[kept], y[kept], np.arange(len(kept)) if acts is None else np.asarray(acts)[kept]
    task = _Task(data, places, y, weights, act, terms, chosen, _unlabelled(data, places, chosen.unlabelled, rng))
    on_step(Progress(0, FOLDS + 1, "learns from all labels"))
    whole = task.climbed(np.ones(len(y), bool), task.start(before), chosen.unlabelled)
    held = task.held_out(whole, rng, on_step)
    return Learned(terms, whole, temperature(held.scores, held.y, held.weights), held)


@dataclass(frozen=True)
class _Task:
    data: Inputs
    places: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    acts: np.ndarray
    terms: np.ndarray
    settings: Settings
    unlabelled: np.ndarray

    def start(self, before: Learned | None) -> Coefficients:
        """Terms that were there before begin as they ended, new ones from nothing."""
        found = Coefficients.zeros(len(self.terms), self.data.rows.shape[1])
        if before is None or before.coefficients.weights.shape[1] != self.data.rows.shape[1]:
            return found
        _, now, then = np.intersect1d(self.terms, before.terms, return_indices=True)
        found.weights[now], found.biases[now] = before.coefficients.weights[then], before.coefficients.biases[then]
        return found

    def climbed(self, shown: np.ndarray, start: Coefficients, unlabelled: int) -> Coefficients:
        """Fitted to the labels `shown` and to so many unlabelled images."""
        labelled = Labelled(self.data.rows[self.places[shown]], self.y[shown], self.weights[shown])
        precision = Precision(gain=1e-6, slope=1e-4, steps=self.settings.steps)
        free = self.data.rows[self.unlabelled[:unlabelled]]
        information = Information(free, log_sizes=np.log(self.expected_sizes(shown))) if len(free) else None
        objective = Objective(self.settings.penalty, information, labelled, self.settings.information)
        return climb(objective, start, precision).coefficients

    def expected_sizes(self, shown: np.ndarray) -> np.ndarray:
        """Shares of the terms among all images (K,): every cluster by its own labels, unlabelled clusters as all."""
        clusters, K = self.data.clusters, len(self.terms)
        sizes = np.bincount(clusters, minlength=self.data.n_clusters).astype(float)
        counts = np.zeros((len(sizes), K))
        np.add.at(counts, (clusters[self.places[shown]], self.y[shown]), self.weights[shown])
        overall = (counts.sum(0) + 1) / (counts.sum() + K)
        shares = (counts + overall) / (counts.sum(1, keepdims=True) + 1)
        return sizes @ shares / sizes.sum()

    def held_out(self, whole: Coefficients, rng: np.random.Generator, on_step: OnStep) -> HeldOut:
        """Every label foretold by a model that did not see it; those of one cluster and term are dealt out evenly."""
        fold = _dealt(self.y, self.acts, rng)
        scores = np.zeros((len(self.y), len(self.terms)))
        for number in range(fold.max() + 1):
            hidden = fold == number
            if (~hidden).any():
                start = Coefficients.zeros(*whole.weights.shape)  # from `whole` it would remember what it must not know
                found = self.climbed(~hidden, start, self.settings.unlabelled // FOLDS)
                scores[hidden] = found.scores(self.data.rows[self.places[hidden]])
            on_step(Progress(number + 2, FOLDS + 1, "checks itself on labels held back"))
        return HeldOut(self.places, scores, self.y, self._stand_for())

    def _stand_for(self) -> np.ndarray:
        """For how many images of its cluster each labelled one stands, as far as it is trusted."""
        clusters = self.data.clusters
        sizes = np.bincount(clusters, minlength=self.data.n_clusters)
        labelled = np.bincount(clusters[self.places], minlength=len(sizes))
        return (sizes / np.maximum(labelled, 1))[clusters[self.places]] * self.weights


def _thinned(y: np.ndarray, clusters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Places of at most ENOUGH labels, every term and cluster keeping a fair part."""
    if len(y) <= ENOUGH:
        return np.arange(len(y))
    order = rng.permutation(len(y))
    _, cell = np.unique(np.stack([y, clusters])[:, order], axis=1, return_inverse=True)
    by_cell = np.argsort(cell, kind="stable")
    counts = np.bincount(cell)
    rank = np.empty(len(y), np.int64)
    rank[by_cell] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = order[np.argsort(rank, kind="stable")[:ENOUGH]]
    return np.sort(chosen)


def _unlabelled(data: Inputs, places: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    free = np.setdiff1d(np.arange(len(data)), places)
    return rng.permutation(free)[:size]


def _dealt(y: np.ndarray, acts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A fold for every label (n,): acts stay whole, those of each term are spread over all folds."""
    _, first, act = np.unique(acts, return_index=True, return_inverse=True)
    order = rng.permutation(len(first))
    order = order[np.argsort(y[first][order], kind="stable")]
    fold = np.empty(len(first), np.int64)
    fold[order] = np.arange(len(first)) % min(FOLDS, len(first))
    return fold[act]


def suggestions(probabilities: np.ndarray, terms: np.ndarray, refused: Sequence[tuple[np.ndarray, int]] = ()
                ) -> tuple[np.ndarray, np.ndarray]:
    """(term, probability) of the best guess of every image; refused pairs (rows, term) are not suggested again."""
    P = probabilities.copy()
    for rows, term in refused:
        P[np.ix_(rows, terms == term)] = 0.0
    best = P.argmax(1)
    return terms[best], P[np.arange(len(P)), best]
