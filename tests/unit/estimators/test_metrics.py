"""Agreement of groupings: limits, identities, and scikit-learn's figures."""

import numpy as np
import pytest
from sklearn import metrics as theirs

from benthoscope.engine import metrics

RNG = np.random.default_rng(0)
A, B = RNG.integers(0, 7, 400), RNG.integers(0, 4, 400)
MIXED = np.where(RNG.random(400) < 0.7, A, B)


@pytest.mark.parametrize(("a", "b"), [(A, B), (A, MIXED), (MIXED, A), (A, A), (A, np.zeros(400, int))])
def test_figures_equal_those_of_scikit_learn(a, b):
    score = metrics.agreement(a, b)
    h, c, v = theirs.homogeneity_completeness_v_measure(a, b)
    assert (score.homogeneity, score.completeness, score.v_measure) == pytest.approx((h, c, v), abs=1e-12)
    assert metrics.rand(a, b) == pytest.approx(theirs.rand_score(a, b), abs=1e-12)
    assert metrics.adjusted_rand(a, b) == pytest.approx(theirs.adjusted_rand_score(a, b), abs=1e-12)
    assert metrics.mean_class_accuracy(a, b) == pytest.approx(
        theirs.recall_score(a, b, average="macro", labels=np.unique(a), zero_division=0), abs=1e-12
    )


def test_one_cluster_is_complete_and_has_no_information():
    score = metrics.agreement(A, np.zeros(400))
    assert (score.homogeneity, score.completeness, score.v_measure) == (0, 1, 0)


def test_singletons_are_homogeneous():
    assert metrics.agreement(A, np.arange(400)).homogeneity == pytest.approx(1.0)


def test_names_do_not_matter_and_sides_can_be_swapped():
    words = np.array(["kelp", "sand", "reef", "rock", "mud", "coral", "grass"])[A]
    assert metrics.v_measure(words, B) == pytest.approx(metrics.v_measure(B, A), abs=1e-12)
    assert metrics.adjusted_rand(words, A) == 1


def test_arithmetic_normalisation_is_never_above_the_geometric_one():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        score = metrics.agreement(rng.integers(0, 9, 60), rng.integers(0, 3, 60))
        assert score.v_measure <= score.nmi_sqrt + 1e-12


def test_unrelated_groupings_have_no_adjusted_agreement_on_average():
    draws = [metrics.adjusted_rand(RNG.integers(0, 5, 300), RNG.integers(0, 5, 300)) for _ in range(200)]
    assert abs(np.mean(draws)) < 0.01


def test_variation_of_information_is_a_distance():
    a, b, c = A, MIXED, B
    assert metrics.variation_of_information(a, a) == pytest.approx(0, abs=1e-12)
    direct, around = metrics.variation_of_information(a, c), metrics.variation_of_information(a, b)
    assert direct <= around + metrics.variation_of_information(b, c) + 1e-12


def test_groupings_of_different_length_are_rejected():
    with pytest.raises(ValueError, match="399 labels in one grouping, but 400"):
        metrics.v_measure(A, B[:-1])


def test_perplexity_of_a_fair_die_is_six():
    assert metrics.perplexity(np.log(np.full(10, 1 / 6))) == pytest.approx(6)
