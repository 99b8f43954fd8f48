"""Progress, cancellation, checkpoints and the history of a fit of topics."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benthoscope.engine.mixtures.fit_monitor import Checkpoint, NoCheckpoint, State
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.topics.state import TopicState

SECONDS_BETWEEN_CHECKPOINTS = 20.0  # a state of many clusters takes seconds to write


@dataclass(frozen=True)
class TraceEntry:
    """One iteration. The bound of an iteration on a sample is an estimate."""

    bound: float
    clusters_in_use: int
    atoms_in_use: int
    documents_seen: int
    seconds: float  # since the start of the fit
    exact: bool = True


class TimedSaves:
    """Saves a state to a checkpoint if the last save is long enough ago."""

    def __init__(self, checkpoint: Checkpoint):
        self._checkpoint, self._saved = checkpoint, time.monotonic()

    def save(self, state: Callable[[], State]) -> None:
        if time.monotonic() - self._saved >= SECONDS_BETWEEN_CHECKPOINTS:
            self._checkpoint.save(state())
            self._saved = time.monotonic()


@dataclass
class Monitor:
    """Records each iteration, reports it to `on_step`, which may raise Cancelled, and saves the state now and then."""

    on_step: OnStep = ignore
    checkpoint: Checkpoint = field(default_factory=NoCheckpoint)
    total: int | None = None  # iterations
    stage: str = ""
    n_rows: int | None = None  # descriptors of all documents, by which the bound is divided for plots
    entries: list[TraceEntry] = field(default_factory=list)
    documents_seen: int = 0
    marks: dict[str, Any] = field(default_factory=dict)  # saved with each state
    latest: TopicState | None = None
    _began: float = field(default_factory=time.monotonic)
    _saves: TimedSaves = field(init=False)
    _progress: Progress = field(default_factory=lambda: Progress(0, None, "reading the data"))

    def __post_init__(self) -> None:
        self._saves = TimedSaves(self.checkpoint)

    def pulse(self) -> None:
        """Report unchanged progress, so that `on_step` can cancel the fit between blocks."""
        self.on_step(self._progress)

    def iterated(self, state: TopicState, bound: float, documents: int, exact: bool = True) -> None:
        self.documents_seen += documents
        self.latest = state
        seconds = time.monotonic() - self._began
        entry = TraceEntry(bound, state.clusters_in_use, state.atoms_in_use, self.documents_seen, seconds, exact)
        self.entries.append(entry)
        figures = {
            "bound": bound,
            "clusters": entry.clusters_in_use,
            "atoms": entry.atoms_in_use,
            "documents_seen": self.documents_seen,
            **({"bound_per_row": bound / self.n_rows} if self.n_rows else {}),
        }
        message = f"{self.stage}{entry.clusters_in_use} clusters in use, bound {bound:.6g}"
        self._progress = Progress(len(self.entries), self.total, message, figures)
        self.on_step(self._progress)

    def save_when_due(self, state: TopicState, iteration: int) -> None:
        """Save the state if the last save is long enough ago; `iteration` iterations of the stage are complete."""
        self._saves.save(lambda: {**state.arrays(), "history": self.history, "iteration": iteration, **self.marks})

    @property
    def history(self) -> np.ndarray:
        """Return the entries as rows of numbers, without the times."""
        rows = [[e.bound, e.clusters_in_use, e.atoms_in_use, e.documents_seen, e.exact] for e in self.entries]
        return np.array(rows, float).reshape(-1, 5)

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue the history of a checkpoint."""
        self.entries = [
            TraceEntry(float(row[0]), int(row[1]), int(row[2]), int(row[3]), 0.0, bool(row[4]))
            for row in saved["history"]
        ]
        self.documents_seen = self.entries[-1].documents_seen if self.entries else 0
