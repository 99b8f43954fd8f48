"""Examples of clusters: exemplars, the most and least certain members, and random members."""

from collections.abc import Mapping

import numpy as np

from benthoscope.engine.progress import OnStep, Progress, ignore

IMAGES_PER_CLUSTER = 9
SEGMENTS_PER_CLUSTER = 12
SAMPLE_SIZE = 4_000  # members among which examples are searched; with more, the result hardly changes
SEED = 0


def choose_exemplars(X: np.ndarray, count: int = IMAGES_PER_CLUSTER) -> np.ndarray:
    """Return rows of X (n, D) that represent all rows, those that represent most first; fewer than `count` if there are
    few rows."""
    from benthoscope.engine.exemplars import StreamGreedy, constant  # slow to import

    sample = _sample(np.arange(len(X)))
    if len(sample) <= 1:
        return sample
    values = np.asarray(X[sample], np.float32)
    values = values - values.mean(0)
    # The mean squared distance of two rows. The phantom at this distance represents outliers.
    phantom = 2 * float(np.einsum("ij,ij->i", values, values).mean()) + 1e-12
    fit = StreamGreedy(count, phantom=constant(phantom), random_state=SEED).fit(values)
    sizes = np.bincount(fit.labels_, minlength=len(fit.exemplars_))
    return sample[fit.exemplars_[np.argsort(-sizes, kind="stable")]]


def cluster_exemplars(
    X: np.ndarray,
    labels: np.ndarray,
    clusters: int,
    count: int = IMAGES_PER_CLUSTER,
    on_step: OnStep = ignore,
) -> np.ndarray:
    """Return (K, count) rows of X (n, D) that represent each cluster, -1 if a cluster has fewer members.

    `labels` (n,) is -1 for rows without a cluster. X may be memory-mapped: only the sampled rows are read.
    """
    table = np.full((clusters, count), -1, np.int64)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(clusters + 1))
    for number in range(clusters):
        on_step(Progress(number, clusters, f"cluster {number}"))
        members = _sample(order[starts[number] : starts[number + 1]])
        chosen = members[choose_exemplars(X[members], count)]
        table[number, : len(chosen)] = chosen
    return table


def most_probable(members: np.ndarray, probability: np.ndarray, count: int = IMAGES_PER_CLUSTER) -> np.ndarray:
    """Return the members with the highest of the probabilities (n,)."""
    return members[_order_by(-probability)[:count]]


def least_probable(members: np.ndarray, probability: np.ndarray, count: int = IMAGES_PER_CLUSTER) -> np.ndarray:
    """Return the members with the lowest probability, at the border of their cluster."""
    return members[_order_by(probability)[:count]]


def random_members(members: np.ndarray, count: int = IMAGES_PER_CLUSTER) -> np.ndarray:
    """Return a random sample, the same in each call."""
    return np.random.default_rng(SEED).permutation(members)[:count]


def segment_exemplars(
    X: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    clusters: int,
    probability: np.ndarray | None = None,
    count: int = SEGMENTS_PER_CLUSTER,
) -> Mapping[str, tuple[np.ndarray, ...]]:
    """Return example segments of each cluster as rows of X (S, D): "typical", "borderline" and "random" ones.

    Segments of image i are the rows offsets[i] to offsets[i + 1]. Examples come from different images while there are
    enough. "borderline" ones have the lowest `probability` (S,); without it, they are farthest from the centre.
    """
    rng, samples = np.random.default_rng(SEED), _samples_by_cluster(np.asarray(labels), clusters)
    return {
        "typical": tuple(_typical(X, offsets, rows, count) for rows in samples),
        "borderline": tuple(_borderline(X, offsets, rows, probability, count) for rows in samples),
        "random": tuple(_from_different_images(offsets, rng.permutation(rows), count) for rows in samples),
    }


def _sample(rows: np.ndarray) -> np.ndarray:
    """Return at most SAMPLE_SIZE of the rows, ascending."""
    if len(rows) <= SAMPLE_SIZE:
        return rows
    return np.sort(np.random.default_rng(SEED).choice(rows, SAMPLE_SIZE, replace=False))


def _order_by(values: np.ndarray) -> np.ndarray:
    """Return an ascending order. Ties, which are common at probability 1, are broken by a fixed random order."""
    tie_break = np.random.default_rng(SEED).random(len(values))
    return np.lexsort((tie_break, np.nan_to_num(values, nan=0.0)))


def _samples_by_cluster(labels: np.ndarray, clusters: int) -> list[np.ndarray]:
    """Return at most SAMPLE_SIZE rows of each cluster, ascending and evenly spread, because rows are sorted by dive."""
    # small integers use radix sort, which is ten times faster
    order = np.argsort(labels.astype(np.int16), kind="stable")
    starts = np.searchsorted(labels, np.arange(clusters + 1), sorter=order)
    samples = []
    for number in range(clusters):
        start, end = starts[number : number + 2]
        positions = np.linspace(start, end, min(end - start, SAMPLE_SIZE), endpoint=False).astype(np.int64)
        samples.append(order[positions])
    return samples


def _typical(X: np.ndarray, offsets: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return the rows nearest to the centre of the cluster, with each feature divided by its standard deviation."""
    values = np.asarray(X[rows], np.float64)
    if not len(values):
        return rows
    squared = ((values - values.mean(0)) / np.maximum(values.std(0), 1e-12)) ** 2
    return _from_different_images(offsets, rows[np.argsort(squared.sum(1), kind="stable")], count)


def _borderline(
    X: np.ndarray, offsets: np.ndarray, rows: np.ndarray, probability: np.ndarray | None, count: int
) -> np.ndarray:
    if probability is None:
        values = np.asarray(X[rows], np.float64)
        squared = ((values - values.mean(0)) ** 2).sum(1) if len(values) else np.empty(0)
        return _from_different_images(offsets, rows[np.argsort(-squared, kind="stable")], count)
    return _from_different_images(offsets, rows[np.argsort(probability[rows], kind="stable")], count)


def _from_different_images(offsets: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return the first rows, with no two of the same image while there are others."""
    image = np.searchsorted(offsets, rows, side="right") - 1
    first = np.sort(np.unique(image, return_index=True)[1])[:count]
    remaining = np.setdiff1d(np.arange(len(rows)), first, assume_unique=True)[: count - len(first)]
    return rows[np.concatenate([first, remaining])]
