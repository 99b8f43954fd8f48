"""Judgements ordered for the updates: one group for each worker and item, of all items that were judged with it.

The updates need only sums over such groups, so nothing is formed per judgement but one weight.
"""

from dataclasses import dataclass

import numpy as np

from engine.crowd.judgements import Judgements


@dataclass(frozen=True, eq=False)
class Pairs:
    """Every pair stands twice, once in the group of each of its items; pairs judged more than once are one pair.

    Groups are ordered by worker, then item. G groups, E entries: twice the C different pairs.
    """

    start: np.ndarray         # (G + 1,) int64, entries of group g: start[g] to start[g + 1]
    item: np.ndarray          # (G,) int32, whose group it is
    worker: np.ndarray        # (G,) int32
    other: np.ndarray         # (E,) int32, the item judged with it
    twin: np.ndarray          # (E,) int64, where the same pair stands in the other item's group
    count: np.ndarray         # (E,) float64, judgements of this pair (times the weight of a judgement)
    net: np.ndarray           # (E,) float64, those that say together less those that say apart
    item_groups: np.ndarray   # (G,) int32, groups ordered by item
    item_start: np.ndarray    # (N + 1,) int64, groups of item i: item_groups[item_start[i] : item_start[i + 1]]
    worker_start: np.ndarray  # (J + 1,) int64, groups of worker j: worker_start[j] to worker_start[j + 1]

    @property
    def n_items(self) -> int:
        return len(self.item_start) - 1

    @property
    def n_workers(self) -> int:
        return len(self.worker_start) - 1

    @property
    def n_judgements(self) -> float:
        return float(self.count.sum() / 2)

    def per_worker(self, values: np.ndarray) -> np.ndarray:
        """Sums (J,) of values (E,) over the entries of each worker, which stand side by side."""
        total = np.concatenate([[0.0], values.cumsum()])[self.start[self.worker_start]]
        return np.diff(total)


def pairs_of(judgements: Judgements, weight: float = 1.0) -> Pairs:
    """`weight` below 1 lets every judgement count for less: pairs of one answer are not independent."""
    keys, count, net = _merged(judgements)
    worker, first, second = keys
    C = len(worker)
    columns = (np.concatenate([worker, worker]), np.concatenate([first, second]), np.concatenate([second, first]))
    order = np.lexsort(columns[::-1])
    place = np.empty(2 * C, np.int64)
    place[order] = np.arange(2 * C)
    twin = np.concatenate([place[C:], place[:C]])[order]
    worker, item, other = (column[order] for column in columns)
    opens = np.flatnonzero(np.r_[True, (np.diff(worker) != 0) | (np.diff(item) != 0)]) if C else np.empty(0, np.int64)
    weights = (weight * np.concatenate([column, column])[order] for column in (count, net))
    item, worker = item[opens].astype(np.int32), worker[opens].astype(np.int32)
    return Pairs(
        np.append(opens, 2 * C), item, worker, other.astype(np.int32), twin, *weights,
        np.argsort(item, kind="stable").astype(np.int32), _starts(item, judgements.n_items),
        _starts(worker, judgements.n_workers),
    )


def _merged(judgements: Judgements) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Different (worker, lower item, higher item) (3, C), how often each was judged (C,), and the net answer (C,)."""
    low, high = np.minimum(judgements.first, judgements.second), np.maximum(judgements.first, judgements.second)
    N = max(judgements.n_items, 1)
    key = (judgements.worker.astype(np.int64) * N + low) * N + high
    found, inverse = np.unique(key, return_inverse=True)
    count = np.bincount(inverse, minlength=len(found)).astype(float)
    net = np.bincount(inverse, judgements.sign, minlength=len(found))
    return np.stack([found // N // N, found // N % N, found % N]), count, net


def _starts(sorted_or_not: np.ndarray, n: int) -> np.ndarray:
    return np.concatenate([[0], np.bincount(sorted_or_not, minlength=n).cumsum()]).astype(np.int64)
