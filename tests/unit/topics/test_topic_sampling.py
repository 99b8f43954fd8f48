"""The collapsed Gibbs sampler: its bookkeeping, its distribution, its hyper-parameters (methods note 12.1 and 12.8)."""

import numpy as np
import pytest
from scipy.special import psi

from benthoscope.engine.distributions import SphericalGaussian
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled, Progress
from benthoscope.engine.topics import InfiniteWordTopicModel
from benthoscope.engine.topics.generative import draw_corpus
from benthoscope.engine.topics.sampling import gibbs
from benthoscope.engine.topics.sampling.concentrations import (
    best_alpha,
    best_concentration,
    log_evidence_of_topics,
    sampled_concentration,
)
from benthoscope.engine.topics.sampling.gibbs import GibbsRule, GibbsSampler, run_chain
from benthoscope.engine.topics.sampling.seating import (
    _log_density,
    _open_cluster,
    _open_table,
    _refresh_constant,
    seat,
    unseat,
)
from tests.topic_corpora import classes_corpus, ring

CORPUS = ring(20, 25)


def chain(seed=0, start_clusters=12, classes=None, alpha=None, corpus=CORPUS, concentrations=(5.0, 1.0)):
    X = corpus.X - corpus.X.mean(0)
    base = SphericalGaussian.prior(np.zeros(2), X.var() / 4, 0.1, 1.0)
    N = len(corpus.theta)
    return GibbsSampler.start(
        X, corpus.image, np.full((1, 4), 0.25) if alpha is None else alpha,
        np.zeros(N, int) if classes is None else classes, base, concentrations, np.random.default_rng(seed),
        start_clusters,
    )  # fmt: skip


def recomputed(sampler):
    """The caches of the clusters in use from the seats alone."""
    s = sampler.seating
    cluster = s.table_cluster[s.table]
    moments = np.zeros((len(s.rate), sampler.base.n_statistics))
    np.add.at(moments, cluster, sampler.base.features(np.ascontiguousarray(s.x.T)).T)
    return sampler.base.posterior(moments[sampler.live]), cluster


def assert_consistent(sampler):
    s = sampler.seating
    clusters, cluster = recomputed(sampler)
    np.testing.assert_allclose(s.mean[sampler.live], clusters.mean, atol=1e-9)
    np.testing.assert_allclose(s.rate[sampler.live], clusters.rate, rtol=1e-9)
    np.testing.assert_array_equal(
        s.cluster_sizes[sampler.live], np.bincount(cluster, minlength=len(s.rate))[sampler.live]
    )
    pairs = np.zeros_like(s.topic_clusters)
    np.add.at(pairs, (s.topic, cluster), 1)
    np.testing.assert_array_equal(s.topic_clusters, pairs)
    np.testing.assert_array_equal(s.table_count, np.bincount(s.table, minlength=len(s.table_count)))
    used = np.flatnonzero(s.table_count)
    tables = np.bincount(s.table_cluster[used], minlength=len(s.rate))
    np.testing.assert_array_equal(s.cluster_tables[sampler.live], tables[sampler.live])
    assert s.totals[1] == len(used) == tables.sum() and s.totals[2] == len(s.x) - len(used)
    counts = np.zeros_like(s.document_topics)
    np.add.at(counts, (s.document, s.topic), 1)
    np.testing.assert_array_equal(s.document_topics, counts)


@pytest.mark.parametrize("start_clusters", [12, None])
def test_counts_and_caches_equal_those_of_the_seats(start_clusters):
    sampler = chain(start_clusters=start_clusters)
    for _ in range(15):
        sampler.advance()
    assert_consistent(sampler)


def test_many_removals_and_additions_do_not_drift():
    sampler, rng = chain(), np.random.default_rng(1)
    s = sampler.seating
    for i in rng.integers(0, len(s.x), 20_000):
        z, t = s.topic[i], s.table[i]
        if s.table_count[t] > 1:
            unseat(s, i)
            seat(s, i, z, t)
    assert_consistent(sampler)


