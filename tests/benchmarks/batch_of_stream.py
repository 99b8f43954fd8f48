"""Fits of all rows at once, under the prior of a stream, to compare the stream with."""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.compute import InOrder, blas_threads
from benthoscope.engine.mixtures.bayesian import SEARCHES
from benthoscope.engine.mixtures.data import Observations
from benthoscope.engine.mixtures.fit_monitor import Course
from benthoscope.engine.mixtures.inference import Fit, StoppingRule, e_step, settle
from benthoscope.engine.mixtures.search.greedy import Task
from benthoscope.engine.mixtures.search.levels import in_levels
from benthoscope.engine.streaming import MemoryBoundedVDP
from benthoscope.engine.streaming.learning import StreamState

RULE = StoppingRule(1e-5, 100)  # nats per row, iterations between two removals of empty clusters
FIRST_ROWS = 10_000  # of the first sample of the search


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
        return _rows(self.stream, X).nearest(self.fit.scorer)[0]


def from_search(stream: MemoryBoundedVDP, X: np.ndarray, clusters: int) -> BatchFit:
    """Fit all rows with the search of the other mixtures: over-complete starts on samples, then splits and merges."""
    rows = _rows(stream, X)
    task = Task(_state(stream).model, rows, RULE, Course(len(X)), np.random.default_rng(0), clusters)
    with blas_threads(1):
        return _finished(stream, X, in_levels(SEARCHES["best"], task, FIRST_ROWS))


def from_stream(stream: MemoryBoundedVDP, X: np.ndarray) -> BatchFit:
    """Fit all rows from the clusters of the stream: the best that the stream could become without its bounded
    memory."""
    rows = _rows(stream, X)
    with blas_threads(1):
        fit, _ = settle(_state(stream).model, rows, rows.sweep(stream.mixture_.scorer()), RULE)
    return _finished(stream, X, fit)


def on_all_rows(stream: MemoryBoundedVDP, X: np.ndarray) -> BatchFit:
    """Return the clusters of the stream, without any change, with responsibilities of each row of its own."""
    with blas_threads(1):
        return _finished(stream, X, e_step(_state(stream).model, _rows(stream, X), stream.mixture_.parameters))


def _finished(stream: MemoryBoundedVDP, X: np.ndarray, fit: Fit) -> BatchFit:
    return BatchFit(stream, fit, fit.bound - X.size * float(np.log(_state(stream).frame.scale)))


def _rows(stream: MemoryBoundedVDP, X: np.ndarray) -> Observations:
    return Observations(X, np.zeros(len(X), np.int32), 1, _state(stream).frame, InOrder())


def _state(stream: MemoryBoundedVDP) -> StreamState:
    state = stream.state_
    assert state is not None  # the stream has learned
    return state
