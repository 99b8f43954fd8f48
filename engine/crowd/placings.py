"""Where each answer puts each item: among the groups of its answer, as the others in them make likely.

An item is put into one group at a time, so a slip is one mistake, however many pairs it spoils. What a placing says of
an item is therefore the chance of its group among all groups of that answer and a new one, given the clusters of the
others, and never less than what a slip leaves to it: no single answer can outvote all others.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logit

from engine.crowd.judgements import Judgements

SLIPPED = 0.05  # of placings that are mistakes
TEMPER = 0.4    # of a judgement: those that share a slip hang together; joins came out right from 0.2 to 0.4
SUREST = 0.005  # chances are kept this far from 0 and 1


@dataclass(frozen=True, eq=False)
class Placings:
    """P placings of items into H groups, ordered by worker and answer; the groups of one answer stand side by side."""

    item: np.ndarray    # (P,)
    worker: np.ndarray  # (P,) ascending
    group: np.ndarray   # (P,)
    answer: np.ndarray  # (H,) ascending, of each group
    n_items: int
    n_workers: int

    @classmethod
    def of(cls, judgements: Judgements) -> Self:
        """Answers whose pairs make no groups, for some are missing or disagree, count pair by pair."""
        task = judgements.task - judgements.task.min(initial=0)
        key = judgements.worker * (task.max(initial=0) + np.int64(1)) + task
        answer = np.unique(key, return_inverse=True)[1]
        found = cls._grouped(judgements, answer)
        torn = ~found._whole(judgements, answer)
        if not torn.any():
            return found
        pair = np.arange(1, len(answer) + 1)
        apart = answer * (len(answer) + 1) + np.where(torn[answer], pair, 0)
        return cls._grouped(judgements, np.unique(apart, return_inverse=True)[1])

    @classmethod
    def _grouped(cls, judgements: Judgements, answer: np.ndarray) -> Self:
        N, J = max(judgements.n_items, 1), judgements.n_workers
        ends = np.stack([judgements.first, judgements.second]) + answer * np.int64(N)
        key, place = np.unique(ends, return_inverse=True)
        place = place.reshape(ends.shape)
        leader = np.arange(len(key))
        np.minimum.at(leader, place.max(0)[judgements.same], place.min(0)[judgements.same])
        leaders, group = np.unique(leader, return_inverse=True)
        worker = np.zeros(len(key), int)
        worker[place] = judgements.worker
        return cls(key % N, worker, group, key[leaders] // N, judgements.n_items, J)

    def _whole(self, judgements: Judgements, answer: np.ndarray) -> np.ndarray:
        """For each answer, whether every pair of its items was judged, together just where they share a group."""
        each = np.bincount(self.answer[self.group])
        within = np.bincount(self.answer, self.sizes * (self.sizes - 1) / 2)
        return ((np.bincount(answer) == each * (each - 1) / 2)
                & (np.bincount(answer, judgements.same, minlength=len(each)) == within))

    @cached_property
    def sizes(self) -> np.ndarray:
        """(H,) items in each group."""
        return np.bincount(self.group)

    @cached_property
    def of_items(self) -> csr_array:
        """(N, P): which placings are each item's."""
        return _incidence(self.item, self.n_items)

    def told(self, member: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """(P, K) log chance of each placing were its item in each cluster, with the memberships (P, K) of the others
        and the chances (J, K, K) of each worker."""
        pull = TEMPER * logit(np.clip(self._by_workers(member, chance), SUREST, 1 - SUREST))
        drawn = self._members @ pull  # by all members of a group, the item itself among them
        others = drawn[self.group] - pull
        answer, starts = self.answer[self.group], self._starts
        top = np.maximum(np.maximum.reduceat(drawn, starts), 0)
        weight = np.exp(drawn - top[self.answer])
        elsewhere = np.add.reduceat(weight, starts)[answer] - weight[self.group]
        new = np.where((self.sizes > 1)[self.group, None], np.exp(-top[answer]), 0)  # one alone is in the new one
        against = np.log(np.maximum(elsewhere, 0) + new + 1e-300) + top[answer]
        right = 1 / (1 + np.exp(np.clip(against - others, -500, 500)))
        groups = np.bincount(self.answer)[answer][:, None] + 1
        return np.log((1 - SLIPPED) * right + SLIPPED / groups)

    def _by_workers(self, member: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """(P, K) chance that the worker puts the item together with a member of each cluster."""
        marks = np.searchsorted(self.worker, np.arange(self.n_workers + 1))
        parts = [member[begin:end] @ chance[j].T for j, (begin, end) in enumerate(pairwise(marks))]
        return np.concatenate(parts)

    @cached_property
    def _members(self) -> csr_array:
        """(H, P): which placings are into each group."""
        return _incidence(self.group, len(self.answer))

    @cached_property
    def _starts(self) -> np.ndarray:
        """First group of each answer."""
        return np.flatnonzero(np.diff(self.answer, prepend=-1))


def _incidence(row: np.ndarray, rows: int) -> csr_array:
    return csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(rows, len(row)))
