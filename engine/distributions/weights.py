"""Priors of mixture weights: Dirichlet, generalised Dirichlet and stick breaking (methods note 3.1 to 3.3).

A prior maps counts (J, K), the number of observations of each of J groups in each of K clusters, to the posterior of J
weight vectors. Sticks are broken in descending order of the counts of each vector; results are in cluster order.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import betaln, gammaln, psi


@dataclass(frozen=True)
class Weights:
    """Posterior of J weight vectors over K clusters."""

    expected_log: np.ndarray  # (J, K)  E[log pi]
    mean: np.ndarray  # (J, K)  E[pi]
    kl: np.ndarray  # (J,)    KL(posterior || prior)
    order: np.ndarray | None = None  # (J, K)  cluster of each stick, if there are sticks
    beyond: np.ndarray | None = None  # (J,)   log weight of all clusters beyond K, if labels may belong to them
    owners: np.ndarray | None = None  # (J, T)  ownership of J images by T image clusters, if groups are images


class WeightsPrior(Protocol):
    """A prior of weight vectors. `sizes` (J,) are the observations of each group; the K clusters may own only a part of
    them."""

    def posterior(
        self, counts: np.ndarray, sizes: np.ndarray | None = None, before: Weights | None = None
    ) -> Weights: ...

    def log_evidence(self, counts: np.ndarray) -> np.ndarray:
        """Return the part of the lower bound (J,) from the optimal weights for these counts: counts @ E[log pi] - KL.
        For these priors, it is the log of a ratio of normalisers."""
        ...


@runtime_checkable
class MergingPrior(WeightsPrior, Protocol):
    """A prior of weight vectors for a search that merges clusters."""

    def join_gains(self, counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the change of the evidence, summed over groups, by each merge of two clusters (P,). For sticks it is
        an estimate: the sticks between the two clusters count as unchanged."""
        ...


def log_evidence(prior: WeightsPrior, counts: np.ndarray) -> np.ndarray:
    return prior.log_evidence(counts)


