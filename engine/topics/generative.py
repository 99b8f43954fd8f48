"""Draw corpora from the prior of the infinite-word topic model, by seating or by stick breaking (methods note 1)."""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.distributions import SphericalGaussian
from benthoscope.engine.problems import unknown

FORMS = ("seating", "sticks")
REMAINDER = 1e-6  # of a broken stick, which is given to its last piece


@dataclass(frozen=True)
class DrawnCorpus:
    descriptors: np.ndarray  # (rows, D)
    image_of_descriptor: np.ndarray  # (rows,)
    topics: np.ndarray  # (rows,)
    clusters: np.ndarray  # (rows,) numbered in the order of their first row
    topic_weights: np.ndarray  # (N, T)
    means: np.ndarray  # (C, D)
    deviations: np.ndarray  # (C,)


def draw_corpus(
    n_images: int,
    descriptors_per_image: int,
    alpha: np.ndarray,
    base: SphericalGaussian,
    rng: np.random.Generator,
    *,
    topic_concentration: float = 1.0,
    concentration: float = 10.0,
    form: str = "seating",
) -> DrawnCorpus:
    """Draw images from the prior. `alpha` (T,) is the Dirichlet of topic weights, `base` (K = 1) the prior of clusters.
    Both forms have the same distribution."""
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    weights = rng.dirichlet(alpha, n_images)
    image = np.repeat(np.arange(n_images), descriptors_per_image)
    topics = np.concatenate([rng.choice(len(alpha), descriptors_per_image, p=each) for each in weights])
    draw = _seated if form == "seating" else _by_sticks
    cluster_numbers = draw(topics, topic_concentration, concentration, rng)
    _, first, numbers = np.unique(cluster_numbers, return_index=True, return_inverse=True)
    clusters = np.argsort(np.argsort(first))[numbers]
    means, deviations = _parameters(len(first), base, rng)
    noise = rng.standard_normal((len(image), base.n_features))
    X = means[clusters] + noise * deviations[clusters, None]
    return DrawnCorpus(X, image, topics, clusters, weights, means, deviations)


def _parameters(count: int, base: SphericalGaussian, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    precision = rng.gamma(base.shape[0], 1 / base.rate[0], count)
    noise = rng.standard_normal((count, base.n_features))
    means = base.mean[0] + noise / np.sqrt(base.strength[0] * precision)[:, None]
    return means, 1 / np.sqrt(precision)


def _seated(topics: np.ndarray, of_topics: float, of_clusters: float, rng: np.random.Generator) -> np.ndarray:
    """Return the cluster of each descriptor: a table of its topic, and the cluster of the table."""
    tables: dict[int, list[list[int]]] = {}  # topic -> [count, cluster] of each table
    served: list[int] = []  # tables of each cluster
    out = np.empty(len(topics), np.int64)
    for i, topic in enumerate(topics.tolist()):
        tables_of_topic = tables.setdefault(topic, [])
        at = _choice([count for count, _ in tables_of_topic], of_topics, rng)
        if at == len(tables_of_topic):
            cluster = _choice(served, of_clusters, rng)
            if cluster == len(served):
                served.append(0)
            served[cluster] += 1
            tables_of_topic.append([0, cluster])
        tables_of_topic[at][0] += 1
        out[i] = tables_of_topic[at][1]
    return out


def _choice(counts: list[int], concentration: float, rng: np.random.Generator) -> int:
    """Return a position with probability proportional to its count, or the next free one."""
    upto = np.cumsum([*counts, concentration])
    return int(np.searchsorted(upto, rng.random() * upto[-1], side="right"))


def _by_sticks(topics: np.ndarray, of_topics: float, of_clusters: float, rng: np.random.Generator) -> np.ndarray:
    """Return the cluster of each descriptor: an atom of its topic, and the cluster of the atom."""
    master = _sticks(of_clusters, rng)
    out = np.empty(len(topics), np.int64)
    for topic in np.unique(topics):
        atoms = _sticks(of_topics, rng)
        cluster_of_atom = rng.choice(len(master), len(atoms), p=master)
        of_topic = topics == topic
        out[of_topic] = cluster_of_atom[rng.choice(len(atoms), of_topic.sum(), p=atoms)]
    return out


def _sticks(concentration: float, rng: np.random.Generator) -> np.ndarray:
    pieces, remainder = [], 1.0
    while remainder > REMAINDER:
        share = rng.beta(1, concentration)
        pieces.append(remainder * share)
        remainder *= 1 - share
    pieces[-1] += remainder
    return np.array(pieces) / np.sum(pieces)
