"""Proposals to split and merge clusters: their exact costs and gains."""

from dataclasses import replace

import numpy as np
import pytest

from benthoscope.engine.compute import InOrder
from benthoscope.engine.distributions import Dirichlet, GaussianWishart, GeneralisedDirichlet, NestedSticks
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.fit_monitor import Course
from benthoscope.engine.mixtures.inference import StoppingRule, converge, step
from benthoscope.engine.mixtures.model import Model
from benthoscope.engine.mixtures.search.births import born
from benthoscope.engine.mixtures.search.greedy import Start, Task, exhaustive, greedy, one_cluster
from benthoscope.engine.mixtures.search.levels import _sizes
from benthoscope.engine.mixtures.search.split_merge import _gains, _joined, _joins, join, split_all, stacked, together
from benthoscope.engine.mixtures.search.splits import REFINEMENT, Members, halve

SEARCHING = StoppingRule(4e-5)  # nats per row; a finer rule accepts changes without a final effect
PRIORS = pytest.mark.parametrize("weights", [Dirichlet(), GeneralisedDirichlet(), NestedSticks()], ids=repr)


def task_of(weights, seed=0, kinds=4, n=400):
    """Four separate squares of rows in five groups, one of which holds a single row."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, kinds, n)
    X = 6 * np.array([(0, 0), (1, 0), (0, 1), (1, 1)])[truth] + rng.standard_normal((n, 2))
    groups = rng.integers(0, 4, n).astype(np.int32)
    groups[0] = 4
    prior = GaussianWishart.prior(X.mean(0), 1.0)
    data = Observations(X, groups, 5, Frame(np.zeros(2), 1.0), InOrder())
    return Task(Model(weights, prior), data, SEARCHING, Course(n), np.random.default_rng(0)), truth


def two_clusters(task, truth):
    start = task.data.labelled(task.model.clusters, (truth > 1).astype(int))
    return converge(task.model, task.data, start, StoppingRule(1e-9))


def entropy(resp):
    return -(resp * np.log(np.maximum(resp, 1e-300))).sum()


@PRIORS
def test_the_gain_of_a_split_is_the_difference_of_two_bounds(weights):
    task, truth = task_of(weights)
    fit = two_clusters(task, truth)
    members = Members.of(task.data, fit)
    pairs = [halve(task.model, task.data.take(members.rows(k)), fit, k) for k in range(2)]
    halves, parents = stacked(task.model, pairs), np.arange(2)
    division = task.data.divide(fit.scorer, halves, parents)
    resp = task.data.responsibilities(fit.scorer)
    for k in parents:
        score = (halves.coefficients @ task.model.clusters.features(task.data.source.T)).T + halves.log_weights[
            task.data.groups
        ]
        first = 1 / (1 + np.exp(score[:, 2 * k + 1] - score[:, 2 * k]))
        parted = np.column_stack([resp, resp[:, k] * (1 - first)])
        parted[:, k] *= first
        before, after = (task.data.statistics_of(task.model.clusters, r) for r in (resp, parted))
        bounds = [
            task.model.bound(task.model.parameters(bound), bound, entropy(r))
            for bound, r in ((before, resp), (after, parted))
        ]
        gain = _gains(task.model, fit.statistics, parents, division)[k]
        assert gain == pytest.approx(bounds[1] - bounds[0], abs=1e-6)
        assert gain > 10


@PRIORS
def test_groups_without_members_do_not_change_a_refined_split(weights):
    task, truth = task_of(weights)
    fit = two_clusters(task, truth)
    subset = task.data.take(Members.of(task.data, fit).rows(0))  # the lone row is not among them
    assert len(np.unique(subset.groups)) < subset.n_groups
    pair = halve(task.model, subset, fit, 0)
    side = subset.source @ fit.parameters.clusters.cut()[0][0] >= fit.parameters.clusters.cut()[1][0]
    start = subset.statistics_of(task.model.clusters, np.column_stack([side, ~side]).astype(float))
    direct = converge(task.model, subset, start, REFINEMENT)
    assert pair.bound == pytest.approx(direct.bound, rel=1e-12)
    assert pair.scorer.log_weights == pytest.approx(direct.scorer.log_weights, abs=1e-12)


@PRIORS
def test_a_cluster_cut_in_two_is_joined_again(weights):
    task, truth = task_of(weights)
    labels = truth + 4 * (np.random.default_rng(1).random(len(truth)) < 0.5) * (truth == 2)  # half of one at random
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, labels), StoppingRule(1e-3, 2))
    assert fit.n_clusters == 7
    a, b = _joins(task.model, fit.statistics)[0]
    assert _joined(fit.statistics, a, b).moments.sum(0) == pytest.approx(fit.statistics.moments.sum(0))
    assert join(task, fit).bound > fit.bound


@PRIORS
def test_separate_clusters_are_not_joined(weights):
    task, truth = task_of(weights)
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, truth), StoppingRule())
    assert _joins(task.model, fit.statistics) == []
    assert join(task, fit) is None


@PRIORS
@pytest.mark.parametrize("search", [greedy, exhaustive, together])
def test_every_search_accepts_only_changes_that_raise_the_bound(weights, search):
    task, _ = task_of(weights)
    saved = []
    task.course.checkpoint.save = saved.append
    fit = search(task, one_cluster(task))
    bounds = [state["bound"] for state in saved if state["bound"] is not None]
    assert fit.n_clusters == 4
    assert (np.diff([*bounds, fit.bound]) > 0).all()


def test_all_clusters_split_in_one_step_where_all_gain():
    task, truth = task_of(GeneralisedDirichlet())
    assert split_all(task, two_clusters(task, truth)).n_clusters == 4


def scattered(n, seed=0):
    """Two long crossed clusters, and a round one at their crossing that both swallow in part."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 50
    X = np.where((kind < 24)[:, None], rng.standard_normal((n, 2)) * (30, 0.3), rng.standard_normal((n, 2)) * (0.3, 30))
    X[kind > 47] = 6 * rng.standard_normal(((kind > 47).sum(), 2))
    data = Observations(X, np.zeros(n, np.int32), 1, Frame(np.zeros(2), 1.0), InOrder())
    model = Model(NestedSticks(), GaussianWishart.prior(X.mean(0), 4.0))
    task = Task(model, data, SEARCHING, Course(n), np.random.default_rng(0))
    return task, converge(model, data, data.labelled(model.clusters, (kind >= 24).astype(int)), StoppingRule())


