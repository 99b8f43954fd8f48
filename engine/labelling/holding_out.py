"""Split labels for model selection. The split never reports accuracy.

Labels of one event resemble each other, so a label must not be predicted from labels of the same event. But if a term
comes from a single bulk event, holding out the event removes the term. The event itself is then split by dive, by
blocks of time, or by groups of near duplicates: the first one that leaves every term in training.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

FOLDS = 5
FEWEST_ACTS = 3  # number of events per term needed to hold out whole events
LARGEST_ACT = 0.5  # largest fraction of a term's labels in one event; holding out more would leave too few
FEWEST_LABELS = 2  # of each term in training
TIME_BLOCK = 30.0  # seconds; neighbouring images of a dive overlap
DUPLICATE = 0.95  # cosine above which two images count as near duplicates
NEVER = -1  # the fold of labels that are never held out


@dataclass(frozen=True)
class LabelledRows:
    """Labels to split: columns of their terms, events, dives, seconds (NaN if unknown) and features (n, D). `drawn`
    marks answers to random draws, which are held out one by one in any case."""

    y: np.ndarray
    events: np.ndarray
    groups: np.ndarray
    times: np.ndarray
    features: np.ndarray
    is_drawn: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def only(self, chosen: np.ndarray) -> "LabelledRows":
        return LabelledRows(*(array[chosen] for array in vars(self).values()))


@dataclass(frozen=True)
class Split:
    """`folds` (n,) is the fold of each label, NEVER for labels always in training. `kind` says how labels that answer
    no random draw were split: acts, dives, times, duplicates, or none if no split was possible."""

    folds: np.ndarray
    kind: str

    @property
    def within_acts(self) -> bool:
        return self.kind in ("dives", "times", "duplicates")


def split(labels: LabelledRows, rng: np.random.Generator) -> Split:
    """Divide labels into five folds. Random draws are distributed evenly, the others as their events allow."""
    folds = np.full(len(labels), NEVER)
    drawn_rows = np.flatnonzero(labels.is_drawn)
    folds[drawn_rows] = _dealt(labels.y[drawn_rows], np.arange(len(drawn_rows)), rng)
    other_rows = np.flatnonzero(~labels.is_drawn)
    for kind, units in _candidates(labels.only(other_rows)):
        dealt = _dealt(labels.y[other_rows], units, rng)
        if _keeps_every_term(labels.y[other_rows], dealt):
            folds[other_rows] = dealt
            return Split(folds, kind)
    return Split(folds, "none")


def _candidates(labels: LabelledRows) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (kind, unit of each label), strictest first. Labels of one unit are held out together."""
    if not len(labels):
        return
    if _many_acts(labels):
        yield "acts", labels.events
    yield "dives", _numbered(labels.events, labels.groups)
    if np.isfinite(labels.times).all():
        yield "times", _numbered(labels.events, labels.groups, np.floor(labels.times / TIME_BLOCK))
    yield "duplicates", _numbered(labels.events, _near_duplicates(labels))


def _many_acts(labels: LabelledRows) -> bool:
    """Return whether each term has enough events, none of which has most of its labels."""
    for term in np.unique(labels.y):
        counts = np.unique(labels.events[labels.y == term], return_counts=True)[1]
        if len(counts) < FEWEST_ACTS or counts.max() > LARGEST_ACT * counts.sum():
            return False
    return True


def _near_duplicates(labels: LabelledRows) -> np.ndarray:
    """Return a number for each label. Labels of an event that are linked by a chain of near duplicates share it."""
    unit = labels.features / np.maximum(np.linalg.norm(labels.features, axis=1, keepdims=True), 1e-12)
    group, used = np.zeros(len(labels), np.int64), 0
    for event in np.unique(labels.events):
        members = np.flatnonzero(labels.events == event)
        near = coo_matrix(unit[members] @ unit[members].T > DUPLICATE)
        count, component = connected_components(near, directed=False)
        group[members], used = used + component, used + count
    return group


def _keeps_every_term(y: np.ndarray, folds: np.ndarray) -> bool:
    """Return whether each term has enough training labels whichever fold is held out."""
    counts = np.zeros((y.max() + 1, folds.max() + 1), np.int64)
    np.add.at(counts, (y, folds), 1)
    of_term = counts.sum(1)
    used = of_term > 0
    return bool(((of_term[:, None] - counts)[used] >= FEWEST_LABELS).all())


def _dealt(y: np.ndarray, units: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a fold for each label (n,). Units stay together; those of each term are spread over all folds."""
    if not len(y):
        return np.empty(0, np.int64)
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    order = rng.permutation(len(first))
    order = order[np.argsort(y[first][order], kind="stable")]
    fold = np.empty(len(first), np.int64)
    fold[order] = np.arange(len(first)) % min(FOLDS, len(first))
    return fold[unit]


def _numbered(*columns: np.ndarray) -> np.ndarray:
    """Return a number for each distinct row of the columns."""
    return np.unique(np.stack([np.asarray(column, float) for column in columns]), axis=1, return_inverse=True)[1]
