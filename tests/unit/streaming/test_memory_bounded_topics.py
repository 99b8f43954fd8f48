"""The memory-bounded topic model: bounds, budget, documents, segmentation, retrieval and storage."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, psi
from scipy.stats import dirichlet

from benthoscope.engine.distributions import GaussianWishart
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures.model import Statistics
from benthoscope.engine.problems import BadInput
from benthoscope.engine.streaming import MemoryBoundedTopicModel
from benthoscope.engine.streaming.topics.documents import AlphaPrior, TiedDirichlet, TopicRows, TopicUnits
from benthoscope.engine.streaming.topics.topic_building import TopicStart, topic_step
from benthoscope.engine.streaming.topics.topic_learning import merged_documents
from benthoscope.engine.streaming.units import Units
from tests.streams import full_evidence, topic_stream

(ROWS, DOCUMENTS, TOPICS), (NEW_ROWS, NEW_DOCUMENTS, NEW_TOPICS) = topic_stream(0, documents=20, items=100, held_out=6)
SMALL = {"memory": 300, "epoch": 500}
SCALE = 0.4 * np.eye(3)
PRIOR = GaussianWishart(np.zeros((1, 3)), np.full(1, 0.01), np.full(1, 5.0), np.linalg.cholesky(SCALE)[None])
AVERAGES = Units.of_rows(PRIOR, ROWS).averages(slice(None))


def raw_units(rows=ROWS, documents=DOCUMENTS):
    S = int(documents.max()) + 1
    return TopicUnits(Units.of_rows(PRIOR, rows), documents, np.empty((0, S)), np.ones(S))


def random_start(data, K=4, seed=0):
    shares = np.random.default_rng(seed).dirichlet(np.ones(K), len(data.units)).T
    owned = shares * data.weights
    statistics = Statistics(data.counts(owned, slice(None)), owned @ data.averages(slice(None)), data.sizes)
    return TopicStart(statistics, np.random.default_rng(seed).uniform(0.3, 2.0, K))


def weighted_evidence(rows, weights):
    """log of the evidence of rows that count by weights, from their weighted mean and scatter."""
    N, mean = weights.sum(), weights @ rows / weights.sum()
    root = np.sqrt(3) * np.linalg.cholesky((rows - mean).T @ (weights[:, None] * (rows - mean)) / N).T
    return full_evidence(np.vstack([mean + root, mean - root]), 0.0, 0.01, 5.0, SCALE, N / 6)


def direct_bound(rows, documents, shares, alpha, prior):
    """The bound of raw rows with responsibilities (N, K) at the optimal posteriors, summed term by term."""
    J, K = int(documents.max()) + 1, shares.shape[1]
    counts = np.stack([shares[documents == j].sum(0) for j in range(J)])
    total = 0.0
    total += sum(weighted_evidence(rows, shares[:, k]) for k in range(K))
    for j in range(J):
        total += gammaln(alpha.sum()) - gammaln((alpha + counts[j]).sum())
        total += (gammaln(alpha + counts[j]) - gammaln(alpha)).sum()
    total -= (shares * np.log(np.maximum(shares, 1e-300))).sum()
    a, b = prior.a, prior.b
    log_density = a * np.log(b) - gammaln(a) + (a - 1) * np.log(alpha) - b * alpha
    at_mode = a * np.log(b) - gammaln(a) + ((a - 1) * np.log((a - 1) / b) - (a - 1) if a > 1 else 0.0)
    return total + log_density.sum() - K * at_mode


@pytest.mark.parametrize("alpha_prior", [AlphaPrior(1.0, 0.5), AlphaPrior(2.0, 0.7)])
def test_the_bound_is_the_sum_of_its_terms_on_raw_rows(alpha_prior):
    """After convergence of the responsibilities, the bound after their update is that of the closed forms."""
    data = TopicRows(raw_units())
    start = random_start(data)
    for _ in range(400):
        fit = topic_step(PRIOR, data, start, alpha_prior)
        start = TopicStart(fit.fit.statistics, fit.alpha)
    shares = data.responsibilities(fit.fit.scorer).T
    expected = direct_bound(ROWS, DOCUMENTS, shares, fit.alpha, alpha_prior)
    assert fit.bound == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_every_iteration_raises_the_bound(tied):
    data = TopicRows(clumped() if tied else raw_units())
    start, bounds = random_start(data), []
    for _ in range(60):
        fit = topic_step(PRIOR, data, start, AlphaPrior())
        start = TopicStart(fit.fit.statistics, fit.alpha)
        bounds.append(fit.bound)
    assert (np.diff(bounds) >= -1e-8 * abs(bounds[0])).all()


def test_alpha_and_the_responsibilities_each_raise_the_bound():
    """AT2, with the bound of raw rows after each of the two updates."""
    data, alpha = TopicRows(raw_units()), np.array([2.0, 0.3, 1.0, 0.5])
    shares = np.random.default_rng(4).dirichlet(np.ones(4), len(ROWS))
    bounds = [direct_bound(ROWS, DOCUMENTS, shares, alpha, AlphaPrior())]
    for _ in range(15):
        counts = np.stack([shares[j == DOCUMENTS].sum(0) for j in range(20)])
        fit = topic_step(
            PRIOR, data, TopicStart(Statistics(counts, shares.T @ AVERAGES, data.sizes), alpha), AlphaPrior()
        )
        alpha = fit.alpha
        bounds.append(direct_bound(ROWS, DOCUMENTS, shares, alpha, AlphaPrior()))
        shares = data.responsibilities(fit.fit.scorer).T
        bounds.append(direct_bound(ROWS, DOCUMENTS, shares, alpha, AlphaPrior()))
    assert (np.diff(bounds) >= -1e-8 * abs(bounds[0])).all() and bounds[-1] > bounds[0]


def clumped():
    """Clumps of items from all documents, in groups of two documents."""
    labels = np.arange(len(ROWS)) % 50 + 50 * TOPICS
    groups = DOCUMENTS // 2
    names, number = np.unique(labels, return_inverse=True)
    counts = np.zeros((len(names), 10))
    np.add.at(counts, (number, groups), 1)
    sums = np.array([Units.of_rows(PRIOR, ROWS[labels == name]).total() for name in names])
    units = Units(PRIOR, np.empty((0, 3)), sums)
    return TopicUnits(units, np.empty(0, np.int64), counts, np.full(10, 2.0))


def test_clumps_and_groups_give_the_posterior_of_raw_rows_with_shared_distributions():
    memory = clumped()
    data = TopicRows(memory)
    start = random_start(data)
    fit = topic_step(PRIOR, data, start, AlphaPrior())
    labels = np.arange(len(ROWS)) % 50 + 50 * TOPICS
    shares = np.random.default_rng(0).dirichlet(np.ones(4), len(memory.units)).T
    tied = shares[:, np.unique(labels, return_inverse=True)[1]]
    counts = np.stack([tied[:, s == DOCUMENTS // 2].sum(1) for s in range(10)])
    np.testing.assert_allclose(start.statistics.counts, counts, rtol=1e-9)
    weights = TiedDirichlet(fit.alpha, memory.documents).posterior(counts)
    expected = psi(fit.alpha + counts / 2) - psi((fit.alpha + counts / 2).sum(1, keepdims=True))
    np.testing.assert_allclose(weights.expected_log, expected, rtol=1e-9)
    averages = Units.of_rows(PRIOR, ROWS).averages(slice(None))
    clusters = PRIOR.posterior(tied @ averages)
    np.testing.assert_allclose(fit.fit.parameters.clusters.mean, clusters.mean, rtol=1e-9)
    np.testing.assert_allclose(fit.fit.parameters.clusters.factor, clusters.factor, rtol=1e-9, atol=1e-11)
    tied_bound = bound_of_tied_rows(tied, counts, fit.alpha, labels, expected, clusters)
    assert fit.bound == pytest.approx(tied_bound + AlphaPrior().bound(fit.alpha), rel=1e-9)


def bound_of_tied_rows(tied, counts, alpha, labels, expected_log, clusters):
    """The bound from single rows whose clump shares the best responsibilities, at the posteriors of `tied` and `counts`
    in groups of two documents."""
    zeta = alpha + counts / 2
    joint = AVERAGES @ clusters.coefficients().T + expected_log[DOCUMENTS // 2]
    total = -sum(clusters.kl(PRIOR)) - 2 * sum(
        gammaln(z.sum()) - gammaln(z).sum() - gammaln(alpha.sum()) + gammaln(alpha).sum() + (z - alpha) @ expected
        for z, expected in zip(zeta, expected_log, strict=True)
    )
    for label in np.unique(labels):
        total += (labels == label).sum() * logsumexp(joint[labels == label].mean(0))
    return total


def test_the_divergence_of_a_group_counts_once_for_each_document():
    alpha, counts = np.array([0.5, 1.0, 2.0]), np.array([[6.0, 3.0, 1.0]])
    weights = TiedDirichlet(alpha, np.array([2.0])).posterior(counts)
    rng = np.random.default_rng(0)
    zeta = alpha + counts[0] / 2
    draws = rng.dirichlet(zeta, 200_000)
    divergence = np.mean(dirichlet.logpdf(draws.T, zeta) - dirichlet.logpdf(draws.T, alpha))
    assert weights.kl[0] == pytest.approx(2 * divergence, abs=0.02)


@pytest.mark.parametrize("alpha_prior", [AlphaPrior(1.0, 0.5), AlphaPrior(2.0, 0.7)])
def test_the_fixed_point_of_alpha_has_no_gradient(alpha_prior):
    rng = np.random.default_rng(1)
    counts, documents = rng.uniform(1, 40, (12, 3)), rng.integers(1, 4, 12).astype(float)

    def objective(alpha):
        """The terms of the bound with alpha, for the best proportions of each document."""
        mean = counts / documents[:, None]
        evidence = (
            gammaln(alpha.sum()) - gammaln((alpha + mean).sum(1)) + (gammaln(alpha + mean) - gammaln(alpha)).sum(1)
        )
        return documents @ evidence + alpha_prior.bound(alpha)

    alpha = np.full(3, 0.7)
    assert objective(alpha_prior.updated(alpha, counts, documents)) > objective(alpha)
    for _ in range(3000):
        alpha = alpha_prior.updated(alpha, counts, documents)
    step = 1e-5
    for k in range(3):
        move = step * np.eye(3)[k]
        gradient = (objective(alpha + move) - objective(alpha - move)) / (2 * step)
        assert abs(gradient) < 1e-5


def streamed(**settings):
    model = MemoryBoundedTopicModel(**{**SMALL, **settings}, horizon=len(ROWS))
    return model.partial_fit(ROWS, groups=DOCUMENTS)


@pytest.fixture(scope="module")
def model():
    return streamed()


@pytest.mark.filterwarnings("ignore::benthoscope.engine.streaming.BudgetWarning")
@pytest.mark.parametrize("observation", ["full", "diagonal", "discrete"])
def test_the_budget_is_kept_and_no_row_is_lost(observation):
    X = np.eye(6)[np.random.default_rng(0).integers(0, 6, 2000)] if observation == "discrete" else ROWS
    model = MemoryBoundedTopicModel(**SMALL, observation=observation, max_groups=8)
    for batch, documents in zip(np.array_split(X, 4), np.array_split(DOCUMENTS, 4), strict=True):
        model.partial_fit(batch, groups=documents)
        assert model.memory_["values"] <= model.memory_["budget"]
        assert model.memory_["groups"] <= 8
    memory = model.state_.memory
    assert memory.units.weights.sum() == 2000
    assert memory.clump_groups.sum() + len(memory.point_groups) == 2000
    np.testing.assert_array_equal(memory.clump_groups.sum(1), memory.units.sums[:, 0])
    assert memory.documents.sum() == 20
    by_document = np.bincount(DOCUMENTS, minlength=20)
    in_group = memory.clump_groups.sum(0) + np.bincount(memory.point_groups, minlength=model.memory_["groups"])
    np.testing.assert_array_equal(in_group, np.bincount(model.group_of_, by_document))


def test_a_limit_of_clumps_counts_single_rows():
    model = streamed(max_clumps=40)
    assert model.memory_["units"] <= 40


def test_topics_and_proportions_are_those_of_the_generator(model):
    assert v_measure(TOPICS, model.predict(ROWS, DOCUMENTS)) > 0.8
    assert model.weights_.shape == (20, model.n_clusters_)
    np.testing.assert_allclose(model.weights_.sum(1), 1, rtol=1e-9)
    labels = model.predict(ROWS, DOCUMENTS)
    counted = np.stack([np.bincount(labels[j == DOCUMENTS], minlength=model.n_clusters_) / 100 for j in range(20)])
    assert np.abs(model.weights_ - counted).mean() < 0.03


def test_a_new_document_is_segmented_with_the_same_topics(model):
    labels = np.concatenate([model.segment(NEW_ROWS[j == NEW_DOCUMENTS]) for j in range(20, 26)])
    assert v_measure(NEW_TOPICS, labels) > 0.75


def test_a_document_finds_itself(model):
    ranks = []
    for j in range(20):
        names, scores = model.retrieve(ROWS[j == DOCUMENTS], top=20)
        assert (np.diff(scores) <= 0).all()
        ranks.append(int(np.flatnonzero(names == j)[0]))
    assert np.median(ranks) == 0 and max(ranks) < 5


def test_documents_in_groups_are_found_by_their_own_rows():
    model = streamed(max_groups=5)
    assert model.memory_["groups"] == 5
    gallery = {j: ROWS[j == DOCUMENTS] for j in range(20)}
    names, _ = model.retrieve(ROWS[DOCUMENTS == 7], top=3, gallery=gallery)
    assert 7 in names


def test_merging_more_documents_lowers_the_bound():
    """AT20: the bound with the present responsibilities falls with every merge."""
    state = streamed().state_
    bounds = []
    for groups in (20, 10, 4, 1):
        merged = merged_documents(state, groups)
        data = TopicRows(merged.memory)
        start = TopicStart(data.sweep(scorer_of(merged)), merged.alpha)
        for _ in range(60):
            fit = topic_step(merged.prior, data, start, AlphaPrior())
            start = TopicStart(fit.fit.statistics, fit.alpha)
        bounds.append(fit.bound)
        assert merged.memory.documents.sum() == 20 and len(merged.memory.documents) == groups
    assert (np.diff(bounds) < 0).all()


@pytest.mark.filterwarnings("ignore::benthoscope.engine.streaming.BudgetWarning")
@pytest.mark.parametrize("groups", [10, 4, 1])
def test_the_budget_is_kept_however_many_documents_are_merged(groups):
    """AT20: groups of 50, 20 and 5 % of the documents."""
    model = MemoryBoundedTopicModel(**SMALL, max_groups=groups, horizon=len(ROWS))
    for rows, documents in zip(np.array_split(ROWS, 4), np.array_split(DOCUMENTS, 4), strict=True):
        model.partial_fit(rows, groups=documents)
        assert model.memory_["values"] <= model.memory_["budget"] <= SMALL["memory"] * 3
        assert model.memory_["groups"] <= groups


def scorer_of(state):
    from benthoscope.engine.mixtures.model import Scorer

    return Scorer(state.prior, state.clusters.coefficients(), state.weights.expected_log)


@pytest.mark.parametrize("max_groups", [None, 6])
def test_a_saved_topic_model_continues_as_if_it_had_not_been_saved(tmp_path, max_groups):
    batches = list(zip(np.array_split(ROWS, 4), np.array_split(DOCUMENTS.astype(str), 4), strict=True))
    model = MemoryBoundedTopicModel(**SMALL, max_groups=max_groups)
    for number, (rows, documents) in enumerate(batches):
        model.partial_fit(rows, groups=documents)
        if number == 1:
            model.save(tmp_path / "topics.npz")
    resumed = MemoryBoundedTopicModel.load(tmp_path / "topics.npz")
    for rows, documents in batches[2:]:
        resumed.partial_fit(rows, groups=documents)
    np.testing.assert_allclose(resumed.lower_bound_history_, model.lower_bound_history_, rtol=1e-12)
    np.testing.assert_allclose(resumed.weights_, model.weights_, rtol=1e-12)
    np.testing.assert_array_equal(resumed.groups_, model.groups_)


def test_a_stored_topic_model_predicts_new_documents(model):
    copy = MemoryBoundedTopicModel.from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(copy.predict(NEW_ROWS, NEW_DOCUMENTS), model.predict(NEW_ROWS, NEW_DOCUMENTS))


def test_a_document_may_continue_in_a_later_call():
    model = MemoryBoundedTopicModel(**SMALL)
    model.partial_fit(ROWS[:150], groups=DOCUMENTS[:150]).partial_fit(ROWS[150:300], groups=DOCUMENTS[150:300])
    assert list(model.groups_) == [0, 1, 2]
    np.testing.assert_array_equal(model.counts_.sum(1).round(6), [100, 100, 100])


def test_rows_need_one_document_each():
    with pytest.raises(BadInput, match="groups: has shape"):
        MemoryBoundedTopicModel(**SMALL).partial_fit(ROWS[:10], groups=[1, 2])
    with pytest.raises(BadInput, match="ids: are not stored"):
        MemoryBoundedTopicModel(**SMALL).partial_fit(ROWS[:10], groups=DOCUMENTS[:10], ids=np.arange(10))


def test_all_documents_are_segmented_as_if_each_were_new(model):
    result = model.segment_documents(ROWS, DOCUMENTS)
    alone = np.concatenate([model.segment(ROWS[j == DOCUMENTS]) for j in range(20)])
    assert (result.labels == alone).mean() > 0.999  # the weights converge together or one by one
    np.testing.assert_allclose(result.proportions.sum(1), 1, rtol=1e-9)
    assert result.proportions.shape == (20, model.n_clusters_) and v_measure(TOPICS, result.labels) > 0.8
    with pytest.raises(BadInput, match="not in order"):
        model.segment_documents(ROWS[::-1], DOCUMENTS[::-1])


def test_a_segmentation_in_blocks_is_that_of_all_documents(model, monkeypatch):
    whole, steps = model.segment_documents(ROWS, DOCUMENTS), []
    monkeypatch.setattr("benthoscope.engine.streaming.memory_bounded_topics.BLOCK", 250)
    parts = model.segment_documents(ROWS, DOCUMENTS, on_step=steps.append)
    assert len(steps) > 5 and (parts.labels == whole.labels).mean() > 0.999
    np.testing.assert_allclose(parts.proportions, whole.proportions, atol=1e-3)


def test_rows_of_new_documents_do_not_all_start_in_the_most_frequent_topic():
    """Documents with one or two of many topics have alphas near 0. A later document must still get its own topics."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(12, 3))
    pairs = rng.integers(0, 12, (60, 2))
    topics = np.concatenate([rng.choice(pair, 40) for pair in pairs])
    rows = centres[topics] + 0.4 * rng.normal(size=(len(topics), 3))
    documents = np.repeat(np.arange(60), 40)
    learned = MemoryBoundedTopicModel(max_clumps=200, epoch=200, width=0.05)
    learned.partial_fit(rows, groups=documents)
    assert v_measure(topics, learned.predict(rows, documents)) > 0.9
