"""Experts who err and get tired: what a label costs in actions and in seconds, and how often it is not what was meant.

The constants are assumptions, stated here so that they can be argued with; all flows are measured by the same ones.
"""

from dataclasses import dataclass, field

import numpy as np

SLIP = 0.02           # of all decisions are not what was meant: a wrong key, an odd tile overlooked
NAME_SECONDS = 2.5    # to look at one image alone and give it its name
TILE_SECONDS = 0.12   # to pass over one tile of a page
ANSWER_SECONDS = 1.0  # to press the key that ends a page
CLICK_SECONDS = 1.0   # to find a tile with the pointer and click it
PURE = 0.8            # a group is named if so many of those in view are of one class


@dataclass
class Expert:
    """Knows the true class of every image; counts every key and click. `labels` (N,) is what was said, -1 for
    nothing."""

    truth: np.ndarray
    rng: np.random.Generator
    actions: int = 0
    seconds: float = 0.0
    labels: np.ndarray = field(init=False)

    def __post_init__(self):
        self.labels = np.full(len(self.truth), -1)
        self._classes = np.unique(self.truth)

    def name(self, image: int) -> None:
        """One image: one key."""
        self._spend(1, NAME_SECONDS)
        meant = self.truth[image]
        self.labels[image] = self.rng.choice(self._classes) if self._slips() else meant

    def name_group(self, shown: np.ndarray) -> int:
        """The class most of those shown are of: one key; -1, also one key, where they are too mixed."""
        self._spend(1, ANSWER_SECONDS + TILE_SECONDS * len(shown))
        classes, counts = np.unique(self.truth[shown], return_counts=True)
        if counts.max() < PURE * len(shown):
            return -1
        return int(self.rng.choice(self._classes) if self._slips() else classes[counts.argmax()])

    def all_belong(self, page: np.ndarray, wanted: int) -> bool:
        """A page: one key, yes or no. Odd tiles are overlooked one by one."""
        self._spend(1, ANSWER_SECONDS + TILE_SECONDS * len(page))
        odd = self.truth[page] != wanted
        seen = odd & (self.rng.random(len(page)) >= SLIP)
        return bool(seen.any()) == self._slips()

    def correct(self, page: np.ndarray, suggested: np.ndarray, next_best: np.ndarray) -> None:
        """A page where everything is right unless clicked: a click takes the next best suggestion, a key after it any
        other name; one key accepts the rest."""
        odd = (self.truth[page] != suggested) & (self.rng.random(len(page)) >= SLIP)
        helped = odd & (next_best == self.truth[page])
        clicks, keys = int(odd.sum()), int((odd & ~helped).sum())
        self._spend(1 + clicks + keys, ANSWER_SECONDS + TILE_SECONDS * len(page) + CLICK_SECONDS * (clicks + keys))
        self.labels[page] = np.where(odd, self.truth[page], suggested)
        slipped = odd & (self.rng.random(len(page)) < SLIP)
        self.labels[page[slipped]] = self.rng.choice(self._classes, int(slipped.sum()))

    def accept(self, images: np.ndarray, name: int) -> None:
        """All of them at once, as the end of an act already counted."""
        self.labels[images] = name

    def _spend(self, actions: int, seconds: float) -> None:
        self.actions += actions
        self.seconds += seconds

    def _slips(self) -> bool:
        return bool(self.rng.random() < SLIP)


@dataclass(frozen=True)
class Point:
    actions: int
    seconds: float
    accuracy: float   # of all images; those without a label or a prediction count as wrong
    labelled: float   # share with a label by hand or accepted
    precision: float  # of those


def point(expert: Expert, predicted: np.ndarray | None = None) -> Point:
    """Where a flow stands: what nobody labelled is as predicted."""
    said = expert.labels >= 0
    final = np.where(said, expert.labels, -1 if predicted is None else predicted)
    right = final == expert.truth
    return Point(expert.actions, expert.seconds, float(right.mean()), float(said.mean()),
                 float(right[said].mean()) if said.any() else 1.0)


def reached(points: list[Point], accuracy: float) -> Point | None:
    return next((found for found in points if found.accuracy >= accuracy), None)
