"""Recent rows of a stream, scored as if the clusters had not learned them, to say how unusual a new row is.

Clusters fit the rows that they learned better than others. Scores from before a row was learned are not comparable
either: those of earlier rounds come from worse clusters. So the values of some recent rows are stored, and after each
round every one of them is scored with the present clusters, without its own part in them.
"""

import numpy as np
from scipy.special import logsumexp

from benthoscope.engine.distributions import Clusters
from benthoscope.engine.mixtures.model import Scorer
from benthoscope.engine.streaming.snapshot import TINY, StreamSnapshot

SPREAD = 10  # rounds over which the recent rows spread
TOGETHER = 64  # rows that are scored at the same time


def with_new(recent: np.ndarray, rows: np.ndarray, most: int) -> np.ndarray:
    """Return the recent rows (n, D) with evenly spaced new ones, without the oldest beyond `most`. Once there are so
    many, few are taken from each round, so that the rows spread over several rounds."""
    count = min(len(rows), max(most // SPREAD, most - len(recent), 1))
    chosen = np.linspace(0, len(rows) - 1, count).astype(int)
    return np.concatenate([recent, rows[chosen]])[-most:]


def left_out_densities(snapshot: StreamSnapshot, rows: np.ndarray) -> np.ndarray:
    """Return the log density of each row (n,), in units of the frame, as if it had not been learned: without its part
    in the cluster that is most likely for it."""
    scorer = snapshot.mixture.parameters.scorer(snapshot.mixture.prior)
    blocks = [_left_out(snapshot, scorer, rows[at : at + TOGETHER]) for at in range(0, len(rows), TOGETHER)]
    return np.concatenate(blocks) if blocks else np.empty(0)


def _left_out(snapshot: StreamSnapshot, scorer: Scorer, rows: np.ndarray) -> np.ndarray:
    mixture, each = snapshot.mixture, np.arange(len(rows))
    features = mixture.prior.features(np.ascontiguousarray(rows.T))
    joint = (scorer.coefficients @ features).T + scorer.log_weights
    share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))[:, : scorer.n_clusters]
    cluster = share.argmax(1)
    part = share[each, cluster]
    moments = mixture.statistics.moments[cluster] - part[:, None] * features.T
    owned = mixture.statistics.owned
    terms = np.log(np.maximum(snapshot.weights, TINY)) + mixture.parameters.clusters.log_predictive(rows)
    terms[each, cluster] = np.log(np.maximum(snapshot.weights[cluster], TINY))
    terms[each, cluster] += np.log(np.maximum(1.0 - part / np.maximum(owned[cluster], TINY), TINY))
    terms[each, cluster] += _own_densities(mixture.prior, moments, rows)
    terms -= np.log(np.maximum(1.0 - part / owned.sum(), TINY))[:, None]  # the weights of one row less sum to the same
    unseen = np.log(max(1.0 - float(snapshot.weights.sum()), TINY)) + mixture.prior.log_predictive(rows)[:, 0]
    return np.logaddexp(logsumexp(terms, axis=1), unseen)


def _own_densities(prior: Clusters, moments: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the log density of each row (n,) under the cluster with the moments (n, F) beside it. A cluster of which
    nothing remains has the density of the prior."""
    moments = np.where(moments[:, :1] > 0.0, moments, 0.0)
    try:
        densities = np.diagonal(prior.posterior(moments).log_predictive(rows))
    except np.linalg.LinAlgError:  # a row that was learned within a clump can have a larger part than the clump had
        if len(rows) == 1:
            return prior.log_predictive(rows)[:, 0]
        return np.concatenate([_own_densities(prior, moments[[at]], rows[[at]]) for at in range(len(rows))])
    return np.where(np.isfinite(densities), densities, prior.log_predictive(rows)[:, 0])
