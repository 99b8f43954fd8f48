"""Where people say different things of one image, and how far they agree beyond chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.problems import fail
from engine.workspace.events import Event


@dataclass(frozen=True)
class Opinions:
    """What every person last said of every image: one entry each, by image, then person."""

    images: np.ndarray
    people: np.ndarray
    terms: np.ndarray
    numbers: np.ndarray  # the events that say so

    def by(self, person_id: int) -> tuple[np.ndarray, np.ndarray]:
        """(images, terms) of one person."""
        mine = self.people == person_id
        return self.images[mine], self.terms[mine]

    def of_several(self) -> "Opinions":
        """Only images of which more than one person spoke."""
        _, place, counts = np.unique(self.images, return_inverse=True, return_counts=True)
        kept = counts[place] > 1
        return Opinions(self.images[kept], self.people[kept], self.terms[kept], self.numbers[kept])


@dataclass(frozen=True)
class Conflict:
    """An image of which people say different things: (person, term, event) each."""

    image: int
    said: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Confusion:
    """Images that one person gave term a (row) and the other term b (column)."""

    terms: np.ndarray   # (T,)
    counts: np.ndarray  # (T, T)

    def agreement(self) -> np.ndarray:
        """Of every term (T,): images both gave it as a share of images either gave it."""
        both = np.diagonal(self.counts)
        either = self.counts.sum(0) + self.counts.sum(1) - both
        return np.divide(both, either, out=np.ones(len(both)), where=either > 0)


def opinions(standing: Sequence[Event]) -> Opinions:
    """From standing events, oldest first."""
    said = [event for event in standing if event.kind == "label"][::-1]
    images = _joined([event.images for event in said])
    counts = [event.count for event in said]
    people, terms, numbers = (np.repeat(np.array([getattr(event, name) for event in said], np.int64), counts)
                              for name in ("person_id", "term_id", "number"))
    order = np.lexsort((-numbers, people, images))
    repeated = (np.diff(images[order]) == 0) & (np.diff(people[order]) == 0)
    first = order[np.concatenate([[True], ~repeated])] if len(order) else order
    return Opinions(images[first], people[first], terms[first], numbers[first])


def conflicts(standing: Sequence[Event]) -> list[Conflict]:
    """Images with different terms by different people, unless somebody has since settled it ("resolved")."""
    found = opinions(standing).of_several()
    settled = {event.number for event in standing if event.why == "resolved"}
    edges = [0, *(np.flatnonzero(np.diff(found.images)) + 1), len(found.images)]
    parts = (slice(a, b) for a, b in pairwise(edges) if a < b)
    return [_conflict(found, part) for part in parts
            if len(np.unique(found.terms[part])) > 1 and int(found.numbers[part].max()) not in settled]


def confusion(terms_a: np.ndarray, terms_b: np.ndarray) -> Confusion:
    """Of two people's terms for the same images."""
    if len(terms_a) != len(terms_b):
        raise fail("confusion", f"{len(terms_a)} and {len(terms_b)} labels", "give both for the same images")
    terms, place = np.unique(np.concatenate([terms_a, terms_b]), return_inverse=True)
    a, b = place[: len(terms_a)], place[len(terms_a):]
    flat = np.bincount(a * len(terms) + b, minlength=len(terms) ** 2)
    return Confusion(terms, flat.reshape(len(terms), len(terms)))


def shared(found: Opinions, one: int, other: int) -> tuple[np.ndarray, np.ndarray]:
    """The terms two people gave the images both spoke of."""
    (images_a, terms_a), (images_b, terms_b) = found.by(one), found.by(other)
    _, a, b = np.intersect1d(images_a, images_b, return_indices=True)
    return terms_a[a], terms_b[b]


def cohen_kappa(terms_a: np.ndarray, terms_b: np.ndarray) -> float:
    """Agreement of two people beyond chance: 1 in full, 0 as by chance; 1 where there is but one term."""
    counts = confusion(terms_a, terms_b).counts
    total = counts.sum()
    if not total:
        raise fail("kappa", "no image has labels of both people", "let a second person verify some")
    seen = np.trace(counts) / total
    by_chance = float(counts.sum(0) @ counts.sum(1)) / total**2
    return 1.0 if by_chance == 1 else float((seen - by_chance) / (1 - by_chance))


def fleiss_kappa(votes: np.ndarray) -> float:
    """Agreement of many people beyond chance; votes (images, terms) counts who gave which, two or more an image. Where
    images have different numbers of votes, every image counts alike."""
    votes = np.asarray(votes, float)
    people = votes.sum(1)
    if not len(votes) or (people < 2).any():
        raise fail("kappa", "an image with fewer than two labels", "leave out what one person alone has labelled")
    seen = (((votes**2).sum(1) - people) / (people * (people - 1))).mean()
    shares = votes.sum(0) / votes.sum()
    by_chance = float((shares**2).sum())
    return 1.0 if by_chance == 1 else float((seen - by_chance) / (1 - by_chance))


def votes(found: Opinions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(images, terms, votes (images, terms)) of images of which several people spoke."""
    found = found.of_several()
    images, row = np.unique(found.images, return_inverse=True)
    terms, column = np.unique(found.terms, return_inverse=True)
    flat = np.bincount(row * len(terms) + column, minlength=len(images) * len(terms))
    return images, terms, flat.reshape(len(images), len(terms))


def _conflict(found: Opinions, part: slice) -> Conflict:
    said = zip(found.people[part].tolist(), found.terms[part].tolist(), found.numbers[part].tolist(), strict=True)
    return Conflict(int(found.images[part.start]), tuple(said))


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
