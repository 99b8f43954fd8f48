"""Agreement of people, by the textbook's figures and by scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from benthoscope.engine.labelling.agreement import (
    cohen_kappa,
    conflicts,
    confusion,
    fleiss_kappa,
    opinions,
    shared,
    votes,
)
from benthoscope.engine.labelling.speed import FIRST, pace
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.labels.events import Event, standing
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.engine.workspace.storage.id_packing import pack_ids


def label_event(number, person, images, term, why="manual", at=0.0):
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
    table = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    assert fleiss_kappa(np.array(table)) == pytest.approx(0.210, abs=5e-4)


def test_agreement_by_chance_is_zero():
    rng = np.random.default_rng(0)
    table = np.array([np.bincount(rng.choice(3, 5, p=[0.6, 0.3, 0.1]), minlength=3) for _ in range(5000)])
    assert fleiss_kappa(table) == pytest.approx(0, abs=0.03)


def test_the_last_label_of_each_person_counts():
    events = [label_event(1, 7, [1, 2], 10), label_event(2, 8, [2, 3], 11), label_event(3, 7, [2], 12)]
    all_opinions = opinions(events)
    assert list(
        zip(all_opinions.images.tolist(), all_opinions.people.tolist(), all_opinions.terms.tolist(), strict=True)
    ) == [(1, 7, 10), (2, 7, 12), (2, 8, 11), (3, 8, 11)]
    assert [terms.tolist() for terms in shared(all_opinions, 7, 8)] == [[12], [11]]
    images, terms, table = votes(all_opinions)
    assert (images.tolist(), terms.tolist(), table.tolist()) == ([2], [11, 12], [[1, 1]])
    assert len(opinions([]).images) == 0


def test_a_conflict_is_shown_until_it_is_settled():
    events = [label_event(1, 7, [1, 2], 10), label_event(2, 8, [2], 11), label_event(3, 8, [1], 10)]
    open_conflicts = conflicts(events)
    assert [conflict.image for conflict in open_conflicts] == [2]
    assert open_conflicts[0].opinions == ((7, 10, 1), (8, 11, 2))
    assert conflicts([*events, label_event(4, 9, [2], 11, why="resolved")]) == []
    assert len(conflicts([*events, label_event(4, 9, [2], 11, why="resolved"), label_event(5, 7, [2], 12)])) == 1
    assert conflicts([]) == []


def test_labels_of_two_simultaneous_people_are_both_stored(workspace):
    words = workspace.vocabularies.add("own", [NewTerm(("sand",)), NewTerm(("kelp",))])
    sand, kelp = (term.id for term in workspace.vocabularies.terms(words.id))
    ann, bob = (workspace.people.named(name).id for name in ("Ann", "Bob"))
    workspace.labels.label(ann, [1, 2, 3], sand)
    workspace.labels.label(bob, [3, 4], kelp)
    open_conflicts = conflicts(standing(workspace.labels.events()))
    assert [conflict.image for conflict in open_conflicts] == [3]
    workspace.labels.undo_last(bob)
    assert conflicts(standing(workspace.labels.events())) == []


def test_the_confusion_table_shows_confused_terms():
    matrix = confusion(np.array([1, 1, 2, 2]), np.array([1, 2, 2, 2]))
    assert matrix.counts.tolist() == [[1, 1], [0, 2]]
    np.testing.assert_allclose(matrix.agreement(), [1 / 2, 2 / 3])


def test_pauses_do_not_count_as_work():
    events = [
        label_event(1, 7, range(1, 101), 1, at=0),
        label_event(2, 7, [101], 1, at=60),
        label_event(3, 7, [102], 1, at=10_000),
        label_event(4, 8, [5], 1, at=61),
        label_event(5, 7, [7], 1, why="import", at=62),
    ]
    speed = pace(events, 7)
    assert (speed.images, speed.events, speed.seconds) == (102, 3, 60 + 2 * FIRST)
    assert speed.per_hour == pytest.approx(3600 * 102 / 90)
    assert speed.seconds_left(204) == pytest.approx(180)
    assert pace([], 7).seconds_left(5) is None


def test_impossible_comparisons_are_rejected():
    with pytest.raises(BadInput, match="fewer than two"):
        fleiss_kappa(np.array([[1, 0]]))
    with pytest.raises(BadInput, match="second person"):
        cohen_kappa(np.array([]), np.array([]))
