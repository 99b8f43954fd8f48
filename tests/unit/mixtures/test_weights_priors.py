"""Dirichlet, generalised Dirichlet and stick breaking against worked numbers, sampling and enumeration."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import gammaln, psi

from engine.distributions import (
    Dirichlet,
    GeneralisedDirichlet,
    NestedSticks,
    TiedSticks,
    TruncatedSticks,
    log_evidence_of_weights,
)

COUNTS = np.array([[5.3, 0.2, 12.0, 3.0]])
WORKED = {  # methods note 15.1, T1: E log pi, E pi, KL
    Dirichlet(): ([-1.4190359694, -3.4671660429, -0.6521311330, -1.9220084779],
                  [0.2571428571, 0.0489795918, 0.5306122449, 0.1632653061], 2.5918694155),
    GeneralisedDirichlet(): ([-1.4373014914, -3.7235268030, -0.5651334971, -2.1783692380],
                             [0.2533333333, 0.0389743590, 0.5777777778, 0.1299145299], 1.9262994109),
    NestedSticks(): ([-1.4373014914, -4.5568601363, -0.5651334971, -2.1783692380],
                     [0.2533333333, 0.0212587413, 0.5777777778, 0.1299145299], 1.9419543010),
}


@pytest.mark.parametrize("prior", WORKED, ids=repr)
def test_expectations_and_penalty_equal_the_worked_numbers(prior):
    expected_log, mean, kl = WORKED[prior]
    found = prior.posterior(COUNTS)
    assert found.expected_log[0] == pytest.approx(expected_log, abs=1e-9)
    assert found.mean[0] == pytest.approx(mean, abs=1e-9)
    assert found.kl[0] == pytest.approx(kl, abs=1e-9)


def drawn(prior, counts, rng, draws=200_000):
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


@pytest.mark.parametrize("prior", [Dirichlet(0.7), GeneralisedDirichlet(1.0, 1.0), GeneralisedDirichlet(2.0, 0.8),
                                   NestedSticks(1.7), TruncatedSticks(0.6)], ids=repr)
def test_expectations_agree_with_draws_within_four_standard_errors(prior):
    pi = drawn(prior, COUNTS[0], np.random.default_rng(1))
    found = prior.posterior(COUNTS)
    for values, expected in ((np.log(pi), found.expected_log[0]), (pi, found.mean[0])):
        error = values.std(0) / np.sqrt(len(values))
        assert np.abs(values.mean(0) - expected).max() <= (4 * error).max()


@pytest.mark.parametrize("seed", range(5))
def test_descending_order_bounds_highest_of_all_orders(seed):
    counts = np.random.default_rng(seed).gamma(1.0, 5.0, (1, 5))
    prior = GeneralisedDirichlet()
    worth = [(counts * w.expected_log).sum() - w.kl[0]
             for w in (prior._ordered(counts, np.array([order])) for order in permutations(range(5)))]
    assert log_evidence_of_weights(prior, counts)[0] == pytest.approx(max(worth), rel=1e-12)


def test_a_prior_that_favours_late_sticks_never_loses_by_sorting_anew():
    prior, rng = GeneralisedDirichlet(1.0, 7.0), np.random.default_rng(2)
    before = prior.posterior(rng.gamma(1.0, 5.0, (50, 4)))
    counts = rng.gamma(1.0, 5.0, (50, 4))

    def worth(found):
        return (counts * found.expected_log).sum(1) - found.kl

    kept, guarded = prior._ordered(counts, before.order), prior.posterior(counts, before=before)
    assert (worth(guarded) >= worth(kept) - 1e-12).all()
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
    ours, theirs = Dirichlet().posterior(counts), GeneralisedDirichlet().posterior(counts)
    assert ours.expected_log == pytest.approx(theirs.expected_log, abs=1e-12)
    assert ours.kl == pytest.approx(theirs.kl, abs=1e-12)


def test_generalised_dirichlet_is_a_dirichlet_where_sticks_are_chained():
    """Stick breaking with b_k = a_(k+1) + b_(k+1) is a Dirichlet: its marginal likelihood is known in closed form."""
    counts = np.array([[6.0, 2.5]])
    alpha = np.array([1.0, 1.0])
    exact = gammaln(2) - gammaln(2 + counts.sum()) + (gammaln(alpha + counts) - gammaln(alpha)).sum()
    assert log_evidence_of_weights(GeneralisedDirichlet(1.0, 1.0), counts)[0] == pytest.approx(exact, abs=1e-10)


def test_tied_sticks_leave_weight_beyond_the_clusters_that_vanishes_with_data():
    few = TiedSticks().posterior(np.array([[3.0, 2.0]]), np.array([6.0]))
    many = TiedSticks().posterior(np.array([[3e5, 2e5]]), np.array([5e5]))
    assert few.beyond[0] > many.beyond[0]
    assert np.exp(many.beyond[0]) < 1e-5
    nested = NestedSticks().posterior(np.array([[3e5, 2e5]]))
    assert many.expected_log == pytest.approx(nested.expected_log, abs=1e-9)


def test_tied_tail_is_the_sum_of_the_sticks_that_keep_their_prior():
    prior, counts, sizes = TiedSticks(2.0), np.array([[7.0, 4.0]]), np.array([12.5])
    rest = prior.posterior(counts, sizes)
    taken, left = psi(1) - psi(3), psi(2) - psi(3)
    a, b = 1 + counts[0], 2 + np.array([4.0, 0.0]) + 1.5
    start = (psi(b) - psi(a + b)).sum()
    series = np.exp(start + taken + left * np.arange(2000)).sum()
    assert rest.beyond[0] == pytest.approx(np.log(series), abs=1e-10)
