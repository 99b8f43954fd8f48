"""How a fit tells of itself, is stopped, and takes up again where it was killed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from engine.progress import OnStep, Progress, ignore

State = Mapping[str, Any]  # arrays, numbers, strings, and lists of numbers


class Checkpoint(Protocol):
    """Where the state of a fit is kept; `save` replaces what was there, all or nothing."""

    def save(self, state: State) -> None: ...

    def load(self) -> State | None: ...


class Forgetful:
    """The checkpoint of those who do not resume."""

    def save(self, state: State) -> None:
        pass

    def load(self) -> State | None:
        return None


@dataclass
class Course:
    """The course of one fit: every iteration is told to `on_step`, which may raise Cancelled.

    Bounds of a sample and of all rows cannot be compared; only those of all rows enter the history.
    """

    total_rows: int
    on_step: OnStep = ignore
    checkpoint: Checkpoint = field(default_factory=Forgetful)
    bound_offset: float = 0.0  # what the frame's change of units adds to a bound of all rows
    history: list[float] = field(default_factory=list)
    iterations: int = 0        # VB iterations on all rows
    passes: float = 0.0        # rows gone through / rows
    latest: Any = None         # the fit reached so far
    marks: dict[str, Any] = field(default_factory=dict)  # saved with every state until marked anew
    _told: Progress = field(default_factory=lambda: Progress(0, None, "reading the data"))

    def pulse(self) -> None:
        """Between chunks: nothing new, but a chance to be stopped."""
        self.on_step(self._told)

    def iterated(self, fit: Any, rows: int) -> None:
        self.latest = fit
        self.worked(rows)
        if rows == self.total_rows:
            self.iterations += 1
            self.history.append(fit.bound + self.bound_offset)
        self._tell(fit, rows, "")

    def worked(self, rows: float) -> None:
        """So many rows were gone through."""
        self.passes += rows / self.total_rows

    def tried(self, fit: Any, rows: int, work: float, cluster: int, accepted: bool) -> None:
        """A split of one cluster was proposed, at the cost of `work` rows gone through."""
        self.worked(work)
        self._tell(fit, rows, f", split of cluster {cluster} {'taken' if accepted else 'not taken'}", cluster)

    def save(self, **state: Any) -> None:
        counted = {"history": np.array(self.history), "iterations": self.iterations, "passes": self.passes}
        self.checkpoint.save({**counted, **self.marks, **state})

    def mark(self, **marks: Any) -> None:
        self.marks = {**self.marks, **marks}

    def resume(self) -> State | None:
        state = self.checkpoint.load()
        if state is not None:
            self.history = [float(bound) for bound in state["history"]]
            self.iterations, self.passes = int(state["iterations"]), float(state["passes"])
        return state

    def _tell(self, fit: Any, rows: int, event: str, candidate: int | None = None) -> None:
        bound = (fit.bound + self.bound_offset * rows / self.total_rows) / rows
        K = len(fit.statistics.moments)
        figures = {"bound_per_row": bound, "bound": bound * rows, "clusters": K, "candidate": candidate, "rows": rows,
                   "iteration": self.iterations, "sizes": np.rint(fit.statistics.owned).astype(int).tolist()}
        on = "" if rows == self.total_rows else f" on a sample of {rows:,} rows"
        self._told = Progress(len(self.history), None, f"{K} clusters, bound {bound:.5g} a row{on}{event}", figures)
        self.on_step(self._told)
