"""Small groups of images that look alike: one name for twenty images is the cheapest label there is."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from sklearn.cluster import KMeans

TOGETHER = 20     # images in a group: what is seen at a glance
AT_ONCE = 4_000   # images grouped in one k-means: its cost grows with images times groups


@dataclass(frozen=True)
class Groups:
    """`of` (N,): the group of every image, numbered from 0; `centres` (groups, D): the mean row of each."""

    of: np.ndarray
    centres: np.ndarray

    @property
    def count(self) -> int:
        return int(self.of.max(initial=-1)) + 1

    def members(self, group: int) -> np.ndarray:
        return np.flatnonzero(self.of == group)

    def novelty(self, known: np.ndarray) -> np.ndarray:
        """How unlike all known groups (groups,) bool every group is (groups,): 0 for one that has a known neighbour, 1
        for one three times as far from any as neighbours are from each other. A classifier is sure even of what is
        like nothing it was ever told of, so its doubt alone finds no new terms."""
        if known.all() or self.count < 2:
            return np.zeros(self.count)
        if not known.any():
            return np.ones(self.count)
        typical = np.median(cKDTree(self.centres).query(self.centres, k=2)[0][:, 1])
        far = cKDTree(self.centres[known]).query(self.centres)[0]
        return np.clip((far / max(typical, 1e-12) - 1) / 2, 0, 1)

    def novelty_from(self, known_rows: np.ndarray) -> np.ndarray:
        """The same against rows (n, D) that are known, where these are in no group."""
        if self.count < 2 or not len(known_rows):
            return np.ones(self.count)
        typical = np.median(cKDTree(self.centres).query(self.centres, k=2)[0][:, 1])
        far = cKDTree(known_rows).query(self.centres)[0]
        return np.clip((far / max(typical, 1e-12) - 1) / 2, 0, 1)

    def worth(self, doubt: np.ndarray, open_: np.ndarray) -> np.ndarray:
        """What naming each group would tell (groups,): the doubt (N,) about its images that are still open (N,) bool.
        A name settles an image as far as it was in doubt, so large groups of doubtful images come first."""
        return np.bincount(self.of, np.where(open_, doubt, 0.0), self.count)


def alike(rows: np.ndarray, clusters: np.ndarray, rng: np.random.Generator, together: int = TOGETHER) -> Groups:
    """Groups of about `together` images within each cluster (N,): no group reaches over two clusters."""
    of, used = np.zeros(len(rows), np.int64), 0
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        for part in np.array_split(rng.permutation(members), -(-len(members) // AT_ONCE)):
            found = _grouped(rows[part], together, rng)
            of[part] = used + found
            used += int(found.max()) + 1
    sizes = np.maximum(np.bincount(of), 1)
    order = np.argsort(of, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(of))[:-1]])
    return Groups(of, np.add.reduceat(rows[order], starts, axis=0) / sizes[:, None])


def _grouped(rows: np.ndarray, together: int, rng: np.random.Generator) -> np.ndarray:
    count = max(round(len(rows) / together), 1)
    model = KMeans(count, n_init=1, max_iter=30, random_state=int(rng.integers(2**31)))
    return np.unique(model.fit_predict(rows), return_inverse=True)[1]
