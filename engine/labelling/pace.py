"""How fast somebody labels and how long the rest will take, for the screen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.workspace.events import Event

PAUSE = 300.0  # seconds without an act after which somebody was away
FIRST = 15.0   # seconds that went into an act before which nothing is known


@dataclass(frozen=True)
class Pace:
    """Of one person: images labelled in acts that hold, and the seconds that took without the pauses."""

    images: int
    acts: int
    seconds: float

    @property
    def per_hour(self) -> float:
        """Images an hour of work."""
        return 3600 * self.images / self.seconds if self.seconds else 0.0

    def seconds_left(self, images: int) -> float | None:
        """For so many more images at this pace; None before anything was labelled."""
        return images * self.seconds / self.images if self.images else None


def pace(standing: Sequence[Event], person_id: int, since: float = 0.0) -> Pace:
    """Of a person's acts since a moment; imports are no work."""
    mine = [event for event in standing if event.person_id == person_id and event.at >= since
            and event.why not in ("import", "crowd")]
    moments = np.array([event.at for event in mine])
    gaps = np.diff(moments)
    seconds = float(np.where(gaps > PAUSE, FIRST, gaps).sum()) + (FIRST if len(mine) else 0.0)
    return Pace(sum(event.count for event in mine if event.kind == "label"), len(mine), seconds)
