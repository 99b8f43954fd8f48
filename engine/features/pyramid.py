"""Max pooling over a spatial pyramid of 4 x 4, 2 x 2 and 1 x 1 cells (methods note 7.1, steps 5 and 6)."""

import numpy as np

from engine.features.encoders import Codes
from engine.features.sift import Patches

FINEST = 4                            # cells along a side at the finest level
CELLS = 1 + 2 * 2 + FINEST * FINEST   # of all three levels


def pyramid(codes: Codes, patches: Patches) -> np.ndarray:
    """(21 K,) unit vector: the largest absolute code in every cell, the whole image first, then its quarters, then the
    sixteen finest cells, each level row by row. A patch belongs to the cell of its centre; a cell without one is 0."""
    fine = codes.largest(finest_cell(patches), FINEST * FINEST).reshape(FINEST, FINEST, -1)
    middle = fine.reshape(2, 2, 2, 2, -1).max(axis=(1, 3))
    levels = (middle.max(axis=(0, 1)), middle, fine)
    return unit(np.concatenate([level.ravel() for level in levels]))


def finest_cell(patches: Patches) -> np.ndarray:
    """(N,) number of the 4 x 4 cell that holds each patch's centre."""
    row = (patches.rows * FINEST // patches.height).astype(np.int64)
    column = (patches.columns * FINEST // patches.width).astype(np.int64)
    return row * FINEST + column


def unit(vector: np.ndarray) -> np.ndarray:
    """The vector at length 1; one without length stays as it is."""
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
