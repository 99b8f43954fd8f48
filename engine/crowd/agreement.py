"""How far people who did the same task made the same groups: what there is to see before anything is clustered."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from engine.crowd.judgements import Sorting
from engine.metrics import adjusted_rand


def agreement(tasks: Sequence[int], sortings: Sequence[Sorting]) -> float | None:
    """Mean adjusted Rand index of people who did one task, each with the next: 1 for the same groups, 0 for what chance
    does. `tasks` names the task of each sorting. None where nobody did what another did."""
    by_task: dict[int, list[Sorting]] = defaultdict(list)
    for task, sorting in zip(tasks, sortings, strict=True):
        by_task[task].append(sorting)
    alike = [likeness(one, other) for told in by_task.values() for one, other in pairwise(told)]
    known = [share for share in alike if share is not None]
    return float(np.mean(known)) if known else None


def likeness(one: Sorting, other: Sorting) -> float | None:
    """Of the items both put into groups; None where those are fewer than two."""
    (items, groups), (others, their_groups) = one.marked(), other.marked()
    _, mine, theirs = np.intersect1d(items, others, return_indices=True)
    return adjusted_rand(groups[mine], their_groups[theirs]) if len(mine) > 1 else None
