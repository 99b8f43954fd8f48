"""Platonic clusters once more, from the answers alone: who is in which, and which no worker tells apart.

Positions say where items lie but not how sure that is, and a mixture splits what is merely long. Here every worker has
a table of chances that members of two clusters come into one group; items go where the answers on them are likeliest,
and two clusters are joined where the evidence of the answers is higher with one.

Pairs of one answer hang together (one slip spoils M - 1 of them), so each counts for `TEMPER` of an independent one.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaln, gammaln

from engine.crowd.judgements import Judgements

TEMPER = 0.4    # of a judgement; joins came out right from 0.2 to 0.4 on crowds of one or three workers a task
BEHIND = 2.0    # pseudo-judgements behind each chance
ROUNDS = 15     # of reassigning: half a step each, so that items that judge each other do not swing
EVEN = 0.02     # chances are kept this far from 0 and 1
SLIPS = 0.05    # of judgements that anybody gets wrong: one of them must not put an item out of its cluster


@dataclass(frozen=True, eq=False)
class Tables:
    """Tempered judgements (J, K, K) that put members of two clusters together, and apart; symmetric."""

    together: np.ndarray
    apart: np.ndarray

    def chances(self, likely: np.ndarray) -> np.ndarray:
        """(J, K, K) that two come into one group, where this much is likely beforehand."""
        return (self.together + BEHIND * likely) / (self.together + self.apart + BEHIND)

    def joined(self, k: int, m: int) -> "Tables":
        """With cluster m taken into cluster k."""
        return Tables(*(_folded(table, k, m) for table in (self.together, self.apart)))


@dataclass(frozen=True, eq=False)
class Answers:
    """Judgements by worker and item, for sums over what they were judged with."""

    item: np.ndarray     # (G,)
    worker: np.ndarray   # (G,) ascending
    together: csr_array  # (G, N) judgements of item and worker with each other item
    apart: csr_array     # (G, N)
    base: np.ndarray     # (J,) share of `together` among each worker's judgements, short of 0 and 1

    @classmethod
    def of(cls, judgements: Judgements) -> "Answers":
        N = judgements.n_items
        a, b = judgements.first.astype(np.int64), judgements.second.astype(np.int64)
        worker = judgements.worker.astype(np.int64)
        key, group = np.unique(np.concatenate([worker * N + a, worker * N + b]), return_inverse=True)
        other, same = np.concatenate([b, a]), np.concatenate([judgements.same] * 2)
        parts = (csr_array((np.full(chosen.sum(), TEMPER), (group[chosen], other[chosen])), shape=(len(key), N))
                 for chosen in (same, ~same))
        positive = np.bincount(judgements.worker, judgements.same, minlength=judgements.n_workers)
        return cls(key % N, key // N, *parts, (positive + 1) / (judgements.per_worker() + 2))

    @property
    def n_workers(self) -> int:
        return len(self.base)

    @cached_property
    def starts(self) -> np.ndarray:
        """(J + 1,) first group of each worker."""
        return np.searchsorted(self.worker, np.arange(self.n_workers + 1))

    @cached_property
    def of_items(self) -> csr_array:
        """(N, G): which groups are each item's."""
        shape = (self.together.shape[1], len(self.item))
        return csr_array((np.ones(len(self.item)), (self.item, np.arange(len(self.item)))), shape=shape)

    def seen(self, resp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(G, K) judgements of each group with members of each cluster, together and apart."""
        return self.together @ resp, self.apart @ resp

    def tables(self, resp: np.ndarray) -> Tables:
        return self._tables(resp, *self.seen(resp))

    def reassigned(self, resp: np.ndarray, likely: np.ndarray) -> np.ndarray:
        """(N, K) membership by the answers on each item, the others' memberships being what they are."""
        seen = self.seen(resp)
        chance = self._tables(resp, *seen).chances(likely)
        together, apart = (np.log(np.clip(one, SLIPS, 1 - SLIPS)) for one in (chance, 1 - chance))
        scores = np.zeros_like(seen[0])
        for begin, end, j in zip(self.starts[:-1], self.starts[1:], range(self.n_workers), strict=True):
            scores[begin:end] = seen[0][begin:end] @ together[j].T + seen[1][begin:end] @ apart[j].T
        logits = self.of_items @ scores + np.log(resp.sum(0) + 1)
        found = np.exp(logits - logits.max(1, keepdims=True))
        return found / found.sum(1, keepdims=True)

    def _tables(self, resp: np.ndarray, together: np.ndarray, apart: np.ndarray) -> Tables:
        own, K = resp[self.item], resp.shape[1]
        halves = 0.5 + 0.5 * (1 - np.eye(K))  # pairs within one cluster are met from both ends
        spans = list(zip(self.starts[:-1], self.starts[1:], strict=True))
        return Tables(*(np.stack([own[begin:end].T @ seen[begin:end] for begin, end in spans]) * halves
                        for seen in (together, apart)))


def memberships(answers: Answers, resp: np.ndarray, likely: np.ndarray) -> np.ndarray:
    """(N, K) from a first guess, with (J, K, K) the chances that are likely beforehand. Items nobody judged stay."""
    judged = (np.diff(answers.of_items.indptr) > 0)[:, None]
    even = np.clip((likely + likely.mT) / 2, EVEN, 1 - EVEN)
    for _ in range(ROUNDS):
        resp = np.where(judged, 0.5 * resp + 0.5 * answers.reassigned(resp, even), resp)
    return resp


def told_apart(answers: Answers, resp: np.ndarray) -> np.ndarray:
    """(N, K') with clusters joined while the evidence rises: what remains, some worker tells apart."""
    tables, sizes = answers.tables(_hard(resp)), _hard(resp).sum(0)
    while resp.shape[1] > 1:
        gain, k, m = _best_join(tables, answers.base, sizes)
        if gain <= 0:
            break
        tables = tables.joined(k, m)
        resp, sizes = _merged(resp, k, m), _merged(sizes[None], k, m)[0]
    return resp


def without_scraps(answers: Answers, resp: np.ndarray) -> np.ndarray:
    """(N, K') without clusters whose members the answers would rather have in others, wherever each fits best.

    Items people slipped on gather in small clusters, and joining such a one to a single other is right for none of
    them. The smallest is tried first; the first that has to stay ends it.
    """
    now = evidence(answers, resp)
    while resp.shape[1] > 1:
        tried = _spread(answers, resp, int(_hard(resp).sum(0).argmin()))
        then = evidence(answers, tried)
        if then <= now:
            break
        resp, now = tried, then
    return resp


def evidence(answers: Answers, resp: np.ndarray) -> float:
    """Log probability of the answers and of who is in which cluster, memberships taken as whole."""
    whole = _hard(resp)
    whole = whole[:, whole.sum(0) > 0]
    return _evidence(answers.tables(whole), answers.base, whole.sum(0))


def _spread(answers: Answers, resp: np.ndarray, k: int) -> np.ndarray:
    """Without cluster k, its members where the answers put each of them; all others stay."""
    own = (_hard(resp)[:, k] > 0)[:, None]
    rest = np.delete(resp, k, axis=1)
    tables = answers.tables(_hard(np.where(own, 0, rest)))
    likely = tables.chances(answers.base[:, None, None])
    rest = np.where(own, 1 / rest.shape[1], rest)
    for _ in range(ROUNDS):
        rest = np.where(own, 0.5 * rest + 0.5 * answers.reassigned(rest, likely), rest)
    return rest


def _best_join(tables: Tables, base: np.ndarray, sizes: np.ndarray) -> tuple[float, int, int]:
    K = len(sizes)
    now = _evidence(tables, base, sizes)
    return max((_evidence(tables.joined(k, m), base, _merged(sizes[None], k, m)[0]) - now, k, m)
               for k in range(K) for m in range(k + 1, K))


def _evidence(tables: Tables, base: np.ndarray, sizes: np.ndarray) -> float:
    """Log probability of answers and memberships, workers' chances and cluster weights integrated out.

    A worker's chance is expected halfway between the worker's own rate and what all do with the two clusters: with a
    single answer of each worker there is else too little to tell clusters apart by. What all do is fitted, which costs
    half the logarithm of the judgements it is fitted to.
    """
    upper = np.triu_indices(len(sizes))
    together, apart = tables.together[:, *upper], tables.apart[:, *upper]
    likely = _expected(together, apart, base)
    a, b = BEHIND * likely, BEHIND * (1 - likely)
    answers = (betaln(together + a, apart + b) - betaln(a, b)).sum()
    fitted = 0.5 * np.log1p(together.sum(0) + apart.sum(0)).sum()
    K, N = len(sizes), sizes.sum()
    return float(answers - fitted + gammaln(sizes + 1).sum() + gammaln(K) - gammaln(N + K))


def _expected(together: np.ndarray, apart: np.ndarray, base: np.ndarray) -> np.ndarray:
    """(J, pairs of clusters) chances before a worker's own judgements on those are seen."""
    rate = (together.sum() + 1) / (together.sum() + apart.sum() + 2)
    of_all = (together.sum(0) + rate) / (together.sum(0) + apart.sum(0) + 1)
    return np.clip((of_all + base[:, None]) / 2, EVEN / 2, 1 - EVEN / 2)


def _folded(table: np.ndarray, k: int, m: int) -> np.ndarray:
    """Symmetric counts with row and column m added to k; what was between k and m is then within k."""
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
    """Whole memberships; items without any stay without."""
    return np.eye(resp.shape[1])[resp.argmax(1)] * (resp.sum(1, keepdims=True) > 0)
