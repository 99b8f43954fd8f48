"""The common base of the estimators that learn from a stream: rounds, waiting rows, checkpoints and files."""

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from benthoscope.engine.compute import Compute, InOrder
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.bayesian import of_same_fit
from benthoscope.engine.mixtures.data import read_rows
from benthoscope.engine.mixtures.estimator import changed_parameters
from benthoscope.engine.mixtures.fit_monitor import Checkpoint, NoCheckpoint
from benthoscope.engine.mixtures.prediction import FittedEstimator
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.streaming.families import family_named
from benthoscope.engine.streaming.rounds import next_round
from benthoscope.engine.streaming.state_file import read_state, write_state
from benthoscope.engine.value_checks import UnusableInput, largest_for, unusable_values

SECONDS_BETWEEN_CHECKPOINTS = 5.0
BLOCK = 16_384  # rows that are scored at the same time
State = TypeVar("State")


@runtime_checkable
class RowSource(Protocol):
    """Rows that are read in blocks, and never as a whole."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def read(self, start: int, stop: int) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class _ReadableRows:
    """An array or a file as a source of rows."""

    source: np.ndarray | Path

    @property
    def shape(self) -> tuple[int, int]:
        return checking.width_of(self.source)

    def read(self, start: int, stop: int) -> np.ndarray:
        return read_rows(self.source, start, stop)


class BudgetWarning(UserWarning):
    """The memory limits the number of clusters; a larger memory may find more."""


class StreamEstimator(FittedEstimator, Generic[State]):
    """Rows arrive in rounds of `epoch` rows. Subclasses learn a round and publish its result.

    `state_` is the memory, None before the first round. `_needs_groups` says whether each row belongs to a document.
    """

    _needs_groups: ClassVar[bool] = False
    state_: State | None
    ids_: np.ndarray | None
    waiting_: np.ndarray
    waiting_documents_: np.ndarray | None
    lower_bound_history_: list[float]
    n_rows_seen_: int
    n_rounds_: int

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        groups: Any = None,
        compute: Compute | None = None,
        on_step: OnStep = ignore,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Learn the rows X (N, D) in their order: an array, a memmap, the path of a .npy file, or a `RowSource`.
        Files are read once and never as a whole. Then set `labels_`, the cluster of each row under the final model; for
        this, the rows are read again.

        `groups` gives the document of each row, for models that use documents. `y` is ignored. With a checkpoint, an
        interrupted fit resumes from its last saved round.
        """
        self._refuse_target(y, "fit")
        self._check_parameters()
        source = X if isinstance(X, RowSource) else _ReadableRows(checking.rows_of(X))
        N, D = source.shape
        documents = self._documents(groups, N)
        checkpoint = checkpoint or NoCheckpoint()
        identity = {"model": changed_parameters(self), "shape": [N, D]}
        stored = of_same_fit(checkpoint.load(), identity)
        self._clear_fit()
        if not isinstance(X, RowSource):
            self._record_columns(X)
        self.n_features_in_ = D
        self._begin(N)
        if stored is not None:
            self._restore(stored)
        last_save = time.monotonic()
        while self.n_rows_seen_ < N:
            start, stop = self.n_rows_seen_, self.n_rows_seen_ + next_round(self, self.n_rows_seen_, N)
            rows = usable_rows(source.read(start, stop), start)
            self._round(rows, None if documents is None else documents[start:stop], on_step, N)
            if time.monotonic() - last_save >= SECONDS_BETWEEN_CHECKPOINTS and self.n_rows_seen_ < N:
                checkpoint.save({**self._stored(), **identity})
                last_save = time.monotonic()
        self.labels_ = np.empty(N, np.int32)
        for block, (labels, _) in self._assigned(source, groups if self._needs_groups else None, compute):
            self.labels_[block] = labels
        return self

    def partial_fit(
        self,
        X: Any,
        y: None = None,
        *,
        groups: Any = None,
        ids: Any = None,
        flush: bool = True,
        on_step: OnStep = ignore,
    ) -> Self:
        """Learn more rows (n, D), in rounds of `epoch` rows. With `flush=False`, rows that do not fill a round wait for
        the next call.

        `groups` gives the document of each row, for models that use documents; a document may continue in a later call.
        `ids` are names of the rows for look-ups; without them rows are numbered from 0. `on_step` may raise Cancelled:
        rows of an interrupted round then wait, and nothing is lost.
        """
        self._refuse_target(y, "partial_fit")
        self._check_parameters()
        source = checking.rows_of(X)
        rows = usable_rows(np.load(source, allow_pickle=False) if isinstance(source, Path) else source, 0)
        documents, names = self._documents(groups, len(rows)), self._names(ids, len(rows))
        if not hasattr(self, "waiting_"):
            self._record_columns(X)
            self.n_features_in_ = rows.shape[1]
            self._begin(self.horizon)
        checking.same_columns(rows.shape[1], self.n_features_in_, type(self).__name__)
        self._check_columns(X)
        if names is not None:
            self.ids_ = names if self.ids_ is None else np.concatenate([self.ids_, names])
        if documents is not None:
            waiting = self.waiting_documents_
            self.waiting_documents_ = documents if waiting is None else np.concatenate([waiting, documents])
        self.waiting_ = np.concatenate([self.waiting_, rows])
        while len(self.waiting_) >= self.epoch or (flush and len(self.waiting_)):
            self._learn_waiting(self.epoch, on_step)
        return self

    def flush(self, *, on_step: OnStep = ignore) -> Self:
        """Learn the rows that wait."""
        self._check_begun()
        if len(self.waiting_):
            self._learn_waiting(len(self.waiting_), on_step)
        return self

    def assign(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the most likely cluster of each row and its probability, (N,) each. Rows of a `RowSource` are read in
        blocks."""
        if not isinstance(X, RowSource):
            return super().assign(X, groups, compute=compute)
        labels, probability = np.empty(X.shape[0], np.int32), np.empty(X.shape[0], np.float32)
        for block, values in self._assigned(X, groups, compute):
            labels[block], probability[block] = values
        return labels, probability

    # --- storage

    def save(self, path: str | Path) -> None:
        """Write the model and its memory to one file, without pickle. Learning can go on after `load`."""
        write_state(path, *self.memory_to_arrays())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the model in a file that `save` wrote."""
        arrays, plain = read_state(path)
        if plain.get("model") != cls.__name__:
            raise fail(str(path), f"has a {plain.get('model')}, not a {cls.__name__}", "load it with its own class")
        return cls.from_memory(arrays, plain)

    def memory_to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the model and its memory as arrays and plain values. `from_memory` rebuilds it, and learning can go
        on."""
        self._check_begun()
        stored = self._stored()
        arrays = {name: value for name, value in stored.items() if isinstance(value, np.ndarray)}
        plain = {name: value for name, value in stored.items() if name not in arrays}
        params = {"model": type(self).__name__, "params": self.get_params()}
        return arrays, {**plain, **params, "n_features": self.n_features_in_}

    @classmethod
    def from_memory(cls, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any]) -> Self:
        model = cls(**plain["params"])
        model.n_features_in_ = plain["n_features"]
        model._begin(model.horizon)
        model._restore({**arrays, **plain})
        return model

    # --- for subclasses

    def _learn(self, rows: np.ndarray, documents: np.ndarray | None, report: OnStep, progress: Progress) -> State:
        """Return the next state after a round with new rows."""
        raise NotImplementedError

    def _publish(self) -> None:
        """Set the fitted attributes that follow from the state."""
        raise NotImplementedError

    def _figures(self) -> Mapping[str, Any]:
        """Return the memory in use: `values` of the `budget`."""
        raise NotImplementedError

    def _stored_state(self) -> dict[str, Any]:
        raise NotImplementedError

    def _restored_state(self, stored: Mapping[str, Any]) -> State:
        raise NotImplementedError

    def _names(self, ids: Any, count: int) -> np.ndarray | None:
        if ids is not None:
            raise fail("ids", f"are not stored by {type(self).__name__}", "leave them out")
        return None

    def _state_for(self, attribute: str) -> State:
        """Return the memory, which the attribute needs. A stored mixture without its memory has none."""
        state = getattr(self, "state_", None)
        if state is None:
            raise AttributeError(f"{attribute} exists after the first round")
        return state

    # --- inside

    def _assigned(
        self, source: RowSource, groups: Any, compute: Compute | None
    ) -> Iterator[tuple[slice, tuple[np.ndarray, np.ndarray]]]:
        """Yield blocks of rows with their most likely clusters and probabilities. No more rows are in memory. By
        default one thread does it: each thread would keep memory of its own."""
        N = source.shape[0]
        for start in range(0, N, BLOCK):
            block = slice(start, min(start + BLOCK, N))
            names = None if groups is None else groups[block]
            yield block, self.assign(source.read(block.start, block.stop), names, compute=compute or InOrder())

    def _check_parameters(self) -> None:
        family_named(self.observation)
        for name in ("width", "tol"):
            checking.positive(name, getattr(self, name))
        for name in ("memory", "epoch", "prior_rows", "tries", "max_iter"):
            checking.positive(name, getattr(self, name), integer=True)
        for name in ("horizon", "max_clusters"):
            if getattr(self, name) is not None:
                checking.positive(name, getattr(self, name), integer=True)
        checking.positive("smallest_part", self.smallest_part, least=-1, integer=True)

    def _documents(self, groups: Any, count: int) -> np.ndarray | None:
        if not self._needs_groups:
            return None
        if groups is None:
            return np.zeros(count, np.int64)
        return checking.group_column(groups, count)

    def _begin(self, horizon: int | None) -> None:
        """Set the attributes of an empty stream."""
        self.state_, self.ids_, self.lower_bound_history_ = None, None, []
        self.waiting_, self.waiting_documents_ = np.empty((0, self.n_features_in_)), None
        self.n_rows_seen_ = self.n_rounds_ = 0
        self._expected, self._warned_of_budget = self.horizon or horizon, False

    def _learn_waiting(self, count: int, on_step: OnStep) -> None:
        documents = self.waiting_documents_
        self._round(self.waiting_[:count], None if documents is None else documents[:count], on_step, None)
        self.waiting_ = self.waiting_[count:].copy()
        self.waiting_documents_ = None if documents is None else documents[count:].copy()

    def _round(self, rows: np.ndarray, documents: np.ndarray | None, on_step: OnStep, total: int | None) -> None:
        message = f"round {self.n_rounds_ + 1}: {self.n_rows_seen_ + len(rows):,} rows"
        self.state_ = self._learn(rows, documents, on_step, Progress(self.n_rows_seen_, total, message))
        self._publish()
        self.converged_, self.n_iter_, self.passes_ = True, self.n_rounds_, 1.0
        self.lower_bound_history_.append(self.lower_bound_)
        on_step(self._progress(total))

    def _note_budget(self, binds: bool) -> None:
        """Add the memory to the limits that were reached, and warn once."""
        if not binds:
            return
        self.limits_reached_ = [*self.limits_reached_, "memory"]
        if not self._warned_of_budget:
            warnings.warn(
                f"the memory of {self.memory} rows limits the number of clusters ({self.n_clusters_} now); "
                "use a larger memory",
                BudgetWarning,
                stacklevel=5,
            )
        self._warned_of_budget = True

    def _check_budget(self, values: int, clump: int) -> None:
        """Raise if the budget has no room for a single clump."""
        if clump > values:
            least = -(-clump // self.n_features_in_)
            raise fail(
                "memory",
                f"{self.memory} rows have no room for a single clump of {clump} numbers",
                f"use at least {least}; {2 * least} for each cluster that you expect is better",
            )

    def _progress(self, total: int | None) -> Progress:
        used = self._figures()
        figures = {
            "bound_per_row": self.lower_bound_ / self.n_rows_seen_,
            "bound": self.lower_bound_,
            "clusters": self.n_clusters_,
            "rows": self.n_rows_seen_,
            "iteration": self.n_rounds_,
            "sizes": np.rint(self.counts_.sum(0)).astype(int).tolist(),
            "memory": dict(used),
        }
        message = (
            f"{self.n_clusters_} clusters after {self.n_rows_seen_:,} rows, "
            f"{used['values'] / used['budget']:.0%} of the memory in use"
        )
        return Progress(self.n_rows_seen_, total, message, figures)

    def _check_begun(self) -> None:
        if not hasattr(self, "waiting_"):
            self._check_fitted()

    def _check_fitted(self) -> None:
        if hasattr(self, "waiting_") and self.state_ is None:
            raise fail("rows", f"all {len(self.waiting_)} rows wait for their first round", "call flush() first")
        super()._check_fitted()

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "state_", None) is not None or hasattr(self, "mixture_")

    def _stored(self) -> dict[str, Any]:
        """Return the stream as arrays and plain values."""
        stored: dict[str, Any] = {"waiting": self.waiting_, "history": np.array(self.lower_bound_history_)}
        stored["expected"] = self._expected
        for name, values in (("ids", self.ids_), ("waiting_documents", self.waiting_documents_)):
            if values is not None:
                stored[name] = values
        return stored if self.state_ is None else {**stored, "begun": True, **self._stored_state()}

    def _restore(self, stored: Mapping[str, Any]) -> None:
        self.waiting_ = np.array(stored["waiting"])
        self.lower_bound_history_ = [float(bound) for bound in stored["history"]]
        self.ids_, self.waiting_documents_ = (
            np.array(stored[name]) if name in stored else None for name in ("ids", "waiting_documents")
        )
        self._expected = stored["expected"]
        if "begun" in stored:
            self.state_, self._warned_of_budget = self._restored_state(stored), True
            self._publish()
            self.converged_, self.n_iter_, self.passes_ = True, self.n_rounds_, 1.0


def usable_rows(rows: np.ndarray, first_row: int) -> np.ndarray:
    """Return the rows as float64. Raises for values that cannot be used, with the row of the whole source."""
    values = np.asarray(rows, np.float64)
    unusable = unusable_values(values, largest_for(values.dtype), first_row)
    if unusable is not None:
        raise UnusableInput("X", unusable)
    return values