@pytest.mark.parametrize("n", [4_000, 40_000])
def test_rows_that_fit_no_cluster_form_a_new_one_if_the_bound_rises(n):
    task, fit = scattered(n)
    candidate = born(task, fit)
    assert candidate.n_clusters == 3
    assert candidate.bound > fit.bound
    assert candidate.statistics.owned[2] == pytest.approx(0.04 * n, rel=0.5)


def test_no_cluster_is_added_if_all_rows_fit():
    task, truth = task_of(GeneralisedDirichlet())
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, truth), StoppingRule())
    assert born(task, fit) is None


def test_no_split_goes_beyond_the_allowed_number():
    task, truth = task_of(GeneralisedDirichlet())
    task = replace(task, max_clusters=3)
    assert split_all(task, two_clusters(task, truth)).n_clusters == 3
    assert split_all(replace(task, max_clusters=2), two_clusters(task, truth)) is None


def test_misfits_add_up_to_the_free_energy_less_weights_and_entropy():
    task, truth = task_of(GeneralisedDirichlet())
    fit = two_clusters(task, truth)
    resp = task.data.responsibilities(fit.scorer)
    weights_and_entropy = fit.parameters.weights.kl.sum() - entropy(resp)
    assert task.model.misfit(fit.parameters, fit.statistics).sum() + weights_and_entropy == pytest.approx(
        -fit.bound, rel=1e-9
    )


def test_a_cluster_that_failed_to_split_is_tried_last():
    task, truth = task_of(GeneralisedDirichlet())
    tried = []
    task.course.on_step = lambda progress: tried.append(progress.figures.get("candidate"))
    fit = two_clusters(task, truth)
    worst = int(np.argmax(task.model.misfit(fit.parameters, fit.statistics)))
    tally = [0, 0]
    tally[worst] = 1
    greedy(task, Start.after(fit, tally))
    assert next(k for k in tried if k is not None) == 1 - worst


def test_levels_grow_eightfold_up_to_all_rows():
    assert _sizes(10_000, 9_000, None) == [9_000]
    assert _sizes(10_000, 100_000, None) == [10_000, 100_000]
    assert _sizes(10_000, 1_000_000, None) == [10_000, 80_000, 1_000_000]
    assert _sizes(None, 1_000_000, None) == [1_000_000]


def test_one_step_does_not_change_its_input():
    task, truth = task_of(GeneralisedDirichlet())
    labels = task.data.labelled(task.model.clusters, truth)
    counts, moments = labels.counts.copy(), labels.moments.copy()
    step(task.model, task.data, labels)
    assert (labels.counts == counts).all()
    assert (labels.moments == moments).all()
