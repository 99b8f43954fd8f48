"""A Dirichlet process mixture that learns from a stream in bounded memory (Gomes, Welling and Perona, MB-VDP)."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from benthoscope.engine.compute import Compute
from benthoscope.engine.distributions import NestedSticks, WeightsPrior
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.fitted import FittedMixture
from benthoscope.engine.mixtures.inference import StoppingRule
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress
from benthoscope.engine.streaming.building import Search
from benthoscope.engine.streaming.families import family_named
from benthoscope.engine.streaming.identity import first_identities
from benthoscope.engine.streaming.learning import StreamSettings, StreamState, budget_of, first_state, learn
from benthoscope.engine.streaming.recent_rows import left_out_densities
from benthoscope.engine.streaming.reprojection import mapped_state
from benthoscope.engine.streaming.rounds import rows_together
from benthoscope.engine.streaming.snapshot import Novelty, StreamSnapshot
from benthoscope.engine.streaming.stored_state import state_from_arrays, state_to_arrays
from benthoscope.engine.streaming.stream_estimator import BLOCK, StreamEstimator
from benthoscope.engine.streaming.units import UnitRows

LEVEL = 0.01  # rows less dense than all but this share of the recent rows are novel


class MemoryBoundedVDP(StreamEstimator[StreamState]):
    """Variational Dirichlet process for a stream: constant memory, and constant time per row, for ever.

    Rows arrive in epochs. A round fits the mixture to everything in memory, then merges rows that any clustering would
    keep together into clumps, and drops the rows. The clusters are nearly those of a fit to all rows at the same time.

    Parameters
    ----------
    memory : int
        Budget for the memory, as a number of rows: `memory` x D stored numbers. A clump takes as much as about
        D / 2 rows if `observation` is "full", and as two rows otherwise. It should have room for two clumps of each
        cluster.
    epoch : int
        Rows of a round. With `memory` it sets the working set.
    horizon : int or None
        Number of rows the stream is expected to have. Compression looks ahead to it. None expects twice as many as
        there are, in steps.
    observation : {"full", "diagonal", "discrete"}
        Distribution of a cluster: a Gaussian with a full or diagonal covariance, or frequencies of words.
    width : float
        Expected variance of a cluster, as a fraction of the variance of the first rows along their principal axis. For
        discrete rows: the prior count of each word.
    concentration : float
        Larger values expect more clusters.
    prior_rows : int
        Number of first rows that set the prior. It then stays fixed.
    restart_every : int or None
        The model is built from one cluster again every so many rounds. None continues from the last round.
    smallest_part : int
        In a compression, no group with fewer rows than this is split off. 0 means no limit.
    tries : int
        Number of splits that are fitted in full before a round stops.
    max_clusters : int or None
        Upper limit for the number of clusters; None means no limit.
    recent : int
        Number of recent rows that `novelty` compares with. Their values are stored besides the memory.
    gather : int or None
        Up to this many similar rows enter a round as one clump, so that a round of many rows costs little. 1 means rows
        enter singly. None gathers 32 rows in a `fit` of 200,000 rows or more; in other cases rows enter singly. The
        first 20,000 rows always do. When a `fit` gathers rows, its rounds grow with the stream to 80,000 rows.
    lineage : bool
        Whether the clump of every row is stored (4 bytes per row), so that `clusters_of` needs no rows.
    tol : float
        A fit stops, and a split is accepted, at this gain of the bound in nats per row.

    Attributes
    ----------
    snapshot_ : StreamSnapshot
        The result of the last round: clusters, lasting numbers, events, memory.
    cluster_ids_ : ndarray (K,)
        Lasting number of each cluster. A cluster keeps its number while the stream goes on.
    n_rows_seen_, n_rounds_ : int
    n_clusters_, clusters_, prior_, weights_, lower_bound_, lower_bound_history_
        As in the other mixtures. The history has one entry per round.
    labels_ : ndarray (N,)
        Cluster of each row; only after `fit`.
    """

    def __init__(
        self,
        *,
        memory=4000,
        epoch=2000,
        horizon=None,
        observation="full",
        width=0.1,
        concentration=1.0,
        prior_rows=1000,
        restart_every=None,
        smallest_part=0,
        tries=3,
        max_clusters=None,
        recent=1000,
        gather=None,
        lineage=True,
        tol=1e-7,
        max_iter=1000,
        random_state=None,
    ):
        self.memory, self.epoch, self.horizon = memory, epoch, horizon
        self.observation, self.width, self.concentration = observation, width, concentration
        self.prior_rows, self.restart_every, self.smallest_part = prior_rows, restart_every, smallest_part
        self.tries, self.max_clusters, self.recent, self.lineage = tries, max_clusters, recent, lineage
        self.gather = gather
        self.tol, self.max_iter, self.random_state = tol, max_iter, random_state

    @property
    def snapshot_(self) -> StreamSnapshot:
        """The result of the last round. The object never changes."""
        return self._state_for("snapshot_").published

    def predict_ids(self, X: Any) -> np.ndarray:
        """Return the lasting number of the cluster of each row (n,)."""
        return self.cluster_ids_[self.predict(X)]

    def score_samples(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> np.ndarray:
        """Return the log density of each row (n,), with the parameters integrated out and with the clusters that no row
        has shown yet."""
        return self._log_densities(X)[0]

    def log_predictive(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the same as `score_samples`."""
        return self.score_samples(X)

    def novelty(self, X: Any, level: float = LEVEL) -> Novelty:
        """Return how unusual the rows are. Rows less dense than all but `level` of the recent rows are novel."""
        densities, unseen = self._log_densities(X)
        recent = np.sort(self._state_for("novelty").scores) + self._density_offset
        percentile = np.searchsorted(recent, densities) / max(len(recent), 1)
        return Novelty(percentile, np.exp(unseen - densities), percentile < level, densities)

    def score_left_out(self, X: Any) -> np.ndarray:
        """Return the log density of rows that the model has learned (n,), as if it had not learned each of them."""
        blocks = [left_out_densities(self.snapshot_, rows) for rows in self._scaled(X)]
        return np.concatenate(blocks) + self._density_offset

    def clusters_of(self, ids: Any = None) -> np.ndarray:
        """Return the present cluster (n,) of rows seen before, by their clumps and without their values: of the rows
        with these ids, or of all learned rows."""
        units = self.units_of(ids)
        return self._unit_probabilities().argmax(1)[units]

    def units_of(self, ids: Any = None) -> np.ndarray:
        """Return the unit in memory (n,) that each row belongs to, as a position in `unit_sizes_`."""
        self._check_fitted()
        lineage = self._state_for("units_of").lineage
        if lineage.row_clump is None:
            raise fail("lineage", "was not stored", "create the model with lineage=True")
        return lineage.units_of(self._row_numbers(ids))

    @property
    def unit_sizes_(self) -> np.ndarray:
        """Number of rows of each unit in memory (U,)."""
        return self._state_for("unit_sizes_").units.weights

    def unit_probabilities(self) -> np.ndarray:
        """Return the probability of each cluster for each unit in memory (U, K)."""
        self._check_fitted()
        return self._unit_probabilities()

    def transform_units(self, A: np.ndarray, b: np.ndarray | float = 0.0) -> Self:
        """Map the memory to new features y = A x + b, as if the rows had been mapped before. The clusters are fitted
        again in the next round; until then they are those of the mapped memory."""
        self._check_fitted()
        state = self._state_for("transform_units")
        self.state_ = mapped_state(state, self._settings(self.horizon), np.asarray(A, float), b)
        self.n_features_in_ = len(self.state_.frame.origin)
        self.waiting_ = self.waiting_ @ np.asarray(A, float).T + b
        self._publish()
        return self

    def predictor(self) -> Self:
        """Return a model that predicts as this one does now. Later rounds do not change it. It shares the arrays of
        this model and does not know the rows seen before."""
        self._check_fitted()
        fixed = copy(self)
        state = self._state_for("predictor")
        fixed.state_ = replace(state, lineage=state.lineage.without_tables())
        fixed.lower_bound_history_ = list(self.lower_bound_history_)
        return fixed

    # --- inside

    def _weights_prior(self) -> WeightsPrior:
        return NestedSticks(self.concentration)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checking.positive("concentration", self.concentration)
        checking.positive("recent", self.recent, integer=True)
        if self.gather is not None:
            checking.positive("gather", self.gather, integer=True)
        if self.restart_every is not None:
            checking.positive("restart_every", self.restart_every, integer=True)

    def _settings(self, horizon: int | None, gather: int = 1) -> StreamSettings:
        rule = StoppingRule(self.tol, self.max_iter)
        return StreamSettings(
            family_named(self.observation),
            self.width,
            self.concentration,
            Search(rule, self.tries, self.max_clusters),
            self.epoch,
            self.memory,
            horizon,
            self.prior_rows,
            self.restart_every,
            self.smallest_part,
            self.recent,
            gather,
        )

    def _learn(self, rows: np.ndarray, documents: np.ndarray | None, report: OnStep, progress: Progress) -> StreamState:
        together = rows_together(self, progress.done, progress.total)
        settings = self._settings(self.horizon or self._expected, together)  # the horizon may change between rounds
        state = first_state(settings, rows, self.lineage) if self.state_ is None else self.state_
        budget = budget_of(settings, state.model.clusters)
        self._check_budget(budget.values, budget.clump)
        return learn(state, rows, settings, lambda: report(progress))

    def _publish(self) -> None:
        snapshot = self.snapshot_
        self._show(snapshot.mixture, np.zeros(1, int))
        self.cluster_ids_ = snapshot.cluster_ids
        self.n_rows_seen_, self.n_rounds_ = snapshot.rows, snapshot.number
        self._note_budget(snapshot.budget_binds)

    def _figures(self) -> Mapping[str, Any]:
        return self.snapshot_.memory

    def _stored_state(self) -> dict[str, Any]:
        return state_to_arrays(self._state_for("save"))

    def _restored_state(self, stored: Mapping[str, Any]) -> StreamState:
        return state_from_arrays(stored, self._settings(self._expected))

    @property
    def _density_offset(self) -> float:
        """The difference of a log density in units of the rows from one in units of the frame."""
        return -self.n_features_in_ * float(np.log(self.mixture_.frame.scale))

    def _log_densities(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        snapshot = self.snapshot_ if getattr(self, "state_", None) is not None else _stored_snapshot(self.mixture_)
        blocks = [snapshot.log_densities(rows) for rows in self._scaled(X)]
        densities, unseen = (np.concatenate(values) for values in zip(*blocks, strict=True))
        return densities + self._density_offset, unseen + self._density_offset

    def _scaled(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the rows in units of the frame, in blocks."""
        data, _ = self._observed(X, None, None)
        for chunk in data.chunks:
            rows = (np.asarray(chunk.read(), float) - data.frame.origin) / data.frame.scale
            yield from (rows[at : at + BLOCK] for at in range(0, len(rows), BLOCK))

    def _unit_probabilities(self) -> np.ndarray:
        return UnitRows(self._state_for("unit_probabilities").units).responsibilities(self.mixture_.scorer()).T

    def _names(self, ids: Any, count: int) -> np.ndarray | None:
        """Return the ids of new rows. Either all rows of a stream have ids or none has."""
        has_rows = getattr(self, "state_", None) is not None or len(getattr(self, "waiting_", ())) > 0
        if has_rows and (ids is None) != (self.ids_ is None):
            raise fail("ids", "were given for some rows only", "give ids in every call, or in none")
        if ids is None:
            return None
        names = np.asarray(ids)
        if names.shape != (count,):
            raise fail("ids", f"has shape {names.shape} for {count} rows of X", "give one id per row")
        return names

    def _row_numbers(self, ids: Any) -> np.ndarray:
        if ids is None:
            return np.arange(self.n_rows_seen_)
        if self.ids_ is None:
            rows = np.asarray(ids, np.int64)
            if rows.size and (rows.min() < 0 or rows.max() >= self.n_rows_seen_):
                raise fail("ids", f"there are rows 0 to {self.n_rows_seen_ - 1}")
            return rows
        known = self.ids_[: self.n_rows_seen_]
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known, np.asarray(ids), sorter=order), len(known) - 1)
        rows = order[at]
        unknown_ids = np.asarray(ids)[known[rows] != np.asarray(ids)]
        if len(unknown_ids):
            raise fail("ids", f"no row with the id '{unknown_ids[0]}' was learned")
        return rows


def _stored_snapshot(mixture: FittedMixture) -> StreamSnapshot:
    """Return the snapshot of a model that was stored without its memory."""
    sizes = mixture.statistics.owned
    return StreamSnapshot(1, round(float(sizes.sum())), mixture, first_identities(sizes), {}, False)
