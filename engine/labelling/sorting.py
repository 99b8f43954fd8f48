"""Pages of doubtful images to be sorted by hand: few kinds on a page, and what may be one kind lies together, so that
one sweep names it."""

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import cdist, squareform

DOUBTFUL = 0.5    # of the candidates a page is drawn from: of the others the model is surer than of most
POOL = 2_000      # of them at most: all are compared with all
SHARPNESS = 2.0   # of likeness in looks: 1/e at this part of the typical squared distance
ROUNDS = 30       # of exchanges at most; a page settles in about ten


def page_to_sort(rows: np.ndarray, probabilities: np.ndarray, size: int) -> np.ndarray:
    """Places of up to `size` candidates (rows (n, D), probabilities (n, K)): those around the doubtful image that has
    most doubtful ones like it. Of doubtful images from everywhere each would have to be named by itself."""
    doubt = 1 - probabilities.max(1)
    pool = np.argsort(-doubt, kind="stable")[: max(min(int(DOUBTFUL * len(doubt)), POOL), size)]
    alike = likeness(rows[pool], probabilities[pool])
    if len(pool) > size:
        centre = np.partition(alike, -size, axis=1)[:, -size:].sum(1).argmax()
        pool = pool[np.argsort(-alike[centre], kind="stable")[:size]]
    return pool


def likeness(rows: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """How likely images are of one kind (n, n), between 0 and 1: half by what the model holds them for, half by
    looks."""
    far = cdist(rows, rows, "sqeuclidean")
    looks = np.exp(-SHARPNESS * far / max(float(np.median(far)), 1e-12))
    held_for = np.sqrt(probabilities)
    return (held_for @ held_for.T + looks) / 2


def laid_out(alike: np.ndarray, columns: int) -> np.ndarray:
    """The order in which things, alike by so much (n, n), fill a grid row by row so that neighbours, corners included,
    are as alike as exchanges of two can make them."""
    if len(alike) < 3:
        return np.arange(len(alike))
    near, order = _touching(len(alike), columns), _in_turns(alike, columns)
    held = alike[np.ix_(order, order)]  # by cell
    for _ in range(ROUNDS):
        settled = True
        for cell in range(len(order)):
            other = _best_exchange(near, held, cell)
            if other is not None:
                pair, turned, settled = [cell, other], [other, cell], False
                order[pair] = order[turned]
                held[pair] = held[turned]
                held[:, pair] = held[:, turned]
        if settled:
            break
    return order


def _best_exchange(near: np.ndarray, held: np.ndarray, cell: int) -> int | None:
    """The cell with which this one had best change places, if any."""
    now = (near * held).sum(1)
    mine_there = near @ held[cell] - near[:, cell] * held[cell, cell]
    theirs_here = held @ near[cell] - near[cell] * np.diag(held)
    # Where both touch they go on touching, though each sum above took the other one away.
    gain = mine_there + theirs_here - now[cell] - now + 2 * near[cell] * held[cell]
    gain[cell] = 0
    best = int(gain.argmax())
    return best if gain[best] > 1e-9 else None


def _touching(count: int, columns: int) -> np.ndarray:
    """Which cells touch (count, count), 1 or 0."""
    row, column = np.divmod(np.arange(count), columns)
    near = (np.abs(row[:, None] - row) <= 1) & (np.abs(column[:, None] - column) <= 1)
    np.fill_diagonal(near, False)
    return near.astype(float)


def _in_turns(alike: np.ndarray, columns: int) -> np.ndarray:
    """To begin with: the leaves of the tree of likeness, by rows to the right and back again."""
    apart = np.clip(1 - (alike + alike.T) / 2, 0, None)
    np.fill_diagonal(apart, 0)
    leaves = leaves_list(linkage(squareform(apart, checks=False), "average", optimal_ordering=True))
    for at in range(columns, len(leaves) - columns + 1, 2 * columns):  # whole rows only: a short one begins at the left
        leaves[at : at + columns] = leaves[at : at + columns][::-1].copy()
    return leaves
