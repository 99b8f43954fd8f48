"""Which items are shown together."""

from itertools import chain

import numpy as np
import pytest

from benthoscope.engine.crowd import sample_tasks, suggested_views, tasks_of_worker
from benthoscope.engine.crowd.tasks import coverage, expected_coverage, is_connected
from benthoscope.engine.problems import BadInput


@pytest.fixture(scope="module")
def draws():
    return [sample_tasks(300, 20, 6, np.random.default_rng(seed)) for seed in range(20)]


def test_every_item_is_shown_and_no_task_shows_one_twice(draws):
    for tasks in draws:
        assert len(tasks) == 90
        assert all(len(set(task.tolist())) == 20 for task in tasks)
        shown = np.bincount(np.concatenate(tasks), minlength=300)
        assert shown.min() >= 1 and shown.mean() == 6


def test_the_number_of_appearances_varies_as_expected_by_chance(draws):
    shown = np.concatenate([np.bincount(np.concatenate(tasks), minlength=300) for tasks in draws])
    share = (20 - 300 / 90) / (300 - 300 / 90)
    assert shown.std() == pytest.approx(np.sqrt(89 * share * (1 - share)), rel=0.05)


def test_pairs_are_covered_as_predicted(draws):
    assert np.mean([coverage(tasks, 300) for tasks in draws]) == pytest.approx(0.32, abs=0.02)
    assert expected_coverage(300, 20, 90) == pytest.approx(0.318, abs=1e-3)
    assert expected_coverage(976, 36, 163) == pytest.approx(0.194, abs=1e-3)


def test_all_items_are_connected(draws):
    assert all(is_connected(tasks, 300) for tasks in draws)
    assert not is_connected([np.array([0, 1]), np.array([2, 3])], 4)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ((10, 20, 6), "too large for 10 items"),
        ((10, 1, 6), "at least 2"),
        ((10, 5, 0), "at least one task"),
    ],
)
def test_impossible_tasks_are_rejected(wanted, words):
    with pytest.raises(BadInput, match=words):
        sample_tasks(*wanted, np.random.default_rng(0))


def test_all_items_may_be_one_task():
    assert sorted(sample_tasks(7, 7, 1, np.random.default_rng(0))[0]) == list(range(7))


def test_each_task_goes_to_different_people_and_all_get_about_the_same():
    tasks = tasks_of_worker(25, 4, 9, np.random.default_rng(0))
    assert all(len(set(tasks.tolist())) == len(tasks) for tasks in tasks)
    assert (np.bincount(list(chain(*tasks)), minlength=25) == 4).all()
    loads = [len(tasks) for tasks in tasks]
    assert sum(loads) == 100 and max(loads) - min(loads) <= 2
    with pytest.raises(BadInput, match="invite more workers"):
        tasks_of_worker(5, 3, 2, np.random.default_rng(0))


def test_suggested_views_grow_with_the_collection():
    assert suggested_views(82, 10) < suggested_views(8746, 8)
    assert suggested_views(2, 2) >= 1
