"""Use labels as constraints of the next clustering: images with different labels may not share a cluster.

model = GMC().fit(X, dives, start=kept_apart(X, clusters_of_the_last_run, terms))
clusters = kept_apart(X, model.labels_, terms)  # separates again what the fit has mixed
"""

import numpy as np

NO_TERM = 0


def kept_apart(X: np.ndarray, clusters: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return clusters (N,), numbered without gaps, none of which has images of two terms (N, 0 for none). Mixed
    clusters are split by term; their unlabelled images join the nearest part. Other clusters do not change."""
    numbers, free = np.unique(clusters, return_inverse=True)[1].astype(np.int64), len(np.unique(clusters))
    for cluster in mixed(clusters, terms):
        members = np.flatnonzero(clusters == cluster)
        part_of_row = _nearest_term_part(np.asarray(X[members], np.float64), terms[members])
        for number in range(1, part_of_row.max() + 1):
            numbers[members[part_of_row == number]] = free
            free += 1
    return numbers


def mixed(clusters: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return the clusters with images of more than one term."""
    named = terms != NO_TERM
    pairs = np.unique(np.stack([clusters[named], terms[named]]), axis=1)
    numbers, counts = np.unique(pairs[0], return_counts=True)
    return numbers[counts > 1]


def joined_by_term(clusters: np.ndarray, terms: np.ndarray) -> dict[int, int]:
    """Return {cluster: the term of its labelled images} for clusters with a single term."""
    named = terms != NO_TERM
    impure = set(mixed(clusters, terms).tolist())
    return {
        int(cluster): int(term)
        for cluster, term in zip(clusters[named], terms[named], strict=True)
        if int(cluster) not in impure
    }


def _nearest_term_part(rows: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return a part number (n,) for each member: 0 for the most frequent term. Unlabelled members join the nearest
    mean."""
    names, counts = np.unique(terms[terms != NO_TERM], return_counts=True)
    names = names[np.argsort(-counts, kind="stable")]
    means = np.stack([rows[terms == name].mean(0) for name in names])
    far = (means**2).sum(1) - 2 * rows @ means.T  # squared distances, up to a constant per row
    nearest = far.argmin(1)
    for number, name in enumerate(names):
        nearest[terms == name] = number
    return nearest
