"""The loop behind `Overlap`. In a module of its own, because numba takes half a second to load."""

import numba
import numpy as np

OWNED = 1e-6  # smaller responsibilities are left out; they change the price of a merge by 0.00001 nats per row


@numba.njit(cache=True, nogil=True)
def add_overlap(resp, shared, entropy_lost, labels):
    """Add the sums over rows of resp (n, K), and set the most likely cluster of each row (n,). Each row is owned by few
    clusters, so a loop is faster than products."""
    n, K = resp.shape
    owners, shares, terms = np.empty(K, np.int64), np.empty(K), np.empty(K)
    for i in range(n):
        count, largest = 0, resp[i, 0]
        labels[i] = 0
        for k in range(K):
            if resp[i, k] > largest:
                largest, labels[i] = resp[i, k], k
            if resp[i, k] > OWNED:
                share = float(resp[i, k])
                owners[count], shares[count], terms[count] = k, share, share * np.log(share)
                count += 1
        for a in range(count):
            shared[owners[a], owners[a]] += shares[a] * shares[a]
            for b in range(a):
                both = shares[a] + shares[b]
                lost = both * np.log(both) - terms[a] - terms[b]
                product = shares[a] * shares[b]
                shared[owners[a], owners[b]] += product
                shared[owners[b], owners[a]] += product
                entropy_lost[owners[a], owners[b]] += lost
                entropy_lost[owners[b], owners[a]] += lost