@dataclass(frozen=True)
class Dirichlet:
    """Dirichlet with `concentration` pseudo-counts: one number for all clusters, or one of each cluster (K,)."""

    concentration: float | np.ndarray = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        alpha = self.concentration + counts
        total, K = alpha.sum(1), counts.shape[1]
        expected_log = psi(alpha) - psi(total)[:, None]
        norm = gammaln(total) - self._log_gamma_of_total(K) + self._sum_of_log_gammas(K)
        kl = norm - gammaln(alpha).sum(1) + (counts * expected_log).sum(1)
        return Weights(expected_log, alpha / total[:, None], kl)

    def log_evidence(self, counts: np.ndarray) -> np.ndarray:
        alpha, K = self.concentration + counts, counts.shape[1]
        of_clusters = (gammaln(alpha) - gammaln(self.concentration)).sum(1)
        return of_clusters - gammaln(alpha.sum(1)) + self._log_gamma_of_total(K)

    def _log_gamma_of_total(self, K: int) -> float:
        return gammaln(K * self.concentration if np.ndim(self.concentration) == 0 else np.sum(self.concentration))

    def _sum_of_log_gammas(self, K: int) -> float:
        if np.ndim(self.concentration) == 0:
            return K * gammaln(self.concentration)
        return gammaln(self.concentration).sum()

    def join_gains(self, counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        K, a, sizes = counts.shape[1], float(self.concentration), counts.sum(1)
        fewer = gammaln(sizes + K * a) - gammaln(sizes + (K - 1) * a) + gammaln((K - 1) * a) - gammaln(K * a)
        return _gains_of_shapes(counts, first, second, a) + fewer.sum()


@dataclass(frozen=True)
class Sticks:
    """Posterior Beta(a, b) of the sticks (J, K), in stick order, and their prior Beta(a0, b0)."""

    a: np.ndarray
    b: np.ndarray
    a0: float
    b0: float

    @cached_property
    def log_taken(self) -> np.ndarray:
        return psi(self.a) - self._log_total

    @cached_property
    def log_left(self) -> np.ndarray:
        return psi(self.b) - self._log_total

    @cached_property
    def _log_total(self) -> np.ndarray:
        return psi(self.a + self.b)

    def kl(self) -> np.ndarray:
        """Return KL(posterior || prior) of each stick (J, K)."""
        moved = (self.a - self.a0) * self.log_taken + (self.b - self.b0) * self.log_left
        return moved - betaln(self.a, self.b) + betaln(self.a0, self.b0)


def _sticks(counts: np.ndarray, order: np.ndarray, a: float, b: float, beyond: np.ndarray) -> Sticks:
    ranked = counts[_rows(order), order]
    from_here = ranked[:, ::-1].cumsum(1)[:, ::-1]
    return Sticks(a + ranked, b + np.maximum(from_here - ranked, 0.0) + beyond[:, None], a, b)


def _evidence_of_sticks(counts: np.ndarray, a: float, b: float, last: bool) -> np.ndarray:
    """Return the evidence (J,) of Beta(a, b) sticks in descending order. Without `last`, the last stick gets
    the rest."""
    ranked = -np.sort(-counts, axis=1)
    later = np.maximum(ranked[:, ::-1].cumsum(1)[:, ::-1] - ranked, 0.0)
    if not last:
        ranked, later = ranked[:, :-1], later[:, :-1]
    return (betaln(a + ranked, b + later) - betaln(a, b)).sum(1)


def _gains_of_shapes(counts: np.ndarray, first: np.ndarray, second: np.ndarray, a: float) -> np.ndarray:
    """Return the sum over groups of log Gamma(a + n) after a merge, less those of the two clusters (P,)."""
    alone = gammaln(a + counts).sum(0)
    merged = gammaln(a + counts[:, first] + counts[:, second]).sum(0)
    return merged - alone[first] - alone[second] + len(counts) * gammaln(a)


def _join_gains_of_sticks(counts: np.ndarray, first: np.ndarray, second: np.ndarray, a: float, b: float) -> np.ndarray:
    """Return the gains of merges (P,) if only the stick of the smaller cluster disappears."""
    order = _descending(counts)
    ranked = counts[_rows(order), order]
    from_here = _in_cluster_order(ranked[:, ::-1].cumsum(1)[:, ::-1], order)
    removed = gammaln(a + b + from_here) - gammaln(b + from_here) - gammaln(a + b) + gammaln(b)
    smaller = np.minimum(removed[:, first], removed[:, second]).sum(0)
    return _gains_of_shapes(counts, first, second, a) + smaller


def _after(log_left: np.ndarray, start: float) -> np.ndarray:
    """Shift values by one stick: stick r gets what remains after the sticks before it."""
    return np.concatenate([np.full((len(log_left), 1), start), log_left[:, :-1]], axis=1)


def _in_cluster_order(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    back = np.empty_like(values)
    back[_rows(order), order] = values
    return back


def _rows(order: np.ndarray) -> np.ndarray:
    """Return row numbers that go with column numbers (J, K) in an index. For small arrays, this takes a third of the
    time of np.take_along_axis."""
    return np.arange(len(order))[:, None]


def _descending(counts: np.ndarray) -> np.ndarray:
    return np.argsort(-counts, axis=1, kind="stable")


@dataclass(frozen=True)
class GeneralisedDirichlet:
    """Beta(a, b) sticks. The last stick gets the rest."""

    a: float = 1.0
    b: float = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        if self.b > self.a and before is not None and before.order is not None and before.order.shape == counts.shape:
            return self._not_worse(counts, before.order)
        return self._ordered(counts, _descending(counts))

    def log_evidence(self, counts: np.ndarray) -> np.ndarray:
        return _evidence_of_sticks(counts, self.a, self.b, last=False)

    def join_gains(self, counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return _join_gains_of_sticks(counts, first, second, self.a, self.b)

    def _not_worse(self, counts: np.ndarray, order: np.ndarray) -> Weights:
        """Return weights in descending order, or in the former order of a group if its bound is higher. If b > a,
        descending order is not always optimal."""
        descending = _descending(counts)
        fresh, previous = self._ordered(counts, descending), self._ordered(counts, order)
        worth = [(counts * w.expected_log).sum(1) - w.kl for w in (fresh, previous)]
        best = np.where((worth[0] >= worth[1])[:, None], descending, order)
        return self._ordered(counts, best)

    def _ordered(self, counts: np.ndarray, order: np.ndarray) -> Weights:
        sticks = _sticks(counts, order, self.a, self.b, np.zeros(len(counts)))
        log_taken, share = sticks.log_taken.copy(), sticks.a / (sticks.a + sticks.b)
        log_taken[:, -1], share[:, -1] = 0.0, 1.0
        log_pi = log_taken + _after(sticks.log_left.cumsum(1), 0.0)
        pi = share * _after((1 - share).cumprod(1), 1.0)
        kl = sticks.kl()[:, :-1].sum(1)
        return Weights(_in_cluster_order(log_pi, order), _in_cluster_order(pi, order), kl, order)


@dataclass(frozen=True)
class NestedSticks:
    """Dirichlet process: Beta(1, concentration) for all K sticks. No label belongs to a cluster beyond K."""

    concentration: float = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        return self._free(counts, np.zeros(len(counts)))[0]

    def log_evidence(self, counts: np.ndarray) -> np.ndarray:
        return _evidence_of_sticks(counts, 1.0, self.concentration, last=True)

    def join_gains(self, counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return _join_gains_of_sticks(counts, first, second, 1.0, self.concentration)

    def _free(self, counts: np.ndarray, beyond: np.ndarray) -> tuple[Weights, Sticks]:
        order = _descending(counts)
        sticks = _sticks(counts, order, 1.0, self.concentration, beyond)
        share = sticks.a / (sticks.a + sticks.b)
        log_pi = sticks.log_taken + _after(sticks.log_left.cumsum(1), 0.0)
        pi = share * _after((1 - share).cumprod(1), 1.0)
        weights = Weights(_in_cluster_order(log_pi, order), _in_cluster_order(pi, order), sticks.kl().sum(1), order)
        return weights, sticks


@dataclass(frozen=True)
class TruncatedSticks:
    """Dirichlet process truncated at K: the last stick gets the rest."""

    concentration: float = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        return GeneralisedDirichlet(1.0, self.concentration).posterior(counts, sizes, before)

    def log_evidence(self, counts: np.ndarray) -> np.ndarray:
        return _evidence_of_sticks(counts, 1.0, self.concentration, last=False)

    def join_gains(self, counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return _join_gains_of_sticks(counts, first, second, 1.0, self.concentration)


@dataclass(frozen=True)
class TiedSticks:
    """Dirichlet process without truncation: clusters beyond K keep their priors, and labels may belong to them."""

    concentration: float = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        past = np.zeros(len(counts)) if sizes is None else np.maximum(sizes - counts.sum(1), 0.0)
        weights, sticks = NestedSticks(self.concentration)._free(counts, past)
        return Weights(weights.expected_log, weights.mean, weights.kl, weights.order, self._beyond(sticks))

    def log_evidence(self, counts: np.ndarray) -> np.ndarray:
        return _evidence_of_sticks(counts, 1.0, self.concentration, last=True)

    def join_gains(self, counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return _join_gains_of_sticks(counts, first, second, 1.0, self.concentration)

    def _beyond(self, sticks: Sticks) -> np.ndarray:
        """Return the log of the geometric series of exp E[log pi] over the sticks with prior parameters."""
        log_taken = psi(1.0) - psi(1.0 + self.concentration)
        log_left = psi(self.concentration) - psi(1.0 + self.concentration)
        return log_taken + sticks.log_left.sum(1) - np.log(-np.expm1(log_left))
