"""Proofs by random images for accepting suggestions without review, and missing evidence."""

import numpy as np
import pytest

from benthoscope.engine.labelling.accepting import prove, what_is_needed
from benthoscope.engine.labelling.audits.sequential_bound import sequential_upper
from benthoscope.engine.labelling.measured_accuracy import NO_DRAWS, AnsweredDraws
from benthoscope.engine.problems import BadInput

pytestmark = pytest.mark.thorough

SURE = np.full(2000, 0.9)


def draws(right, confidence=0.9, eligible=None, unlabelled=2000, **others):
    """Drawn one after the other; after the last `unlabelled` images have no label."""
    n = len(right)
    of = unlabelled + n - np.arange(n) if eligible is None else np.full(n, eligible)
    return AnsweredDraws(
        np.broadcast_to(np.asarray(confidence, float), n), np.asarray(right, bool), np.arange(n) // 4, of, **others
    )


def test_without_draws_nothing_is_proven_and_the_missing_number_is_shown():
    assert prove(NO_DRAWS, SURE, 0.95) is None
    need = what_is_needed(NO_DRAWS, SURE, 0.95)
    assert (
        need.text
        == f"Answer at least {need.missing_draws} more random images first; 0 of {need.missing_draws} are answered."
    )


@pytest.mark.parametrize("share", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("answered", [0, 14, 40])
@pytest.mark.parametrize("unlabelled", [300, 2000])
def test_the_stated_number_of_correct_draws_proves_it_and_one_fewer_does_not(share, answered, unlabelled):
    now = draws(np.ones(answered), unlabelled=unlabelled)
    if prove(now, np.full(unlabelled, 0.9), share):
        assert answered == 40 and share < 0.95  # these suffice already
        return
    need = what_is_needed(now, np.full(unlabelled, 0.9), share)
    for missing, proven in ((need.missing_draws, True), (need.missing_draws - 1, False)):
        then = draws(np.ones(answered + missing), unlabelled=unlabelled - missing)
        assert (prove(then, np.full(unlabelled - missing, 0.9), share) is not None) == proven
    assert f"{answered} of {answered + need.missing_draws} are answered" in need.text


def test_fewer_than_thirty_draws_prove_nothing():
    assert prove(draws(np.ones(29)), SURE, 0.7) is None and prove(draws(np.ones(30)), SURE, 0.7) is not None
    with pytest.raises(BadInput, match="must be between 0 and 1"):
        prove(NO_DRAWS, SURE, 1.0)


def test_uncertain_suggestions_are_not_accepted():
    rng = np.random.default_rng(0)
    sure = np.repeat([0.97, 0.55], 120)
    right = np.r_[np.ones(120, bool), rng.random(120) < 0.6]
    order = rng.permutation(240)
    unlabelled = np.tile([0.97, 0.55], 2000)
    proof = prove(draws(right[order], sure[order], unlabelled=4000), unlabelled, 0.95)
    assert proof.threshold == 0.6 and proof.count == 2000


def test_a_more_confident_model_does_not_accept_a_larger_part():
    sure = np.repeat([0.97, 0.55], 120)
    right = np.r_[np.ones(120, bool), np.arange(120) % 2 == 0]
    order = np.random.default_rng(0).permutation(240)
    proof = prove(draws(right[order], sure[order], unlabelled=4000), np.full(4000, 0.99), 0.95)
    assert proof.count == 2000


def test_draws_prove_less_once_most_images_they_stand_for_are_labelled():
    """People label the easy images first: all wrong suggestions may be among those left."""
    many = draws(np.ones(80), eligible=2000)
    assert prove(many, np.full(1900, 0.9), 0.95) is not None
    assert prove(many, np.full(500, 0.9), 0.95) is None
    assert "Answer at least" in what_is_needed(many, np.full(500, 0.9), 0.95).text


def test_open_draws_count_as_wrong_or_have_to_be_answered_first():
    assert prove(draws(np.ones(80)), SURE, 0.95) and prove(draws(np.ones(80), open=1), SURE, 0.95) is None
    assert what_is_needed(draws(np.ones(60), open=7), SURE, 0.95).text == "Answer 7 open random images first"


def test_an_unreachable_share_is_reported_with_the_proven_one():
    right = np.arange(240) % 6 > 0  # 83 % at every confidence
    need = what_is_needed(draws(right), SURE, 0.95)
    assert need.missing_draws is None or "cannot be reached" in need.text
    assert "10 of the last 60 suggestions were wrong" in need.text
    assert 0.65 < need.reachable < 1 - 1 / 6 and f"{100 * need.reachable:.0f} % is proven already" in need.text
    assert prove(draws(right), SURE, need.reachable) and not prove(draws(right), SURE, need.reachable + 0.01)


def test_no_remaining_and_too_few_remaining_images_are_reported():
    assert what_is_needed(NO_DRAWS, np.empty(0), 0.95).text == "Every image has a label"
    assert "Too few images are left to prove 95 % accuracy" in what_is_needed(NO_DRAWS, np.full(20, 0.9), 0.95).text


def test_the_bound_is_that_of_the_images_left():
    unlabelled = 500
    proof = prove(draws(np.ones(60), unlabelled=unlabelled), np.full(unlabelled, 0.9), 0.95)
    assert (proof is not None) == (sequential_upper(unlabelled + 60, 60, 0) <= 0.05 * unlabelled)


@pytest.mark.parametrize("hunted, heat", [(0, 1.0), (20, 1.0), (0, 3.0), (0, 0.3)])
@pytest.mark.parametrize("truth", ["one rate just too low", "easy and hard images"])
def test_accepted_suggestions_are_as_accurate_as_stated(truth, hunted, heat):
    """Campaigns that look after each page and accept as soon as they may: `hunted` sure images are labelled on each
    page as well, and after sixty draws the model's confidence changes by `heat`."""
    rng, false, runs, share = np.random.default_rng(5), 0, 250, 0.95
    for _ in range(runs):
        easy = np.zeros(1500, bool) if truth.startswith("one") else rng.random(1500) < 0.85
        right = rng.random(1500) < np.where(easy, 0.99, 0.94 if truth.startswith("one") else 0.6)
        sure = np.clip(np.where(easy, 0.97, 0.8) + rng.normal(0, 0.06, 1500), 0.01, 0.999)
        false += _first_accepted(rng, right, sure, share, hunted, heat) < share
    assert 1 - false / runs >= 0.945


def _first_accepted(rng, right, sure, share, hunted, heat):
    """The true share of right ones in what is accepted first; 1 where nothing ever is."""
    free, drawn, eligible = np.arange(len(right)), [], []
    confidences, power = [], 1.0
    for page in range(60):
        power = heat if page * 4 >= 60 else 1.0
        place = rng.permutation(len(free))[:4]
        drawn += free[place].tolist()
        confidences += (sure[free[place]] ** power).tolist()
        eligible += [len(free) - at for at in range(4)]
        free = np.delete(free, place)
        free = free[np.argsort(-sure[free], kind="stable")][hunted:]
        now = sure[free] ** power
        proof = prove(
            AnsweredDraws(np.array(confidences), right[drawn], np.zeros(len(drawn), int), np.array(eligible)),
            now,
            share,
        )
        if proof:
            return right[free[np.argsort(-now, kind="stable")[: proof.count]]].mean()
    return 1.0
