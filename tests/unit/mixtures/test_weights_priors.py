"""Dirichlet, generalised Dirichlet and stick breaking against worked numbers, sampling and enumeration."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import gammaln, psi

from benthoscope.engine.distributions import (
    Dirichlet,
    GeneralisedDirichlet,
    NestedSticks,
    TiedSticks,
    TruncatedSticks,
    log_evidence_of_weights,
)

COUNTS = np.array([[5.3, 0.2, 12.0, 3.0]])
WORKED = {  # methods note 15.1, T1: E log pi, E pi, KL
    Dirichlet(): (
        [-1.4190359694, -3.4671660429, -0.6521311330, -1.9220084779],
        [0.2571428571, 0.0489795918, 0.5306122449, 0.1632653061],
        2.5918694155,
    ),
    GeneralisedDirichlet(): (
        [-1.4373014914, -3.7235268030, -0.5651334971, -2.1783692380],
        [0.2533333333, 0.0389743590, 0.5777777778, 0.1299145299],
        1.9262994109,
    ),
    NestedSticks(): (
        [-1.4373014914, -4.5568601363, -0.5651334971, -2.1783692380],
        [0.2533333333, 0.0212587413, 0.5777777778, 0.1299145299],
        1.9419543010,
    ),
}


@pytest.mark.parametrize("prior", WORKED, ids=repr)
def test_expectations_and_penalty_equal_the_worked_numbers(prior):
    expected_log, mean, kl = WORKED[prior]
    posterior = prior.posterior(COUNTS)
    assert posterior.expected_log[0] == pytest.approx(expected_log, abs=1e-9)
    assert posterior.mean[0] == pytest.approx(mean, abs=1e-9)
    assert posterior.kl[0] == pytest.approx(kl, abs=1e-9)


def sample_weights(prior, counts, rng, draws=200_000):
    """Weights drawn from the posterior, by the generative definitions and not by our formulas."""
    if isinstance(prior, Dirichlet):
        return rng.dirichlet(prior.concentration + counts, draws)
    order = np.argsort(-counts, kind="stable")
    ranked = counts[order]
    a, b = (1.0, prior.concentration) if not isinstance(prior, GeneralisedDirichlet) else (prior.a, prior.b)
    later = np.array([ranked[r + 1 :].sum() for r in range(len(ranked))])
    v = rng.beta(a + ranked, b + later, (draws, len(ranked)))
    if not isinstance(prior, NestedSticks):
        v[:, -1] = 1.0
    left = np.cumprod(np.hstack([np.ones((draws, 1)), 1 - v[:, :-1]]), axis=1)
    pi = np.empty_like(v)
    pi[:, order] = v * left
    return pi


@pytest.mark.parametrize(
    "prior",
    [
        Dirichlet(0.7),
        GeneralisedDirichlet(1.0, 1.0),
        GeneralisedDirichlet(2.0, 0.8),
        NestedSticks(1.7),
        TruncatedSticks(0.6),
    ],
    ids=repr,
)
def test_expectations_agree_with_draws_within_four_standard_errors(prior):
    pi = sample_weights(prior, COUNTS[0], np.random.default_rng(1))
    posterior = prior.posterior(COUNTS)
    for values, expected in ((np.log(pi), posterior.expected_log[0]), (pi, posterior.mean[0])):
        error = values.std(0) / np.sqrt(len(values))
        assert np.abs(values.mean(0) - expected).max() <= (4 * error).max()


@pytest.mark.parametrize(
    "prior",
    [
        Dirichlet(0.7),
        GeneralisedDirichlet(2.0, 0.8),
        GeneralisedDirichlet(1.0, 7.0),
        NestedSticks(1.7),
        TruncatedSticks(0.6),
        TiedSticks(1.3),
    ],
    ids=repr,
)
def test_the_evidence_is_the_contribution_of_the_best_weights_to_the_bound(prior):
    counts = np.random.default_rng(4).gamma(0.3, 20.0, (30, 6))
    best = prior.posterior(counts)
    added = (counts * best.expected_log).sum(1) - best.kl
    assert log_evidence_of_weights(prior, counts) == pytest.approx(added, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_descending_order_bounds_highest_of_all_orders(seed):
    counts = np.random.default_rng(seed).gamma(1.0, 5.0, (1, 5))
    prior = GeneralisedDirichlet()
    worth = [
        (counts * w.expected_log).sum() - w.kl[0]
        for w in (prior._ordered(counts, np.array([order])) for order in permutations(range(5)))
    ]
    assert log_evidence_of_weights(prior, counts)[0] == pytest.approx(max(worth), rel=1e-12)


def test_a_prior_that_favours_late_sticks_never_loses_by_sorting_again():
    prior, rng = GeneralisedDirichlet(1.0, 7.0), np.random.default_rng(2)
    before = prior.posterior(rng.gamma(1.0, 5.0, (50, 4)))
    counts = rng.gamma(1.0, 5.0, (50, 4))

    def worth(weights):
        return (counts * weights.expected_log).sum(1) - weights.kl

    ordered, guarded = prior._ordered(counts, before.order), prior.posterior(counts, before=before)
    assert (worth(guarded) >= worth(ordered) - 1e-12).all()
    assert (worth(guarded) > worth(prior.posterior(counts)) + 1e-6).any()


def test_an_empty_cluster_costs_what_the_closed_forms_say():
    counts = np.random.default_rng(3).gamma(2.0, 4.0, (3, 4))
    wider, total = np.hstack([counts, np.zeros((3, 1))]), counts.sum(1)

    def cost(prior):
        return log_evidence_of_weights(prior, counts) - log_evidence_of_weights(prior, wider)

    assert cost(Dirichlet()) == pytest.approx(np.log((total + 4) / 4), abs=1e-8)
    assert cost(GeneralisedDirichlet()) == pytest.approx(np.log(1 + counts.min(1)), abs=1e-8)
    assert cost(NestedSticks()) == pytest.approx(np.zeros(3), abs=1e-8)


def test_two_clusters_under_a_flat_dirichlet_are_two_under_flat_sticks():
    counts = np.array([[3.0, 8.5], [2.0, 0.1]])
    posterior, theirs = Dirichlet().posterior(counts), GeneralisedDirichlet().posterior(counts)
    assert posterior.expected_log == pytest.approx(theirs.expected_log, abs=1e-12)
    assert posterior.kl == pytest.approx(theirs.kl, abs=1e-12)


def test_generalised_dirichlet_is_a_dirichlet_where_sticks_are_chained():
    """Stick breaking with b_k = a_(k+1) + b_(k+1) is a Dirichlet: its marginal likelihood is known in closed form."""
    counts = np.array([[6.0, 2.5]])
    alpha = np.array([1.0, 1.0])
    exact = gammaln(2) - gammaln(2 + counts.sum()) + (gammaln(alpha + counts) - gammaln(alpha)).sum()
    assert log_evidence_of_weights(GeneralisedDirichlet(1.0, 1.0), counts)[0] == pytest.approx(exact, abs=1e-10)


def test_tied_sticks_leave_weight_beyond_the_clusters_that_vanishes_with_data():
    few = TiedSticks().posterior(np.array([[3.0, 2.0]]), np.array([6.0]))
    posterior = TiedSticks().posterior(np.array([[3e5, 2e5]]), np.array([5e5]))
    assert few.beyond[0] > posterior.beyond[0]
    assert np.exp(posterior.beyond[0]) < 1e-5
    nested = NestedSticks().posterior(np.array([[3e5, 2e5]]))
    assert posterior.expected_log == pytest.approx(nested.expected_log, abs=1e-9)


def test_tied_tail_is_the_sum_of_the_sticks_that_keep_their_prior():
    prior, counts, sizes = TiedSticks(2.0), np.array([[7.0, 4.0]]), np.array([12.5])
    posterior = prior.posterior(counts, sizes)
    first_expectation, second_expectation = psi(1) - psi(3), psi(2) - psi(3)
    a, b = 1 + counts[0], 2 + np.array([4.0, 0.0]) + 1.5
    start = (psi(b) - psi(a + b)).sum()
    series = np.exp(start + first_expectation + second_expectation * np.arange(2000)).sum()
    assert posterior.beyond[0] == pytest.approx(np.log(series), abs=1e-10)


@pytest.mark.parametrize(
    "prior",
    [Dirichlet(0.7), GeneralisedDirichlet(2.0, 1.5), NestedSticks(2.0), TiedSticks(), TruncatedSticks()],
    ids=repr,
)
def test_the_gain_of_a_merge_of_neighbours_is_the_difference_of_two_evidences(prior):
    counts = np.array([[90.0, 20.5, 7.0, 4.0, 1.5], [60.0, 30.0, 11.0, 0.0, 0.0]])
    merged = np.array([[90.0, 20.5, 11.0, 1.5], [60.0, 30.0, 11.0, 0.0]])
    gain = prior.join_gains(counts, np.array([2]), np.array([3]))
    assert gain == pytest.approx(
        log_evidence_of_weights(prior, merged).sum() - log_evidence_of_weights(prior, counts).sum()
    )
    assert prior.join_gains(counts, np.array([3]), np.array([2])) == pytest.approx(gain)


@pytest.mark.parametrize("prior", [GeneralisedDirichlet(), NestedSticks()], ids=repr)
def test_the_gain_of_a_merge_of_distant_sticks_is_estimated(prior):
    rng = np.random.default_rng(0)
    counts = rng.gamma(2.0, 30.0, (4, 8))
    before = log_evidence_of_weights(prior, counts).sum()
    for a, b in ((0, 1), (2, 7), (3, 5)):
        merged = np.delete(counts, b, axis=1)
        merged[:, a] += counts[:, b]
        exact = log_evidence_of_weights(prior, merged).sum() - before
        assert prior.join_gains(counts, np.array([a]), np.array([b]))[0] == pytest.approx(exact, rel=0.05)
