"""Agreement of people, by the textbook's figures and by scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from engine.labelling.agreement import (
    cohen_kappa,
    conflicts,
    confusion,
    fleiss_kappa,
    opinions,
    shared,
    votes,
)
from engine.labelling.pace import FIRST, pace
from engine.problems import BadInput
from engine.workspace.events import Event, standing
from engine.workspace.packing import pack_ids
from engine.workspace.vocabularies import NewTerm


def said(number, person, images, term, why="manual", at=0.0):
    ids = np.array(sorted(images))
    return Event(number, "label", person, at, pack_ids(ids), len(ids), why, term)


def test_cohens_kappa_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 4, 50), rng.integers(0, 5, 50)
        assert cohen_kappa(a, b) == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)
    assert cohen_kappa(np.array([3, 3]), np.array([3, 3])) == 1.0


def test_fleiss_kappa_is_that_of_his_example():
    """Fourteen raters, ten subjects, five categories: 0.210 (Fleiss 1971 as commonly reprinted)."""
    table = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1], [7, 7, 0, 0, 0],
             [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]
    assert fleiss_kappa(np.array(table)) == pytest.approx(0.210, abs=5e-4)


def test_agreement_by_chance_is_none():
    rng = np.random.default_rng(0)
    table = np.array([np.bincount(rng.choice(3, 5, p=[0.6, 0.3, 0.1]), minlength=3) for _ in range(5000)])
    assert fleiss_kappa(table) == pytest.approx(0, abs=0.03)


def test_every_persons_last_word_counts():
    events = [said(1, 7, [1, 2], 10), said(2, 8, [2, 3], 11), said(3, 7, [2], 12)]
    found = opinions(events)
    assert list(zip(found.images.tolist(), found.people.tolist(), found.terms.tolist(), strict=True)) == [
        (1, 7, 10), (2, 7, 12), (2, 8, 11), (3, 8, 11)]
    assert [terms.tolist() for terms in shared(found, 7, 8)] == [[12], [11]]
    images, terms, table = votes(found)
    assert (images.tolist(), terms.tolist(), table.tolist()) == ([2], [11, 12], [[1, 1]])
    assert len(opinions([]).images) == 0


def test_a_conflict_is_shown_until_it_is_settled():
    events = [said(1, 7, [1, 2], 10), said(2, 8, [2], 11), said(3, 8, [1], 10)]
    found = conflicts(events)
    assert [conflict.image for conflict in found] == [2]
    assert found[0].said == ((7, 10, 1), (8, 11, 2))
    assert conflicts([*events, said(4, 9, [2], 11, why="resolved")]) == []
    assert len(conflicts([*events, said(4, 9, [2], 11, why="resolved"), said(5, 7, [2], 12)])) == 1
    assert conflicts([]) == []


def test_two_people_labelling_at_once_both_keep_their_word(workspace):
    words = workspace.vocabularies.add("own", [NewTerm(("sand",)), NewTerm(("kelp",))])
    sand, kelp = (term.id for term in workspace.vocabularies.terms(words.id))
    ann, bob = (workspace.people.named(name).id for name in ("Ann", "Bob"))
    workspace.labels.label(ann, [1, 2, 3], sand)
    workspace.labels.label(bob, [3, 4], kelp)
    found = conflicts(standing(workspace.labels.events()))
    assert [conflict.image for conflict in found] == [3]
    workspace.labels.undo_last(bob)
    assert conflicts(standing(workspace.labels.events())) == []


def test_the_confusion_tells_which_terms_are_mixed_up():
    found = confusion(np.array([1, 1, 2, 2]), np.array([1, 2, 2, 2]))
    assert found.counts.tolist() == [[1, 1], [0, 2]]
    np.testing.assert_allclose(found.agreement(), [1 / 2, 2 / 3])


def test_pauses_are_no_work():
    events = [said(1, 7, range(1, 101), 1, at=0), said(2, 7, [101], 1, at=60), said(3, 7, [102], 1, at=10_000),
              said(4, 8, [5], 1, at=61), said(5, 7, [7], 1, why="import", at=62)]
    found = pace(events, 7)
    assert (found.images, found.acts, found.seconds) == (102, 3, 60 + 2 * FIRST)
    assert found.per_hour == pytest.approx(3600 * 102 / 90)
    assert found.seconds_left(204) == pytest.approx(180)
    assert pace([], 7).seconds_left(5) is None


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(BadInput, match="fewer than two"):
        fleiss_kappa(np.array([[1, 0]]))
    with pytest.raises(BadInput, match="second person"):
        cohen_kappa(np.array([]), np.array([]))
