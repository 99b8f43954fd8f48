"""Progress, cancellation and checkpoints of a fit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from benthoscope.engine.progress import OnStep, Progress, ignore

State = Mapping[str, Any]  # arrays, numbers, strings, and lists of numbers


class Checkpoint(Protocol):
    """Storage for the state of a fit. `save` replaces the previous state atomically."""

    def save(self, state: State) -> None: ...

    def load(self) -> State | None: ...


class NoCheckpoint:
    """A checkpoint that stores nothing, for fits that are never resumed."""

    def save(self, state: State) -> None:
        pass

    def load(self) -> State | None:
        return None


@dataclass
class Course:
    """Reports each iteration of one fit to `on_step`, which may raise Cancelled, and records the history.

    Bounds of a sample cannot be compared with bounds of all rows. Only bounds of all rows enter the history.
    """

    total_rows: int
    on_step: OnStep = ignore
    checkpoint: Checkpoint = field(default_factory=NoCheckpoint)
    bound_offset: float = 0.0  # change of a bound of all rows caused by the units of the frame
    history: list[float] = field(default_factory=list)
    iterations: int = 0  # iterations on all rows
    passes: float = 0.0  # rows processed divided by the number of rows
    latest: Any = None  # the current fit
    best: Any = None  # the best fit of the completed searches on the current rows
    best_history: list[float] = field(default_factory=list)
    marks: dict[str, Any] = field(default_factory=dict)  # saved with each state until replaced
    _last_progress: Progress = field(default_factory=lambda: Progress(0, None, "reading the data"))

    def pulse(self) -> None:
        """Report unchanged progress, so that `on_step` can cancel the fit between chunks."""
        self.on_step(self._last_progress)

    def iterated(self, fit: Any, rows: int) -> None:
        self.latest = fit
        self.worked(rows)
        if rows == self.total_rows:
            self.iterations += 1
            self.history.append(fit.bound + self.bound_offset)
        self._report(fit, rows, "")

    def searched(self, fit: Any, rows: int, row_visits: float) -> None:
        """Report a fit of a search that does not enter the history."""
        self.worked(row_visits)
        if rows < self.total_rows:
            self.latest = fit
            self._report(fit, rows, "")
        else:
            self.pulse()

    def worked(self, rows: float) -> None:
        """Add to the number of processed rows."""
        self.passes += rows / self.total_rows

    def tried(self, fit: Any, rows: int, row_visits: float, cluster: int, accepted: bool) -> None:
        """Report the proposed split of one cluster, which processed `row_visits` rows."""
        self.worked(row_visits)
        self._report(fit, rows, f", split of cluster {cluster} {'accepted' if accepted else 'rejected'}", cluster)

    def save(self, **state: Any) -> None:
        counted = {"history": np.array(self.history), "iterations": self.iterations, "passes": self.passes}
        self.checkpoint.save({**counted, **self.marks, **state})

    def mark(self, **marks: Any) -> None:
        self.marks = {**self.marks, **marks}

    def begin_search(self, number: int, best: Any, resumes: bool) -> None:
        """Start or resume one of several searches on the same rows. Only the best search stays in the history."""
        self.best = best
        if number and not resumes:
            self.history = []
        self.mark(search=number)

    def keep_search(self, start: State) -> None:
        """Mark the completed search as the best one so far; `start` resumes it."""
        self.best_history = self.history
        self.keep_earlier_search(start)

    def keep_earlier_search(self, start: State) -> None:
        """Mark the best search of an interrupted process again, so that a second interruption does not lose it."""
        self.mark(best_history=np.array(self.best_history), **start)

    def end_searches(self) -> None:
        self.history = self.best_history

    def leave_searches(self) -> None:
        """Clear the searches before changing to other rows, whose bounds cannot be compared."""
        self.best = None
        self.marks = {name: value for name, value in self.marks.items() if not name.startswith("best_")}

    @property
    def result(self) -> Any:
        """Return the fit to keep if the fit is cancelled now."""
        return self.latest if self.best is None or self.best.bound < self.latest.bound else self.best

    def resume(self) -> State | None:
        state = self.checkpoint.load()
        if state is not None:
            self.best_history = [float(bound) for bound in state.get("best_history", ())]
            self.history = [float(bound) for bound in state["history"]]
            self.iterations, self.passes = int(state["iterations"]), float(state["passes"])
        return state

    def _report(self, fit: Any, rows: int, event: str, candidate: int | None = None) -> None:
        bound = (fit.bound + self.bound_offset * rows / self.total_rows) / rows
        K = len(fit.statistics.moments)
        figures = {
            "bound_per_row": bound,
            "bound": bound * rows,
            "clusters": K,
            "candidate": candidate,
            "rows": rows,
            "iteration": self.iterations,
            "sizes": np.rint(fit.statistics.owned).astype(int).tolist(),
        }
        on = "" if rows == self.total_rows else f" on a sample of {rows:,} rows"
        self._last_progress = Progress(
            len(self.history), None, f"{K} clusters, bound {bound:.5g} per row{on}{event}", figures
        )
        self.on_step(self._last_progress)
