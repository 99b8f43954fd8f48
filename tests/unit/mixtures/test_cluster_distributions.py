"""Conjugate clusters against worked numbers, exact integrals and draws."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import solve_triangular
from scipy.special import multigammaln

from benthoscope.engine.distributions import (
    DirichletCategorical,
    GammaExponential,
    GaussianGamma,
    GaussianWishart,
    expected_log_likelihood,
    log_evidence,
    moments,
)
from benthoscope.engine.mixtures import VDP, e_step

X2 = np.array([(0, 0), (1, 0), (0, 2), (3, 1)], float)
PRIOR2 = GaussianWishart.prior(np.array([1, 0.75]), 0.1 * 1.5)  # C_width 0.1 of a largest variance of 1.5


def rows_and_prior(name, rng):
    """Thirty rows a family can have, and a prior off their centre."""
    if name == "full":
        return rng.normal(2, 1.5, (30, 3)), GaussianWishart.prior(np.array([1.0, 0, 2]), 0.4)
    if name == "diagonal":
        return rng.normal(2, 1.5, (30, 3)), GaussianGamma.prior(np.array([1.0, 0, 2]), 0.4)
    if name == "exponential":
        return rng.exponential(2.0, (30, 3)), GammaExponential.prior(np.array([1.0, 2, 3]), 0.5)
    return np.eye(3)[rng.integers(0, 3, 30)], DirichletCategorical.prior(3, 0.7)


FAMILIES = ["full", "diagonal", "exponential", "words"]


def test_gaussian_wishart_equals_the_worked_numbers():
    q = PRIOR2.posterior(moments(PRIOR2, X2, np.array([[1], [0.5], [0.25], [1]])))
    assert (q.strength[0], q.freedom[0]) == (3.75, 4.75)
    assert q.mean[0] == pytest.approx([1.2, 0.6], abs=1e-12)
    assert q.factor[0] @ q.factor[0].T == pytest.approx(np.array([[5.4, 1.05], [1.05, 1.5125]]), abs=1e-12)
    expected = [-2.7769713876, -2.4887105949, -7.3756975022, -3.3291210691]
    assert expected_log_likelihood(q, X2)[:, 0] == pytest.approx(expected, abs=1e-9)
    assert q.kl(PRIOR2)[0] == pytest.approx(2.7461640863, abs=1e-9)
    assert log_evidence(PRIOR2, moments(PRIOR2, X2, np.ones((4, 1))))[0] == pytest.approx(-17.0579116284, abs=1e-9)


def test_evidence_equals_the_exact_integral():
    rng = np.random.default_rng(0)
    X, prior = rows_and_prior("full", rng)
    q = prior.posterior(moments(prior, X, np.ones((30, 1))))
    D, N = 3, 30
    before, after = (2 * np.log(np.diagonal(g.factor[0])).sum() for g in (prior, q))
    exact = (
        -N * D / 2 * np.log(np.pi)
        + multigammaln(q.freedom[0] / 2, D)
        - multigammaln(prior.freedom[0] / 2, D)
        + prior.freedom[0] / 2 * before
        - q.freedom[0] / 2 * after
        + D / 2 * np.log(prior.strength[0] / q.strength[0])
    )
    assert log_evidence(prior, moments(prior, X, np.ones((N, 1))))[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_predictive_density_is_the_ratio_of_two_evidences(family):
    X, prior = rows_and_prior(family, np.random.default_rng(4))
    viewed, new = X[:-1], X[-1:]
    q = prior.posterior(moments(prior, viewed, np.ones((29, 1))))
    ratio = log_evidence(prior, moments(prior, X, np.ones((30, 1)))) - log_evidence(
        prior, moments(prior, viewed, np.ones((29, 1)))
    )
    assert q.log_predictive(new)[0] == pytest.approx(ratio, rel=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_evidence_of_rows_is_the_product_of_their_predictive_densities(family):
    X, prior = rows_and_prior(family, np.random.default_rng(5))
    q, total = prior, 0.0
    for n in range(len(X)):
        total += q.log_predictive(X[n : n + 1])[0, 0]
        q = prior.posterior(moments(prior, X[: n + 1], np.ones((n + 1, 1))))
    assert log_evidence(prior, moments(prior, X, np.ones((30, 1))))[0] == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_data_leave_the_prior_at_no_cost(family):
    X, prior = rows_and_prior(family, np.random.default_rng(6))
    q = prior.posterior(np.zeros((2, prior.n_statistics)))
    assert q.kl(prior) == pytest.approx([0, 0], abs=1e-10)
    same = expected_log_likelihood(prior, X)
    assert expected_log_likelihood(q, X) == pytest.approx(np.hstack([same, same]), rel=1e-12)


def draws_of(family, q, rng, n=200_000):
    """log p(x | theta) for draws of theta from the posterior, at three rows."""
    if family == "full":
        precision = stats.wishart(q.freedom[0], np.linalg.inv(q.factor[0] @ q.factor[0].T)).rvs(n, random_state=rng)
        root = np.linalg.cholesky(np.linalg.inv(precision) / q.strength[0])
        mean = q.mean[0] + np.einsum("nij,nj->ni", root, rng.standard_normal((n, 3)))
        logdet = np.linalg.slogdet(precision)[1]
        return lambda x: (
            0.5 * (logdet - 3 * np.log(2 * np.pi) - np.einsum("ni,nij,nj->n", x - mean, precision, x - mean))
        )
    if family == "diagonal":
        precision = rng.gamma(q.shape[0], 1 / q.rate[0], (n, 3))
        mean = q.mean[0] + rng.standard_normal((n, 3)) / np.sqrt(q.strength[0] * precision)
        return lambda x: 0.5 * (np.log(precision / (2 * np.pi)) - precision * (x - mean) ** 2).sum(1)
    if family == "exponential":
        rate = rng.gamma(q.shape[0], 1 / q.rate[0], (n, 3))
        return lambda x: (np.log(rate) - rate * x).sum(1)
    word = rng.dirichlet(q.pseudo[0], n)
    return lambda x: np.log(word) @ x


@pytest.mark.parametrize("family", FAMILIES)
def test_expected_log_likelihood_agrees_with_draws_within_four_standard_errors(family):
    rng = np.random.default_rng(7)
    X, prior = rows_and_prior(family, rng)
    q = prior.posterior(moments(prior, X, np.ones((30, 1))))
    log_p = draws_of(family, q, rng)
    for x in X[:3]:
        values = log_p(x)
        error = values.std() / np.sqrt(len(values))
        assert abs(values.mean() - expected_log_likelihood(q, x[None])[0, 0]) <= 4 * error


@pytest.mark.parametrize("family", FAMILIES)
def test_penalty_is_the_difference_between_expected_fit_and_evidence(family):
    """log p(X) is the bound when one cluster owns every row, so the penalty follows from predictive densities alone."""
    X, prior = rows_and_prior(family, np.random.default_rng(8))
    q = prior.posterior(moments(prior, X, np.ones((30, 1))))
    chain = sum(
        prior.posterior(moments(prior, X[:n], np.ones((n, 1)))).log_predictive(X[n : n + 1])[0, 0] for n in range(30)
    )
    assert q.kl(prior)[0] == pytest.approx(expected_log_likelihood(q, X).sum() - chain, rel=1e-9)


def test_expanded_scores_equal_triangular_solves_where_columns_are_nearly_dependent():
    rng = np.random.default_rng(9)
    Z = rng.standard_normal((500, 6))
    X = np.hstack([Z, Z @ rng.standard_normal((6, 6)) + 1e-7 * rng.standard_normal((500, 6))])
    X /= np.sqrt(np.linalg.eigvalsh(np.cov(X.T))[-1])
    prior = GaussianWishart.prior(X.mean(0), 0.05)
    q = prior.posterior(moments(prior, X, np.ones((500, 1))))
    far = (solve_triangular(q.factor[0], (X - q.mean[0]).T, lower=True) ** 2).sum(0)
    exact = q.coefficients()[0] @ q.features(q.mean.T)[:, 0] - q.freedom[0] / 2 * far
    assert np.abs(expected_log_likelihood(q, X)[:, 0] - exact).max() < 1e-9


@pytest.mark.parametrize("family", FAMILIES)
def test_drawn_rows_have_the_moments_of_the_point_summary(family):
    rng = np.random.default_rng(10)
    X, prior = rows_and_prior(family, rng)
    q = prior.posterior(moments(prior, X, np.ones((30, 1))))
    rows = q.draw(np.zeros(200_000, int), rng)
    posterior_mean = {
        "full": lambda: q.mean[0],
        "diagonal": lambda: q.mean[0],
        "exponential": lambda: q.rate[0] / q.shape[0],
        "words": lambda: q.pseudo[0] / q.pseudo[0].sum(),
    }[family]()
    assert np.abs(rows.mean(0) - posterior_mean).max() <= (5 * rows.std(0) / np.sqrt(len(rows))).max()


@pytest.mark.parametrize("family", ["full", "diagonal"])
def test_moving_clusters_moves_their_densities(family):
    X, prior = rows_and_prior(family, np.random.default_rng(11))
    q = prior.posterior(moments(prior, X, np.ones((30, 1))))
    origin, scale = np.array([100.0, -5, 2]), 3.5
    moved = expected_log_likelihood(q.moved(origin, scale), origin + scale * X)
    assert moved == pytest.approx(expected_log_likelihood(q, X) - 3 * np.log(scale), rel=1e-9)


@pytest.mark.parametrize("columns", [255, 256])
def test_products_of_wide_rows_need_no_stored_features(columns, monkeypatch):
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 2
    X = rng.standard_normal((2, columns))[truth] + rng.standard_normal((300, columns))
    calls, products = [], GaussianWishart.products
    monkeypatch.setattr(GaussianWishart, "products", lambda prior, Z: calls.append(Z.shape) or products(prior, Z))
    by_products = VDP(search="none").fit(X, start=truth)
    assert bool(calls) == (columns == 256)
    monkeypatch.setattr(e_step, "MANY_WIDE_COLUMNS", 10_000)
    stored = VDP(search="none").fit(X, start=truth)
    np.testing.assert_array_equal(by_products.labels_, stored.labels_)
    assert by_products.lower_bound_ == pytest.approx(stored.lower_bound_, rel=1e-12)
    np.testing.assert_allclose(by_products.clusters_.mean, stored.clusters_.mean, atol=1e-10)
