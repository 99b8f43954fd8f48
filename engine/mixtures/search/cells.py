"""The first cells of an over-complete start: k-means++ and a few passes of k-means."""

import numpy as np

PASSES = 3  # of k-means
MANY_CENTRES, ROWS_A_CENTRE = 64, 100  # from so many cells, the first centres are chosen among so many rows per cell
ROWS_A_CELL = 300  # largest number of rows per cell that k-means uses
DAMPING = 0.5  # exponent of the proportions; with the full weights, one broad cell would absorb its neighbours


def kmeans_cells(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return labels (N,) after a k-means++ start and a few passes of k-means."""
    few = rows if len(rows) <= ROWS_A_CELL * count else rows[rng.choice(len(rows), ROWS_A_CELL * count, replace=False)]
    centres = _spread(few, count, rng)
    for _ in range(PASSES):
        labels = _nearest(few, centres)
        sizes = np.bincount(labels, minlength=len(centres))
        sums = np.stack([np.bincount(labels, column, minlength=len(centres)) for column in few.T], axis=1)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return np.unique(_nearest(rows, centres), return_inverse=True)[1]


def _spread(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return k-means++ centres: each further centre is a row drawn by its squared distance to the nearest centre so
    far."""
    if count >= MANY_CENTRES and len(rows) > ROWS_A_CENTRE * count:
        rows = rows[rng.choice(len(rows), ROWS_A_CENTRE * count, replace=False)]
    lengths = (rows**2).sum(1)

    def distances(centre: int) -> np.ndarray:
        return np.maximum(lengths - 2 * (rows @ rows[centre]) + lengths[centre], 0.0)

    chosen = [int(rng.integers(len(rows)))]
    far = distances(chosen[0])
    while len(chosen) < min(count, len(rows)) and far.sum() > 0:
        chosen.append(int(np.searchsorted(far.cumsum(), rng.random() * far.sum()).clip(max=len(rows) - 1)))
        far = np.minimum(far, distances(chosen[-1]))
        far[chosen[-1]] = 0.0
    return rows[chosen]


def _nearest(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    lengths = 0.5 * (centres**2).sum(1)
    blocks = range(0, len(rows), ROWS_AT_ONCE)
    return np.concatenate([(rows[at : at + ROWS_AT_ONCE] @ centres.T - lengths).argmax(1) for at in blocks])


ROWS_AT_ONCE = 8192
