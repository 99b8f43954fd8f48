"""The likelihood of placements: hand-made answers, and one mistake."""

import numpy as np

from benthoscope.engine.crowd import Sorting, judgements_of
from benthoscope.engine.crowd.cluster_merging import SLIPPED, Placings
from benthoscope.engine.crowd.judgements import as_judgements

ALIKE = np.array([[[0.9, 0.1], [0.1, 0.9]]])  # answers of one worker: together within two clusters, apart between them


def placings(sortings, n_workers=1) -> Placings:
    return Placings.of(judgements_of(sortings, n_workers=n_workers).judgements)


def test_groups_are_those_of_the_answers():
    assignments = placings([Sorting(1, [3, 0, 2], "aba"), Sorting(0, [1, 0, 3], "xyz"), Sorting(1, [0, 1], "aa")], 2)
    groups = {
        (worker, tuple(assignments.item[assignments.group == group].tolist()))
        for group in range(len(assignments.answer))
        for worker in assignments.worker[assignments.group == group]
    }
    assert groups == {(0, (0,)), (0, (1,)), (0, (3,)), (1, (0,)), (1, (2, 3)), (1, (0, 1))}
    assert (np.diff(assignments.worker) >= 0).all() and np.bincount(assignments.answer).tolist() == [3, 2, 1]


def test_answers_whose_pairs_make_no_groups_count_pair_by_pair():
    torn = [(0, 1, 0, 1, 0), (1, 2, 0, 1, 0), (0, 2, 0, 0, 0)]
    assignments = Placings.of(as_judgements([*torn, (3, 4, 0, 1, 1)]))
    assert np.bincount(assignments.answer[assignments.group]).tolist() == [2] * 4 and sorted(assignments.sizes) == [
        1,
        1,
        2,
        2,
        2,
    ]


def test_for_two_items_a_placement_equals_the_judgement_of_the_pair():
    assignments = placings([Sorting(0, [0, 1], "aa"), Sorting(0, [2, 3], "ab")])
    exponentials = np.exp(assignments.log_evidence(np.tile([1.0, 0.0], (4, 1)), ALIKE))
    likely = (exponentials - SLIPPED / np.array([2, 2, 3, 3])[:, None]) / (1 - SLIPPED)
    assert (likely[:2, 0] > 0.5).all() and (likely[:2, 1] < 0.5).all()
    np.testing.assert_allclose(likely[:2] + likely[2:], 1)  # together or apart


def test_a_slip_costs_no_more_than_one_mistake_however_many_it_is_among():
    for number in (4, 40):
        assignments = placings([Sorting(0, list(range(2 * number)), [0] * number + [1] * number)])
        log_evidence = assignments.log_evidence(np.repeat(np.eye(2), number, axis=0), ALIKE)
        assert (log_evidence[:number, 0] > log_evidence[:number, 1]).all() and (
            log_evidence[number:, 1] > log_evidence[number:, 0]
        ).all()
        np.testing.assert_array_less(np.log(SLIPPED / 3) - 1e-9, log_evidence)
