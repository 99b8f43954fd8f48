"""Platonic clusters once more, from the answers alone: who is in which, and which no worker tells apart.

Positions say where items lie but not how sure that is, and a mixture splits what is merely long. Here every worker has
a table of chances that members of two clusters come into one group; items go where the answers on them are likeliest,
and two clusters are joined where the evidence of the answers is higher with one.

Pairs of one answer hang together (one slip spoils M - 1 of them): who is in which cluster is told by the groups items
were put into, and where pairs are counted each counts for `TEMPER` of an independent one.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaln, gammaln, softmax

from engine.crowd.judgements import Judgements
from engine.crowd.placings import TEMPER, Placings

BEHIND = 2.0    # pseudo-judgements behind each chance
ROUNDS = 15     # of reassigning: half a step each, so that items that judge each other do not swing
EVEN = 0.02     # chances are kept this far from 0 and 1


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
    placings: Placings

    @classmethod
    def of(cls, judgements: Judgements, weight: float = 1.0) -> "Answers":
        """With `weight` each judgement counts for so much less, here as where positions are learnt."""
        N = judgements.n_items
        a, b = judgements.first.astype(np.int64), judgements.second.astype(np.int64)
        worker = judgements.worker.astype(np.int64)
        key, group = np.unique(np.concatenate([worker * N + a, worker * N + b]), return_inverse=True)
        other, same = np.concatenate([b, a]), np.concatenate([judgements.same] * 2)
        shape, counts = (len(key), N), TEMPER * weight
        parts = (csr_array((np.full(chosen.sum(), counts), (group[chosen], other[chosen])), shape=shape)
                 for chosen in (same, ~same))
        positive = np.bincount(judgements.worker, judgements.same, minlength=judgements.n_workers)
        base = (positive + 1) / (judgements.per_worker() + 2)
        return cls(key % N, key // N, *parts, base, Placings.of(judgements))

    @property
    def n_workers(self) -> int:
        return len(self.base)

    @cached_property
    def starts(self) -> np.ndarray:
        """(J + 1,) first group of each worker."""
        return np.searchsorted(self.worker, np.arange(self.n_workers + 1))

    def tables(self, resp: np.ndarray) -> Tables:
        own, K = resp[self.item], resp.shape[1]
        halves = 0.5 + 0.5 * (1 - np.eye(K))  # pairs within one cluster are met from both ends
        spans = list(zip(self.starts[:-1], self.starts[1:], strict=True))
        seen = self.together @ resp, self.apart @ resp
        return Tables(*(np.stack([own[begin:end].T @ one[begin:end] for begin, end in spans]) * halves
                        for one in seen))


def memberships(answers: Answers, resp: np.ndarray, likely: np.ndarray, stay: np.ndarray | None = None) -> np.ndarray:
    """(N, K) from a first guess, with chances (J, K, K) that are likely beforehand. Items nobody judged stay, as do
    those (N,) that are told to.

    In an answer each item counts for what its other answers say: items once put together would confirm each other.
    """
    placings, even = answers.placings, (likely + likely.mT) / 2
    moved = np.diff(placings.of_items.indptr) > 0
    moved = (moved if stay is None else moved & ~stay)[:, None]
    otherwise = resp[placings.item]
    for _ in range(ROUNDS):
        told = placings.told(otherwise, _steady(answers.tables(resp).chances(_steady(even))))
        logits = placings.of_items @ told + np.log(resp.sum(0) + 1)
        without = softmax(logits[placings.item] - told, axis=1)
        resp = np.where(moved, 0.5 * resp + 0.5 * softmax(logits, axis=1), resp)
        otherwise = np.where(moved[placings.item], 0.5 * otherwise + 0.5 * without, otherwise)
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
    now = _worth(answers, resp)
    while resp.shape[1] > 1:
        tried = _spread(answers, resp, int(_hard(resp).sum(0).argmin()))
        then = _worth(answers, tried)
        if then < now:
            break
        resp, now = tried, then
    return resp


def evidence(answers: Answers, resp: np.ndarray) -> float:
    """Log probability of the answers and of who is in which cluster, memberships taken as whole."""
    whole = _whole(resp)
    return _evidence(answers.tables(whole), answers.base, whole.sum(0))


def _spread(answers: Answers, resp: np.ndarray, k: int) -> np.ndarray:
    """Without cluster k, its members where the answers put each of them; all others stay."""
    own = _hard(resp)[:, k] > 0
    rest = np.delete(resp, k, axis=1)
    likely = answers.tables(_hard(np.where(own[:, None], 0, rest))).chances(answers.base[:, None, None])
    return memberships(answers, np.where(own[:, None], 1 / rest.shape[1], rest), likely, stay=~own)


def _worth(answers: Answers, resp: np.ndarray) -> float:
    """Log probability of where each item was put, given where all others were, and of who is in which cluster."""
    whole = _whole(resp)
    tables, member = answers.tables(whole), whole[answers.placings.item]
    told = answers.placings.told(member, _steady(tables.chances(_expected(tables, answers.base))))
    return float((told * member).sum()) - _price(tables, whole.sum(0))


def _best_join(tables: Tables, base: np.ndarray, sizes: np.ndarray) -> tuple[float, int, int]:
    K = len(sizes)
    now = _evidence(tables, base, sizes)
    return max((_evidence(tables.joined(k, m), base, _merged(sizes[None], k, m)[0]) - now, k, m)
               for k in range(K) for m in range(k + 1, K))


def _evidence(tables: Tables, base: np.ndarray, sizes: np.ndarray) -> float:
    """Log probability of answers and memberships, workers' chances and cluster weights integrated out.

    A worker's chance is expected halfway between the worker's own rate and what all do with the two clusters: with a
    single answer of each worker there is else too little to tell clusters apart by.
    """
    likely = _expected(tables, base)
    a, b = BEHIND * likely, BEHIND * (1 - likely)
    answers = betaln(tables.together + a, tables.apart + b) - betaln(a, b)
    return float(answers[:, *np.triu_indices(len(sizes))].sum()) - _price(tables, sizes)


def _price(tables: Tables, sizes: np.ndarray) -> float:
    """Of having these clusters: who is in which is one choice among many, and what all workers do with two clusters is
    fitted, which costs half the logarithm of the judgements it is fitted to."""
    upper = np.triu_indices(len(sizes))
    fitted = 0.5 * np.log1p((tables.together + tables.apart).sum(0)[upper]).sum()
    K, N = len(sizes), sizes.sum()
    return float(fitted - gammaln(sizes + 1).sum() - gammaln(K) + gammaln(N + K))


def _expected(tables: Tables, base: np.ndarray) -> np.ndarray:
    """(J, K, K) chances before a worker's own judgements on two clusters are seen."""
    upper = np.triu_indices(tables.together.shape[1])
    together, apart = (table[:, *upper].sum() for table in (tables.together, tables.apart))
    rate = (together + 1) / (together + apart + 2)
    of_all = (tables.together.sum(0) + rate) / ((tables.together + tables.apart).sum(0) + 1)
    return np.clip((of_all + base[:, None, None]) / 2, EVEN / 2, 1 - EVEN / 2)


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


def _whole(resp: np.ndarray) -> np.ndarray:
    """Whole memberships in the clusters somebody is in."""
    whole = _hard(resp)
    return whole[:, whole.sum(0) > 0]


def _steady(chance: np.ndarray) -> np.ndarray:
    return np.clip(chance, EVEN, 1 - EVEN)
