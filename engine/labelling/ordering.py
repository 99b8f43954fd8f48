"""In which order the images of a cluster are shown."""

import numpy as np

ROW = 12  # images in the first row of a screen


def extremes_first(rows: np.ndarray, row: int = ROW) -> np.ndarray:
    """An order of members (N, D) in which a mixed cluster betrays itself at once: first the member farthest from the
    mean, then always the one farthest from all shown, for a row; the rest alternately from both ends of the direction
    in which the cluster is widest."""
    centred = np.asarray(rows, np.float64) - np.mean(rows, axis=0, dtype=np.float64)
    first = _farthest(centred, min(row, len(rows)))
    rest = np.setdiff1d(np.argsort(centred @ _widest(centred), kind="stable"), first, assume_unique=True)
    along = rest[np.argsort((centred @ _widest(centred))[rest], kind="stable")]
    return np.concatenate([first, from_both_ends(along)])


def from_both_ends(order: np.ndarray) -> np.ndarray:
    """First, last, second, last but one, ..."""
    mixed = np.empty_like(order)
    mixed[0::2] = order[: (len(order) + 1) // 2]
    mixed[1::2] = order[(len(order) + 1) // 2 :][::-1]
    return mixed


def surest_first(probability: np.ndarray, likelihood: np.ndarray | None = None) -> np.ndarray:
    """By falling probability (N,); where that saturates at one, by how typical a member is."""
    ties = np.zeros(len(probability)) if likelihood is None else likelihood
    return np.lexsort((-np.asarray(ties), -np.round(probability, 6)))


def _farthest(centred: np.ndarray, count: int) -> np.ndarray:
    """Farthest-first traversal: each next one has the greatest distance to the nearest already taken."""
    chosen = [int((centred**2).sum(1).argmax())]
    nearest = ((centred - centred[chosen[0]]) ** 2).sum(1)
    while len(chosen) < count:
        chosen.append(int(nearest.argmax()) if nearest.max() > 0 else int(np.setdiff1d(range(len(centred)), chosen)[0]))
        nearest = np.minimum(nearest, ((centred - centred[chosen[-1]]) ** 2).sum(1))
    return np.array(chosen)


def _widest(centred: np.ndarray) -> np.ndarray:
    """The first principal direction (D,)."""
    return np.linalg.eigh(centred.T @ centred)[1][:, -1]
