"""Reliability of people: how often each gives which term to images of each true term, from blind double labels.

The true terms are unknown. Expectation maximisation estimates them together with the reliabilities (Dawid and Skene
1979). Few double labels say little about rare terms, so the estimate of each term is drawn towards the person's share
of right labels, and that share towards the share of all people.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.labelling.agreement import Opinions

LEAST = 20  # double labels of a person before the learner uses the reliability of this person
PERSON_PRIOR = 10.0  # images that the mean of all people counts as, for the share of right labels of a person
TERM_PRIOR = 4.0  # images that the share of a person counts as, for each of the person's terms
USUAL = 0.95  # expected share of right labels, which counts as PERSON_PRIOR images
STEPS = 30
TINY = 1e-9  # keeps logarithms finite


@dataclass(frozen=True)
class PeopleReliability:
    """`confusion[p, k, l]` is the estimated probability that person p gives term l to an image of term k."""

    people: np.ndarray  # (P,) ids, sorted
    terms: np.ndarray  # (T,) ids, sorted
    confusion: np.ndarray  # (P, T, T)
    label_counts: np.ndarray  # (P,) double labels of each person
    label_counts_by_term: np.ndarray  # (P, T) expected number of them on images of each true term

    def right(self) -> np.ndarray:
        """Return the estimated probability (P, T) that a person gives the right term to an image of each term."""
        return np.diagonal(self.confusion, axis1=1, axis2=2)

    def likelihoods(self, people: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return how probable each label (term `labels` (n,) by `people` (n,)) is if the true term is each of `terms`
        (n, T). A label by somebody with fewer than LEAST double labels is taken as right."""
        result = (labels[:, None] == self.terms).astype(float)
        person_known, person = _positions(self.people, people)
        label_known, label = _positions(self.terms, labels)
        is_used = person_known & label_known
        is_used[is_used] = self.label_counts[person[is_used]] >= LEAST
        result[is_used] = self.confusion[person[is_used], :, label[is_used]]
        return result


def estimate(opinions: Opinions, terms: np.ndarray, settled: Mapping[int, int] | None = None) -> PeopleReliability:
    """Return the reliability of the people from their independent looks at the same images. `terms` are all terms in
    use; `settled` are the true terms {image: term} of images whose conflict was resolved."""
    several = opinions.of_several()
    term_ids = np.union1d(terms, np.union1d(several.terms, list((settled or {}).values()))).astype(np.int64)
    people, person = np.unique(several.people, return_inverse=True)
    images, image = np.unique(several.images, return_inverse=True)
    term = np.searchsorted(term_ids, several.terms)
    shape = len(people), len(term_ids), len(term_ids)
    if not len(images):  # nobody has looked twice, and perhaps there is no label yet
        return PeopleReliability(people, term_ids, np.zeros(shape), np.zeros(0, np.int64), np.zeros(shape[:2]))
    fixed = _settled_rows(images, term_ids, settled or {})
    truth = _shared_votes(image, term, (len(images), len(term_ids)), fixed)
    counts, confusion = np.zeros(shape), np.zeros(shape)
    for _ in range(STEPS):
        counts = _expected_counts(person, term, truth[image], shape)
        confusion = _posterior_mean(counts)
        truth = _true_terms(truth.sum(0), image, confusion[person, :, term], fixed)
    return PeopleReliability(people, term_ids, confusion, np.bincount(person, minlength=len(people)), counts.sum(2))


def _expected_counts(
    person: np.ndarray, term: np.ndarray, truth: np.ndarray, shape: tuple[int, int, int]
) -> np.ndarray:
    """Return how often each person gave each term to images of each true term (P, T, T)."""
    by_given_term = np.zeros(shape)
    np.add.at(by_given_term, (person, term), truth)
    return by_given_term.swapaxes(1, 2)


def _true_terms(sizes: np.ndarray, image: np.ndarray, likelihoods: np.ndarray, fixed: Mapping[int, int]) -> np.ndarray:
    """Return the probability of each true term of each image, from the `likelihoods` (n, T) of the labels."""
    count = int(image.max(initial=-1)) + 1
    logs = np.tile(np.log(sizes + 1 / len(sizes)), (count, 1))
    np.add.at(logs, image, np.log(likelihoods))
    truth = np.exp(logs - logs.max(1, initial=-np.inf, keepdims=True))
    truth[list(fixed)] = np.eye(len(sizes))[list(fixed.values())]
    return truth / truth.sum(1, keepdims=True)


def _posterior_mean(counts: np.ndarray) -> np.ndarray:
    """Return the probabilities (P, T, T) from the expected counts, each drawn towards the person's and all people's."""
    right, total = np.diagonal(counts, axis1=1, axis2=2).sum(1), counts.sum((1, 2))
    usual = (right.sum() + USUAL * PERSON_PRIOR) / (total.sum() + PERSON_PRIOR)
    share = (right + usual * PERSON_PRIOR) / (total + PERSON_PRIOR)
    T = counts.shape[1]
    expected = share[:, None, None] * np.eye(T) + (1 - share)[:, None, None] * _usual_errors(counts.sum(0))
    return (counts + TERM_PRIOR * expected) / (counts.sum(2, keepdims=True) + TERM_PRIOR)


def _usual_errors(counts: np.ndarray) -> np.ndarray:
    """Return where the errors of all people go: for each true term (T,) the shares of the wrong terms (T, T)."""
    T = len(counts)
    errors = counts * (1 - np.eye(T)) + (1 - np.eye(T)) * (counts.sum(0) + 1) / (counts.sum() + T)
    return errors / np.maximum(errors.sum(1, keepdims=True), TINY)


def _shared_votes(image: np.ndarray, term: np.ndarray, shape: tuple[int, int], fixed: Mapping[int, int]) -> np.ndarray:
    votes = np.full(shape, 0.1 / shape[1])
    np.add.at(votes, (image, term), 1.0)
    votes[list(fixed)] = np.eye(shape[1])[list(fixed.values())]
    return votes / votes.sum(1, keepdims=True)


def _settled_rows(images: np.ndarray, terms: np.ndarray, settled: Mapping[int, int]) -> dict[int, int]:
    """Return {row of the image: column of its term}."""
    known, row = _positions(images, np.array(list(settled), np.int64))
    columns = np.searchsorted(terms, list(settled.values()))
    return dict(zip(row[known].tolist(), columns[known].tolist(), strict=True))


def _positions(values: np.ndarray, sought: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (whether each of `sought` is among the sorted values, its position there)."""
    if not len(values):
        return np.zeros(len(sought), bool), np.zeros(len(sought), np.int64)
    at = np.minimum(np.searchsorted(values, sought), len(values) - 1)
    return values[at] == sought, at
