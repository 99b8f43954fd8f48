"""Agreement in blind double labels: of each two people, and of each person with the others, by term."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benthoscope.engine.labelling.agreement import Opinions, cohen_kappa, fleiss_kappa, shared, votes
from benthoscope.engine.labelling.cover.estimate import clopper_pearson
from benthoscope.engine.labelling.people.disagreements import most_frequent
from benthoscope.engine.labelling.people.double_labels import blind_labels
from benthoscope.engine.labelling.people.known_reliability import reliability_of, resolved_terms
from benthoscope.engine.labelling.people.reliability import LEAST, PeopleReliability
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace import Workspace

KNOWN = 5  # fewer images of a term say less than the prior
FEW_PEOPLE = 2  # two people who differ are both blamed, because no third person shows who is right


@dataclass(frozen=True)
class PairAgreement:
    """Two people: `same` of `images` have the same label by both."""

    people: tuple[int, int]
    images: int
    same: int
    kappa: float


@dataclass(frozen=True)
class TermAgreement:
    """A person gave `same` of `images` the `term` that the others gave; `low` and `high` are limits of this share at
    95 %. The most frequent other term is `instead` on `instead_images`. `right` is the estimate of the model for images
    whose true term it is; None if fewer than KNOWN double labels of the person are expected to be such images."""

    person: int
    term: int
    images: int
    same: int
    low: float
    high: float
    instead: int | None
    instead_images: int
    right: float | None


@dataclass(frozen=True)
class PersonAgreement:
    """A person gave `same` of `images` the term that the others gave, with limits of the share at 95 %. From LEAST
    `double_labels` on, the reliability of the person is used."""

    person: int
    double_labels: int
    images: int
    same: int
    low: float
    high: float
    used: bool


@dataclass(frozen=True)
class AgreementReport:
    """`images` were double-labelled, with labels by `people`; `kappa` is the one of Fleiss."""

    images: int
    kappa: float | None
    pairs: tuple[PairAgreement, ...]
    people: tuple[PersonAgreement, ...]
    terms: tuple[TermAgreement, ...]

    @property
    def blame_is_shared(self) -> bool:
        """Return whether only two people can be compared, so that the model cannot tell who of them is right."""
        return 0 < len(self.people) <= FEW_PEOPLE


def agreement_report(workspace: Workspace) -> AgreementReport:
    """Return the report about all blind double labels."""
    labels = blind_labels(workspace)
    reliability = reliability_of(workspace)
    table = votes(labels)[2]
    rows = _beside_others(labels, resolved_terms(workspace))
    return AgreementReport(
        len(table),
        fleiss_kappa(table) if len(table) else None,
        tuple(_pairs(labels, reliability.people)),
        tuple(_people(rows, reliability)),
        tuple(_terms(rows, reliability)),
    )


def agreement_facts(workspace: Workspace) -> dict[str, Any]:
    """Return the report as plain values with names."""
    report = agreement_report(workspace)
    names = {person.id: person.name for person in workspace.people.all()}
    words = {term.id: joined(term.path) for term in workspace.vocabularies.all_terms()}
    return {
        "images": report.images,
        "kappa": report.kappa,
        "pairs": [{**asdict(pair), "people": [names[person] for person in pair.people]} for pair in report.pairs],
        "people": [{**asdict(person), "person": names[person.person]} for person in report.people],
        "terms": [
            {
                **asdict(each),
                "person": names[each.person],
                "term": words[each.term],
                "instead": None if each.instead is None else words[each.instead],
            }
            for each in report.terms
        ],
        "blame_is_shared": report.blame_is_shared,
        "least": LEAST,
    }


def _pairs(labels: Opinions, people: np.ndarray) -> list[PairAgreement]:
    both = [
        (first, second, *shared(labels, first, second))
        for at, first in enumerate(people.tolist())
        for second in people.tolist()[at + 1 :]
    ]
    return [
        PairAgreement((first, second), len(a), int((a == b).sum()), cohen_kappa(a, b))
        for first, second, a, b in both
        if len(a)
    ]


def _beside_others(labels: Opinions, resolved: dict[int, int]) -> np.ndarray:
    """Return (person, own term, term of the others) (n, 3) for each look beside others that have a most frequent term.
    A resolved conflict has its term."""
    rows = []
    edges = np.flatnonzero(np.diff(labels.images, prepend=-1, append=-1))
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        terms, settled = labels.terms[start:end].tolist(), resolved.get(int(labels.images[start]))
        for at, person in enumerate(labels.people[start:end].tolist()):
            other_terms = terms[:at] + terms[at + 1 :]
            consensus = (most_frequent(other_terms) if settled is None else settled) if other_terms else None
            rows += [] if consensus is None else [(person, terms[at], consensus)]
    return np.array(rows, np.int64).reshape(-1, 3)


def _people(rows: np.ndarray, reliability: PeopleReliability) -> list[PersonAgreement]:
    return [
        PersonAgreement(person, count, *_share(rows[rows[:, 0] == person]), count >= LEAST)
        for person, count in zip(reliability.people.tolist(), reliability.label_counts.tolist(), strict=True)
    ]


def _terms(rows: np.ndarray, reliability: PeopleReliability) -> list[TermAgreement]:
    """Return the terms of each person, most differing labels first."""
    right = reliability.right()
    listed = []
    for person, term in np.unique(rows[:, [0, 2]], axis=0).tolist():
        of_both = rows[(rows[:, 0] == person) & (rows[:, 2] == term)]
        other_terms, counts = np.unique(of_both[of_both[:, 1] != term, 1], return_counts=True)
        cell = np.searchsorted(reliability.people, person), np.searchsorted(reliability.terms, term)
        listed.append(
            TermAgreement(
                person,
                term,
                *_share(of_both),
                int(other_terms[counts.argmax()]) if len(counts) else None,
                int(counts.max(initial=0)),
                float(right[cell]) if reliability.label_counts_by_term[cell] >= KNOWN else None,
            )
        )
    return sorted(listed, key=lambda each: (each.same - each.images, each.person, each.term))


def _share(rows: np.ndarray) -> tuple[int, int, float, float]:
    """Return (looks, those with the term of the others, limits of their share at 95 %)."""
    same = int((rows[:, 1] == rows[:, 2]).sum())
    low, high = clopper_pearson(np.array([same]), np.array([len(rows)]), 0.95)
    return len(rows), same, float(low[0]), float(high[0])
