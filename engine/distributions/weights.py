"""Priors of mixture weights: Dirichlet, generalised Dirichlet and stick breaking (methods note 3.1 to 3.3).

A prior turns counts (J, K), how many observations of each of J groups each of K clusters owns, into the posterior
of J weight vectors. Sticks are broken in descending order of the counts of each vector; outputs are in cluster order.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import betaln, gammaln, psi


@dataclass(frozen=True)
class Weights:
    """What is believed of J weight vectors over K clusters."""

    expected_log: np.ndarray         # (J, K)  E[log pi]
    mean: np.ndarray                 # (J, K)  E[pi]
    kl: np.ndarray                   # (J,)    KL(posterior || prior)
    order: np.ndarray | None = None  # (J, K)  cluster on each stick, where there are sticks
    beyond: np.ndarray | None = None  # (J,)   log weight of all clusters past the K, where labels may reach them
    owners: np.ndarray | None = None  # (J, T)  what T image clusters own of each of J images, where they are groups


class WeightsPrior(Protocol):
    """`sizes` (J,) are the observations of each group, of which the K clusters may own only a part."""

    def posterior(self, counts: np.ndarray, sizes: np.ndarray | None = None, before: Weights | None = None) -> Weights:
        ...


def log_evidence(prior: WeightsPrior, counts: np.ndarray) -> np.ndarray:
    """What each group's weights add to the lower bound (J,) when they are at their best for these counts."""
    best = prior.posterior(counts)
    return (counts * best.expected_log).sum(1) - best.kl


@dataclass(frozen=True)
class Dirichlet:
    """Symmetric Dirichlet with `concentration` pseudo-counts in every cluster."""

    concentration: float = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        alpha = self.concentration + counts
        total, K = alpha.sum(1), counts.shape[1]
        expected_log = psi(alpha) - psi(total)[:, None]
        norm = gammaln(total) - gammaln(K * self.concentration) + K * gammaln(self.concentration)
        kl = norm - gammaln(alpha).sum(1) + (counts * expected_log).sum(1)
        return Weights(expected_log, alpha / total[:, None], kl)


@dataclass(frozen=True)
class Sticks:
    """Posterior Beta(a, b) of the sticks (J, K), in stick order, under the prior Beta(a0, b0) of each."""

    a: np.ndarray
    b: np.ndarray
    a0: float
    b0: float

    @cached_property
    def log_taken(self) -> np.ndarray:
        return psi(self.a) - psi(self.a + self.b)

    @cached_property
    def log_left(self) -> np.ndarray:
        return psi(self.b) - psi(self.a + self.b)

    def kl(self) -> np.ndarray:
        """KL(posterior || prior) of every stick (J, K)."""
        moved = (self.a - self.a0) * self.log_taken + (self.b - self.b0) * self.log_left
        return moved - betaln(self.a, self.b) + betaln(self.a0, self.b0)


def _sticks(counts: np.ndarray, order: np.ndarray, a: float, b: float, beyond: np.ndarray) -> Sticks:
    ranked = np.take_along_axis(counts, order, axis=1)
    from_here = ranked[:, ::-1].cumsum(1)[:, ::-1]
    return Sticks(a + ranked, b + np.maximum(from_here - ranked, 0.0) + beyond[:, None], a, b)


def _after(left: np.ndarray, start: float) -> np.ndarray:
    """Moves values one stick on: stick r gets what is left after the sticks before it."""
    return np.concatenate([np.full((len(left), 1), start), left[:, :-1]], axis=1)


def _in_cluster_order(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    back = np.empty_like(values)
    np.put_along_axis(back, order, values, axis=1)
    return back


def _descending(counts: np.ndarray) -> np.ndarray:
    return np.argsort(-counts, axis=1, kind="stable")


@dataclass(frozen=True)
class GeneralisedDirichlet:
    """Beta(a, b) sticks of which the last takes all that is left."""

    a: float = 1.0
    b: float = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        if self.b > self.a and before is not None and before.order is not None and before.order.shape == counts.shape:
            return self._not_worse(counts, before.order)
        return self._ordered(counts, _descending(counts))

    def _not_worse(self, counts: np.ndarray, order: np.ndarray) -> Weights:
        """Where b > a descending order need not be best: each group keeps its former order if that bounds higher."""
        fresh, kept = self._ordered(counts, _descending(counts)), self._ordered(counts, order)
        worth = [(counts * w.expected_log).sum(1) - w.kl for w in (fresh, kept)]
        best = np.where((worth[0] >= worth[1])[:, None], fresh.order, kept.order)
        return self._ordered(counts, best)

    def _ordered(self, counts: np.ndarray, order: np.ndarray) -> Weights:
        sticks = _sticks(counts, order, self.a, self.b, np.zeros(len(counts)))
        taken, share = sticks.log_taken.copy(), sticks.a / (sticks.a + sticks.b)
        taken[:, -1], share[:, -1] = 0.0, 1.0
        log_pi = taken + _after(sticks.log_left.cumsum(1), 0.0)
        pi = share * _after((1 - share).cumprod(1), 1.0)
        kl = sticks.kl()[:, :-1].sum(1)
        return Weights(_in_cluster_order(log_pi, order), _in_cluster_order(pi, order), kl, order)


@dataclass(frozen=True)
class NestedSticks:
    """The Dirichlet process's Beta(1, concentration) sticks, all K free; no label goes beyond the K-th."""

    concentration: float = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        return self._free(counts, np.zeros(len(counts)))[0]

    def _free(self, counts: np.ndarray, beyond: np.ndarray) -> tuple[Weights, Sticks]:
        order = _descending(counts)
        sticks = _sticks(counts, order, 1.0, self.concentration, beyond)
        share = sticks.a / (sticks.a + sticks.b)
        log_pi = sticks.log_taken + _after(sticks.log_left.cumsum(1), 0.0)
        pi = share * _after((1 - share).cumprod(1), 1.0)
        found = Weights(_in_cluster_order(log_pi, order), _in_cluster_order(pi, order), sticks.kl().sum(1), order)
        return found, sticks


@dataclass(frozen=True)
class TruncatedSticks:
    """The Dirichlet process cut off at K: the last stick takes all that is left."""

    concentration: float = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        return GeneralisedDirichlet(1.0, self.concentration).posterior(counts, sizes, before)


@dataclass(frozen=True)
class TiedSticks:
    """The Dirichlet process untruncated: clusters past the K keep their priors, and labels may reach them."""

    concentration: float = 1.0

    def posterior(self, counts, sizes=None, before=None) -> Weights:
        past = np.zeros(len(counts)) if sizes is None else np.maximum(sizes - counts.sum(1), 0.0)
        found, sticks = NestedSticks(self.concentration)._free(counts, past)
        return Weights(found.expected_log, found.mean, found.kl, found.order, self._beyond(sticks))

    def _beyond(self, sticks: Sticks) -> np.ndarray:
        """Log of the geometric series of exp E[log pi] over the sticks that still have their prior."""
        taken = psi(1.0) - psi(1.0 + self.concentration)
        left = psi(self.concentration) - psi(1.0 + self.concentration)
        return taken + sticks.log_left.sum(1) - np.log(-np.expm1(left))
