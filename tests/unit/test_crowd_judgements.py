"""Answers become pairs, and what cannot be used is told."""

import numpy as np
import pytest

from engine.crowd import Sorting, as_judgements, judgements_of
from engine.crowd.pairs import pairs_of
from engine.problems import BadInput


def test_an_answer_is_all_its_pairs():
    found = judgements_of([Sorting(0, [4, 2, 7], ["a", "b", "a"])]).judgements
    told = {(int(a), int(b)): bool(same)
            for a, b, same in zip(found.first, found.second, found.same, strict=True)}
    assert told == {(4, 2): False, (4, 7): True, (2, 7): False}
    assert (found.n_items, found.n_workers) == (8, 1)


def test_unmarked_items_are_neither_one_group_nor_alone_but_left_out_and_told():
    sorting = Sorting(0, list(range(20)), [0] * 18 + [None, None])
    found = judgements_of([sorting])
    assert len(found.judgements) == 18 * 17 // 2
    assert found.judgements.n_items == 18
    assert "2 of 20 items unmarked" in str(found.problems[0])


def test_an_answer_that_leaves_out_most_is_left_out():
    found = judgements_of([Sorting(0, [0, 1, 2, 3], [0, 0, None, None]), Sorting(1, [0, 1], [0, 0])])
    assert len(found.judgements) == 1 and found.judgements.worker[0] == 1
    assert str(found.problems[0]).startswith("answer 1: leaves 2 of 4 items unmarked")


def test_an_answer_that_shows_an_item_twice_is_left_out():
    assert not len(judgements_of([Sorting(0, [1, 1, 2], [0, 0, 0])]).judgements)


@pytest.mark.parametrize(("rows", "words"), [
    ([[3, 3, 0, 1]], "pairs an item with itself"),
    ([[0, 1, 0, 2]], "neither together nor apart"),
    ([[0, -1, 0, 1]], "negative"),
    ([[0, 1, 0.5, 1]], "no whole number"),
    ([[0, 1, 0]], "shape"),
])
def test_rows_that_make_no_sense_are_refused_with_a_reason(rows, words):
    with pytest.raises(BadInput, match=words):
        as_judgements(np.array(rows))


def test_a_number_beyond_the_items_there_are_is_refused():
    with pytest.raises(BadInput, match="number 9 among 5 items"):
        as_judgements([[0, 9, 0, 1]], n_items=5)


def test_signs_may_be_written_as_one_and_zero_or_one_and_minus_one():
    assert as_judgements([[0, 1, 0, 0], [0, 2, 0, 1]]).same.tolist() == [False, True]
    assert as_judgements([[0, 1, 0, -1], [0, 2, 0, 1]]).same.tolist() == [False, True]


def test_whole_answers_are_held_out():
    sortings = [Sorting(0, [0, 1, 2, 3], [0, 0, 1, 1]) for _ in range(10)]
    rest, held = judgements_of(sortings).judgements.split(0.3, np.random.default_rng(0))
    assert len(np.unique(held.task)) == 3 and len(held) == 18
    assert not set(held.task) & set(rest.task)


def test_a_pair_judged_twice_counts_twice_and_stands_once():
    pairs = pairs_of(as_judgements([[0, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1]]))
    assert pairs.n_judgements == 3
    assert len(pairs.other) == 4  # two different pairs, both ways round
    assert sorted(pairs.count) == [1, 1, 2, 2] and sorted(pairs.net) == [0, 0, 1, 1]


def test_every_pair_finds_its_twin():
    rng = np.random.default_rng(0)
    rows = np.column_stack([*rng.permuted(np.tile(np.arange(9), (60, 1)), axis=1)[:, :2].T,
                            rng.integers(0, 4, 60), rng.integers(0, 2, 60)])
    pairs = pairs_of(as_judgements(rows))
    own = np.repeat(pairs.item, np.diff(pairs.start))
    assert (own[pairs.twin] == pairs.other).all() and (pairs.other[pairs.twin] == own).all()
    assert (pairs.net[pairs.twin] == pairs.net).all()
