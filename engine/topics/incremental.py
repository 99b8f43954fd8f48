"""Incremental inference: train a model on the new documents alone, join both models, and train the union (methods note
5).

Variational inference only removes clusters. Without the join, a model of few documents keeps too few clusters however
many documents follow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from benthoscope.engine.distributions import log_evidence
from benthoscope.engine.topics.documents import Corpus, Documents, joined
from benthoscope.engine.topics.monitor import Monitor
from benthoscope.engine.topics.state import LEAST_LOG, TopicState
from benthoscope.engine.topics.variational import (
    LearningRate,
    Runtime,
    TopicFit,
    compact,
    final_fit,
    stochastic_state,
    topic_counts_of,
    topic_weights_of,
)

COMPARED = 50  # documents whose topic weights under both models match the topics
OF_INCREMENTS = LearningRate(0.5)
ALONE, TOGETHER = "alone", "together"  # stages of an increment
LEAST_CORRELATION = 0.3  # below it, the match is no better than chance, and the topics keep their order


@dataclass(frozen=True)
class TopicMatch:
    """`of[t]` is the topic of the new model that joins topic t of the old one."""

    of: np.ndarray  # (T,)
    correlation: float  # mean over the matched topics, of their weights in documents
    used: bool  # False: the correlation was too low, and `of` keeps the order


def match_topics(old: np.ndarray, new: np.ndarray) -> TopicMatch:
    """Match topics by their weights in the same documents (n, T) under both models."""
    _, of = linear_sum_assignment(-(old.T @ new))
    correlation = _mean_correlation(old, new[:, of])
    if correlation < LEAST_CORRELATION:
        return TopicMatch(np.arange(old.shape[1]), correlation, False)
    return TopicMatch(of, correlation, True)


def _mean_correlation(first: np.ndarray, second: np.ndarray) -> float:
    a, b = first - first.mean(0), second - second.mean(0)
    norms = np.sqrt((a**2).sum(0) * (b**2).sum(0))
    return float(np.divide((a * b).sum(0), norms, out=np.zeros(len(norms)), where=norms > 0).mean())


def extend(old: TopicState, new: TopicState, match: np.ndarray, floor: float = LEAST_LOG) -> TopicState:
    """Return the union of two states: all clusters, atoms and counts of both. Both must have the same prior. No atom of
    one maps to a cluster of the other (their log probability is `floor`)."""
    log_mapping = np.full((old.n_atoms + new.n_atoms, old.n_clusters + new.n_clusters), floor)
    log_mapping[: old.n_atoms, : old.n_clusters] = old.log_mapping
    log_mapping[old.n_atoms :, old.n_clusters :] = new.log_mapping
    return TopicState.of(
        old.prior,
        np.concatenate([old.cluster_moments, new.cluster_moments]),
        log_mapping,
        np.concatenate([old.atom_counts, new.atom_counts[match]], axis=1),
        np.concatenate([old.cluster_counts, new.cluster_counts]),
    )


def without_doubles(union: TopicState, old_clusters: int, old_atoms: int) -> TopicState:
    """Return a union in which each new cluster joins the old one that it doubles: the one with which the log evidence
    of the descriptors of both is highest, if it is higher than that of two clusters. The atoms of a joined cluster join
    the largest old atom of the old cluster."""
    target = _doubled(union, old_clusters)
    rows = union.mapping
    cluster = rows.argmax(1)
    owned = union.atom_counts.sum(0)
    atom_target = np.arange(union.n_atoms)
    for atom in range(old_atoms, union.n_atoms):
        of_same = np.flatnonzero(cluster[:old_atoms] == target[cluster[atom]])
        if len(of_same):
            atom_target[atom] = of_same[owned[of_same].argmax()]
    atoms, atom_number = np.unique(atom_target, return_inverse=True)
    clusters, cluster_number = np.unique(target, return_inverse=True)
    moments = np.zeros((len(clusters), union.cluster_moments.shape[1]))
    np.add.at(moments, cluster_number, union.cluster_moments)
    counts, mapping = np.zeros((len(atoms), union.n_topics)), np.zeros((len(clusters), len(atoms)))
    np.add.at(counts, atom_number, union.atom_counts.T)
    np.add.at(mapping, cluster_number, rows[atoms].T)
    log_mapping = np.log(np.maximum(mapping.T, np.finfo(float).tiny))
    state = TopicState.of(union.prior, moments, log_mapping, counts.T, np.zeros(len(clusters)))
    return state.with_mapping(log_mapping).with_master()


def _doubled(union: TopicState, old_clusters: int) -> np.ndarray:
    """Return the cluster that each cluster of a union joins (C,); most join none but themselves."""
    target, base = np.arange(union.n_clusters), union.prior.base
    old, new = union.cluster_moments[:old_clusters], union.cluster_moments[old_clusters:]
    together = (old[:, None] + new).reshape(-1, union.cluster_moments.shape[1])
    gain = log_evidence(base, together).reshape(len(old), len(new)) - log_evidence(base, old)[:, None]
    gain -= log_evidence(base, new)
    joins = np.flatnonzero(gain.max(0) > 0)
    target[old_clusters + joins] = gain[:, joins].argmax(0)
    return target


@dataclass(frozen=True)
class IncrementRule:
    """Iterations on the new documents alone and on all documents."""

    rate: LearningRate = OF_INCREMENTS
    alone: int = 12
    together: int = 4
    extends: bool = True  # False only to measure what the join is worth

    def rate_together(self, new: int, total: int) -> LearningRate:
        """Return the rate for `total` documents, `new` of which are new. A batch has at most twice as many documents as
        are new, so that a few new documents cost little, however many there are already."""
        return replace(self.rate, share=min(self.rate.share, 2 * new / total))


@dataclass(frozen=True)
class Increment:
    """The model of old and new documents together, with what the join added."""

    fit: TopicFit
    clusters_before: int  # in use
    clusters_joined: int  # in use directly after the join
    match: TopicMatch | None


@dataclass(frozen=True)
class JoinedModel:
    """The start of the fit to all documents. `begin` iterations of it are done."""

    state: TopicState
    clusters_joined: int
    match: TopicMatch | None
    begin: int = 0

    def marks(self) -> dict[str, Any]:
        """Return the values of a checkpoint besides the state."""
        marks = {"stage": TOGETHER, "clusters_joined": self.clusters_joined}
        if self.match is None:
            return marks
        match = self.match
        return {**marks, "match": match.of, "match_correlation": match.correlation, "match_used": match.used}

    @classmethod
    def saved_in(cls, saved: Mapping[str, Any]) -> "JoinedModel":
        match = None
        if "match" in saved:
            match = TopicMatch(np.array(saved["match"]), float(saved["match_correlation"]), bool(saved["match_used"]))
        state = TopicState.from_arrays(saved)
        return cls(state, int(saved["clusters_joined"]), match, int(saved["iteration"]))


def add_documents(
    state: TopicState,
    old: Corpus,
    new: Documents,
    start: TopicState,
    rule: IncrementRule,
    seed: int,
    runtime: Runtime,
    monitor: Monitor,
) -> Increment:
    """Return the model of all documents. `start` is the initial state of a model of the new documents. The checkpoint
    of the monitor resumes an interrupted call with the same arguments."""
    saved = monitor.checkpoint.load()
    clusters_before = state.clusters_in_use
    if saved is not None:
        monitor.restore(saved)
    identity, everything = dict(monitor.marks), joined(old, new)
    if saved is not None and saved["stage"] == TOGETHER:
        model = JoinedModel.saved_in(saved)
    elif rule.extends:
        alone = _fitted_alone(new, start, rule, seed, runtime, monitor, saved)
        model = _joined_model(compact(state), compact(alone), old, new, seed, runtime)
    else:
        model = JoinedModel(state, state.clusters_in_use, None)
    monitor.stage, monitor.n_rows = "all images: ", everything.n_rows
    monitor.marks = {**identity, **model.marks()}
    rate = rule.rate_together(len(new), len(everything))
    state = stochastic_state(everything, model.state, rate, rule.together, seed + 1, runtime, monitor, model.begin)
    fit = final_fit(everything, compact(state) if runtime.prune and rule.extends else state, runtime, monitor, False)
    return Increment(fit, clusters_before, model.clusters_joined, model.match)


def _fitted_alone(
    new: Documents,
    start: TopicState,
    rule: IncrementRule,
    seed: int,
    runtime: Runtime,
    monitor: Monitor,
    saved: Mapping[str, Any] | None,
) -> TopicState:
    """Return the model of the new documents alone."""
    monitor.stage, monitor.n_rows = "new images alone: ", new.n_rows
    monitor.marks = {**monitor.marks, "stage": ALONE}
    begin = 0
    if saved is not None:
        start, begin = TopicState.from_arrays(saved), int(saved["iteration"])
    return stochastic_state(new, start, rule.rate, rule.alone, seed, runtime, monitor, begin)


def _joined_model(
    old: TopicState, new: TopicState, old_documents: Corpus, new_documents: Documents, seed: int, runtime: Runtime
) -> JoinedModel:
    """Return the start of the fit to all documents from the models of both."""
    match = _match(old, new, old_documents, new_documents, seed, runtime)
    union = extend(old, new, match.of)
    return JoinedModel(without_doubles(union, old.n_clusters, old.n_atoms), union.clusters_in_use, match)


def _match(
    old: TopicState, new: TopicState, old_documents: Corpus, new_documents: Documents, seed: int, runtime: Runtime
) -> TopicMatch:
    """Match the topics by random documents, half of them from each side, because each model knows only its own."""
    rng = np.random.default_rng([seed, 7])
    samples = [_some(each, COMPARED // 2, rng) for each in (old_documents, new_documents)]
    weights = [
        np.concatenate([topic_weights_of(topic_counts_of(each, state, runtime), state.prior.alpha) for each in samples])
        for state in (old, new)
    ]
    return match_topics(*weights)


def _some(documents: Corpus, most: int, rng: np.random.Generator) -> Corpus:
    if len(documents) <= most:
        return documents
    return documents.take(np.sort(rng.choice(len(documents), most, replace=False)))
