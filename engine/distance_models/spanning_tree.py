"""The loop of the minimum spanning tree. In a module of its own, because numba takes half a second to load."""

import numba
import numpy as np


# Sums of squares may be added in any order, so that the processor adds several at once.
@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def extend_tree(rows, core, numbers, nearest, source, edges, lengths, begin, end):
    """Add the edges from `begin` to `end` to a minimum spanning tree by Prim's algorithm.

    The distance of two rows is their mutual reachability: the largest of their squared distance and of `core` (N,) of
    both. The arrays of the rows are in an order in which those that are not in the tree come first, and are changed:
    `rows` (N, D), `core`, `numbers` (N,), and for the rows outside of the tree, the shortest distance to a row in it
    (`nearest`) and the number of that row (`source`). `edges` (N - 1, 2) and `lengths` (N - 1,) receive the tree. The
    row at the end of those not in the tree is the newest one in it.
    """
    N, D = rows.shape
    for step in range(begin, end):
        outside = N - 1 - step  # rows that are not in the tree; the newest one in it follows them
        newest = rows[outside]
        core_of_newest, number = core[outside], numbers[outside]
        best, least = 0, np.inf
        for j in range(outside):
            reach = max(core[j], core_of_newest)
            if reach < nearest[j]:  # else the distance cannot be shorter
                squared = 0.0
                for d in range(D):
                    difference = rows[j, d] - newest[d]
                    squared += difference * difference
                reach = max(reach, squared)
                if reach < nearest[j]:
                    nearest[j], source[j] = reach, number
            if nearest[j] < least:
                best, least = j, nearest[j]
        edges[step, 0], edges[step, 1], lengths[step] = source[best], numbers[best], least
        last = outside - 1
        for d in range(D):
            rows[best, d], rows[last, d] = rows[last, d], rows[best, d]
        core[best], core[last] = core[last], core[best]
        numbers[best], numbers[last] = numbers[last], numbers[best]
        nearest[best], nearest[last] = nearest[last], nearest[best]
        source[best], source[last] = source[last], source[best]
