"""Images to which people gave different labels, and agreement between people beyond chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.events import Event


@dataclass(frozen=True)
class Opinions:
    """The last label of each person for each image: one entry each, sorted by image, then by person."""

    images: np.ndarray
    people: np.ndarray
    terms: np.ndarray
    numbers: np.ndarray  # events that gave these labels

    def by(self, person_id: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (images, terms) of one person."""
        of_person = self.people == person_id
        return self.images[of_person], self.terms[of_person]

    def of_several(self) -> "Opinions":
        """Return only the images that more than one person labelled."""
        _, image_number, counts = np.unique(self.images, return_inverse=True, return_counts=True)
        is_shared = counts[image_number] > 1
        return Opinions(self.images[is_shared], self.people[is_shared], self.terms[is_shared], self.numbers[is_shared])


@dataclass(frozen=True)
class Conflict:
    """An image with different labels: (person, term, event) each."""

    image: int
    opinions: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class TermConfusion:
    """Number of images to which one person gave term a (row) and the other term b (column)."""

    terms: np.ndarray  # (T,)
    counts: np.ndarray  # (T, T)

    def agreement(self) -> np.ndarray:
        """Return for each term (T,) the images to which both gave it, as a fraction of the images to which at least one
        did."""
        both = np.diagonal(self.counts)
        either = self.counts.sum(0) + self.counts.sum(1) - both
        return np.divide(both, either, out=np.ones(len(both)), where=either > 0)


def opinions(standing: Sequence[Event]) -> Opinions:
    """Return the opinions from effective events, oldest first. Imported predictions belong to nobody."""
    label_events = [event for event in standing if event.kind in ("label", "opinion") and event.is_confirmed][::-1]
    images = _joined([event.images for event in label_events])
    counts = [event.count for event in label_events]
    people, terms, numbers = (
        np.repeat(np.array([getattr(event, name) for event in label_events], np.int64), counts)
        for name in ("person_id", "term_id", "number")
    )
    order = np.lexsort((-numbers, people, images))
    repeated = (np.diff(images[order]) == 0) & (np.diff(people[order]) == 0)
    first = order[np.concatenate([[True], ~repeated])] if len(order) else order
    return Opinions(images[first], people[first], terms[first], numbers[first])


def conflicts(standing: Sequence[Event]) -> list[Conflict]:
    """Return the images with different terms by different people, unless somebody has resolved them and nobody has
    given another term since."""
    shared_opinions = opinions(standing).of_several()
    resolving = np.array([event.number for event in standing if event.why == "resolved"], np.int64)
    edges = [0, *(np.flatnonzero(np.diff(shared_opinions.images)) + 1), len(shared_opinions.images)]
    slices = (slice(a, b) for a, b in pairwise(edges) if a < b)
    return [
        _conflict(shared_opinions, rows)
        for rows in slices
        if _differ_since(shared_opinions.terms[rows], shared_opinions.numbers[rows], resolving)
    ]


def confusion(terms_a: np.ndarray, terms_b: np.ndarray) -> TermConfusion:
    """Return the confusion table of two people's terms for the same images."""
    if len(terms_a) != len(terms_b):
        raise fail("confusion", f"there are {len(terms_a)} and {len(terms_b)} labels", "give both for the same images")
    terms, term_number = np.unique(np.concatenate([terms_a, terms_b]), return_inverse=True)
    a, b = term_number[: len(terms_a)], term_number[len(terms_a) :]
    flat = np.bincount(a * len(terms) + b, minlength=len(terms) ** 2)
    return TermConfusion(terms, flat.reshape(len(terms), len(terms)))


def shared(all_opinions: Opinions, first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the terms of two people for the images that both labelled."""
    (images_a, terms_a), (images_b, terms_b) = all_opinions.by(first), all_opinions.by(second)
    _, a, b = np.intersect1d(images_a, images_b, return_indices=True)
    return terms_a[a], terms_b[b]


def cohen_kappa(terms_a: np.ndarray, terms_b: np.ndarray) -> float:
    """Return the agreement of two people beyond chance: 1 for full agreement, 0 for chance; 1 if there is only one
    term."""
    counts = confusion(terms_a, terms_b).counts
    total = counts.sum()
    if not total:
        raise fail("kappa", "no image has labels of both people", "let a second person verify some images")
    observed = np.trace(counts) / total
    by_chance = float(counts.sum(0) @ counts.sum(1)) / total**2
    return 1.0 if by_chance == 1 else float((observed - by_chance) / (1 - by_chance))


def fleiss_kappa(votes: np.ndarray) -> float:
    """Return the agreement of several people beyond chance. `votes` (images, terms) counts the votes, at least two per
    image. All images have the same weight, whatever their number of votes."""
    votes = np.asarray(votes, float)
    people = votes.sum(1)
    if not len(votes) or (people < 2).any():
        raise fail(
            "kappa", "there are images with fewer than two labels", "remove images that only one person has labelled"
        )
    observed = (((votes**2).sum(1) - people) / (people * (people - 1))).mean()
    shares = votes.sum(0) / votes.sum()
    by_chance = float((shares**2).sum())
    return 1.0 if by_chance == 1 else float((observed - by_chance) / (1 - by_chance))


def votes(all_opinions: Opinions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (images, terms, votes (images, terms)) for the images that several people labelled."""
    all_opinions = all_opinions.of_several()
    images, row = np.unique(all_opinions.images, return_inverse=True)
    terms, column = np.unique(all_opinions.terms, return_inverse=True)
    flat = np.bincount(row * len(terms) + column, minlength=len(images) * len(terms))
    return images, terms, flat.reshape(len(images), len(terms))


def _differ_since(terms: np.ndarray, numbers: np.ndarray, resolving: np.ndarray) -> bool:
    """Return whether the terms differ; after one of the `resolving` events, only its term and later ones count."""
    resolved_at = numbers[np.isin(numbers, resolving)].max(initial=0)
    return len(np.unique(terms[numbers >= resolved_at])) > 1


def _conflict(all_opinions: Opinions, rows: slice) -> Conflict:
    answers = zip(
        all_opinions.people[rows].tolist(),
        all_opinions.terms[rows].tolist(),
        all_opinions.numbers[rows].tolist(),
        strict=True,
    )
    return Conflict(int(all_opinions.images[rows.start]), tuple(answers))


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)
