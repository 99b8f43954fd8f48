"""One bound for audits of several events with different sampling rates."""

import numpy as np
import pytest

from benthoscope.engine.labelling.audits.sequential_bound import pooled_upper


def test_the_same_audits_give_the_same_bound():
    audits = np.array([500, 60]), np.array([54, 31]), np.array([0, 1])
    assert pooled_upper(*audits) == pooled_upper(*audits)


def test_all_labels_of_an_unchecked_event_may_be_wrong():
    assert pooled_upper(np.array([1000, 200]), np.array([1000, 0]), np.array([3, 0])) == 203


def test_completely_checked_events_are_known_exactly():
    assert pooled_upper(np.array([30, 40]), np.array([30, 40]), np.array([2, 0])) == 2


def test_the_pooled_bound_is_tighter_than_the_sum_of_single_bounds():
    from benthoscope.engine.labelling.audits.sample import bound_within

    sizes, checked = np.array([60, 200, 500, 2000]), np.array([33, 47, 54, 57])
    single = sum(bound_within(of, n, 0) * of for of, n in zip(sizes.tolist(), checked.tolist(), strict=True))
    assert pooled_upper(sizes, checked, np.zeros(4, int)) < 0.75 * single


@pytest.mark.parametrize("share", [0.005, 0.01, 0.05])
def test_the_bound_has_its_stated_coverage(share):
    """Twelve events of 60 to 2,000 labels with forty checks each, as in the specification: coverage at least 0.95."""
    rng = np.random.default_rng(4)
    sizes, checked = np.geomspace(60, 2000, 12).astype(int), np.full(12, 40)
    flags = []
    for _ in range(300):
        wrong = rng.binomial(sizes, share)
        wrong_counts = rng.hypergeometric(wrong, sizes - wrong, checked)
        flags.append(pooled_upper(sizes, checked, wrong_counts) >= wrong.sum())
    assert np.mean(flags) >= 0.95 - 0.013