def test_the_density_of_a_seat_is_the_predictive_density():
    sampler = chain()
    s = sampler.seating
    expected = recomputed(sampler)[0].log_predictive(s.x[:5])
    densities = [[_log_density(s, i, k) for k in sampler.live] for i in range(5)]
    np.testing.assert_allclose(densities, expected, atol=1e-9)
    empty = [_log_density(s, i, len(s.rate)) for i in range(5)]
    np.testing.assert_allclose(empty, sampler.base.log_predictive(s.x[:5])[:, 0], atol=1e-9)


def test_room_for_clusters_grows():
    sampler = chain(start_clusters=None, concentrations=(50.0, 500.0))
    room = len(sampler.seating.rate)
    sampler.advance()
    assert len(sampler.seating.rate) > room and sampler.n_clusters > room
    assert_consistent(sampler)


def test_new_clusters_appear_where_variational_inference_only_removes():
    grown = 0
    for seed in range(3):
        sampler = chain(seed, None, corpus=ring(30, 30, seed=4), concentrations=(1.0, 1.0))
        sampler.advance()
        first = sampler.n_clusters
        run_chain(sampler, GibbsRule(80, burn_in=1000))
        grown += sampler.n_clusters > first
    assert grown == 3


def test_the_number_of_drawn_clusters_has_its_expectation():
    """One topic that opens a table for each descriptor draws clusters like a Chinese restaurant."""
    rng, gamma, N, draws = np.random.default_rng(0), 5.0, 1000, 60
    base = SphericalGaussian.prior(np.zeros(1), 1.0)
    settings = {"concentration": gamma, "topic_concentration": 1e9}
    counts = [draw_corpus(1, N, np.ones(1), base, rng, **settings).clusters.max() + 1 for _ in range(draws)]
    expected = gamma * (psi(gamma + N) - psi(gamma))
    assert abs(np.mean(counts) - expected) < 3 * np.std(counts) / np.sqrt(draws)


def test_stick_breaking_draws_the_same_number_of_clusters_as_seating():
    base, sizes = SphericalGaussian.prior(np.zeros(2), 1.0), {}
    for form in ("seating", "sticks"):
        rng = np.random.default_rng(3)
        corpora = [draw_corpus(4, 20, np.ones(2), base, rng, form=form, concentration=3.0) for _ in range(250)]
        sizes[form] = np.array([len(np.unique(corpus.clusters)) for corpus in corpora])
    error = np.sqrt(sum(each.var() for each in sizes.values()) / 250)
    assert abs(sizes["seating"].mean() - sizes["sticks"].mean()) < 3 * error


def geweke_statistics(sampler):
    s, x = sampler.seating, sampler.seating.x[:, 0]
    same = np.tanh(x[:-1]) * np.tanh(x[1:])
    inside = s.document[:-1] == s.document[1:]
    return [
        sampler.n_clusters, s.totals[1], (s.document_topics**2).sum(), (s.cluster_sizes[sampler.live] ** 2).sum(),
        np.minimum(np.abs(x), 20).mean(), np.tanh(x).mean(), same[inside].mean(), same[~inside].mean(),
    ]  # fmt: skip


def forward(rng):
    """A sampler whose seats and descriptors are drawn from the prior."""
    base = SphericalGaussian.prior(np.zeros(1), 1 / 1.5, 0.5, 3.0)
    document = np.repeat(np.arange(3), 4)
    sampler = GibbsSampler.start(
        np.zeros((12, 1)), document, np.array([[0.5, 1.0]]), np.zeros(3, int), base, (1.5, 1.2), rng, None
    )
    _seat_from_prior(sampler, rng)
    _draw_descriptors(sampler, rng)
    return sampler


