"""The identities of the variational updates (methods note 12.1 and 12.3)."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.special import betaln, gammaln, psi
from scipy.stats import multivariate_t

from benthoscope.engine.compute import InOrder, LocalThreads
from benthoscope.engine.distributions import NestedSticks, SphericalGaussian, TruncatedSticks, log_evidence
from benthoscope.engine.topics.document_step import FrozenTopics, digamma, document_step
from benthoscope.engine.topics.documents import as_documents
from benthoscope.engine.topics.incremental import IncrementRule, extend, match_topics, without_doubles
from benthoscope.engine.topics.monitor import Monitor
from benthoscope.engine.topics.state import initial_state, topic_prior
from benthoscope.engine.topics.updates import UPDATES, bound, bound_of_fit, bound_terms, global_step
from benthoscope.engine.topics.variational import (
    AscentRule,
    LearningRate,
    Runtime,
    collect,
    compact,
    coordinate_ascent,
    fit_of_documents,
    stochastic_step,
    topic_counts_of,
    topic_weights_of,
)
from tests.topic_corpora import ring, scattered
from tests.unit.topics.naive import document, log_marginal

EXACT = Runtime(InOrder(), prune=False)


def small_state(T=3, C=6, iterations=3, documents=12, seed=0, **settings):
    """A corpus of a few documents and a state after some iterations."""
    corpus = scattered(documents, seed=seed, size=15)
    data = as_documents(corpus.X - corpus.X.mean(0), corpus.image)
    rng = np.random.default_rng(seed)
    prior = topic_prior(T, 8, float(corpus.X.var()), 2.0, **settings)
    state = initial_state(prior, data.random_rows(C, rng), rng)
    for _ in range(iterations):
        state = global_step(state, collect(data, state, EXACT))
    return data, state


def test_the_predictive_density_is_the_ratio_of_marginals_and_a_student_t():
    rng = np.random.default_rng(0)
    X, x = rng.standard_normal((20, 3)), rng.standard_normal(3)
    base = SphericalGaussian.prior(np.array([0.3, -1, 2]), 2.0, 0.7, 1.9)
    moments = base.features(X.T).sum(1)[None]
    posterior = base.posterior(moments)
    ratio = log_marginal(np.vstack([X, x]), base) - log_marginal(X, base)
    predictive = posterior.log_predictive(x[None])[0, 0]
    assert predictive == pytest.approx(ratio, abs=1e-10)
    a, nu, r = posterior.shape[0], posterior.strength[0], posterior.rate[0]
    student = multivariate_t(posterior.mean[0], (nu + 1) * r / (nu * a) * np.eye(3), df=2 * a)
    assert predictive == pytest.approx(student.logpdf(x), abs=1e-10)
    assert log_evidence(base, moments)[0] == pytest.approx(log_marginal(X, base), abs=1e-9)


def test_the_moments_about_means_give_these_means_and_no_observations():
    base = SphericalGaussian.prior(np.array([1.0, 2.0]), 3.0, 0.5, 2.5)
    means = np.random.default_rng(0).standard_normal((4, 2))
    posterior = base.posterior(base.moments_about(means))
    np.testing.assert_allclose(posterior.mean, means, atol=1e-12)
    np.testing.assert_allclose(posterior.strength, 0.5)
    np.testing.assert_allclose(posterior.rate, base.rate[0], atol=1e-12)


@pytest.mark.parametrize("last_stick", ["fixed", "free"])
def test_one_topic_atom_and_cluster_give_the_marginal_likelihood(last_stick):
    X = np.random.default_rng(1).standard_normal((14, 2)) + 3
    data = as_documents(X, np.zeros(14, int))
    prior = topic_prior(1, 2, 1.7, 1.5, topic_concentration=1.3, concentration=2.2, last_stick=last_stick)
    state = initial_state(prior, np.zeros((1, 2)), np.random.default_rng(0), atoms_per_cluster=1)
    statistics = collect(data, state, EXACT)
    state = global_step(state, statistics)
    expected = log_marginal(X, prior.base)
    if last_stick == "free":
        expected += betaln(1 + 14, 1.3) - betaln(1, 1.3) + np.log(1 / (1 + 2.2))
    assert bound(state, statistics) == pytest.approx(expected, abs=1e-8)


def test_the_factorised_document_step_equals_the_plain_one():
    data, state = small_state()
    frozen = FrozenTopics.of(state)
    for block in data.blocks(1):
        x = block.read()
        statistics = document_step(block, frozen)
        counts, _, Z, r, entropy = document(x, state, frozen.rounds)
        np.testing.assert_allclose(statistics.document_counts[0], counts, atol=1e-10)
        np.testing.assert_allclose(statistics.atom_counts, Z, atol=1e-10)
        np.testing.assert_allclose(statistics.atom_moments[:, 0], r.sum(0), atol=1e-10)
        np.testing.assert_allclose(statistics.atom_moments[:, 1:-1], r.T @ x, atol=1e-10)
        np.testing.assert_allclose(statistics.atom_moments[:, -1], r.T @ (x**2).sum(1), atol=1e-9)
        assert statistics.entropy == pytest.approx(entropy, abs=1e-9)


def test_the_digamma_of_the_document_step_is_accurate():
    points = np.concatenate([np.geomspace(1e-3, 1e5, 200), [0.01, 1.0, 10.0]])
    np.testing.assert_allclose([digamma(x) for x in points], psi(points), rtol=1e-13, atol=1e-13)


def test_sticks_in_any_order_of_the_atoms_equal_sorted_sticks():
    rng = np.random.default_rng(0)
    counts = rng.exponential(5, (3, 7))
    for prior in (NestedSticks(2.0), TruncatedSticks(0.8)):
        weights = prior.posterior(counts)
        order = np.argsort(-counts, axis=1)
        ranked = prior.posterior(np.take_along_axis(counts, order, axis=1))
        np.testing.assert_allclose(
            np.take_along_axis(weights.expected_log, order, axis=1), ranked.expected_log, atol=1e-12
        )


@pytest.mark.parametrize("concentration", [0.5, 2.0, 10.0])
def test_descending_order_is_the_best_order_of_free_sticks(concentration):
    rng = np.random.default_rng(3)
    for counts in rng.exponential(4, (5, 6)):

        def term(order, counts=counts):
            s = counts[list(order)]
            tail = s[::-1].cumsum()[::-1] - s
            return (betaln(1 + s, concentration + tail) - betaln(1, concentration)).sum()

        best = NestedSticks(concentration).log_evidence(counts[None])[0]
        assert max(term(order) for order in permutations(range(6))) == pytest.approx(best, abs=1e-9)


def test_a_stochastic_step_on_all_documents_is_a_step_of_coordinate_ascent():
    data, state = small_state()
    ascent = global_step(state, collect(data, state, EXACT))
    step = stochastic_step(data, state, LearningRate(1.0), 0, 0, EXACT, Monitor())
    for name, values in ascent.arrays().items():
        np.testing.assert_allclose(step.arrays()[name], values, atol=1e-10, err_msg=name)


def test_scaled_statistics_of_equal_batches_average_to_those_of_all_documents():
    data, state = small_state()
    full = collect(data, state, EXACT)
    batches = [collect(data.take(np.arange(k, 12, 3)), state, EXACT).scaled(3.0) for k in range(3)]
    for name in ("atom_counts", "atom_moments", "entropy"):
        mean = sum(getattr(batch, name) for batch in batches) / 3
        np.testing.assert_allclose(mean, getattr(full, name), atol=1e-8)


def test_matching_recovers_a_permutation_of_the_same_model():
    data, state = small_state(T=4, iterations=8)
    order = np.array([2, 0, 3, 1])
    shuffled = state.with_atoms(state.atom_counts[order])
    weights = [topic_weights_of(topic_counts_of(data, each, EXACT), state.prior.alpha) for each in (state, shuffled)]
    match = match_topics(*weights)
    np.testing.assert_array_equal(match.of, np.argsort(order))
    assert match.used and match.correlation > 0.99


def test_topics_without_common_documents_keep_their_order():
    rng = np.random.default_rng(0)
    match = match_topics(rng.dirichlet(np.ones(5), 400), rng.dirichlet(np.ones(5), 400))
    assert not match.used and match.correlation < 0.3
    np.testing.assert_array_equal(match.of, np.arange(5))


def perturbed(values, rng):
    return values * (1 + 0.001 * rng.choice([-1, 1], values.shape))


def test_each_update_maximises_the_bound():
    data, state = small_state()
    rng = np.random.default_rng(5)
    statistics = collect(data, state, EXACT)
    for update in UPDATES:
        state = update(state, statistics)
    for update in UPDATES:  # the last value of each parameter is the maximiser given the others
        best = update(state, statistics)
        top = bound(best, statistics)
        for other in _perturbations(best, update.__name__, rng):
            assert bound(other, statistics) <= top + 1e-6


def _perturbations(state, update, rng):
    if update == "update_clusters":
        for name in ("mean", "strength", "shape", "rate"):
            for _ in range(5):
                moved = perturbed(getattr(state.clusters, name), rng)
                yield replace(state, clusters=replace(state.clusters, **{name: moved}))
    if update == "update_mapping":
        for _ in range(5):
            yield state.with_mapping(state.log_mapping + 0.001 * rng.choice([-1, 1], state.log_mapping.shape))
    if update == "update_atoms":
        for _ in range(5):
            yield state.with_atoms(perturbed(state.atom_counts, rng))
    if update == "update_master":
        for _ in range(5):
            counts = perturbed(state.cluster_counts, rng)
            yield replace(state, master=state.prior.of_clusters.posterior(counts[None]))


@pytest.mark.parametrize("atoms", ["all", "few"])
def test_the_bound_of_a_fixed_state_needs_no_statistics(atoms, monkeypatch):
    """Against the sum of all terms, by matrix products over all atoms and by the atoms that count."""
    data, state = small_state()
    state = global_step(state, collect(data, state, EXACT))
    if atoms == "few":
        monkeypatch.setattr("benthoscope.engine.topics.document_step.DENSE", 0)
    fit, statistics = fit_of_documents(data, state, EXACT), collect(data, state, EXACT)
    np.testing.assert_allclose(fit.counts, statistics.document_counts, atol=1e-10)
    assert bound_of_fit(state, fit) == pytest.approx(bound(state, statistics), rel=1e-12)


def test_the_bound_has_the_terms_of_the_note():
    """Document, stick and cluster terms written out, instead of by KL divergences."""
    data, state = small_state()
    statistics = collect(data, state, EXACT)
    state = global_step(state, statistics)
    terms = bound_terms(state, statistics)
    alpha, T = state.prior.alpha, 3
    at = alpha + statistics.document_counts
    log_theta = psi(at) - psi(at.sum(1, keepdims=True))
    documents = ((at - alpha) * log_theta).sum() + (
        gammaln(T * alpha) - T * gammaln(alpha) + (alpha - 1) * log_theta.sum(1)
        - gammaln(at.sum(1)) + gammaln(at).sum(1) - ((at - 1) * log_theta).sum(1)
    ).sum()  # fmt: skip
    assert terms["topic choices and documents"] == pytest.approx(documents, abs=1e-8)
    c, base, D = state.clusters, state.prior.base, 8
    log_lam, lam = psi(c.shape) - np.log(c.rate), c.shape / c.rate
    chi1, rate0, beta0 = base.shape[0], base.rate[0], base.strength[0]
    clusters = (
        D / 2 * np.log(beta0 / 2 / np.pi) + D / 2 * log_lam - beta0 / 2 * (lam * (c.mean**2).sum(1) + D / c.strength)
        - gammaln(chi1) + chi1 * np.log(rate0) + (chi1 - 1) * log_lam - lam * rate0
        - (D / 2 * np.log(c.strength / 2 / np.pi) + D / 2 * log_lam - D / 2 - gammaln(c.shape)
           + c.shape * np.log(c.rate) + (c.shape - 1) * log_lam - c.shape)
    ).sum()  # fmt: skip
    assert terms["clusters"] == pytest.approx(clusters, abs=1e-7)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("concentrations", [(1.0, 10.0), (1.0, 1.0), (10.0, 10.0)])
def test_no_update_lowers_the_bound_from_warm_documents(tied, concentrations):
    topic_concentration, concentration = concentrations
    _never_falls("free", 6.0 if not tied else 1.0, topic_concentration, concentration)


@pytest.mark.parametrize("concentrations", [(1.0, 1.0), (0.5, 0.8)])
def test_no_update_lowers_the_bound_with_fixed_last_sticks(concentrations):
    _never_falls("fixed", 1.0, *concentrations)


def _never_falls(last_stick, draws, topic_concentration, concentration):
    data, state = small_state(
        T=6, C=10, iterations=0, documents=20, last_stick=last_stick, mapping_draws=draws,
        topic_concentration=topic_concentration, concentration=concentration,
    )  # fmt: skip
    statistics = collect(data, state, EXACT)
    state = global_step(state, statistics)
    last = bound(state, statistics)
    for _ in range(12):
        statistics = collect(data, state, EXACT, statistics.document_counts)
        values = [bound(state, statistics)]
        for update in UPDATES:
            state = update(state, statistics)
            values.append(bound(state, statistics))
        assert min(np.diff([last, *values])) >= -1e-8 * abs(last)
        last = values[-1]


def test_joined_states_add_up():
    data, state = small_state(T=3)
    _, other = small_state(T=3, seed=4)
    other = replace(other, prior=state.prior)
    union = extend(state, other, np.array([1, 2, 0]))
    K, C = state.n_atoms, state.n_clusters
    assert (union.n_atoms, union.n_clusters) == (K + other.n_atoms, C + other.n_clusters)
    assert union.mapping[:K, C:].max() == 0 and union.mapping[K:, :C].max() == 0
    np.testing.assert_allclose(union.mapping[:K, :C], state.mapping)
    assert union.atom_counts.sum() == pytest.approx(2 * data.n_rows, rel=1e-9)
    assert union.cluster_moments[:, 0].sum() == pytest.approx(2 * data.n_rows, rel=1e-9)
    np.testing.assert_allclose(union.mapping.sum(0), union.cluster_counts, rtol=1e-9)
    np.testing.assert_allclose(union.atom_counts[:, K:], other.atom_counts[[1, 2, 0]])


def grown_ring(documents, seed):
    """The compact state of some documents of the ring, which has eight clusters."""
    corpus = ring(40, 50, seed=4).subset(documents)
    data = as_documents(corpus.X, corpus.image)
    rng = np.random.default_rng(seed)
    prior = topic_prior(4, 2, 14.0, 4.0)
    state = initial_state(prior, data.random_rows(20, rng), rng)
    for _ in range(30):
        state = global_step(state, collect(data, state, EXACT))
    return compact(state)


def test_new_clusters_that_double_old_ones_join_them():
    old, new = grown_ring(np.arange(20), 0), grown_ring(np.arange(20, 40), 1)
    union = extend(old, new, np.arange(4))
    joined = without_doubles(union, old.n_clusters, old.n_atoms)
    assert union.n_clusters >= 14
    assert 7 <= joined.n_clusters <= 10
    assert joined.n_atoms < union.n_atoms
    np.testing.assert_allclose(joined.cluster_moments.sum(0), union.cluster_moments.sum(0), rtol=1e-9)
    np.testing.assert_allclose(joined.atom_counts.sum(1), union.atom_counts.sum(1), rtol=1e-9)
    np.testing.assert_allclose(joined.mapping.sum(1), 1, rtol=1e-9)
    corpus = ring(40, 50, seed=4)
    data = as_documents(corpus.X, corpus.image)
    assert bound(joined, collect(data, joined, EXACT)) > bound(union, collect(data, union, EXACT))


def test_a_new_cluster_far_from_all_old_ones_stays():
    old = grown_ring(np.arange(20), 0)
    far = old.with_clusters(old.prior.base.moments_about(100 + old.clusters.mean))
    union = extend(old, far, np.arange(4))
    joined = without_doubles(union, old.n_clusters, old.n_atoms)
    assert (joined.n_clusters, joined.n_atoms) == (union.n_clusters, union.n_atoms)
    np.testing.assert_allclose(joined.mapping, union.mapping, atol=1e-9)


def test_a_few_new_documents_are_fitted_with_a_few_old_ones():
    rule = IncrementRule(LearningRate(0.5))
    assert rule.rate_together(65, 650).share == pytest.approx(0.2)
    assert rule.rate_together(40, 80).share == 0.5


def test_compaction_hardly_changes_the_bound():
    data, state = small_state(T=3, C=25, iterations=25, documents=30)
    smaller = compact(state)
    assert smaller.n_clusters < state.n_clusters
    before, after = (bound(each, collect(data, each, EXACT)) for each in (state, smaller))
    assert after >= before - 0.0005 * abs(before)


def test_threads_and_one_pass_in_order_agree():
    data, state = small_state(documents=30)
    one, many = (collect(data, state, Runtime(compute)) for compute in (InOrder(), LocalThreads(2)))
    np.testing.assert_allclose(one.atom_moments, many.atom_moments, atol=1e-10)
    np.testing.assert_allclose(one.document_counts, many.document_counts, atol=1e-10)


def test_all_nearest_atoms_are_all_atoms_and_a_few_are_close():
    data, state = small_state(documents=20, iterations=8)
    full = collect(data, state, EXACT)
    every = collect(data, state, Runtime(InOrder(), n_nearest=state.n_atoms))
    few = collect(data, state, Runtime(InOrder(), n_nearest=4))
    np.testing.assert_allclose(every.atom_counts, full.atom_counts)
    assert np.isfinite(bound(state, few))
    assert np.abs(few.document_counts - full.document_counts).max() < 1.0


def test_a_descriptor_far_from_all_clusters_keeps_everything_finite():
    data, state = small_state()
    far = as_documents(np.vstack([data.read()[:5], np.full((1, 8), 1e6)]), np.zeros(6, int))
    statistics = collect(far, state, EXACT)
    assert statistics.document_counts.sum() == pytest.approx(6)
    assert statistics.atom_moments[:, 0].sum() == pytest.approx(6)
    assert np.isfinite(bound(state, statistics))


def test_the_ring_has_eight_clusters():
    corpus = ring(60, 50)
    data = as_documents(corpus.X, corpus.image)
    rng = np.random.default_rng(0)
    state = initial_state(topic_prior(4, 2, float(corpus.X.var()), 4.0), data.random_rows(20, rng), rng)
    monitor = Monitor()
    coordinate_ascent(data, state, AscentRule(30), Runtime(InOrder()), monitor)
    in_use = [entry.clusters_in_use for entry in monitor.entries]
    assert 7 <= in_use[-1] <= 9 and in_use[-1] < in_use[0]
