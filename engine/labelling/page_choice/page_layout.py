"""Order images on a page: pages of uncertain images for manual sorting, and the order of a cluster's images.

A page to sort has few kinds of images, and images that may be of one kind are next to each other, so that one selection
labels them.
"""

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import cdist, squareform

POOL = 2_000  # largest number of candidates for a page, because all pairs are compared
SHARPNESS = 2.0  # of the visual similarity: it falls to 1/e at this fraction of the typical squared distance
ROUNDS = 30  # largest number of exchange rounds; a page converges in about ten


def page_to_sort(rows: np.ndarray, probabilities: np.ndarray, size: int) -> np.ndarray:
    """Return positions of up to `size` images (rows (n, D), probabilities (n, K)): an uncertain image and those most
    similar to it. Uncertain images from everywhere would each need their own label.

    Candidates are the least certain images, as many as the model expects to have a wrong suggestion. With more of them,
    most images of a page would be right already.
    """
    doubt = 1 - probabilities.max(1)
    pool = np.argsort(-doubt, kind="stable")[: max(min(int(doubt.sum()), POOL), size)]
    similarity = likeness(rows[pool], probabilities[pool])
    if len(pool) > size:
        centre = np.partition(similarity, -size, axis=1)[:, -size:].sum(1).argmax()
        pool = pool[np.argsort(-similarity[centre], kind="stable")[:size]]
    return pool


def likeness(rows: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the similarity of images (n, n), between 0 and 1: half by the model's probabilities, half by
    appearance."""
    far = cdist(rows, rows, "sqeuclidean")
    visual = np.exp(-SHARPNESS * far / max(float(np.median(far)), 1e-12))
    held_for = np.sqrt(probabilities)
    return (held_for @ held_for.T + visual) / 2


def laid_out(similarity: np.ndarray, columns: int) -> np.ndarray:
    """Return the order in which images fill a grid row by row, so that neighbours (including diagonal ones) are as
    similar (n, n) as pairwise exchanges can make them."""
    if len(similarity) < 3:
        return np.arange(len(similarity))
    near, order = _touching(len(similarity), columns), _in_turns(similarity, columns)
    by_cell = similarity[np.ix_(order, order)]  # in the order of the cells
    for _ in range(ROUNDS):
        settled = True
        for cell in range(len(order)):
            other = _best_exchange(near, by_cell, cell)
            if other is not None:
                pair, turned, settled = [cell, other], [other, cell], False
                order[pair] = order[turned]
                by_cell[pair] = by_cell[turned]
                by_cell[:, pair] = by_cell[:, turned]
        if settled:
            break
    return order


def _best_exchange(near: np.ndarray, by_cell: np.ndarray, cell: int) -> int | None:
    """Return the best cell to exchange with this one, if any."""
    current = (near * by_cell).sum(1)
    mine_there = near @ by_cell[cell] - near[:, cell] * by_cell[cell, cell]
    theirs_here = by_cell @ near[cell] - near[cell] * np.diag(by_cell)
    # If both cells are neighbours they stay neighbours, although each sum above has removed the other.
    gain = mine_there + theirs_here - current[cell] - current + 2 * near[cell] * by_cell[cell]
    gain[cell] = 0
    best = int(gain.argmax())
    return best if gain[best] > 1e-9 else None


def _touching(count: int, columns: int) -> np.ndarray:
    """Return which cells are neighbours (count, count), 1 or 0."""
    row, column = np.divmod(np.arange(count), columns)
    near = (np.abs(row[:, None] - row) <= 1) & (np.abs(column[:, None] - column) <= 1)
    np.fill_diagonal(near, False)
    return near.astype(float)


def _in_turns(similarity: np.ndarray, columns: int) -> np.ndarray:
    """Return an initial order: the leaves of the similarity tree, with rows running alternately right and left."""
    apart = np.clip(1 - (similarity + similarity.T) / 2, 0, None)
    np.fill_diagonal(apart, 0)
    leaves = leaves_list(linkage(squareform(apart, checks=False), "average", optimal_ordering=True))
    # complete rows only, because a short row begins at the left
    for at in range(columns, len(leaves) - columns + 1, 2 * columns):
        leaves[at : at + columns] = leaves[at : at + columns][::-1].copy()
    return leaves


ROW = 12  # images in the first row of a screen


def extremes_first(rows: np.ndarray, row: int = ROW) -> np.ndarray:
    """Return an order of members (N, D) that shows a mixed cluster in its first row: the member farthest from the mean,
    then always the one farthest from those shown, for one row. The others alternate between both ends of the direction
    of largest variance."""
    centred = np.asarray(rows, np.float64) - np.mean(rows, axis=0, dtype=np.float64)
    first = _farthest(centred, min(row, len(rows)))
    middle = np.setdiff1d(np.argsort(centred @ _widest(centred), kind="stable"), first, assume_unique=True)
    along = middle[np.argsort((centred @ _widest(centred))[middle], kind="stable")]
    return np.concatenate([first, from_both_ends(along)])


def from_both_ends(order: np.ndarray) -> np.ndarray:
    """Return first, last, second, last but one, ..."""
    mixed = np.empty_like(order)
    mixed[0::2] = order[: (len(order) + 1) // 2]
    mixed[1::2] = order[(len(order) + 1) // 2 :][::-1]
    return mixed


def surest_first(probability: np.ndarray, likelihood: np.ndarray | None = None) -> np.ndarray:
    """Return an order by descending probability (N,); equal probabilities are ordered by how typical a member is."""
    ties = np.zeros(len(probability)) if likelihood is None else likelihood
    return np.lexsort((-np.asarray(ties), -np.round(probability, 6)))


def _farthest(centred: np.ndarray, count: int) -> np.ndarray:
    """Return a farthest-first traversal: each next item has the largest distance to the nearest selected one."""
    chosen = [int((centred**2).sum(1).argmax())]
    nearest = ((centred - centred[chosen[0]]) ** 2).sum(1)
    while len(chosen) < count:
        chosen.append(int(nearest.argmax()) if nearest.max() > 0 else int(np.setdiff1d(range(len(centred)), chosen)[0]))
        nearest = np.minimum(nearest, ((centred - centred[chosen[-1]]) ** 2).sum(1))
    return np.array(chosen)


def _widest(centred: np.ndarray) -> np.ndarray:
    """Return the first principal direction (D,)."""
    return np.linalg.eigh(centred.T @ centred)[1][:, -1]
