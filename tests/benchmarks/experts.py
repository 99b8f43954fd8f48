"""Experts who err and get tired: what a label costs in actions and in seconds, and how often it is not what was meant.

The constants are assumptions, stated here so that they can be argued with; all flows are measured by the same ones. In
all of them a name is one key, that of a favourite, though in the app only 36 terms can lie on keys.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import label

SLIP = 0.02           # of all decisions are not what was meant: a wrong key, an odd tile overlooked
NAME_SECONDS = 2.5    # to look at one image alone and give it its name
TILE_SECONDS = 0.12   # to pass over one tile of a page
ANSWER_SECONDS = 1.0  # to press the key that ends a page
PATCH_SECONDS = 1.0   # to find a patch of tiles of one class and go there with the pointer
SWEEP_SECONDS = 0.15  # for every tile of it that the pointer touches
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

    def sort(self, page: np.ndarray, suggested: np.ndarray, columns: int) -> tuple[int, int]:
        """A page of images under their suggestions, laid out in so many columns, where everything is right unless
        changed. The key of a name, held while the pointer touches tiles here and there, names them all: one action a
        name, but every patch takes its time. One more key accepts the page. (Images changed, actions.)"""
        before, truth = self.actions, self.truth[page]
        odd = (truth != suggested) & (self.rng.random(len(page)) >= SLIP)
        patches, tiles = _patches(truth, odd, columns)
        read = 1 + int((suggested[1:] != suggested[:-1]).sum())
        self._spend(1 + len(np.unique(truth[odd])), ANSWER_SECONDS + TILE_SECONDS * len(page) + READ_SECONDS * read
                    + PATCH_SECONDS * patches + SWEEP_SECONDS * tiles)
        self.labels[page] = np.where(odd, truth, suggested)
        slipped = odd & (self.rng.random(len(page)) < SLIP)
        self.labels[page[slipped]] = self.rng.choice(self._classes, int(slipped.sum()))
        return int(odd.sum()), self.actions - before

    def accept(self, images: np.ndarray, name: int) -> None:
        """All of them at once, as the end of an act already counted."""
        self.labels[images] = name

    def _spend(self, actions: int, seconds: float) -> None:
        self.actions += actions
        self.seconds += seconds

    def _slips(self) -> bool:
        return bool(self.rng.random() < SLIP)


def _patches(classes: np.ndarray, odd: np.ndarray, columns: int) -> tuple[int, int]:
    """Patches of touching tiles of one class (n,) that have odd ones (n,) bool: how many, and their tiles."""
    grid, wrong = _grid(classes, columns, -1), _grid(odd, columns, False)
    count = tiles = 0
    for wanted in np.unique(classes[odd]):
        patch, _ = label(grid == wanted, np.ones((3, 3)))
        swept = np.unique(patch[wrong & (grid == wanted)])
        count, tiles = count + len(swept), tiles + int(np.isin(patch, swept).sum())
    return count, tiles


def _grid(values: np.ndarray, columns: int, empty: int | bool) -> np.ndarray:
    filled = np.full(-(-len(values) // columns) * columns, empty)
    filled[: len(values)] = values
    return filled.reshape(-1, columns)


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
