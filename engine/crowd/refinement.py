"""Coarse to fine: items of one cluster are shown once more among themselves (methods note 5.4).

Who is shown indoor and outdoor scenes tells those apart; who is shown indoor scenes only, tells kitchens from offices.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.crowd.bayesian import STRUCTURED, BayesianCrowdClustering
from engine.crowd.judgements import Judgements
from engine.crowd.sampling import sample_tasks

Ask = Callable[[Sequence[np.ndarray]], Judgements]      # tasks of item numbers -> what people said of them
NewModel = Callable[[], BayesianCrowdClustering]


@dataclass(frozen=True)
class Branch:
    """Items that were sorted among themselves, and the parts they fell into; no parts for a leaf."""

    items: np.ndarray
    parts: tuple["Branch", ...] = field(default_factory=tuple)

    def leaves(self) -> list["Branch"]:
        return [leaf for part in self.parts for leaf in part.leaves()] if self.parts else [self]


def refined(items: np.ndarray, ask: Ask, new_model: NewModel, rng: np.random.Generator, *, size: int = 20,
            views: float = 6, depth: int = 1) -> Branch:
    """Sorts the items, then the items of each cluster, `depth` levels down or until people see no difference."""
    if len(items) < size:
        return Branch(items)
    tasks = [items[task] for task in sample_tasks(len(items), size, views, rng)]
    parts = split_by(items, ask(tasks), new_model())
    if len(parts) < 2:
        return Branch(items)
    if depth == 0:
        return Branch(items, tuple(Branch(part) for part in parts))
    return Branch(items, tuple(refined(part, ask, new_model, rng, size=size, views=views, depth=depth - 1)
                               for part in parts))


def split_by(items: np.ndarray, judgements: Judgements, model: BayesianCrowdClustering) -> list[np.ndarray]:
    """The items of each cluster the judgements tell apart; all of them as one where they show no structure."""
    model.fit(judgements)
    if model.n_clusters_ < 2 or model.gain_ < STRUCTURED:
        return [items]
    found = model.labels_[items]
    return [items[found == label] for label in range(model.n_clusters_) if (found == label).any()]


def labels_of(branch: Branch, n_items: int) -> np.ndarray:
    """(n_items,) number of each item's leaf, -1 for items that are in none."""
    labels = np.full(n_items, -1)
    for number, leaf in enumerate(branch.leaves()):
        labels[leaf.items] = number
    return labels
