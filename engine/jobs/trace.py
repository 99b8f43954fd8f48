"""The course of a fit as a page draws it while it runs, thinned so that it stays small however long it takes."""

from dataclasses import replace
from typing import Any

from engine.progress import OnStep, Progress

POINTS = 400  # more than a plot has pixels for


class Trace:
    """Passes progress on with `trace` among its figures: [step, bound a row, clusters] of the steps so far."""

    def __init__(self, listener: OnStep):
        self._listener = listener
        self._steps, self._every = 0, 1
        self.points: list[list[Any]] = []
        self.stage = ""  # put before every message

    def on_step(self, progress: Progress) -> None:
        self._note(progress.figures)
        figures = {**progress.figures, "trace": self.points[:]}
        self._listener(replace(progress, figures=figures, message=f"{self.stage}{progress.message}"))

    def _note(self, figures: Any) -> None:
        bound, clusters = figures.get("bound_per_row"), figures.get("clusters")
        if bound is None:
            return
        self._steps += 1
        if self._steps % self._every == 0:
            self.points.append([self._steps, float(bound), int(clusters)])
        if len(self.points) > POINTS:
            self.points, self._every = self.points[1::2], self._every * 2
