"""Model building of the topic model (Gomes, ch. 3.5.1): fit, then carry out the best split or merge, and repeat."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from benthoscope.engine.distributions import Clusters, log_evidence
from benthoscope.engine.mixtures.inference import Fit, StoppingRule, first_statistics, step
from benthoscope.engine.mixtures.model import Model, Statistics
from benthoscope.engine.streaming.splitting import UnitSplit, soft_splits
from benthoscope.engine.streaming.topics.documents import (
    AlphaPrior,
    DocumentWeights,
    TiedDirichlet,
    TopicRows,
    document_worth,
)

RANKED = 10  # splits and merges whose gain is evaluated
EMPTY = 1e-2  # topics with fewer rows are removed
PATIENCE = 5  # iterations of a change before it is judged
AHEAD = 50  # a change is given up if this many more gains as large as its last one would not make it better
FIRST_ALPHA = 1.0


@dataclass(frozen=True)
class TopicSearch:
    """How far model building goes: `tries` is the number of changes that are fitted in full before it stops."""

    rule: StoppingRule
    alpha_prior: AlphaPrior
    tries: int = 3
    max_topics: int | None = None


@dataclass(frozen=True, eq=False)
class StreamTopicFit:
    """A fit with the alpha of each topic. The bound includes the prior of alpha."""

    fit: Fit
    alpha: np.ndarray
    bound: float

    @property
    def n_topics(self) -> int:
        return len(self.alpha)


@dataclass(frozen=True, eq=False)
class TopicStart:
    statistics: Statistics
    alpha: np.ndarray


def build_topics(prior: Clusters, rows: TopicRows, start: TopicStart | None, search: TopicSearch) -> StreamTopicFit:
    """Fit from the start, or from one topic, and change the number of topics while the bound rises."""
    if start is None:
        first = first_statistics(Model(TiedDirichlet(np.ones(1), rows.documents), prior), rows)
        start = TopicStart(first, np.full(1, FIRST_ALPHA))
    best = converge_topics(prior, rows, start, search)
    if best is None:
        raise ValueError("a fit without a bound to beat always ends")
    while True:
        better = _first_better(prior, rows, best, search)
        if better is None:
            return best
        best = better


def topic_step(prior: Clusters, rows: TopicRows, start: TopicStart, alpha_prior: AlphaPrior) -> StreamTopicFit:
    """Run one iteration: alpha, the posterior, then the responsibilities."""
    alpha = alpha_prior.updated(start.alpha, start.statistics.counts, rows.documents)
    fit = step(Model(TiedDirichlet(alpha, rows.documents), prior), rows, start.statistics)
    return StreamTopicFit(fit, alpha, fit.bound + alpha_prior.bound(alpha))


def converge_topics(
    prior: Clusters, rows: TopicRows, start: TopicStart, search: TopicSearch, to_beat: float = -np.inf
) -> StreamTopicFit | None:
    """Iterate until the bound converges. Returns None as soon as it is clear that it will not reach `to_beat`."""
    last, threshold = -np.inf, search.rule.threshold(len(rows))
    for iteration in range(search.rule.max_iter):
        result = topic_step(prior, rows, start, search.alpha_prior)
        used = result.fit.statistics.owned >= EMPTY
        gain, last = result.bound - last, result.bound
        start = TopicStart(result.fit.statistics, result.alpha)
        if not used.all() and used.any():
            start, last = TopicStart(result.fit.statistics.take(np.flatnonzero(used)), result.alpha[used]), -np.inf
            continue
        if gain < threshold:
            break
        if iteration >= PATIENCE and result.bound + AHEAD * gain < to_beat:
            return None
    return result


@dataclass(frozen=True, eq=False)
class _Split:
    """A proposed split of a topic."""

    gain: float
    topic: int
    split: UnitSplit


@dataclass(frozen=True, eq=False)
class _Merge:
    """A proposed merge of two topics."""

    gain: float
    first: int
    second: int


_Change = _Split | _Merge


class _Survey:
    """One pass over the units: the overlap and the misfit of the topics, and the top topic of each unit."""

    def __init__(self, rows: TopicRows, fit: StreamTopicFit):
        self._rows, self._fit = rows, fit
        K = fit.n_topics
        self.overlap, self.misfit, tops = np.zeros((K, K)), np.zeros(K), []
        sizes, scorer = fit.fit.statistics.owned, fit.fit.scorer
        for block, owned in rows.owned_blocks(scorer):
            weighted = owned * rows.weights[block]
            self.overlap += weighted @ owned.T
            self.misfit += xlogy(weighted, owned / sizes[:, None]).sum(1)
            tops.append(owned.argmax(0))
        # exp of the expected log density is not normalised, which shifts this criterion by the spread of the posterior;
        # it only ranks the topics
        explained = (fit.fit.statistics.moments * scorer.coefficients).sum(1)
        self.misfit = (self.misfit - explained) / sizes
        self.tops = np.concatenate(tops)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of topics that share most units."""
        scale = np.sqrt(np.diagonal(self.overlap))
        likeness = self.overlap / np.maximum(np.outer(scale, scale), np.finfo(float).tiny)
        first, second = np.triu_indices(len(scale), 1)
        best = np.argsort(-likeness[first, second], kind="stable")[:RANKED]
        return [(int(first[at]), int(second[at])) for at in best]

    def lost_entropy(self) -> np.ndarray:
        """Return the change of the entropy of the responsibilities by each merge."""
        change = np.zeros(len(self.pairs))
        for block, owned in self._rows.owned_blocks(self._fit.fit.scorer):
            weights = self._rows.weights[block]
            for at, (i, j) in enumerate(self.pairs):
                joint = owned[i] + owned[j]
                change[at] += weights @ (xlogy(owned[i], owned[i]) + xlogy(owned[j], owned[j]) - xlogy(joint, joint))
        return change


