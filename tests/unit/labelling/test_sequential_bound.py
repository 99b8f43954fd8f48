"""The audit bound that stays valid when somebody looks after every image: golden numbers, and chance itself."""

import numpy as np
import pytest
from scipy.special import betaln, gammaln

from benthoscope.engine.labelling.audits.sample import advice, audit_size, more_to_check, sequential_audit
from benthoscope.engine.labelling.audits.sequential_bound import ALPHA, log_evidence, sequential_plan, sequential_upper
from benthoscope.engine.problems import BadInput

GOLDEN = {
    (500, 62, 0): 26,
    (500, 63, 0): 25,
    (2000, 70, 0): 98,
    (2000, 120, 1): 110,
    (55, 20, 0): 6,
    (2000, 200, 4): 122,
    (10000, 300, 6): 534,
}


@pytest.mark.parametrize("counts, upper", GOLDEN.items())
def test_golden_integers(counts, upper):
    assert sequential_upper(*counts) == upper


def test_golden_evidence():
    assert log_evidence(26, 500, 63, 0) == pytest.approx(3.039929, abs=1e-6)


def test_the_bound_is_the_greatest_total_that_is_not_excluded():
    """Against a search over every possible total."""
    for of, checked, wrong in [(55, 20, 0), (40, 39, 3), (120, 30, 5), (300, 1, 1), (20, 10, 10), (7, 0, 0)]:
        totals = [total for total in range(of + 1) if log_evidence(total, of, checked, wrong) < -np.log(ALPHA)]
        assert sequential_upper(of, checked, wrong) == max(totals)


def test_a_completely_checked_event_is_known_exactly():
    assert sequential_upper(30, 30, 4) == 4
    assert sequential_audit(30, 4, 30).at_most_after == 0


@pytest.mark.parametrize("of", [55, 200, 2000])
@pytest.mark.parametrize("share", [0.03, 0.05, 0.1, 0.2])
def test_inspecting_after_every_image_keeps_the_error_at_five_per_cent(of, share):
    """1,000 audits of one event: in how many is the bound ever below the truth? The bound is below the truth as soon as
    the evidence against the true total reaches 1 / alpha while fewer wrong ones were found than that total has."""
    total, rng = round(share * of), np.random.default_rng([of, round(100 * share)])
    answers = np.zeros((1000, of), np.int64)
    answers[:, :total] = 1
    wrong = rng.permuted(answers, axis=1).cumsum(1)
    checked = np.broadcast_to(np.arange(1, of + 1), wrong.shape)
    evidence = _evidence(total, of, checked, wrong)
    below = (evidence >= -np.log(ALPHA)) & (wrong * of < total * checked)
    assert below[:, :-1].any(1).mean() <= ALPHA + 0.014
    for row, at in zip(*np.nonzero(below[:20, :-1]), strict=True):  # compare with the program
        assert sequential_upper(of, int(checked[row, at]), int(wrong[row, at])) < total


def _evidence(total, of, checked, wrong):
    """The formula of the specification for arrays."""
    some = np.log(0.7) + betaln(wrong + 1, checked - wrong + 40) - betaln(1, 40)
    prior = np.where(wrong == 0, np.logaddexp(np.log(0.3), some), some)
    likelihood = (
        gammaln(total + 1)
        - gammaln(total - wrong + 1)
        + gammaln(of - total + 1)
        - gammaln(of - total - checked + wrong + 1)
        + gammaln(of - checked + 1)
        - gammaln(of + 1)
    )
    return prior - likelihood


def test_repeated_looks_at_the_bound_for_one_look_would_break_it():
    """Guards the simulation: the bound for a fixed size is wrong far too often when it is looked at every time."""
    from benthoscope.engine.labelling.audits.sample import bound_within

    rng, of, total, broken = np.random.default_rng(0), 200, 20, 0
    for _ in range(150):
        wrong = rng.permutation(np.arange(of) < total).cumsum()
        broken += any(bound_within(of, n, int(wrong[n - 1])) * of < total for n in range(10, 120, 3))
    assert broken / 150 > 0.1


def test_the_plan_is_the_least_number_of_checks_that_reaches_the_target():
    assert [sequential_plan(of, 0.05) for of in (500, 5000)] == [63, 70]
    assert sequential_upper(500, 62, 0) > 25 >= sequential_upper(500, 63, 0)
    assert sequential_plan(500, 0.05) > audit_size(500, 0.05)  # the price of looking often
    assert sequential_plan(500, 0.05, wrong=1) > sequential_plan(500, 0.05)


def test_the_advice_follows_from_the_bound():
    assert advice(sequential_audit(63, 0, 500)) == "enough"
    assert advice(sequential_audit(62, 0, 500)) == "more" and more_to_check(sequential_audit(62, 0, 500)) == 1
    assert advice(sequential_audit(10, 2, 500)) == "more"  # too few to judge
    assert advice(sequential_audit(30, 3, 500)) == "correct"
    assert advice(sequential_audit(170, 8, 5000)) == "more" and advice(sequential_audit(200, 8, 5000)) == "correct"
    assert advice(sequential_audit(8, 3, 8)) == "enough"  # nothing is left to check


def test_impossible_counts_are_rejected():
    with pytest.raises(BadInput, match="2 wrong, 1 checked"):
        sequential_upper(10, 1, 2)
    with pytest.raises(BadInput, match="target of 2"):
        sequential_plan(10, 2)