def _seat_from_prior(sampler, rng):
    s = sampler.seating
    for i in range(12):
        d = s.document[i]
        prior = sampler.classes.alpha[0] + s.document_topics[d]
        z = rng.choice(2, p=prior / prior.sum())
        tables = [t for t in range(12) if s.table_count[t] and s.topic[s.table == t][0] == z]
        weights = np.array([*(s.table_count[t] for t in tables), 1.5], float)
        j = rng.choice(len(weights), p=weights / weights.sum())
        if j < len(tables):
            t = tables[j]
        else:
            served = np.array([*s.cluster_tables[sampler.live], 1.2], float)
            k = rng.choice(len(served), p=served / served.sum())
            t = _open_table(s, z, sampler.live[k] if k < sampler.n_clusters else _open_cluster(s))
        seat(s, i, z, t)


def _draw_descriptors(sampler, rng):
    """Draw all descriptors given the seats, and refresh the caches."""
    s, base = sampler.seating, sampler.base
    cluster = s.table_cluster[s.table]
    for k in sampler.live:
        own = np.flatnonzero(cluster == k)
        precision = rng.gamma(base.shape[0], 1 / base.rate[0])
        centre = rng.normal(0, 1 / np.sqrt(base.strength[0] * precision))
        s.x[own, 0] = rng.normal(centre, 1 / np.sqrt(precision), len(own))
    seats = [(s.topic[i], s.table[i]) for i in range(12)]
    clusters, _ = recomputed(sampler)
    s.mean[sampler.live], s.rate[sampler.live] = clusters.mean, clusters.rate
    for k in sampler.live:
        _refresh_constant(s, k)
    assert all(t >= 0 for _, t in seats)


def largest_geweke_score(draws, direct):
    """The largest score of eight statistics between forward draws and alternating draws of seats and descriptors."""
    rng = np.random.default_rng(7)
    forward_draws = np.array([geweke_statistics(forward(rng)) for _ in range(direct)])
    sampler, chained = forward(rng), []
    for _ in range(draws):
        sampler.advance()
        _draw_descriptors(sampler, rng)
        chained.append(geweke_statistics(sampler))
    chained = np.array(chained)
    batches = chained.reshape(40, -1, 8).mean(1)  # batch means: successive draws depend on each other
    error = np.sqrt(forward_draws.var(0) / direct + batches.var(0, ddof=1) / len(batches))
    return np.abs((chained.mean(0) - forward_draws.mean(0)) / error).max()


def test_the_sampler_leaves_the_joint_distribution_unchanged():
    """Geweke's test; `make bench ONLY=topics:accepted` takes 20,000 draws."""
    assert largest_geweke_score(draws=6000, direct=1200) < 3.5


def test_alpha_and_concentrations_are_recovered():
    rng = np.random.default_rng(0)
    alpha = np.array([0.3, 1.0, 2.0])
    counts = np.array([rng.multinomial(80, rng.dirichlet(alpha)) for _ in range(400)])
    np.testing.assert_allclose(best_alpha(counts, np.ones(3)), alpha, rtol=0.25)
    np.testing.assert_array_equal(best_alpha(counts[:4], np.ones(3)), np.ones(3))
    sizes = np.full(40, 500)
    tables = np.array([(rng.random(500) < 4.0 / (4.0 + np.arange(500))).sum() for _ in sizes])
    assert best_concentration(tables, sizes) == pytest.approx(4.0, rel=0.2)
    draws, value = [], 1.0
    for _ in range(300):
        value = sampled_concentration(value, int(tables.sum()), sizes, rng)
        draws.append(value)
    assert np.mean(draws[50:]) == pytest.approx(4.0, rel=0.2)


def test_the_best_alpha_is_a_maximum():
    counts = np.random.default_rng(2).integers(0, 20, (30, 4))
    best = best_alpha(counts, np.ones(4))
    top = log_evidence_of_topics(counts, best).sum() - 0.1 * best.sum()
    for factor in (0.97, 1.03):
        for t in range(4):
            other = best.copy()
            other[t] *= factor
            assert log_evidence_of_topics(counts, other).sum() - 0.1 * other.sum() <= top + 1e-6