def _first_better(prior: Clusters, rows: TopicRows, best: StreamTopicFit, search: TopicSearch) -> StreamTopicFit | None:
    """Return the first of the most promising changes that raises the bound, fitted in full; None if none does."""
    survey = _Survey(rows, best)
    changes: list[_Change] = [*_splits(prior, rows, best, survey, search), *_merges(prior, rows, best, survey)]
    threshold = search.rule.threshold(len(rows))
    for change in sorted(changes, key=lambda change: -change.gain)[: search.tries]:
        fit = converge_topics(prior, rows, _started(rows, best, change), search, best.bound + threshold)
        if fit is not None and fit.bound > best.bound + threshold:
            return fit
    return None


def _splits(
    prior: Clusters, rows: TopicRows, best: StreamTopicFit, survey: _Survey, search: TopicSearch
) -> Iterator[_Split]:
    if search.max_topics is not None and best.n_topics >= search.max_topics:
        return
    subsets = {int(k): np.flatnonzero(survey.tops == k) for k in np.argsort(-survey.misfit, kind="stable")[:RANKED]}
    subsets = {k: subset for k, subset in subsets.items() if len(subset) > 1}
    if not subsets:
        return
    rate = np.zeros(len(rows.units))
    for k, subset in subsets.items():
        rate[subset] = best.alpha[k] / rows.weights[subset].sum()
    splits = soft_splits(prior, rows, list(subsets.values()), DocumentWeights(rows, rate))
    yield from (_Split(split.gain, k, split) for k, split in zip(subsets, splits, strict=True) if split is not None)


def _merges(prior: Clusters, rows: TopicRows, best: StreamTopicFit, survey: _Survey) -> Iterator[_Merge]:
    if best.n_topics < 2:
        return
    moments, counts, alpha = best.fit.statistics.moments, best.fit.statistics.counts.T, best.alpha
    i, j = np.array(survey.pairs).T

    def worth(moments: np.ndarray, alpha: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return log_evidence(prior, moments) + document_worth(alpha, counts, rows.documents)

    gains = worth(moments[i] + moments[j], alpha[i] + alpha[j], counts[i] + counts[j])
    gains = gains - worth(moments[i], alpha[i], counts[i]) - worth(moments[j], alpha[j], counts[j])
    gains += survey.lost_entropy()
    yield from (_Merge(float(gain), *pair) for gain, pair in zip(gains, survey.pairs, strict=True))


def _started(rows: TopicRows, best: StreamTopicFit, change: _Change) -> TopicStart:
    statistics, alpha = best.fit.statistics, best.alpha.copy()
    if isinstance(change, _Merge):
        i, j = change.first, change.second
        counts, moments = statistics.counts.copy(), statistics.moments.copy()
        counts[:, i] += counts[:, j]
        moments[i] += moments[j]
        alpha[i] += alpha[j]
        remaining = np.delete(np.arange(len(alpha)), j)
        return TopicStart(replace(statistics, counts=counts, moments=moments).take(remaining), alpha[remaining])
    members, share = change.split.members, change.split.share
    owned = _owned_by(rows, best, change.topic, members) * share
    counts = (rows.composition[members].T @ (owned / rows.weights[members]))[:, None]
    moments = (owned @ rows.averages(members))[None]
    moved_share = owned.sum() / statistics.owned[change.topic]
    alpha = np.append(alpha, moved_share * alpha[change.topic])
    alpha[change.topic] *= 1 - moved_share
    return TopicStart(
        statistics.parted(change.topic, Statistics(counts, moments, statistics.sizes)), np.maximum(alpha, 1e-6)
    )


def _owned_by(rows: TopicRows, best: StreamTopicFit, k: int, members: np.ndarray) -> np.ndarray:
    """Return the rows of some units that topic k owns (n,)."""
    averages = rows.averages(members)
    composition = rows.composition[members].multiply(1 / rows.weights[members][:, None])
    joint = averages @ best.fit.scorer.coefficients.T + composition @ best.fit.scorer.log_weights
    joint = np.exp(joint - joint.max(1, keepdims=True))
    return rows.weights[members] * joint[:, k] / joint.sum(1)
