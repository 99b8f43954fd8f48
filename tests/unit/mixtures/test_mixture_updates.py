"""One VB iteration and its bound: worked numbers, enumeration of every labelling, invariances."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import logsumexp

from benthoscope.engine.distributions import (
    Dirichlet,
    DirichletCategorical,
    GaussianWishart,
    GeneralisedDirichlet,
    NestedSticks,
    TiedSticks,
    TruncatedSticks,
    expected_log_likelihood,
    log_evidence,
    log_evidence_of_weights,
    moments,
)
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.inference import StoppingRule, converge, step
from benthoscope.engine.mixtures.model import Model, Statistics

X8 = np.array([(-2, -1.5), (-1.5, -2), (-2.2, -2.1), (0.3, 0.1), (1.8, 2.2), (2.1, 1.7), (2.4, 2.0), (-1.8, 1.9)])
Q8 = np.array(
    [
        (0.8, 0.1, 0.1),
        (0.7, 0.2, 0.1),
        (0.6, 0.2, 0.2),
        (0.3, 0.4, 0.3),
        (0.1, 0.8, 0.1),
        (0.1, 0.7, 0.2),
        (0.2, 0.7, 0.1),
        (0.3, 0.2, 0.5),
    ]
)
PRIOR8 = GaussianWishart.prior(X8.mean(0), 0.1 * 5.799149265781618)
TWO = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32)
ONE = np.zeros(8, np.int32)

WORKED = {  # methods note 15.1, T3: F at q0, F after 1, 2, 10 iterations, row 4 after one; one-cluster F
    "bgmm": (
        Dirichlet(),
        ONE,
        42.44366295,
        (41.62158974, 39.56973093, 37.65983457),
        (0.34333162, 0.49274825, 0.16392013),
        35.60714954,
    ),
    "vdp nested": (
        NestedSticks(),
        ONE,
        43.53020266,
        (42.49655608, 40.22312025, 38.46832248),
        (0.32944357, 0.56348757, 0.10706886),
        37.80437412,
    ),
    "vdp truncated": (
        TruncatedSticks(),
        ONE,
        42.57469121,
        (41.70341156, 39.55802443, 37.73318122),
        (0.31368989, 0.53654212, 0.14976799),
        35.60714954,
    ),
    "sgmc": (
        Dirichlet(),
        TWO,
        42.34674355,
        (40.92675528, 37.13124566, 35.59655203),
        (0.49742126, 0.33149392, 0.17108482),
        35.60714954,
    ),
    "gmc": (
        GeneralisedDirichlet(),
        TWO,
        42.06054187,
        (40.15154409, 35.49439041, 34.18189435),
        (0.59249768, 0.26878284, 0.13871948),
        35.60714954,
    ),
}


def observations(X, groups, frame=None):
    return Observations(X, groups, int(groups.max()) + 1, frame or Frame(np.zeros(X.shape[1]), 1.0), chunk_rows=5)


def entropy(resp):
    return -(resp * np.log(np.maximum(resp, 1e-300))).sum()


def iterated(model, data, resp, times):
    fit = step(model, data, data.statistics_of(model.clusters, resp))
    for _ in range(times - 1):
        fit = step(model, data, fit.statistics, fit.parameters)
    return fit


@pytest.mark.parametrize("name", WORKED)
def test_iterations_equal_the_worked_numbers(name):
    weights, groups, at_start, later, fourth, _ = WORKED[name]
    model, data = Model(weights, PRIOR8), observations(X8, groups)
    start = data.statistics_of(PRIOR8, Q8)
    parameters = model.parameters(start)
    assert parameters.clusters.kl(PRIOR8) == pytest.approx([2.54275838, 2.66352666, 1.50862977], abs=1e-7)
    assert -model.bound(parameters, start, entropy(Q8)) == pytest.approx(at_start, abs=1e-6)
    for times, expected in zip((1, 2, 10), later, strict=True):
        assert -iterated(model, data, Q8, times).bound == pytest.approx(expected, abs=1e-6)
    assert data.responsibilities(iterated(model, data, Q8, 1).scorer)[3] == pytest.approx(fourth, abs=1e-7)


@pytest.mark.parametrize("name", WORKED)
def test_one_cluster_has_the_worked_free_energy(name):
    weights, groups, *_, expected = WORKED[name]
    model, data = Model(weights, PRIOR8), observations(X8, groups)
    assert -iterated(model, data, np.ones((8, 1)), 1).bound == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", WORKED)
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_never_falls_over_any_half_step(name, seed):
    weights, rng = WORKED[name][0], np.random.default_rng(seed)
    X = rng.standard_normal((120, 3)) * rng.choice([1, 3], (120, 1)) + rng.integers(0, 3, (120, 1))
    groups = np.zeros(120, np.int32) if WORKED[name][1] is ONE else rng.integers(0, 4, 120).astype(np.int32)
    model, data = Model(weights, GaussianWishart.prior(X.mean(0), 0.5)), observations(X, groups)
    resp = rng.dirichlet(np.ones(10), 120)
    statistics, before, bound = data.statistics_of(model.clusters, resp), None, -np.inf
    for _ in range(60):
        parameters = model.parameters(statistics, before)
        after_m = model.bound(parameters, statistics, entropy(resp))
        fit = step(model, data, statistics, before)
        resp = data.responsibilities(fit.scorer)
        assert after_m >= bound - 1e-9 * abs(bound)
        assert fit.bound >= after_m - 1e-9 * abs(after_m)
        assert model.bound(fit.parameters, fit.statistics, entropy(resp)) == pytest.approx(fit.bound, rel=1e-8)
        statistics, before, bound = fit.statistics, fit.parameters, fit.bound


def test_the_bound_never_falls_where_labels_may_reach_beyond_the_clusters():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 2)) + rng.integers(0, 3, (60, 1)) * 3
    for concentration in (0.5, 1.0, 3.0):
        model, data = (
            Model(TiedSticks(concentration), GaussianWishart.prior(X.mean(0), 1.0)),
            observations(X, X[:, 0] * 0 > 1),
        )
        data = replace(data, groups=np.zeros(60, np.int32), n_groups=1)
        fit, bounds = iterated(model, data, rng.dirichlet(np.ones(6), 60), 1), []
        for _ in range(40):
            fit = step(model, data, fit.statistics, fit.parameters)
            bounds.append(fit.bound)
        assert (np.diff(bounds) >= -1e-9 * abs(bounds[-1])).all()
        assert fit.statistics.owned.sum() < 60  # some of every row is beyond


def exact_log_evidence(weights, prior, X, groups, K):
    """log p(X) by enumerating every labelling; each term is a product of exact marginals."""
    terms = []
    for labels in product(range(K), repeat=len(X)):
        resp = np.eye(K)[list(labels)]
        counts = np.stack([resp[groups == j].sum(0) for j in range(groups.max() + 1)])
        terms.append(log_marginal(weights, counts) + log_evidence(prior, moments(prior, X, resp)).sum())
    return logsumexp(terms)


def log_marginal(weights, counts):
    """log p(labels) for K = 2 with sticks in the order of the clusters, as a product of predictive probabilities."""
    total = 0.0
    for first, second in counts:
        a, b = (weights.concentration,) * 2 if isinstance(weights, Dirichlet) else (weights.a, weights.b)
        for used, start, other in ((first, a, b), (second, b, a + first)):
            total += sum(np.log((start + i) / (start + other + i)) for i in range(int(used)))
    return total


@pytest.mark.parametrize(
    ("weights", "groups"),
    [(Dirichlet(), ONE), (GeneralisedDirichlet(), TWO), (Dirichlet(), TWO), (GeneralisedDirichlet(), ONE)],
    ids=["bgmm", "gmc", "sgmc", "vdp"],
)
def test_the_bound_is_below_the_evidence_of_all_labellings(weights, groups):
    data, rng = observations(X8, groups), np.random.default_rng(0)
    exact = exact_log_evidence(weights, PRIOR8, X8, groups, 2)
    gaps = []
    for _ in range(20):
        start = data.statistics_of(PRIOR8, rng.dirichlet(np.ones(2), 8))
        gaps.append(exact - converge(Model(weights, PRIOR8), data, start, StoppingRule(1e-10)).bound)
    assert min(gaps) > 0
    assert min(gaps) < 4


def test_one_iteration_equals_the_plain_formulas():
    """The blocked sums over chunks against the updates written out with all responsibilities at hand."""
    rng = np.random.default_rng(1)
    X, groups = rng.standard_normal((43, 3)) * 2, rng.integers(0, 3, 43).astype(np.int32)
    resp, prior = rng.dirichlet(np.ones(4), 43), GaussianWishart.prior(np.zeros(3), 0.5)
    data, model = observations(X, groups), Model(GeneralisedDirichlet(), prior)
    fit = step(model, data, data.statistics_of(prior, resp))
    weights = model.weights.posterior(np.stack([resp[groups == j].sum(0) for j in range(3)]))
    clusters = prior.posterior(moments(prior, X, resp))
    log_joint = weights.expected_log[groups] + expected_log_likelihood(clusters, X)
    log_norm = logsumexp(log_joint, axis=1)
    bound = log_norm.sum() - weights.kl.sum() - clusters.kl(prior).sum()
    assert fit.bound == pytest.approx(bound, rel=1e-12)
    assert data.responsibilities(fit.scorer) == pytest.approx(np.exp(log_joint - log_norm[:, None]), abs=1e-12)
    assert fit.statistics.moments == pytest.approx(moments(prior, X, np.exp(log_joint - log_norm[:, None])), abs=1e-9)


def test_words_with_dirichlet_proportions_are_smoothed_topics():
    """The bound of documents of words equals that of latent Dirichlet allocation written token by token."""
    rng = np.random.default_rng(2)
    words, documents, phi = rng.integers(0, 5, 40), np.repeat(np.arange(4), 10).astype(np.int32), 0.3
    X, resp = np.eye(5)[words], rng.dirichlet(np.ones(3), 40)
    model, data = Model(Dirichlet(0.8), DirichletCategorical.prior(5, phi)), observations(np.eye(5)[words], documents)
    start_state = step(model, data, data.statistics_of(model.clusters, resp))
    topics = [Dirichlet(phi).posterior(c[None]) for c in resp.T @ X]
    theta = Dirichlet(0.8).posterior(np.stack([resp[documents == d].sum(0) for d in range(4)]))
    log_joint = theta.expected_log[documents] + np.stack([t.expected_log[0][words] for t in topics], axis=1)
    expected = logsumexp(log_joint, axis=1).sum() - theta.kl.sum() - sum(t.kl[0] for t in topics)
    assert start_state.bound == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", WORKED)
def test_order_of_clusters_rows_and_groups_does_not_matter(name):
    weights, groups, *_ = WORKED[name]
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(8), rng.permutation(3)
    model = Model(weights, PRIOR8)
    plain, data = iterated(model, observations(X8, groups), Q8, 7), observations(X8[rows], groups.max() - groups[rows])
    mixed = iterated(model, data, Q8[rows][:, columns], 7)
    assert mixed.bound == pytest.approx(plain.bound, rel=1e-10)
    expected = observations(X8, groups).responsibilities(plain.scorer)[rows][:, columns]
    assert data.responsibilities(mixed.scorer) == pytest.approx(expected, abs=1e-9)


def test_turning_shifting_and_scaling_rows_changes_the_bound_by_their_units_only():
    rng = np.random.default_rng(4)
    turn, scale, shift = np.linalg.qr(rng.standard_normal((2, 2)))[0], 7.0, np.array([30.0, -4])
    moved = scale * X8 @ turn + shift
    prior = GaussianWishart.prior(moved.mean(0), 0.1 * 5.799149265781618 * scale**2)
    fit = iterated(Model(GeneralisedDirichlet(), PRIOR8), observations(X8, TWO), Q8, 6)
    theirs = iterated(Model(GeneralisedDirichlet(), prior), observations(moved, TWO), Q8, 6)
    assert theirs.bound == pytest.approx(fit.bound - 8 * 2 * np.log(scale), rel=1e-10)
    assert observations(moved, TWO).responsibilities(theirs.scorer) == pytest.approx(
        observations(X8, TWO).responsibilities(fit.scorer), abs=1e-9
    )


def test_the_frame_changes_nothing_but_units():
    frame = Frame(np.array([3.0, -1]), 2.5)
    prior = PRIOR8.moved(-frame.origin / frame.scale, 1 / frame.scale)
    fit = iterated(Model(NestedSticks(), PRIOR8), observations(X8, ONE), Q8, 5)
    framed = iterated(Model(NestedSticks(), prior), observations(X8, ONE, frame), Q8, 5)
    assert framed.bound - 8 * 2 * np.log(2.5) == pytest.approx(fit.bound, rel=1e-10)


def test_a_group_of_one_row_and_a_cluster_without_rows_keep_everything_finite():
    groups = np.array([0, 0, 0, 0, 0, 0, 0, 1], np.int32)
    fit = iterated(
        Model(GeneralisedDirichlet(), PRIOR8), observations(X8, groups), np.hstack([Q8, np.zeros((8, 1))]), 3
    )
    assert np.isfinite(fit.bound)
    assert np.isfinite(fit.statistics.moments).all()


def sparse_run(cutoff, iterations=25):
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 4, 400)
    groups = ((labels + rng.integers(0, 2, 400)) % 4).astype(np.int32)
    X = rng.standard_normal((400, 2)) + 5 * np.array([(0, 0), (1, 0), (0, 1), (1, 1)])[labels]
    model = Model(GeneralisedDirichlet(), GaussianWishart.prior(X.mean(0), 1.0), cutoff)
    data, fits = observations(X, groups), []
    statistics = data.statistics_of(model.clusters, rng.dirichlet(np.ones(6), 400))
    for _ in range(iterations):
        fits.append(step(model, data, statistics, fits[-1].parameters if fits else None))
        statistics = fits[-1].statistics
    return fits


def masks(fits):
    return [np.ones((4, 6), bool) if f.scorer.present is None else f.scorer.present for f in fits]


def test_dropped_pairs_stay_dropped_and_the_bound_rises_in_between():
    fits = sparse_run(1.0)
    bits = masks(fits)
    assert bits[-1].mean() < 0.8
    assert all((later <= earlier).all() for earlier, later in pairwise(bits))
    for n in range(1, len(fits)):
        if (bits[n] == bits[n - 1]).all():
            assert fits[n].bound >= fits[n - 1].bound - 1e-9 * abs(fits[n].bound)


def test_sparse_statistics_are_those_of_masked_responsibilities():
    fit = sparse_run(1.0)[-1]
    assert (fit.statistics.counts[~fit.scorer.present] == 0).all()
    assert fit.statistics.counts.sum() == pytest.approx(400)
    assert fit.statistics.pairs < 400 * 6 * 0.8


def test_a_cutoff_of_zero_is_the_dense_run_bit_for_bit():
    dense, sparse = sparse_run(0.0)[-1], sparse_run(-1.0)[-1]
    assert dense.bound == sparse.bound
    assert (dense.statistics.moments == sparse.statistics.moments).all()
    assert all(fit.scorer.present is None for fit in sparse_run(0.0))


def test_evidence_of_statistics_is_the_bound_after_the_best_beliefs():
    data, model = observations(X8, TWO), Model(GeneralisedDirichlet(), PRIOR8)
    statistics = data.statistics_of(PRIOR8, Q8)
    assert model.evidence(statistics) + entropy(Q8) == pytest.approx(
        model.bound(model.parameters(statistics), statistics, entropy(Q8)), rel=1e-12
    )
    assert model.evidence_of_weights(statistics) == pytest.approx(
        log_evidence_of_weights(GeneralisedDirichlet(), statistics.counts).sum(), rel=1e-12
    )


def test_statistics_of_parts_add_up_to_those_of_the_whole():
    data = observations(X8, TWO)
    statistics = data.statistics_of(PRIOR8, Q8)
    first = data.take(np.arange(3)).statistics_of(PRIOR8, Q8[:3])
    other_statistics = data.take(np.arange(3, 8)).statistics_of(PRIOR8, Q8[3:])
    total: Statistics = first + other_statistics
    assert total.moments == pytest.approx(statistics.moments, abs=1e-12)
    assert total.counts == pytest.approx(statistics.counts, abs=1e-12)
    assert (total.sizes == statistics.sizes).all()