SETTINGS = {
    "n_topics": 4, "inference": "gibbs", "sweeps": 60, "burn_in": 30, "random_state": 0, "precision_strength": 0.5,
    "start_clusters": 20, "topic_concentration": 5.0, "concentration": 1.0, "mean_strength": 0.1,
}  # fmt: skip


def test_classes_are_predicted_and_unknown_classes_help():
    corpus, labels = classes_corpus()
    train, test = corpus.subset(np.arange(0, 60, 2)), corpus.subset(np.arange(1, 60, 2))
    y = np.array(["sand", "reef", "weed"])[labels]
    model = InfiniteWordTopicModel(**SETTINGS).fit(train.X, train.image, y[::2])
    predicted = model.predict_class(test.X, test.image)
    assert (predicted == y[1::2]).mean() >= 0.75
    np.testing.assert_allclose(model.predict_class_proba(test.X, test.image).sum(1), 1)
    partly = np.where(np.arange(60) % 2 == 0, labels, -1)
    semi = InfiniteWordTopicModel(**SETTINGS).fit(corpus.X, corpus.image, partly)
    assert (semi.predict_class(test.X, test.image) == labels[1::2]).mean() >= 0.75
    again = InfiniteWordTopicModel.from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(again.predict_class(test.X, test.image), predicted)
    np.testing.assert_allclose(again.transform(test.X, test.image), model.transform(test.X, test.image))


def test_a_sampled_model_has_all_methods_of_a_model():
    model = InfiniteWordTopicModel(**{**SETTINGS, "sweeps": 25, "sample_concentrations": True, "burn_in": 5})
    model.fit(CORPUS.X, CORPUS.image)
    np.testing.assert_allclose(model.topic_weights_.sum(1), 1)
    np.testing.assert_allclose(model.transform(CORPUS.X, CORPUS.image).sum(1), 1)
    assert model.patch_topics(CORPUS.X, CORPUS.image).shape == (500,)
    assert np.isfinite(model.score(CORPUS.X, CORPUS.image))
    assert 5 <= model.n_clusters_ <= 20 and model.lower_bound_history_[-1] > model.lower_bound_history_[0]
    with pytest.raises(BadInput, match="choose incremental"):
        model.partial_fit(CORPUS.X, CORPUS.image)
    with pytest.raises(BadInput, match="the model has none"):
        model.predict_class(CORPUS.X, CORPUS.image)


def test_sampling_can_be_cancelled_and_refuses_wrong_classes():
    def stop(progress):
        raise Cancelled

    with pytest.raises(Cancelled):
        InfiniteWordTopicModel(**SETTINGS).fit(CORPUS.X, CORPUS.image, on_step=stop)
    with pytest.raises(BadInput, match="3 classes for 20 images"):
        InfiniteWordTopicModel(**SETTINGS).fit(CORPUS.X, CORPUS.image, [0, 1, 1])
    with pytest.raises(BadInput, match="there are no classes"):
        InfiniteWordTopicModel(**SETTINGS).fit(CORPUS.X, CORPUS.image, np.full(20, -1))


def test_a_sweep_of_many_clusters_reports_often_and_draws_the_same(monkeypatch):
    whole, in_parts, reports = chain(), chain(), []
    progress = Progress(0, 1, "sweep")
    whole.advance()
    monkeypatch.setattr(gibbs, "NUMBERS_AT_ONCE", 2 * 12 * 50)  # 2 columns, about 12 clusters, 50 descriptors
    in_parts.advance(reports.append, progress)
    assert len(reports) >= len(CORPUS.X) // 60
    np.testing.assert_array_equal(in_parts.seating.topic, whole.seating.topic)
    np.testing.assert_array_equal(in_parts.seating.table, whole.seating.table)
