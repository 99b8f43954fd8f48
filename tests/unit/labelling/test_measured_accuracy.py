"""Accuracy of suggestions from random draws, and the message before there are enough."""

import numpy as np
import pytest

from benthoscope.engine.labelling.audits.sequential_bound import sequential_upper
from benthoscope.engine.labelling.calibration import conformal_sets, conformal_threshold
from benthoscope.engine.labelling.measured_accuracy import NO_DRAWS, AnsweredDraws, conformal_size, measure


def draws(right, confidence=None, model=None, eligible=2000, **other_values):
    right = np.asarray(right, bool)
    n = len(right)
    return AnsweredDraws(
        np.full(n, 0.9) if confidence is None else np.asarray(confidence),
        right,
        np.arange(n) // 4 if model is None else np.asarray(model),
        np.full(n, eligible),
        **other_values,
    )


def test_before_thirty_draws_only_the_missing_number_is_shown():
    assert measure(NO_DRAWS).missing == "not measurable yet: 0 of 30 random images answered"
    cost = measure(draws(np.ones(29)))
    assert cost.accuracy is None and cost.at_least is None and cost.calibration_error is None
    assert cost.missing == "not measurable yet: 29 of 30 random images answered"
    assert measure(draws(np.ones(30))).known


def test_the_figure_rests_on_the_last_sixty():
    cost = measure(draws(np.r_[np.zeros(40), np.ones(57), np.zeros(3)]))
    assert (cost.answered, cost.used, cost.accuracy) == (100, 60, 0.95)
    assert cost.at_least == 1 - sequential_upper(2000, 60, 3) / 2000
    assert "a little behind" in cost.remark and "checked on pages with suggestions" in cost.remark


def test_or_on_all_of_the_last_three_models():
    assert measure(draws(np.ones(200), model=np.repeat([0, 1, 2, 3], 50))).used == 150


def test_open_draws_above_a_twentieth_have_to_be_answered_first():
    assert measure(draws(np.ones(60), open=3)).known
    assert measure(draws(np.ones(60), open=4)).missing == "not measurable yet: answer 4 open random images first"


def test_open_draws_count_as_wrong_in_the_bound():
    assert measure(draws(np.ones(60), open=2)).at_least < measure(draws(np.ones(60))).at_least


def test_the_remark_goes_once_enough_answers_were_repeated_or_none_saw_a_suggestion():
    shown = "checked on pages with suggestions"
    assert shown in measure(draws(np.ones(300), doubles=59)).remark
    assert shown not in measure(draws(np.ones(300), doubles=60)).remark
    assert shown not in measure(draws(np.ones(40), blind=40)).remark
    assert shown in measure(draws(np.ones(40), blind=39)).remark


def test_repeated_answers_correct_the_accuracy_from_sixty_on():
    right = np.ones(300)
    before, after = (measure(draws(right, doubles=n, differ=3, overstated=3)) for n in (59, 60))
    assert before.accuracy == 1.0 and (after.repeated, after.differ) == (60, 3)
    assert after.accuracy == pytest.approx(1 - 3 / 60 * 240 / 300)  # repeated answers are settled already
    assert after.at_least == pytest.approx(before.at_least - 0.04)
    assert measure(draws(right, doubles=60, differ=3, overstated=-1)).accuracy == 1.0


def test_the_corrected_bound_covers_the_truth_if_suggestions_influence_people():
    """Half of the wrong suggestions are confirmed next to the suggestion; a second look finds them."""
    rng, covered = np.random.default_rng(3), 0
    for _ in range(1000):
        truth = rng.random(300) < 0.9
        said, again = truth | (rng.random(300) < 0.5), np.arange(300) % 5 == 0
        overstated = int((said & ~truth)[again].sum())
        found = measure(
            draws(
                np.where(again, truth, said),
                model=np.zeros(300),
                eligible=10**5,
                doubles=60,
                differ=overstated,
                overstated=overstated,
            )
        )
        covered += found.at_least <= 0.9
    assert covered / 1000 >= 0.945 - 0.014


def test_prediction_sets_need_enough_draws_for_their_error():
    assert [conformal_size(error) for error in (0.05, 0.1, 0.2)] == [19, 9, 4]
    for error in (0.05, 0.1, 0.2):
        n = conformal_size(error)
        assert conformal_threshold(np.full(n, 0.5), error) == 0.5
        assert conformal_threshold(np.full(n - 1, 0.5), error) == 0.0


def test_prediction_sets_from_sixty_draws_contain_the_truth():
    """Mean coverage for images like the drawn ones, over many campaigns with an overconfident model."""
    rng, covered = np.random.default_rng(1), []
    for _ in range(300):
        P = rng.dirichlet(np.ones(4) * 0.5, 260)
        y = (P.cumsum(1) > rng.random((260, 1))).argmax(1)
        P = P**2 / (P**2).sum(1, keepdims=True)
        threshold = conformal_threshold(P[np.arange(60), y[:60]], 0.1)
        covered.append(conformal_sets(P[60:], threshold)[np.arange(200), y[60:]].mean())
    assert np.mean(covered) >= 0.9 - 0.01
