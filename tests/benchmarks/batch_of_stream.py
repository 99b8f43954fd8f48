"""Fits of all rows at once, under the prior of a stream, to compare the stream with.

The greedy search from one cluster fits every split to all rows: on 60,000 x 50 it does not end within 17 minutes. A fit
from given clusters is the same model with the same bound and needs only its iterations. Clusters that become empty
are dropped, so a start with too many clusters finds their number.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from benthoscope.engine.mixtures.inference import Fit, StoppingRule, settle
from benthoscope.engine.mixtures.model import Statistics
from benthoscope.engine.streaming import MemoryBoundedVDP
from benthoscope.engine.streaming.units import UnitRows, Units

RULE = StoppingRule(1e-4, 40)  # nats per row, iterations between two removals of empty clusters


@dataclass(frozen=True, eq=False)
class BatchFit:
    """A fit of all rows in the frame of a stream."""

    stream: MemoryBoundedVDP
    fit: Fit
    lower_bound_: float

    @property
    def n_clusters_(self) -> int:
        return self.fit.n_clusters

    def predict(self, X: np.ndarray) -> np.ndarray:
        rows = _units(self.stream, X)
        return np.concatenate([owned.argmax(0) for _, owned in rows.owned_blocks(self.fit.scorer)])


def from_too_many(stream: MemoryBoundedVDP, X: np.ndarray, clusters: int) -> BatchFit:
    """Fit all rows from the clusters of k-means."""
    labels = MiniBatchKMeans(clusters, random_state=0, n_init=3).fit_predict(X)
    return _fitted(stream, X, _statistics(_units(stream, X), labels, clusters))


def from_stream(stream: MemoryBoundedVDP, X: np.ndarray) -> BatchFit:
    """Fit all rows from the clusters of the stream: the best that the stream could become without its bounded
    memory."""
    return _fitted(stream, X, _units(stream, X).sweep(stream.mixture_.scorer()))


def _fitted(stream: MemoryBoundedVDP, X: np.ndarray, start: Statistics) -> BatchFit:
    state = stream.state_
    assert state is not None  # the stream has learned
    fit, _ = settle(state.model, _units(stream, X), start, RULE)
    return BatchFit(stream, fit, fit.bound - X.size * float(np.log(state.frame.scale)))


def _units(stream: MemoryBoundedVDP, X: np.ndarray) -> UnitRows:
    state = stream.state_
    assert state is not None  # the stream has learned
    return UnitRows(Units.of_rows(state.model.clusters, (X - state.frame.origin) / state.frame.scale))


def _statistics(rows: UnitRows, labels: np.ndarray, clusters: int) -> Statistics:
    """Return the statistics of rows that belong to one cluster each."""
    moments = np.zeros((clusters, rows.units.kind.n_statistics))
    for block, averages in rows.blocks():
        owned = np.arange(clusters)[:, None] == labels[block]
        moments += owned @ averages
    return Statistics(moments[:, 0][None].copy(), moments, rows.sizes)
