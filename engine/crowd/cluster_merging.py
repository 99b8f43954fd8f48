"""Re-estimate the memberships from the answers, and merge clusters that no worker distinguishes.

Positions show where items lie but not how certain this is, and a mixture splits clusters that are only long. Here each
worker has a table of the probabilities that members of two clusters are put into one group. Items move to the cluster
with the highest probability of their answers. Two clusters are merged if this raises the evidence of the answers.

Pairs from one answer depend on each other: one slip spoils M - 1 of them. Memberships therefore use the groups into
which items were put. Where pairs are counted, each pair counts as `TEMPER` of an independent one.

A worker puts an item into one group at a time, so a slip is one mistake, no matter how many pairs it affects. The
likelihood of a placement is the probability of its group among all groups of the answer and a new group, given the
clusters of the other items. It never falls below the probability of a slip, so no single answer can overrule all
others.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaln, gammaln, logit, softmax

from benthoscope.engine.crowd.judgements import Judgements

SLIPPED = 0.05  # fraction of placements that are mistakes
# weight of a judgement, because pairs with the same slip are dependent; merges were correct from 0.2 to 0.4
TEMPER = 0.4
SUREST = 0.005  # probabilities stay at least this far from 0 and 1


@dataclass(frozen=True, eq=False)
class Placings:
    """P placements of items into H groups, sorted by worker and answer. The groups of one answer are contiguous."""

    item: np.ndarray  # (P,)
    worker: np.ndarray  # (P,) in ascending order
    group: np.ndarray  # (P,)
    answer: np.ndarray  # (H,) answer of each group, in ascending order
    n_items: int
    n_workers: int

    @classmethod
    def of(cls, judgements: Judgements) -> Self:
        """Create the placements of all answers. Answers with missing or contradictory pairs are used pair by pair."""
        task = judgements.task - judgements.task.min(initial=0)
        key = judgements.worker * (task.max(initial=0) + np.int64(1)) + task
        answer = np.unique(key, return_inverse=True)[1]
        assignments = cls._grouped(judgements, answer)
        torn = ~assignments._is_consistent(judgements, answer)
        if not torn.any():
            return assignments
        pair = np.arange(1, len(answer) + 1)
        apart = answer * (len(answer) + 1) + np.where(torn[answer], pair, 0)
        return cls._grouped(judgements, np.unique(apart, return_inverse=True)[1])

    @classmethod
    def _grouped(cls, judgements: Judgements, answer: np.ndarray) -> Self:
        N, J = max(judgements.n_items, 1), judgements.n_workers
        ends = np.stack([judgements.first, judgements.second]) + answer * np.int64(N)
        key, group_index = np.unique(ends, return_inverse=True)
        group_index = group_index.reshape(ends.shape)
        leader = np.arange(len(key))
        np.minimum.at(leader, group_index.max(0)[judgements.same], group_index.min(0)[judgements.same])
        leaders, group = np.unique(leader, return_inverse=True)
        worker = np.zeros(len(key), int)
        worker[group_index] = judgements.worker
        return cls(key % N, worker, group, key[leaders] // N, judgements.n_items, J)

    def _is_consistent(self, judgements: Judgements, answer: np.ndarray) -> np.ndarray:
        """Return for each answer whether all pairs were judged and agree with one grouping."""
        each = np.bincount(self.answer[self.group])
        within = np.bincount(self.answer, self.sizes * (self.sizes - 1) / 2)
        return (np.bincount(answer) == each * (each - 1) / 2) & (
            np.bincount(answer, judgements.same, minlength=len(each)) == within
        )

    @cached_property
    def sizes(self) -> np.ndarray:
        """Return the number of items in each group (H,)."""
        return np.bincount(self.group)

    @cached_property
    def of_items(self) -> csr_array:
        """Return a matrix (N, P) that marks the placements of each item."""
        return _incidence(self.item, self.n_items)

    def log_evidence(self, member: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """Return the log probability (P, K) of each placement if its item were in each cluster, given the memberships
        (P, K) of the other placements and the probabilities (J, K, K) of each worker."""
        pull = TEMPER * logit(np.clip(self._by_workers(member, chance), SUREST, 1 - SUREST))
        pull_of_group = self._members @ pull  # sum over all members of a group, including the item itself
        pull_of_others = pull_of_group[self.group] - pull
        answer, starts = self.answer[self.group], self._starts
        top = np.maximum(np.maximum.reduceat(pull_of_group, starts), 0)
        weight = np.exp(pull_of_group - top[self.answer])
        elsewhere = np.add.reduceat(weight, starts)[answer] - weight[self.group]
        # an item alone in its group is in the new group
        new = np.where((self.sizes > 1)[self.group, None], np.exp(-top[answer]), 0)
        against = np.log(np.maximum(elsewhere, 0) + new + 1e-300) + top[answer]
        right = 1 / (1 + np.exp(np.clip(against - pull_of_others, -500, 500)))
        groups = np.bincount(self.answer)[answer][:, None] + 1
        return np.log((1 - SLIPPED) * right + SLIPPED / groups)

    def _by_workers(self, member: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """Return the probability (P, K) that the worker puts the item together with a member of each cluster."""
        marks = np.searchsorted(self.worker, np.arange(self.n_workers + 1))
        by_worker = [member[begin:end] @ chance[j].T for j, (begin, end) in enumerate(pairwise(marks))]
        return np.concatenate(by_worker)

    @cached_property
    def _members(self) -> csr_array:
        """Return a matrix (H, P) that marks the placements in each group."""
        return _incidence(self.group, len(self.answer))

    @cached_property
    def _starts(self) -> np.ndarray:
        """Return the first group of each answer."""
        return np.flatnonzero(np.diff(self.answer, prepend=-1))


def _incidence(row: np.ndarray, rows: int) -> csr_array:
    return csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(rows, len(row)))


BEHIND = 2.0  # prior pseudo-judgements of each probability
ROUNDS = 15  # rounds of reassignment; each moves half a step, so that items that depend on each other do not oscillate
EVEN = 0.02  # probabilities stay at least this far from 0 and 1


@dataclass(frozen=True, eq=False)
class Tables:
    """Weighted judgements (J, K, K) that put members of two clusters together and apart; symmetric."""

    together: np.ndarray
    apart: np.ndarray

    def chances(self, likely: np.ndarray) -> np.ndarray:
        """Return the posterior probabilities (J, K, K) of a common group, under these prior probabilities."""
        return (self.together + BEHIND * likely) / (self.together + self.apart + BEHIND)

    def joined(self, k: int, m: int) -> "Tables":
        """Return the tables with cluster m merged into cluster k."""
        return Tables(*(_folded(table, k, m) for table in (self.together, self.apart)))


@dataclass(frozen=True, eq=False)
class Answers:
    """Judgements grouped by worker and item, for sums over the other items."""

    item: np.ndarray  # (G,)
    worker: np.ndarray  # (G,) in ascending order
    together: csr_array  # (G, N) judgements that put the item of the group together with each other item
    apart: csr_array  # (G, N) judgements that keep them apart
    base: np.ndarray  # (J,) fraction of `together` among the judgements of each worker, kept away from 0 and 1
    placings: Placings

    @classmethod
    def of(cls, judgements: Judgements, weight: float = 1.0) -> "Answers":
        """Group the judgements. Each judgement counts as `weight`, as in the fit of the positions."""
        N = judgements.n_items
        a, b = judgements.first.astype(np.int64), judgements.second.astype(np.int64)
        worker = judgements.worker.astype(np.int64)
        key, group = np.unique(np.concatenate([worker * N + a, worker * N + b]), return_inverse=True)
        other, same = np.concatenate([b, a]), np.concatenate([judgements.same] * 2)
        shape, counts = (len(key), N), TEMPER * weight
        together, apart = (
            csr_array((np.full(chosen.sum(), counts), (group[chosen], other[chosen])), shape=shape)
            for chosen in (same, ~same)
        )
        positive = np.bincount(judgements.worker, judgements.same, minlength=judgements.n_workers)
        base = (positive + 1) / (judgements.per_worker() + 2)
        return cls(key % N, key // N, together, apart, base, Placings.of(judgements))

    @property
    def n_workers(self) -> int:
        return len(self.base)

    @cached_property
    def starts(self) -> np.ndarray:
        """Return the first group of each worker (J + 1,)."""
        return np.searchsorted(self.worker, np.arange(self.n_workers + 1))

    def tables(self, resp: np.ndarray) -> Tables:
        members, K = resp[self.item], resp.shape[1]
        halves = 0.5 + 0.5 * (1 - np.eye(K))  # pairs within one cluster are counted from both ends
        spans = list(zip(self.starts[:-1], self.starts[1:], strict=True))
        neighbour_sums = self.together @ resp, self.apart @ resp
        return Tables(
            *(
                np.stack([members[begin:end].T @ sums[begin:end] for begin, end in spans]) * halves
                for sums in neighbour_sums
            )
        )


def memberships(answers: Answers, resp: np.ndarray, likely: np.ndarray, stay: np.ndarray | None = None) -> np.ndarray:
    """Return memberships (N, K) from an initial guess, with prior probabilities (J, K, K). Items without judgements and
    items marked in `stay` (N,) do not move.

    Within an answer, each item is weighted by its memberships from other answers. Otherwise items that were put
    together once would confirm each other.
    """
    placings, even = answers.placings, (likely + likely.mT) / 2
    moved = np.diff(placings.of_items.indptr) > 0
    moved = (moved if stay is None else moved & ~stay)[:, None]
    otherwise = resp[placings.item]
    for _ in range(ROUNDS):
        log_evidence = placings.log_evidence(otherwise, _steady(answers.tables(resp).chances(_steady(even))))
        logits = placings.of_items @ log_evidence + np.log(resp.sum(0) + 1)
        without = softmax(logits[placings.item] - log_evidence, axis=1)
        resp = np.where(moved, 0.5 * resp + 0.5 * softmax(logits, axis=1), resp)
        otherwise = np.where(moved[placings.item], 0.5 * otherwise + 0.5 * without, otherwise)
    return resp


def told_apart(answers: Answers, resp: np.ndarray) -> np.ndarray:
    """Merge clusters while the evidence rises. Some worker distinguishes each pair of the remaining clusters
    (N, K')."""
    tables, sizes = answers.tables(_hard(resp)), _hard(resp).sum(0)
    while resp.shape[1] > 1:
        gain, k, m = _best_join(tables, answers.base, sizes)
        if gain <= 0:
            break
        tables = tables.joined(k, m)
        resp, sizes = _merged(resp, k, m), _merged(sizes[None], k, m)[0]
    return resp


def without_scraps(answers: Answers, resp: np.ndarray) -> np.ndarray:
    """Remove clusters whose members fit better into other clusters, each where it fits best. Returns (N, K').

    Misplaced items form small clusters, and merging such a cluster with a single other one would suit none of them. The
    smallest cluster is tried first; the first one that must stay ends the search.
    """
    worth = _worth(answers, resp)
    while resp.shape[1] > 1:
        tried = _spread(answers, resp, int(_hard(resp).sum(0).argmin()))
        then = _worth(answers, tried)
        if then < worth:
            break
        resp, worth = tried, then
    return resp


def evidence(answers: Answers, resp: np.ndarray) -> float:
    """Return the log probability of the answers and the memberships. Each item counts fully for its most likely
    cluster."""
    hard = _hard_without_empty(resp)
    return _evidence(answers.tables(hard), answers.base, hard.sum(0))


def _spread(answers: Answers, resp: np.ndarray, k: int) -> np.ndarray:
    """Return memberships without cluster k. Its members move to their most likely clusters; all others stay."""
    members = _hard(resp)[:, k] > 0
    other_clusters = np.delete(resp, k, axis=1)
    likely = answers.tables(_hard(np.where(members[:, None], 0, other_clusters))).chances(answers.base[:, None, None])
    return memberships(
        answers, np.where(members[:, None], 1 / other_clusters.shape[1], other_clusters), likely, stay=~members
    )


def _worth(answers: Answers, resp: np.ndarray) -> float:
    """Return the log probability of each placement given all others, plus that of the memberships."""
    hard = _hard_without_empty(resp)
    tables, member = answers.tables(hard), hard[answers.placings.item]
    log_evidence = answers.placings.log_evidence(member, _steady(tables.chances(_expected(tables, answers.base))))
    return float((log_evidence * member).sum()) - _price(tables, hard.sum(0))


def _best_join(tables: Tables, base: np.ndarray, sizes: np.ndarray) -> tuple[float, int, int]:
    K = len(sizes)
    current = _evidence(tables, base, sizes)
    return max(
        (_evidence(tables.joined(k, m), base, _merged(sizes[None], k, m)[0]) - current, k, m)
        for k in range(K)
        for m in range(k + 1, K)
    )


def _evidence(tables: Tables, base: np.ndarray, sizes: np.ndarray) -> float:
    """Return the log probability of answers and memberships, with the workers' probabilities and the cluster weights
    integrated out.

    The prior of a worker's probability is the mean of the worker's own rate and the rate of all workers for the two
    clusters. Otherwise one answer per worker would not be enough to separate clusters.
    """
    likely = _expected(tables, base)
    a, b = BEHIND * likely, BEHIND * (1 - likely)
    answers = betaln(tables.together + a, tables.apart + b) - betaln(a, b)
    return float(answers[:, *np.triu_indices(len(sizes))].sum()) - _price(tables, sizes)


def _price(tables: Tables, sizes: np.ndarray) -> float:
    """Return the cost of the clusters: the coding cost of the memberships, and half the logarithm of the number of
    judgements for each rate fitted to all workers."""
    upper = np.triu_indices(len(sizes))
    fitted = 0.5 * np.log1p((tables.together + tables.apart).sum(0)[upper]).sum()
    K, N = len(sizes), sizes.sum()
    return float(fitted - gammaln(sizes + 1).sum() - gammaln(K) + gammaln(N + K))


def _expected(tables: Tables, base: np.ndarray) -> np.ndarray:
    """Return the prior probabilities (J, K, K), before a worker's own judgements of two clusters are used."""
    upper = np.triu_indices(tables.together.shape[1])
    together, apart = (table[:, *upper].sum() for table in (tables.together, tables.apart))
    rate = (together + 1) / (together + apart + 2)
    of_all = (tables.together.sum(0) + rate) / ((tables.together + tables.apart).sum(0) + 1)
    return np.clip((of_all + base[:, None, None]) / 2, EVEN / 2, 1 - EVEN / 2)


def _folded(table: np.ndarray, k: int, m: int) -> np.ndarray:
    """Add row and column m to k in symmetric counts. Counts between k and m then lie within k."""
    out = table.copy()
    within = table[:, k, k] + table[:, m, m] + table[:, k, m]
    out[:, k, :] += table[:, m, :]
    out[:, :, k] = out[:, k, :]
    out[:, k, k] = within
    return np.delete(np.delete(out, m, axis=1), m, axis=2)


def _merged(columns: np.ndarray, k: int, m: int) -> np.ndarray:
    out = columns.copy()
    out[:, k] += out[:, m]
    return np.delete(out, m, axis=1)


def _hard(resp: np.ndarray) -> np.ndarray:
    """Return one cluster per item. Items without memberships stay without."""
    return np.eye(resp.shape[1])[resp.argmax(1)] * (resp.sum(1, keepdims=True) > 0)


def _hard_without_empty(resp: np.ndarray) -> np.ndarray:
    """Return one cluster per item, without empty clusters."""
    hard = _hard(resp)
    return hard[:, hard.sum(0) > 0]


def _steady(chance: np.ndarray) -> np.ndarray:
    return np.clip(chance, EVEN, 1 - EVEN)
