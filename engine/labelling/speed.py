"""Labelling speed, remaining time, and how many more labels a wanted accuracy needs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.progress import seconds_left
from benthoscope.engine.workspace.labels.events import Event

PAUSE = 300.0  # seconds without an event that count as a break
FIRST = 15.0  # seconds assumed for an event before anything is known


@dataclass(frozen=True)
class LabellingPace:
    """Pace of one person: images labelled by effective events, and the seconds this took without breaks."""

    images: int
    events: int
    seconds: float

    @property
    def per_hour(self) -> float:
        """Return images per hour of work."""
        return 3600 * self.images / self.seconds if self.seconds else 0.0

    def seconds_left(self, images: int) -> float | None:
        """Return the seconds for this many more images at this pace; None before the first label."""
        return seconds_left(0, images, self.images / self.seconds if self.seconds else None)


def pace(standing: Sequence[Event], person_id: int, since: float = 0.0) -> LabellingPace:
    """Return the pace from a person's events since a time; imports do not count."""
    own_events = [
        event
        for event in standing
        if event.person_id == person_id and event.at >= since and event.why not in ("import", "crowd")
    ]
    moments = np.array([event.at for event in own_events])
    gaps = np.diff(moments)
    seconds = float(np.where(gaps > PAUSE, FIRST, gaps).sum()) + (FIRST if len(own_events) else 0.0)
    return LabellingPace(sum(event.count for event in own_events if event.kind == "label"), len(own_events), seconds)


class PaceCounter:
    """The pace of one person, counted on from event to event. It starts again after an undo."""

    def __init__(self, person_id: int):
        self._person_id = person_id
        self._events: list[Event] = []  # of this person
        self._counted, self._folds = 0, -1  # effective events counted, and in which computation
        self._images, self._seconds = 0, 0.0

    def update(self, effective: Sequence[Event], folds: int) -> LabellingPace:
        """The pace after the effective events of the log; `folds` as `LabelLog.effective` counts them."""
        if folds != self._folds:
            self._events, self._counted, self._folds = [], 0, folds
            self._images, self._seconds = 0, 0.0
        for event in effective[self._counted :]:
            if _is_work(event, self._person_id):
                self._count(event)
        self._counted = len(effective)
        return LabellingPace(self._images, len(self._events), self._seconds)

    def _count(self, event: Event) -> None:
        gap = event.at - self._events[-1].at if self._events else PAUSE + 1
        self._seconds += FIRST if gap > PAUSE else gap
        self._images += event.count if event.kind == "label" else 0
        self._events.append(event)


def _is_work(event: Event, person_id: int) -> bool:
    """Imports and answers of a crowd are no work of a person in this program."""
    return event.person_id == person_id and event.why not in ("import", "crowd")


FEWEST = 3  # number of training rounds before a forecast
LEAST_ERROR = 1e-3  # smallest error that held-out labels can show
SLOWEST = 0.05  # exponent below which more labels help so little that a forecast means nothing
FARTHEST = 50.0  # largest ratio of forecast to present labels


@dataclass(frozen=True)
class Forecast:
    """`labels` is the total number until the wanted accuracy; None if the trend does not lead there."""

    labels: int | None
    exponent: float


def forecast(labels: Sequence[int], accuracy: Sequence[float], target: float) -> Forecast | None:
    """Forecast from the number of labels and the accuracy of each training round. The error is modelled as a power of
    the labels, as usual for classifiers; later rounds count more. None before enough rounds."""
    n, error = np.asarray(labels, float), np.maximum(1 - np.asarray(accuracy, float), LEAST_ERROR)
    if len(np.unique(n)) < FEWEST:
        return None
    if error[-1] <= 1 - target:
        return Forecast(int(n[-1]), 0.0)
    weight = n / n.max()
    slope, level = np.polyfit(np.log(n), np.log(error), 1, w=np.sqrt(weight))
    if slope > -SLOWEST:
        return Forecast(None, -float(slope))
    needed = np.exp((np.log(1 - target) - level) / slope)
    return Forecast(int(np.ceil(max(needed, n[-1]))) if needed <= FARTHEST * n[-1] else None, -float(slope))
