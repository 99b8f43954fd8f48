"""Short loops over the numbers of a row, compiled with vector instructions."""

import numba

FAST = {"reassoc", "contract", "nsz", "arcp"}  # of LLVM: sums in any order, so that they use vector instructions


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def product(first, second):
    """Return the inner product, in the precision of the rows."""
    total = first[0] * second[0]
    for f in range(1, len(first)):
        total += first[f] * second[f]
    return total


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def add_multiple(target, factor, values):
    for f in range(len(values)):
        target[f] += factor * values[f]
