"""Simulated experts who make mistakes, and what their labels cost: patches, corrected tiles and minutes.

The constants are assumptions; every way of working is measured with the same ones. Errors: a decision slips, mostly to
the most similar class; a sweep touches a tile beside the patch. Terms are on 36 keys; others are typed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import label
from scipy.spatial.distance import cdist

SLIP = 0.02  # of all decisions are not what was meant: a wrong key, an odd tile overlooked
SIMILAR = 0.75  # of the slips name the most similar class, the others any class
COLLATERAL = 0.01  # of the swept tiles: a tile beside them is touched as well
NOTICED = 0.5  # of these are undone, with one more action
KEYS = 36  # favourites, given to terms in the order of their first use
READING = (0.12, 0.5)  # seconds to read one tile of a page: a quick and a careful expert
SINGLE_SECONDS = 2.5  # to look at one image alone and give it its name
END_SECONDS = 1.0  # to press the key that ends a page
CHECK_SECONDS = 2.0  # to check a page before it is ended
SWITCH_SECONDS = 2.0  # to wait for the next page and look at it as a whole
PATCH_SECONDS = 1.0  # to find a patch of tiles of one class and go there with the pointer
SWEEP_SECONDS = 0.15  # for every tile of it that the pointer touches
TYPE_SECONDS = 3.0  # to type the first letters of a term without a key, and press Enter
UNDO_SECONDS = 2.0
PURE = 0.8  # a group is named if so many of those in view are of one class


@dataclass(frozen=True)
class Point:
    """The state of a way of working: its cost so far, and the share of all images whose final label is right."""

    patches: int  # actions, each patch of neighbouring tiles counted as one
    corrected: int  # tiles whose suggestion or empty label was changed
    tiles: int  # tiles read on pages
    seconds: float  # for everything but reading tiles
    accuracy: float  # of all images; those without a label count as predicted
    patches_of_classes: np.ndarray  # (K,) of the patches, those that gave a label of this class

    def minutes(self, reading: float) -> float:
        return (self.seconds + reading * self.tiles) / 60


@dataclass
class Expert:
    """Knows the true class (N,) of every image. `labels` (N,) are the labels given in flows that are simulated without
    the app, -1 for none."""

    truth: np.ndarray
    similar: np.ndarray  # (K,) the class that looks most like each
    rng: np.random.Generator
    patches: int = 0
    corrected: int = 0
    tiles: int = 0
    seconds: float = 0.0
    typed: int = 0  # terms typed, because they have no key
    labels: np.ndarray = field(init=False)
    patches_of_classes: np.ndarray = field(init=False)
    keys: list[int] = field(default_factory=list)
    chosen: int = -1  # the term that the key "e" gives

    def __post_init__(self):
        self.labels = np.full(len(self.truth), -1)
        self.patches_of_classes = np.zeros(len(self.similar), np.int64)

    @classmethod
    def of(cls, X: np.ndarray, truth: np.ndarray, seed: int) -> "Expert":
        means = np.stack([X[truth == kind].mean(0) for kind in range(truth.max() + 1)])
        far = cdist(means, means) + np.diag(np.full(len(means), np.inf))
        return cls(truth, far.argmin(1), np.random.default_rng([seed, 1]))

    def point(self, final: np.ndarray) -> Point:
        """Return the state with these final labels (N,)."""
        accuracy = float((final == self.truth).mean())
        classes = self.patches_of_classes.copy()
        return Point(self.patches, self.corrected, self.tiles, self.seconds, accuracy, classes)

    def decided(self, kind: int) -> int:
        """Return the class that the expert names: the true one unless the decision slips."""
        if self.rng.random() >= SLIP:
            return int(kind)
        return int(self.similar[kind] if self.rng.random() < SIMILAR else self.rng.integers(len(self.similar)))

    def name(self, image: int) -> None:
        """Label one image that is shown alone: one key, or typing."""
        self._spend(1, SINGLE_SECONDS)
        self.labels[image] = self.decided(self.truth[image])
        self.patches_of_classes[self.truth[image]] += 1
        self.corrected += 1
        self.use_term(int(self.labels[image]))

    def use_term(self, kind: int) -> None:
        """Press the key of a term. A term used for the first time, or without a key, is typed."""
        if kind in self.keys or kind == self.chosen:
            return
        self.chosen = kind
        self.typed += 1
        self._spend(1, TYPE_SECONDS)
        if len(self.keys) < KEYS:
            self.keys.append(kind)

    def read_page(self, tiles: int) -> None:
        """Look at a page and read its tiles."""
        self.tiles += tiles
        self._spend(0, SWITCH_SECONDS)

    def end_page(self) -> None:
        self._spend(1, CHECK_SECONDS + END_SECONDS)

    def sorted_page(self, page: np.ndarray, shown: np.ndarray, columns: int) -> list[tuple[int, np.ndarray]]:
        """Return the patches that the expert labels on a page: (class, images), with all mistakes.

        `shown` (n,) is the class that each tile suggests, -1 for none. A tile is labelled if it shows another class and
        the expert notices. Neighbouring tiles of one class are one patch, labelled in one sweep with a key held down.
        """
        self.read_page(len(page))
        truth = self.truth[page]
        odd = (truth != shown) & ((shown < 0) | (self.rng.random(len(page)) >= SLIP))
        acts = []
        for kind, tiles in patches_of(truth, odd, columns):
            meant = self.decided(kind)
            self.patches_of_classes[kind] += 1
            self.use_term(meant)
            self._spend(1, PATCH_SECONDS + SWEEP_SECONDS * len(tiles))
            self.corrected += int(odd[tiles].sum())
            acts.append((meant, page[self._touched(tiles, len(page), columns)]))
        self.end_page()
        return acts

    def skip(self) -> None:
        """Press the key that leaves a page."""
        self._spend(1, END_SECONDS)

    def names_group(self, shown: np.ndarray) -> int:
        """Return the class of a group of which these images are in view; -1 if they are too mixed. One key."""
        self.read_page(len(shown))
        kinds, counts = np.unique(self.truth[shown], return_counts=True)
        if counts.max() < PURE * len(shown):
            self._spend(1, END_SECONDS)
            return -1
        kind = int(kinds[counts.argmax()])
        named = self.decided(kind)
        self.patches_of_classes[kind] += 1
        self.use_term(named)
        self.end_page()
        return named

    def marked_in_group(self, group: np.ndarray, kind: int) -> np.ndarray:
        """Return the images of a group that the expert clicks because they are of another class."""
        odd = group[(self.truth[group] != kind) & (self.rng.random(len(group)) >= SLIP)]
        self.corrected += len(group) - len(odd)
        self._spend(len(odd), PATCH_SECONDS * len(odd))
        return odd

    def all_belong(self, page: np.ndarray, kind: int) -> bool:
        """Answer a page with one key, yes or no. Odd tiles are overlooked individually."""
        self.read_page(len(page))
        self._spend(1, END_SECONDS)
        odd = self.truth[page] != kind
        noticed = odd & (self.rng.random(len(page)) >= SLIP)
        return not bool(noticed.any())

    def _touched(self, tiles: np.ndarray, count: int, columns: int) -> np.ndarray:
        """Return the swept tiles, and those beside them that were touched by mistake and not noticed."""
        slipped = tiles[self.rng.random(len(tiles)) < COLLATERAL]
        beside = slipped + self.rng.choice([-1, 1, -columns, columns], len(slipped))
        beside = np.setdiff1d(beside[(beside >= 0) & (beside < count)], tiles)
        noticed = self.rng.random(len(beside)) < NOTICED
        self._spend(int(noticed.sum()), UNDO_SECONDS * int(noticed.sum()))
        return np.union1d(tiles, beside[~noticed])

    def _spend(self, actions: int, seconds: float) -> None:
        self.patches += actions
        self.seconds += seconds


def patches_of(kinds: np.ndarray, odd: np.ndarray, columns: int) -> list[tuple[int, np.ndarray]]:
    """Return (class, tiles) of every patch with an odd tile: neighbouring tiles of one class (n,)."""
    grid, wrong = _grid(kinds, columns, -1), _grid(odd, columns, False)
    patches = []
    for kind in np.unique(kinds[odd]):
        numbers, _ = label(grid == kind, np.ones((3, 3)))
        for number in np.unique(numbers[wrong & (grid == kind)]):
            patches.append((int(kind), np.flatnonzero((numbers == number).ravel())))
    return patches


def _grid(values: np.ndarray, columns: int, empty: int | bool) -> np.ndarray:
    filled = np.full(-(-len(values) // columns) * columns, empty)
    filled[: len(values)] = values
    return filled.reshape(-1, columns)


def reached(points: Sequence[Point], accuracy: float) -> Point | None:
    return next((candidate for candidate in points if candidate.accuracy >= accuracy), None)
