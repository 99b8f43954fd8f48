"""HOG2x2: histograms of oriented gradients of cells of 8 px, four neighbouring cells together (methods note 8.2).

A cell has 31 numbers: 18 directions of the gradient, the same 9 orientations without their sign, and 4 energies of the
neighbourhoods. Each histogram is divided by the energy of four blocks of 2 x 2 cells around it, limited, and averaged
(Felzenszwalb and others, 2010). A descriptor has the 31 numbers of 2 x 2 cells: 124. Cells at the edges are left out,
because they have no complete neighbourhood.
"""

import math
from dataclasses import dataclass

import numba
import numpy as np

CELL = 8  # px
SIGNED = 18
UNSIGNED = SIGNED // 2
PER_CELL = SIGNED + UNSIGNED + 4
LENGTH = 4 * PER_CELL
LIMIT = 0.2
TEXTURE = 0.2357  # weight of the energies
FEWEST = 4  # cells of an image side: one at each edge, and two together


@dataclass(frozen=True)
class HogGrid:
    """The descriptors of one image, row by row."""

    vectors: np.ndarray  # (n, 124) float32
    rows: np.ndarray  # (R,) centres of the descriptors, px from the top edge
    columns: np.ndarray  # (C,) px from the left edge; n = R C


def hog2x2(plane: np.ndarray) -> HogGrid:
    """Describe a float grey image, 0 to 1, by (H // 8 - 3) x (W // 8 - 3) descriptors. An image of less than four cells
    a side is extended by mirroring."""
    plane = np.ascontiguousarray(_at_least(plane, FEWEST * CELL), np.float64)
    cells = normalised_cells(cell_histograms(plane))
    upper, lower = cells[:-1], cells[1:]
    pairs = np.concatenate([upper[:, :-1], upper[:, 1:], lower[:, :-1], lower[:, 1:]], axis=2)
    height, width = pairs.shape[:2]
    centres = [CELL * (np.arange(count) + 2.0) for count in (height, width)]
    return HogGrid(pairs.reshape(-1, LENGTH).astype(np.float32), *centres)


def _at_least(plane: np.ndarray, size: int) -> np.ndarray:
    lacking = [max(0, size - length) for length in plane.shape]
    return np.pad(plane, [(0, lack) for lack in lacking], mode="symmetric") if any(lacking) else plane


@numba.njit(cache=True, nogil=True)
def cell_histograms(plane):
    """Return the sums of gradient strength by direction in each cell (H // 8, W // 8, 18). A pixel counts for the four
    nearest cells, linearly by distance."""
    height, width = plane.shape[0] // CELL, plane.shape[1] // CELL
    out = np.zeros((height, width, SIGNED))
    for y in range(1, min(height * CELL, plane.shape[0] - 1)):
        for x in range(1, min(width * CELL, plane.shape[1] - 1)):
            dy = 0.5 * (plane[y + 1, x] - plane[y - 1, x])
            dx = 0.5 * (plane[y, x + 1] - plane[y, x - 1])
            strength = math.sqrt(dx * dx + dy * dy)
            turn = math.atan2(dy, dx) / (2 * math.pi) * SIGNED
            direction = math.floor(turn + 0.5) % SIGNED
            row, column = (y + 0.5) / CELL - 0.5, (x + 0.5) / CELL - 0.5
            top, left = math.floor(row), math.floor(column)
            down, right = row - top, column - left
            for i in range(2):
                for j in range(2):
                    r, c = int(top) + i, int(left) + j
                    if 0 <= r < height and 0 <= c < width:
                        share = (down if i else 1 - down) * (right if j else 1 - right)
                        out[r, c, direction] += share * strength
    return out


def normalised_cells(histograms: np.ndarray) -> np.ndarray:
    """Return the 31 numbers of each cell that has eight neighbours (H - 2, W - 2, 31)."""
    unsigned = histograms[..., :UNSIGNED] + histograms[..., UNSIGNED:]
    energy = (unsigned**2).sum(2)
    blocks = energy[:-1, :-1] + energy[:-1, 1:] + energy[1:, :-1] + energy[1:, 1:]
    scales = 1 / np.sqrt(blocks + 1e-4)
    around = [scales[:-1, :-1], scales[:-1, 1:], scales[1:, :-1], scales[1:, 1:]]
    inner, inner_unsigned = histograms[1:-1, 1:-1], unsigned[1:-1, 1:-1]
    limited = [np.minimum(inner * scale[..., None], LIMIT) for scale in around]
    signed_part = 0.5 * np.sum(limited, axis=0)
    unsigned_part = 0.5 * np.sum([np.minimum(inner_unsigned * scale[..., None], LIMIT) for scale in around], axis=0)
    texture = TEXTURE * np.stack([each.sum(2) for each in limited], axis=2)
    return np.concatenate([signed_part, unsigned_part, texture], axis=2)
