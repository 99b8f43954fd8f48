"""Answers become pairs, and invalid ones are reported."""

import numpy as np
import pytest

from benthoscope.engine.crowd import Sorting, as_judgements, judgements_of
from benthoscope.engine.crowd.judgements import pairs_of
from benthoscope.engine.problems import BadInput


def test_an_answer_becomes_all_its_pairs():
    judgements = judgements_of([Sorting(0, [4, 2, 7], ["a", "b", "a"])]).judgements
    flag_by_pair = {
        (int(a), int(b)): bool(same)
        for a, b, same in zip(judgements.first, judgements.second, judgements.same, strict=True)
    }
    assert flag_by_pair == {(4, 2): False, (4, 7): True, (2, 7): False}
    assert (judgements.n_items, judgements.n_workers) == (8, 1)


def test_items_without_a_group_are_ignored_and_reported():
    sorting = Sorting(0, list(range(20)), [0] * 18 + [None, None])
    judgements = judgements_of([sorting])
    assert len(judgements.judgements) == 18 * 17 // 2
    assert judgements.judgements.n_items == 18
    assert "no group for 2 of 20 items" in str(judgements.problems[0])


def test_an_answer_that_leaves_out_most_is_left_out():
    judgements = judgements_of([Sorting(0, [0, 1, 2, 3], [0, 0, None, None]), Sorting(1, [0, 1], [0, 0])])
    assert len(judgements.judgements) == 1 and judgements.judgements.worker[0] == 1
    assert str(judgements.problems[0]).startswith("answer 1: has no group for 2 of 4 items")


def test_an_answer_that_shows_an_item_twice_is_left_out():
    assert not len(judgements_of([Sorting(0, [1, 1, 2], [0, 0, 0])]).judgements)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[3, 3, 0, 1]], "pairs an item with itself"),
        ([[0, 1, 0, 2]], "neither together nor apart"),
        ([[0, -1, 0, 1]], "negative"),
        ([[0, 1, 0.5, 1]], "not a whole number"),
        ([[0, 1, 0]], "shape"),
    ],
)
def test_invalid_rows_are_rejected_with_a_reason(rows, words):
    with pytest.raises(BadInput, match=words):
        as_judgements(np.array(rows))


def test_a_number_beyond_the_items_there_are_is_rejected():
    with pytest.raises(BadInput, match="number 9 among 5 items"):
        as_judgements([[0, 9, 0, 1]], n_items=5)


def test_answers_may_be_one_and_zero_or_one_and_minus_one():
    assert as_judgements([[0, 1, 0, 0], [0, 2, 0, 1]]).same.tolist() == [False, True]
    assert as_judgements([[0, 1, 0, -1], [0, 2, 0, 1]]).same.tolist() == [False, True]


def test_whole_answers_are_held_out():
    sortings = [Sorting(0, [0, 1, 2, 3], [0, 0, 1, 1]) for _ in range(10)]
    training, held_out = judgements_of(sortings).judgements.split(0.3, np.random.default_rng(0))
    assert len(np.unique(held_out.task)) == 3 and len(held_out) == 18
    assert not set(held_out.task) & set(training.task)


def test_a_pair_judged_twice_counts_twice_and_stands_once():
    pairs = pairs_of(as_judgements([[0, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1]]))
    assert pairs.n_judgements == 3
    assert len(pairs.other) == 4  # two different pairs, both ways round
    assert sorted(pairs.count) == [1, 1, 2, 2] and sorted(pairs.net) == [0, 0, 1, 1]


def test_the_mirror_of_each_entry_is_the_same_pair():
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [*rng.permuted(np.tile(np.arange(9), (60, 1)), axis=1)[:, :2].T, rng.integers(0, 4, 60), rng.integers(0, 2, 60)]
    )
    pairs = pairs_of(as_judgements(rows))
    repeated = np.repeat(pairs.item, np.diff(pairs.start))
    assert (repeated[pairs.mirror] == pairs.other).all() and (pairs.other[pairs.mirror] == repeated).all()
    assert (pairs.net[pairs.mirror] == pairs.net).all()
