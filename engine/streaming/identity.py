"""The identity of clusters across rounds: a cluster keeps its number while it shares most of its weight with itself."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

SAME = 0.5  # smallest share of the smaller of two clusters that both own, for them to be the same
NEW = 0.5  # a cluster is born, not split off, if new rows have at least this share of its weight


@dataclass(frozen=True)
class ClusterEvent:
    """A change of the clusters in a round: "birth", "split" from `other`, "merge" into `other`, or "death"."""

    kind: str
    cluster: int
    other: int | None = None


@dataclass(frozen=True, eq=False)
class Identities:
    numbers: np.ndarray  # (K,) the lasting number of each cluster
    next_number: int
    events: tuple[ClusterEvent, ...] = ()

    def then(self, before: np.ndarray, after: np.ndarray, weights: np.ndarray, is_new: np.ndarray) -> "Identities":
        """Return the identities of the next round.

        `before` (K, U) and `after` (L, U) are the responsibilities of the former and the present clusters for the same
        units, `weights` (U,) their rows, and `is_new` (U,) whether they arrived in this round.
        """
        shared = (before * weights) @ after.T
        sizes = (before @ weights, after @ weights)
        matches = _matches(shared, *sizes)
        numbers = np.full(len(after), -1)
        for old, new in matches:
            numbers[new] = self.numbers[old]
        born = np.flatnonzero(numbers < 0)
        born = born[np.argsort(-sizes[1][born], kind="stable")]
        numbers[born] = self.next_number + np.arange(len(born))
        from_new = (after[:, is_new] @ weights[is_new]) / np.maximum(sizes[1], np.finfo(float).tiny)
        new_events = [
            ClusterEvent("birth", int(numbers[k]))
            if from_new[k] >= NEW
            else ClusterEvent("split", int(numbers[k]), int(self.numbers[shared[:, k].argmax()]))
            for k in born
        ]
        end_events = [
            self._end(old, shared[old], sizes[0][old], numbers)
            for old in range(len(before))
            if old not in {match[0] for match in matches}
        ]
        return Identities(numbers, self.next_number + len(born), (*new_events, *end_events))

    def _end(self, old: int, shared: np.ndarray, size: float, numbers: np.ndarray) -> ClusterEvent:
        heir = int(shared.argmax())
        if shared[heir] >= SAME * size:
            return ClusterEvent("merge", int(self.numbers[old]), int(numbers[heir]))
        return ClusterEvent("death", int(self.numbers[old]))


def first_identities(sizes: np.ndarray) -> Identities:
    """Return the identities of the first clusters, numbered by size, largest first."""
    numbers = np.empty(len(sizes), np.int64)
    numbers[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return Identities(numbers, len(sizes), tuple(ClusterEvent("birth", k) for k in range(len(sizes))))


def _matches(shared: np.ndarray, old_sizes: np.ndarray, new_sizes: np.ndarray) -> list[tuple[int, int]]:
    pairs = zip(*linear_sum_assignment(-shared), strict=True)
    smaller = np.minimum(old_sizes[:, None], new_sizes[None])
    return [(int(old), int(new)) for old, new in pairs if shared[old, new] >= SAME * smaller[old, new]]
