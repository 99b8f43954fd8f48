"""What the groups of answers say of items: hand-made answers, and one slip."""

import numpy as np

from engine.crowd import Sorting, judgements_of
from engine.crowd.judgements import as_judgements
from engine.crowd.placings import SLIPPED, Placings

ALIKE = np.array([[[0.9, 0.1], [0.1, 0.9]]])  # of one worker: together within two clusters, apart across


def placings(sortings, n_workers=1) -> Placings:
    return Placings.of(judgements_of(sortings, n_workers=n_workers).judgements)


def test_groups_are_those_of_the_answers():
    found = placings([Sorting(1, [3, 0, 2], "aba"), Sorting(0, [1, 0, 3], "xyz"), Sorting(1, [0, 1], "aa")], 2)
    groups = {(worker, tuple(found.item[found.group == group].tolist()))
              for group in range(len(found.answer)) for worker in found.worker[found.group == group]}
    assert groups == {(0, (0,)), (0, (1,)), (0, (3,)), (1, (0,)), (1, (2, 3)), (1, (0, 1))}
    assert (np.diff(found.worker) >= 0).all() and np.bincount(found.answer).tolist() == [3, 2, 1]


def test_answers_whose_pairs_make_no_groups_count_pair_by_pair():
    torn = [(0, 1, 0, 1, 0), (1, 2, 0, 1, 0), (0, 2, 0, 0, 0)]
    found = Placings.of(as_judgements([*torn, (3, 4, 0, 1, 1)]))
    assert np.bincount(found.answer[found.group]).tolist() == [2] * 4 and sorted(found.sizes) == [1, 1, 2, 2, 2]


def test_of_two_items_a_placing_says_what_the_pair_says():
    found = placings([Sorting(0, [0, 1], "aa"), Sorting(0, [2, 3], "ab")])
    told = np.exp(found.told(np.tile([1.0, 0.0], (4, 1)), ALIKE))
    likely = (told - SLIPPED / np.array([2, 2, 3, 3])[:, None]) / (1 - SLIPPED)
    assert (likely[:2, 0] > 0.5).all() and (likely[:2, 1] < 0.5).all()
    np.testing.assert_allclose(likely[:2] + likely[2:], 1)  # together or apart


def test_a_slip_costs_no_more_than_one_mistake_however_many_it_is_among():
    for many in (4, 40):
        found = placings([Sorting(0, list(range(2 * many)), [0] * many + [1] * many)])
        told = found.told(np.repeat(np.eye(2), many, axis=0), ALIKE)
        assert (told[:many, 0] > told[:many, 1]).all() and (told[many:, 1] > told[many:, 0]).all()
        np.testing.assert_array_less(np.log(SLIPPED / 3) - 1e-9, told)
