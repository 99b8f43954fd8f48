"""The prior and the variational parameters of the infinite-word topic model (methods note 1 and 3.1).

A topic is a distribution over atoms; an atom maps to a cluster; clusters are spherical Gaussians that all topics share.
Topics have their own weights of the atoms, and the same mapping. T topics, K atoms, C clusters, D columns, F = D + 2
sufficient statistics.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benthoscope.engine.distributions import Dirichlet, NestedSticks, SphericalGaussian, TruncatedSticks, Weights
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.topics.sparse_mapping import counting_entries, normalised, towards

LEAST_LOG = -800.0  # floor of the log of the mapping; from minus infinity, an entry could never recover
OWN_WEIGHT = 0.9  # of the cluster that an atom starts with
CENTRES_AT_ONCE = 200  # rows of the mapping that are computed together: they fit in the cache
IN_USE = 1.0  # descriptors that a cluster or an atom in use owns
STICKS: dict[str, type[NestedSticks] | type[TruncatedSticks]] = {"free": NestedSticks, "fixed": TruncatedSticks}


@dataclass(frozen=True)
class TopicPrior:
    """`alpha` is the symmetric Dirichlet of topics in a document, `topic_concentration` that of atoms in a topic
    (alpha0 of the note), `concentration` that of the clusters (gamma). `mapping_draws` is kappa of the note: 1, or the
    number of topics for independent draws in each topic. With `last_stick` "fixed", the last stick gets the rest."""

    n_topics: int
    base: SphericalGaussian  # K = 1
    alpha: float
    topic_concentration: float = 1.0
    concentration: float = 10.0
    mapping_draws: float = 1.0
    last_stick: str = "free"

    @property
    def of_documents(self) -> Dirichlet:
        return Dirichlet(self.alpha)

    @property
    def of_atoms(self) -> NestedSticks | TruncatedSticks:
        return STICKS[self.last_stick](self.topic_concentration)

    @property
    def of_clusters(self) -> NestedSticks | TruncatedSticks:
        return STICKS[self.last_stick](self.concentration)


def topic_prior(n_topics: int, width: int, variance: float, shape_per_column: float, **settings) -> TopicPrior:
    """Return the prior around 0 with the expected precision 1 / variance. `shape_per_column` is chi1 / D of the note:
    the precision has the weight of twice this number of observations."""
    last_stick = settings.get("last_stick", "free")
    if last_stick not in STICKS:
        raise unknown("last_stick", last_stick, STICKS)
    strength = settings.pop("mean_strength", 1.0)
    base = SphericalGaussian.prior(np.zeros(width), variance, strength, shape_per_column * width)
    alpha = settings.pop("alpha", None)
    return TopicPrior(n_topics, base, 1.0 / n_topics if alpha is None else alpha, **settings)


@dataclass(frozen=True)
class TopicState:
    """All variational parameters except those of documents. `cluster_moments`, `atom_counts` and `cluster_counts` are
    pseudo-counts; posteriors follow from them."""

    prior: TopicPrior
    cluster_moments: np.ndarray  # (C, F)
    log_mapping: np.ndarray  # (K, C); rows of the mapping sum to 1
    atom_counts: np.ndarray  # (T, K) descriptors of each topic on each atom
    cluster_counts: np.ndarray  # (C,) mapping draws of each cluster
    clusters: SphericalGaussian = field(repr=False)
    links: csr_array = field(repr=False)  # (K, C) the entries of the mapping that count
    atoms: Weights = field(repr=False)  # of T topics
    master: Weights = field(repr=False)  # of 1 vector over clusters

    @classmethod
    def of(
        cls,
        prior: TopicPrior,
        cluster_moments: np.ndarray,
        log_mapping: np.ndarray,
        atom_counts: np.ndarray,
        cluster_counts: np.ndarray,
    ) -> "TopicState":
        """Return the state with all posteriors computed from the counts."""
        links = counting_entries(log_mapping)
        return cls(
            prior, cluster_moments, log_mapping, atom_counts, cluster_counts,
            prior.base.posterior(cluster_moments), links, prior.of_atoms.posterior(atom_counts),
            prior.of_clusters.posterior(cluster_counts[None]),
        )  # fmt: skip

    @property
    def n_topics(self) -> int:
        return self.prior.n_topics

    @property
    def n_clusters(self) -> int:
        return len(self.cluster_moments)

    @property
    def n_atoms(self) -> int:
        return len(self.log_mapping)

    def with_clusters(self, moments: np.ndarray) -> "TopicState":
        return replace(self, cluster_moments=moments, clusters=self.prior.base.posterior(moments))

    @property
    def mapping(self) -> np.ndarray:
        """Return the probability of each cluster for each atom (K, C)."""
        return self.links.toarray()

    def with_mapping(self, log_mapping: np.ndarray) -> "TopicState":
        """Return the state with rows of the mapping normalised."""
        log_mapping, links = normalised(log_mapping, LEAST_LOG)
        return replace(self, log_mapping=log_mapping, links=links)

    def with_mapping_towards(self, atom_moments: np.ndarray, rate: float) -> "TopicState":
        """Return the state after a step of length `rate` to the best mapping for moments of atoms (K, F)."""
        log_mapping, links = towards(
            self.log_mapping, atom_moments, self.clusters.coefficients(), self.master.expected_log[0],
            self.prior.mapping_draws, rate, LEAST_LOG,
        )  # fmt: skip
        return replace(self, log_mapping=log_mapping, links=links)

    def with_atoms(self, counts: np.ndarray) -> "TopicState":
        return replace(self, atom_counts=counts, atoms=self.prior.of_atoms.posterior(counts))

    def with_master(self) -> "TopicState":
        counts = self.prior.mapping_draws * self.links.sum(0)
        return replace(self, cluster_counts=counts, master=self.prior.of_clusters.posterior(counts[None]))

    @property
    def clusters_in_use(self) -> int:
        return int((self.cluster_moments[:, 0] > IN_USE).sum())

    @property
    def atoms_in_use(self) -> int:
        return int((self.atom_counts.sum(0) > IN_USE).sum())

    def topic_profiles(self) -> np.ndarray:
        """Return the distribution of each topic over the clusters (T, C)."""
        weights = self.atoms.mean / self.atoms.mean.sum(1, keepdims=True)
        return weights @ self.links.toarray()

    def arrays(self) -> dict[str, np.ndarray]:
        prior = {
            name: np.asarray(getattr(self.prior, name))
            for name in ("n_topics", "alpha", "topic_concentration", "concentration", "mapping_draws")
        }
        counts = {name: getattr(self, name) for name in _COUNTS}
        fixed = {"last_stick_fixed": np.asarray(self.prior.last_stick == "fixed")}
        return {
            **prior,
            **fixed,
            **{f"base_{name}": array for name, array in self.prior.base.arrays().items()},
            **counts,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "TopicState":
        """Rebuild a state from the result of `arrays`. Raises if the arrays do not fit together."""
        try:
            base = SphericalGaussian(
                **{name: np.array(arrays[f"base_{name}"]) for name in ("mean", "strength", "shape", "rate")}
            )
            prior = TopicPrior(
                int(arrays["n_topics"]), base, float(arrays["alpha"]), float(arrays["topic_concentration"]),
                float(arrays["concentration"]), float(arrays["mapping_draws"]),
                "fixed" if arrays["last_stick_fixed"] else "free",
            )  # fmt: skip
            moments, log_mapping, atom_counts, cluster_counts = (np.array(arrays[name]) for name in _COUNTS)
        except KeyError as error:
            raise fail("stored model", f"has no {error}", "train a new one") from error
        C, K = len(moments), len(log_mapping)
        fits = log_mapping.shape == (K, C) and atom_counts.shape == (prior.n_topics, K) and cluster_counts.shape == (C,)
        if not fits or moments.shape[1] != base.n_statistics:
            raise fail("stored model", "has arrays that do not fit together", "train a new one")
        return cls.of(prior, moments, log_mapping, atom_counts, cluster_counts)


_COUNTS = ("cluster_moments", "log_mapping", "atom_counts", "cluster_counts")


def initial_state(
    prior: TopicPrior,
    centres: np.ndarray,
    rng: np.random.Generator,
    atoms_per_cluster: int = 2,
    on_step: OnStep = ignore,
) -> TopicState:
    """Return the start around random descriptors (3.9). The random counts of atoms break the symmetry of topics."""
    C = len(centres)
    log_mapping = np.empty((atoms_per_cluster, C, C))
    squared, precision = (centres**2).sum(1), float(prior.base.precision[0])
    for at in range(0, C, CENTRES_AT_ONCE):
        on_step(Progress(at, C, "choosing the start"))
        block = slice(at, at + CENTRES_AT_ONCE)
        far = np.maximum(squared[block, None] + squared - 2 * centres[block] @ centres.T, 0)
        log_mapping[:, block] = _log_mapping_near(np.exp(-0.5 * precision * far), at)
    counts = rng.uniform(0, 0.1, (prior.n_topics, atoms_per_cluster * C))
    moments = prior.base.moments_about(centres)
    return TopicState.of(prior, moments, log_mapping.reshape(-1, C), counts, np.zeros(C))


def _log_mapping_near(near: np.ndarray, first: int) -> np.ndarray:
    """Return the log mapping of atoms (n, C) by how near their clusters are. Atom i starts with cluster first + i."""
    rows = (1 - OWN_WEIGHT) * near / near.sum(1, keepdims=True)
    rows[np.arange(len(rows)), first + np.arange(len(rows))] += OWN_WEIGHT
    return np.maximum(np.log(np.maximum(rows, 1e-300)), LEAST_LOG)
