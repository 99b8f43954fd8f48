"""Experts who err and get tired: what a label costs in actions and in seconds, and how often it is not what was meant.

The constants are assumptions, stated here so that they can be argued with; all flows are measured by the same ones.
"""

from dataclasses import dataclass, field

import numpy as np

SLIP = 0.02           # of all decisions are not what was meant: a wrong key, an odd tile overlooked
NAME_SECONDS = 2.5    # to look at one image alone and give it its name
TILE_SECONDS = 0.12   # to pass over one tile of a page
ANSWER_SECONDS = 1.0  # to press the key that ends a page
CLICK_SECONDS = 1.0   # to find a tile with the pointer and click it, or to drag over tiles side by side
READ_SECONDS = 0.4    # to read the name that a row of tiles bears
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

    def sort(self, page: np.ndarray, suggested: np.ndarray, next_best: np.ndarray) -> tuple[int, int]:
        """A page of images under their suggestions, alike ones side by side, where everything is right unless changed:
        a click takes the next best suggestion; a drag marks tiles side by side, and one key names all that is marked.
        One key accepts the page. (Images changed, actions.)"""
        before, truth = self.actions, self.truth[page]
        odd = (truth != suggested) & (self.rng.random(len(page)) >= SLIP)
        hands = sum(self._hands(_runs(truth == wanted, odd), next_best == wanted) for wanted in np.unique(truth[odd]))
        names = 1 + int((suggested[1:] != suggested[:-1]).sum())
        self._spend(1 + hands, ANSWER_SECONDS + TILE_SECONDS * len(page) + READ_SECONDS * names + CLICK_SECONDS * hands)
        self.labels[page] = np.where(odd, truth, suggested)
        slipped = odd & (self.rng.random(len(page)) < SLIP)
        self.labels[page[slipped]] = self.rng.choice(self._classes, int(slipped.sum()))
        return int(odd.sum()), self.actions - before

    def _hands(self, runs: list[np.ndarray], helped: np.ndarray) -> int:
        """Clicks, drags and keys that put the odd tiles of one class right, given as runs of tiles side by side: single
        ones that the next suggestion names are clicked, the others dragged over and then named together."""
        single = sum(len(run) == 1 and bool(helped[run].all()) for run in runs)
        dragged = len(runs) - single
        return single + (dragged + 1 if dragged else 0)

    def accept(self, images: np.ndarray, name: int) -> None:
        """All of them at once, as the end of an act already counted."""
        self.labels[images] = name

    def _spend(self, actions: int, seconds: float) -> None:
        self.actions += actions
        self.seconds += seconds

    def _slips(self) -> bool:
        return bool(self.rng.random() < SLIP)


def _runs(alike: np.ndarray, odd: np.ndarray) -> list[np.ndarray]:
    """Of every stretch of tiles of one class (n,) bool the odd ones (n,) bool, where it has any."""
    places = np.flatnonzero(alike)
    stretches = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return [stretch[odd[stretch]] for stretch in stretches if odd[stretch].any()]


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
