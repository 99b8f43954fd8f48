"""One round of a stream: build the model from the memory and the new rows, publish it, compress the memory.

A round takes a state and returns the next one. The given state stays valid, so an interrupted round loses nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.distributions import Clusters, NestedSticks
from benthoscope.engine.mixtures.data import Frame, Summary
from benthoscope.engine.mixtures.fitted import FittedMixture
from benthoscope.engine.mixtures.model import Model, Scorer, Statistics
from benthoscope.engine.streaming.building import Built, Search, build
from benthoscope.engine.streaming.compression import Budget, Compressed, MixtureDivision, compress
from benthoscope.engine.streaming.families import StreamFamily, first_prior, later_prior
from benthoscope.engine.streaming.gathering import gathered
from benthoscope.engine.streaming.identity import Identities, first_identities
from benthoscope.engine.streaming.lineage import Lineage
from benthoscope.engine.streaming.recent_rows import left_out_densities, with_new
from benthoscope.engine.streaming.snapshot import StreamSnapshot
from benthoscope.engine.streaming.units import UnitRows, Units

FIRST_HORIZON = 10  # epochs; the expected length of a stream of unknown length, before it doubles


@dataclass(frozen=True)
class StreamSettings:
    """The settings of a stream. They may change between rounds."""

    family: StreamFamily
    width: float
    concentration: float
    search: Search
    epoch: int
    memory: int  # rows whose values the units may take
    horizon: int | None  # rows that the stream is expected to have
    prior_rows: int
    restart_every: int | None
    smallest_part: int
    recent: int  # rows that are stored to compare new ones with
    gather: int = 1  # new rows that enter a round together, from the second round on


@dataclass(frozen=True, eq=False)
class StreamState:
    """The memory of a stream. All values are in units of the frame."""

    frame: Frame
    first_rows: Summary | None  # of the rows that set the prior, in units of the rows; None once the prior is final
    model: Model
    units: Units
    lineage: Lineage
    recent: np.ndarray  # values of recent rows (n, D)
    scores: np.ndarray  # log densities of recent rows, as if they had not been learned
    snapshot: StreamSnapshot | None = None

    @property
    def rows(self) -> int:
        return self.lineage.rows

    @property
    def published(self) -> StreamSnapshot:
        """Return the result of the last round; raises before the first round."""
        if self.snapshot is None:
            raise ValueError("a stream has a snapshot after its first round")
        return self.snapshot


def first_state(settings: StreamSettings, rows: np.ndarray, lineage: bool) -> StreamState:
    """Return the state before the first round, in a frame that suits the first rows."""
    frame, summary, prior = first_prior(settings, rows)
    empty = Units.of_rows(prior, np.empty((0, rows.shape[1])))
    model = Model(NestedSticks(settings.concentration), prior)
    return StreamState(frame, summary, model, empty, Lineage.begin(lineage), empty.points, np.empty(0))


def learn(state: StreamState, rows: np.ndarray, settings: StreamSettings, pulse: Callable[[], None]) -> StreamState:
    """Return the state after a round with new rows (n, D), in the units in which they came."""
    with blas_threads(1):
        state = _with_prior(state, rows, settings)
        scaled = rows - state.frame.origin
        scaled /= state.frame.scale
        old = _scorer_of(state)
        units, lineage = _with_rows(state, scaled, old, settings)
        data = UnitRows(units, pulse)
        built = build(state.model, data, _start(state, data, old, settings), settings.search)
        identities = _identities(state, data, built, old, _are_new(state.units, units))
        compressed, lineage = _compressed(state, data, built, lineage, settings, pulse)
        snapshot = _snapshot(state, built, identities, lineage, compressed, settings)
        recent = with_new(state.recent, scaled, settings.recent)
        scores = left_out_densities(snapshot, recent)
    units = compressed.units
    return replace(state, units=units, lineage=lineage, recent=recent, scores=scores, snapshot=snapshot)


def budget_of(settings: StreamSettings, kind: Clusters) -> Budget:
    return Budget(settings.memory * kind.n_features, kind.n_statistics, kind.n_features)


def expected_rows(horizon: int | None, epoch: int, rows: int) -> float:
    """Return the number of rows to which a compression looks ahead. A stream longer than expected is expected to become
    twice as long."""
    expected = horizon or FIRST_HORIZON * epoch
    while expected < rows or (expected == rows and not horizon):
        expected *= 2
    return expected


def _with_prior(state: StreamState, rows: np.ndarray, settings: StreamSettings) -> StreamState:
    """Return the state with the prior of the first rows. The first `prior_rows` rows decide it."""
    if state.first_rows is None:
        return state
    prior, first_rows = later_prior(settings, state.frame, state.first_rows, state.rows, rows)
    return replace(state, model=replace(state.model, clusters=prior), first_rows=first_rows)


def _scorer_of(state: StreamState) -> Scorer | None:
    return None if state.snapshot is None else state.snapshot.mixture.parameters.scorer(state.model.clusters)


def _start(state: StreamState, data: UnitRows, old: Scorer | None, settings: StreamSettings) -> Statistics | None:
    """Return the statistics of the former clusters for all units, or None to start with one cluster."""
    number = 1 if state.snapshot is None else state.snapshot.number + 1
    is_cold = settings.restart_every is not None and (number - 1) % settings.restart_every == 0
    return None if old is None or is_cold else data.sweep(old)


def _with_rows(
    state: StreamState, rows: np.ndarray, old: Scorer | None, settings: StreamSettings
) -> tuple[Units, Lineage]:
    """Return the units with new rows, gathered into clumps if the settings say so."""
    lineage = state.lineage.with_rows(len(rows))
    if old is None or settings.gather < 2:
        return state.units.with_rows(rows), lineage
    result = gathered(state.units, rows, old, settings.gather)
    return result.units, lineage.compressed(result)


def _are_new(before: Units, units: Units) -> np.ndarray:
    """Return whether each unit has new rows (U,). New rows and new clumps are the last ones of their kind."""
    points, clumps = np.arange(len(units.points)), np.arange(len(units.sums))
    return np.concatenate([points >= len(before.points), clumps >= len(before.sums)])


def _identities(state: StreamState, data: UnitRows, built: Built, old: Scorer | None, is_new: np.ndarray) -> Identities:
    if old is None:
        return first_identities(built.fit.statistics.owned)
    before = data.responsibilities(old)
    return state.published.identities.then(before, built.responsibilities, data.weights, is_new)


def _compressed(
    state: StreamState, data: UnitRows, built: Built, lineage: Lineage, settings: StreamSettings, pulse
) -> tuple[Compressed, Lineage]:
    budget = budget_of(settings, data.units.kind)
    if data.units.values <= budget.values:
        everything = np.arange(len(data.units))
        return Compressed(data.units, everything, np.full(len(data.units), -1), 0), lineage
    factor = expected_rows(settings.horizon, settings.epoch, lineage.rows) / lineage.rows
    division = MixtureDivision(state.model, data, factor, settings.smallest_part)
    result = compress(division, data.units, built.assignments, budget, pulse)
    return result, lineage.compressed(result)


def _snapshot(
    state: StreamState,
    built: Built,
    identities: Identities,
    lineage: Lineage,
    compressed: Compressed,
    settings: StreamSettings,
) -> StreamSnapshot:
    """Return the snapshot with the clusters in the order of their lasting numbers."""
    fit, frame, units = built.fit, state.frame, compressed.units
    offset = -lineage.rows * len(frame.origin) * float(np.log(frame.scale))
    mixture = FittedMixture(fit.parameters, fit.statistics, state.model.clusters, frame, fit.bound + offset)
    order = np.argsort(identities.numbers, kind="stable")
    budget = budget_of(settings, units.kind)
    memory = {
        "values": units.values,
        "bytes": 8 * units.values,
        "budget": budget.values,
        "units": len(units),
        "clumps": len(units.sums),
        "points": len(units.points),
    }
    is_compressed = len(units) < lineage.rows
    binds = compressed.merged_parts > 0 or (is_compressed and 2 * fit.n_clusters * budget.clump > budget.values)
    number = 1 if state.snapshot is None else state.snapshot.number + 1
    return StreamSnapshot(
        number,
        lineage.rows,
        mixture.ordered(order),
        replace(identities, numbers=identities.numbers[order]),
        memory,
        binds,
    )
