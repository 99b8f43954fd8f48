"""The bounds and updates of clumps against closed forms: AT1 to AT4 and AT22 of the method specification."""

from dataclasses import replace

import numpy as np
import pytest

from benthoscope.engine.distributions import (
    DirichletCategorical,
    GaussianGamma,
    GaussianWishart,
    NestedSticks,
    log_evidence,
)
from benthoscope.engine.mixtures.inference import first_statistics, step
from benthoscope.engine.mixtures.model import Model, Parameters, Statistics
from benthoscope.engine.streaming.building import Search, build
from benthoscope.engine.streaming.compression import Budget, MixtureDivision, compress, join_by_evidence
from benthoscope.engine.streaming.reprojection import mapped_sums
from benthoscope.engine.streaming.splitting import StickWeights, UnitGroups, gain_of_clusters, hard_splits
from benthoscope.engine.streaming.units import UnitRows, Units
from tests import streams
from tests.streams import gaussian_stream

D, ALPHA = 4, 1.3
RNG = np.random.default_rng(5)
CLOUDS = RNG.integers(0, 3, 240)
X = np.array([[0.0] * 4, [4, 0, 1, 0], [0, 5, 0, 2]])[CLOUDS] + RNG.normal(size=(240, D))
WORDS = np.eye(D)[(RNG.random(240) * (1 + CLOUDS)).astype(int)]
SCALE = 0.3 * np.eye(D)
FULL = GaussianWishart(np.full((1, D), 0.2), np.full(1, 0.01), np.full(1, D + 2.0), np.linalg.cholesky(SCALE)[None])
DIAGONAL = GaussianGamma(np.full((1, D), 0.2), np.full(1, 0.01), np.full(1, 1.5), np.full((1, D), 0.3))
DISCRETE = DirichletCategorical(np.full((1, D), 0.5))
FAMILIES = {"full": (FULL, X), "diagonal": (DIAGONAL, X), "discrete": (DISCRETE, WORDS)}


def evidence(family, rows, times=1.0):
    if family == "full":
        return streams.full_evidence(rows, 0.2, 0.01, D + 2.0, SCALE, times)
    if family == "diagonal":
        return streams.diagonal_evidence(rows, np.full(D, 0.2), 0.01, 1.5, np.full(D, 0.3), times)
    return streams.discrete_evidence(rows, np.full(D, 0.5), times)


def model_of(prior):
    return Model(NestedSticks(ALPHA), prior)


def clumps_of(kind, rows, labels):
    """One clump for each label."""
    sums = [Units.of_rows(kind, rows[labels == label]).total() for label in np.unique(labels)]
    return Units(kind, np.empty((0, rows.shape[1])), np.array(sums))


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def test_the_bound_of_one_cluster_is_its_evidence(family):
    prior, rows = FAMILIES[family]
    data = UnitRows(Units.of_rows(prior, rows))
    fit = step(model_of(prior), data, first_statistics(model_of(prior), data))
    expected = evidence(family, rows) + streams.one_stick_evidence(len(rows), ALPHA)
    assert fit.bound == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("times", [1.0, 7.3])
def test_the_bound_of_a_hard_partition_is_the_sum_of_evidences(family, times):
    prior, rows = FAMILIES[family]
    model = model_of(prior)
    subsets = [rows[k == CLOUDS] for k in range(3)]
    sums = times * clumps_of(prior, rows, CLOUDS).sums
    statistics = Statistics(sums[None, :, 0], sums, np.array([times * len(rows)]))
    parameters = model.parameters(statistics)
    expected = sum(evidence(family, subset, times) for subset in subsets)
    expected += streams.stick_evidence(sums[:, 0], ALPHA)
    assert model.bound(parameters, statistics, 0.0) == pytest.approx(expected, rel=1e-9)
    assert model.evidence(statistics) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("times", [1.0, 7.3])
