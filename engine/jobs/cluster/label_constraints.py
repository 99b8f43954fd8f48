"""Labels steer the next clustering: what was given different names may not share a cluster, named images stay put.

    model = GMC().fit(X, dives, start=kept_apart(X, clusters_of_the_last_run, terms))
    clusters = kept_apart(X, model.labels_, terms)  # what the fit mixed up again is parted again
"""

import numpy as np

NO_TERM = 0


def kept_apart(X: np.ndarray, clusters: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Clusters (N,), numbered without gaps, of which none holds images of two terms (N, 0 for none). Those that did
    are parted by term, their unlabelled images going with the nearest part; the others are as they were."""
    found, free = np.unique(clusters, return_inverse=True)[1].astype(np.int64), len(np.unique(clusters))
    for cluster in mixed(clusters, terms):
        members = np.flatnonzero(clusters == cluster)
        part = _parts(np.asarray(X[members], np.float64), terms[members])
        for number in range(1, part.max() + 1):
            found[members[part == number]] = free
            free += 1
    return found


def mixed(clusters: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """The clusters that hold images of more than one term."""
    named = terms != NO_TERM
    pairs = np.unique(np.stack([clusters[named], terms[named]]), axis=1)
    numbers, counts = np.unique(pairs[0], return_counts=True)
    return numbers[counts > 1]


def joined_by_term(clusters: np.ndarray, terms: np.ndarray) -> dict[int, int]:
    """{cluster: the term of its named images}, for clusters of one term."""
    named = terms != NO_TERM
    impure = set(mixed(clusters, terms).tolist())
    return {int(cluster): int(term) for cluster, term in zip(clusters[named], terms[named], strict=True)
            if int(cluster) not in impure}


def _parts(rows: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """A part number (n,) for each member: the most frequent term's is 0; unlabelled ones join the nearest mean."""
    names, counts = np.unique(terms[terms != NO_TERM], return_counts=True)
    names = names[np.argsort(-counts, kind="stable")]
    means = np.stack([rows[terms == name].mean(0) for name in names])
    far = (means**2).sum(1) - 2 * rows @ means.T  # squared distances up to a term of the row alone
    part = far.argmin(1)
    for number, name in enumerate(names):
        part[terms == name] = number
    return part
