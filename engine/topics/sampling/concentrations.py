"""Updates of the hyper-parameters of the Gibbs sampler (methods note 2.6)."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import gammaln, psi

BOUND = 7.0  # alpha stays between exp(-7) and exp(7)
SMALL_CLASS = 5  # documents, below which the alpha of a class stays as it is
PRIOR_RATE = 0.1  # of an exponential prior, because few documents drive the maximum to the bound


def log_evidence_of_topics(counts: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return log p(topics | alpha) of each document, with its weights integrated out. counts (N, T), alpha (T,)."""
    total, sizes = alpha.sum(), counts.sum(1)
    return gammaln(total) - gammaln(total + sizes) + (gammaln(alpha + counts) - gammaln(alpha)).sum(1)


def best_alpha(counts: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the alpha (T,) with the largest posterior for the documents (N, T) of a class."""
    if len(counts) < SMALL_CLASS:
        return alpha
    sizes = counts.sum(1)

    def cost(log_alpha: np.ndarray) -> tuple[float, np.ndarray]:
        values = np.exp(log_alpha)
        total = values.sum()
        gain = (psi(total) - psi(total + sizes)).sum() + (psi(values + counts) - psi(values)).sum(0) - PRIOR_RATE
        return PRIOR_RATE * total - log_evidence_of_topics(counts, values).sum(), -gain * values

    start = np.clip(np.log(alpha), -BOUND, BOUND)
    best = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(-BOUND, BOUND)] * len(alpha))
    return np.exp(best.x)


def best_concentration(tables: np.ndarray, sizes: np.ndarray) -> float:
    """Return the concentration of topics under which these tables (T,) are most likely for descriptors (T,)."""

    def cost(log_value: float) -> float:
        value = np.exp(log_value)
        return -float((tables * log_value + gammaln(value) - gammaln(value + sizes)).sum())

    return float(np.exp(minimize_scalar(cost, bounds=(-BOUND, BOUND), method="bounded").x))


def sampled_concentration(
    value: float, tables: int, sizes: np.ndarray, rng: np.random.Generator, shape: float = 1.0, rate: float = 0.1
) -> float:
    """Draw a concentration from its posterior under a Gamma(shape, rate) prior, by auxiliary variables."""
    sizes = sizes[sizes > 0]
    w = rng.beta(value + 1, sizes)
    s = rng.random(len(sizes)) < sizes / (sizes + value)
    return float(rng.gamma(shape + tables - s.sum(), 1 / (rate - np.log(w).sum())))
