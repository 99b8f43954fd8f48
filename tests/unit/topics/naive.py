"""The formulas of the topic model written plainly, to compare the implementation with."""

import numpy as np
from scipy.special import gammaln, logsumexp, psi


def document(x: np.ndarray, state, rounds: int):
    """The document step with an array over descriptors, topics and atoms (methods note 3.3, the plain form)."""
    c, prior = state.clusters, state.prior
    D, T = x.shape[1], prior.n_topics
    precision, log_precision = c.shape / c.rate, psi(c.shape) - np.log(c.rate)
    squared = ((x[:, None] - c.mean[None]) ** 2).sum(2)
    e = D / 2 * (log_precision - np.log(2 * np.pi) - 1 / c.strength) - 0.5 * precision * squared
    L = e @ state.mapping.T
    at = np.full(T, prior.alpha + len(x) / T)
    for _ in range(rounds):
        log_theta = psi(at) - psi(at.sum())
        log_q = log_theta[None, :, None] + state.atoms.expected_log[None] + L[:, None, :]
        log_q -= logsumexp(log_q, axis=(1, 2), keepdims=True)
        q = np.exp(log_q)
        before, at = at, prior.alpha + q.sum((0, 2))
        if np.abs(at - before).mean() < 1e-4 * max(1.0, len(x) / 100):
            break
    r = q.sum(1)
    entropy = -(q * np.maximum(log_q, -1e4)).sum()
    return at - prior.alpha, q.sum(2), q.sum(0), r, entropy


def log_marginal(X: np.ndarray, base) -> float:
    """The log marginal of the data of one cluster, for a prior with mean m (methods note 2.1)."""
    n, D = X.shape
    m, beta0, shape, rate = base.mean[0], base.strength[0], base.shape[0], base.rate[0]
    mean = X.mean(0)
    spread = ((X - mean) ** 2).sum() + beta0 * n / (beta0 + n) * ((mean - m) ** 2).sum()
    a, r = shape + n * D / 2, rate + spread / 2
    of_mean = D / 2 * (np.log(beta0) - np.log(beta0 + n) - n * np.log(2 * np.pi))
    return float(of_mean + shape * np.log(rate) - gammaln(shape) + gammaln(a) - a * np.log(r))