def test_the_gain_of_a_split_is_a_difference_of_evidences(family, times):
    """The term of the weights is the change of log alpha + log Gamma(n) of the Dirichlet process."""
    prior, rows = FAMILIES[family]
    halves = [rows[CLOUDS == 0], rows[CLOUDS == 1]]
    sums = np.array([Units.of_rows(prior, half).total() for half in halves])[None]
    sizes = times * np.array([len(half) for half in halves])
    whole = np.concatenate(halves)
    expected = sum(evidence(family, half, times) for half in halves) - evidence(family, whole, times)
    expected += np.log(ALPHA) + streams.gammaln(sizes).sum() - streams.gammaln(sizes.sum())
    whole_units = np.arange(sum(map(len, halves)))
    groups = UnitGroups.of(UnitRows(Units.of_rows(prior, whole)), [whole_units])
    share = np.repeat([0.0, 1.0], [len(half) for half in halves])
    weights = StickWeights(NestedSticks(ALPHA), times, partition=True)
    gain = gain_of_clusters(prior, times * sums) + weights.gain(groups, share)
    assert gain[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("times", [1.0, 20.0])
def test_every_update_raises_the_bound(family, times):
    """Magnified data are clumps with `times` times the statistics of each row."""
    prior, rows = FAMILIES[family]
    model = model_of(prior)
    sums = times * Units.of_rows(prior, rows).averages(slice(None))
    data = UnitRows(Units(prior, np.empty((0, D)), sums))
    shares = np.random.default_rng(1).dirichlet(np.ones(4), len(rows)).T
    start = Statistics((shares @ data.weights)[None], (shares * data.weights) @ rows_of(data), np.array([data.total]))
    bounds, fit = [], step(model, data, start)
    for _ in range(40):
        bounds.append(fit.bound)
        fit = step(model, data, fit.statistics, fit.parameters)
    assert (np.diff(bounds) >= -1e-8 * np.abs(bounds[0])).all()
    assert bounds[-1] > bounds[0]


def rows_of(data):
    return data.averages(np.arange(len(data.units)))


def test_clumps_give_the_posterior_and_the_bound_of_rows_with_shared_responsibilities(family):
    prior, rows = FAMILIES[family]
    model = model_of(prior)
    labels = np.arange(len(rows)) % 17 + 17 * CLOUDS
    clumps = UnitRows(clumps_of(prior, rows, labels))
    shares = np.random.default_rng(2).dirichlet(np.ones(3), len(clumps.units)).T
    owned = shares * clumps.weights
    fit = step(model, clumps, Statistics(owned.sum(1)[None], owned @ rows_of(clumps), np.array([clumps.total])))
    tied = shares[:, np.unique(labels, return_inverse=True)[1]]
    averages = Units.of_rows(prior, rows).averages(slice(None))
    raw = model.parameters(Statistics(tied.sum(1)[None], tied @ averages, np.array([float(len(rows))])))
    for name, values in raw.clusters.arrays().items():
        np.testing.assert_allclose(fit.parameters.clusters.arrays()[name], values, rtol=1e-9, atol=1e-12)
    assert bound_of_tied_rows(model, fit.parameters, averages, labels) == pytest.approx(fit.bound, rel=1e-9)


def bound_of_tied_rows(model: Model, parameters: Parameters, averages, labels) -> float:
    """The general bound with the best responsibilities that rows of a label share, from single rows."""
    joint = averages @ parameters.clusters.coefficients().T + parameters.weights.expected_log
    total = -model.penalty(parameters)
    for label in np.unique(labels):
        members = joint[labels == label]
        mean = members.mean(0)
        share = np.exp(mean - mean.max())
        share /= share.sum()
        total += (members * share).sum() - len(members) * (share * np.log(np.maximum(share, 1e-300))).sum()
    return float(total)


def test_untied_rows_never_have_a_lower_bound_than_their_clumps(family):
    """P1: what clumps can reach, their rows can reach."""
    prior, rows = FAMILIES[family]
    model = model_of(prior)
    clumps = UnitRows(clumps_of(prior, rows, np.arange(len(rows)) % 17 + 17 * CLOUDS))
    built = build(model, clumps, None, Search(rule()))
    raw = UnitRows(Units.of_rows(prior, rows))
    before, untied = built.fit.bound, step(model, raw, built.fit.statistics)
    for _ in range(20):
        assert untied.bound >= before - 1e-8 * abs(before)
        before, untied = untied.bound, step(model, raw, untied.statistics, untied.parameters)


def rule():
    from benthoscope.engine.mixtures.inference import StoppingRule

    return StoppingRule(1e-7)


def test_a_coarse_solution_has_the_same_bound_on_finer_clumps(family):
    """P2: more clumps can only help. The finer clumps start with the responsibilities of the coarse ones."""
    prior, rows = FAMILIES[family]
    model = model_of(prior)
    fine_labels = np.arange(len(rows)) % 12 + 12 * CLOUDS
    coarse_labels = fine_labels // 4
    coarse, fine = (UnitRows(clumps_of(prior, rows, labels)) for labels in (coarse_labels, fine_labels))
    built = build(model, coarse, None, Search(rule()))
    averages = Units.of_rows(prior, rows).averages(slice(None))
    copied = bound_of_tied_rows(model, built.fit.parameters, averages, coarse_labels)
    assert copied == pytest.approx(built.fit.bound, rel=1e-9)
    start = replace(built.fit.statistics)
    better = step(model, fine, start)
    for _ in range(20):
        last, better = better.bound, step(model, fine, better.statistics, better.parameters)
        assert better.bound >= last - 1e-8 * abs(last)
    assert better.bound >= built.fit.bound - 1e-8 * abs(built.fit.bound)


def compressed(units, assignments, budget, times):
    return compress(MixtureDivision(model_of(units.kind), UnitRows(units), times), units, assignments, budget)


def splits_of(data, subsets, times):
    return hard_splits(FULL, data, subsets, StickWeights(NestedSticks(ALPHA), times, partition=True), times)


def test_compression_keeps_the_number_of_rows_the_mean_and_the_scatter(family):
    prior, rows = FAMILIES[family]
    units = Units.of_rows(prior, rows)
    clump = prior.n_statistics
    budget = Budget(10 * clump, clump, D)
    result = compressed(units, CLOUDS, budget, 5.0)
    assert result.units.values <= budget.values
    assert result.units.weights.sum() == len(rows)
    np.testing.assert_allclose(result.units.total(), units.total(), rtol=1e-10, atol=1e-10)
    for number in range(result.new_clumps):
        members = np.flatnonzero(result.clump_of == number)
        last = result.units.sums[len(result.units.sums) - result.new_clumps + number]
        assert last[0] == len(members)
        np.testing.assert_allclose(last, units.averages(members).sum(0), rtol=1e-10, atol=1e-10)


def test_compression_merges_clusters_that_do_not_fit_the_budget():
    budget = Budget(2 * FULL.n_statistics, FULL.n_statistics, D)
    result = compressed(Units.of_rows(FULL, X), np.arange(240) % 6, budget, 2.0)
    assert result.merged_parts == 4
    assert result.units.values <= budget.values


def test_a_group_of_equal_rows_is_not_split():
    units = Units.of_rows(FULL, np.ones((30, D)))
    assert splits_of(UnitRows(units), [np.arange(30)], 3.0) == [None]
    result = compressed(units, np.zeros(30, int), Budget(60, FULL.n_statistics, D), 3.0)
    assert len(result.units) == 1 and result.units.weights[0] == 30


def test_splits_of_many_groups_at_once_are_those_of_each_group_alone():
    data = UnitRows(Units.of_rows(FULL, X))
    subsets = [np.flatnonzero(np.arange(240) % 5 == k) for k in range(5)]
    together = splits_of(data, subsets, 2.0)
    for subset, split in zip(subsets, together, strict=True):
        (alone,) = splits_of(data, [subset], 2.0)
        np.testing.assert_array_equal(split.share, alone.share)
        assert split.gain == pytest.approx(alone.gain, rel=1e-9)


def test_sweeps_in_single_precision_are_close_and_refused_for_large_statistics(family):
    prior, rows = FAMILIES[family]
    exact = UnitRows(Units.of_rows(prior, rows))
    rough = exact.in_single_precision()
    assert rough is not exact and rough.averages(np.arange(5)).dtype == float
    fits = [step(model_of(prior), data, first_statistics(model_of(prior), exact)) for data in (exact, rough)]
    assert fits[1].bound == pytest.approx(fits[0].bound, rel=1e-6) and fits[1].bound != fits[0].bound
    np.testing.assert_allclose(fits[1].statistics.moments, fits[0].statistics.moments, rtol=1e-5, atol=1e-3)
    many = UnitRows(Units(prior, np.empty((0, D)), 1e8 * clumps_of(prior, rows, CLOUDS).sums))
    assert many.in_single_precision() is many


def test_a_map_of_clumps_is_the_clump_of_mapped_rows():
    A = RNG.normal(size=(3, D))
    mapped = FULL.posterior(np.zeros((1, FULL.n_statistics)))
    low = GaussianWishart(np.zeros((1, 3)), np.ones(1), np.full(1, 5.0), np.eye(3)[None])
    expected = Units.of_rows(low, X @ A.T).total()
    np.testing.assert_allclose(mapped_sums(mapped, Units.of_rows(FULL, X).total()[None], A)[0], expected, rtol=1e-10)
    scales = np.diag([2.0, -1.0, 0.5, 3.0])
    expected = Units.of_rows(DIAGONAL, X @ scales).total()
    sums = Units.of_rows(DIAGONAL, X).total()[None]
    np.testing.assert_allclose(mapped_sums(DIAGONAL, sums, scales)[0], expected, rtol=1e-10)


def test_model_building_finds_the_clusters_of_separate_clouds():
    rows, clusters, _, _ = gaussian_stream(3, 4.0, 1500, 10)
    prior = GaussianWishart(
        rows.mean(0)[None], np.full(1, 0.01), np.full(1, 12.0), np.sqrt(12 * 1.0) * np.eye(10)[None]
    )
    built = build(model_of(prior), UnitRows(Units.of_rows(prior, rows)), None, Search(rule()))
    sizes = np.bincount(clusters)
    assert built.fit.n_clusters == (sizes > 5).sum()


def test_joins_take_the_pair_that_loses_least_until_few_enough_are_left():
    prior = GaussianWishart.prior(np.zeros(2), 0.05)
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [0.1, 0], [9, 0], [9, 1.5], [0, 20.0]])
    rows = [centre + 0.2 * rng.standard_normal((50, 2)) for centre in centres]
    moments = np.stack([prior.features(row.T).sum(1) for row in rows])

    def evidence_of(sums):
        return log_evidence(prior, sums)

    np.testing.assert_array_equal(join_by_evidence(evidence_of, moments, 5), np.arange(5))
    np.testing.assert_array_equal(join_by_evidence(evidence_of, moments, 4), [0, 0, 2, 3, 4])
    np.testing.assert_array_equal(join_by_evidence(evidence_of, moments, 3), [0, 0, 2, 2, 4])
    assert len(np.unique(join_by_evidence(evidence_of, moments, 1))) == 1
