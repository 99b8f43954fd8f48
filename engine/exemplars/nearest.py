"""For every point of the validation set the nearest and second nearest exemplar, kept up to date under changes.

Slots number the exemplars; slot -1 is the phantom, slot -2 says that there is no second.
"""

import numba
import numpy as np

PHANTOM, NOBODY = -1, -2


class Nearest:
    """`first`, `slot`, `second`, `second_slot` are (W,); `columns` (k, W) holds the dissimilarity to every exemplar."""

    def __init__(self, to_phantom: np.ndarray, k: int):
        self.to_phantom = to_phantom
        self.first = to_phantom.copy()
        self.slot = np.full(len(to_phantom), PHANTOM, np.int32)
        self.second = np.full(len(to_phantom), np.inf, to_phantom.dtype)
        self.second_slot = np.full(len(to_phantom), NOBODY, np.int32)
        self.columns = np.empty((k, len(to_phantom)), to_phantom.dtype)
        self.count = 0

    def add(self, far: np.ndarray) -> np.ndarray:
        """Takes in one more exemplar, at dissimilarity `far` (W,); the points for which something changed."""
        self.count += 1
        return self.swap(self.count - 1, far)

    def swap(self, slot: int, far: np.ndarray) -> np.ndarray:
        """Puts another exemplar into the slot; the points for which something changed."""
        self.columns[slot] = far
        touched = np.zeros(len(far), np.bool_)
        _replace(self.columns, self.count, slot, self.to_phantom, self.first, self.slot, self.second,
                 self.second_slot, touched)
        return np.flatnonzero(touched)

    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(first, slot, second): all that the worth of a swap depends on."""
        return self.first, self.slot, self.second


def accumulate(far, points, nearest, sign, additions, removals) -> None:
    """Adds what the points say about every candidate to `additions` (b,) and `removals` (k, b), methods note 5.

    `far` is (W, b). A point gains first - far where the candidate is nearer; where its own exemplar leaves, it loses
    clip(far, first, second) - first: the candidate itself may catch it, which the sources' formula forgets.
    """
    _accumulate(far, points, *nearest, sign, additions, removals)


@numba.njit(cache=True, nogil=True)
def _replace(columns, count, slot, to_phantom, first, first_slot, second, second_slot, touched):
    for i in range(len(first)):
        far = columns[slot, i]
        if first_slot[i] == slot or second_slot[i] == slot:
            first[i], first_slot[i] = to_phantom[i], PHANTOM
            second[i], second_slot[i] = np.inf, NOBODY
            for j in range(count):
                _insert(columns[j, i], j, i, first, first_slot, second, second_slot)
            touched[i] = True
        else:
            touched[i] = _insert(far, slot, i, first, first_slot, second, second_slot)


@numba.njit(cache=True, nogil=True, inline="always")
def _insert(far, slot, i, first, first_slot, second, second_slot):
    if far < first[i]:
        second[i], second_slot[i] = first[i], first_slot[i]
        first[i], first_slot[i] = far, slot
        return True
    if far < second[i]:
        second[i], second_slot[i] = far, slot
        return True
    return False


@numba.njit(cache=True, nogil=True)
def _accumulate(far, points, first, slot, second, sign, additions, removals):
    for i in points:
        row, near, other, owner = far[i], first[i], second[i], slot[i]
        for s in range(len(row)):
            additions[s] += sign * max(near - row[s], 0.0)
        if owner >= 0:
            into = removals[owner]
            for s in range(len(row)):
                into[s] += sign * (min(max(row[s], near), other) - near)
