"""Proposals to split and join clusters: what they cost and gain, exactly."""

from dataclasses import replace

import numpy as np
import pytest

from engine.compute import InOrder
from engine.distributions import Dirichlet, GaussianWishart, GeneralisedDirichlet, NestedSticks
from engine.mixtures.births import born
from engine.mixtures.course import Course
from engine.mixtures.levels import _sizes
from engine.mixtures.model import Model
from engine.mixtures.observations import Frame, Observations
from engine.mixtures.search import Start, Task, exhaustive, greedy, one_cluster
from engine.mixtures.splitting import REFINEMENT, Members, halve
from engine.mixtures.together import _gains, _joined, _joins, join, split_all, stacked, together
from engine.mixtures.variational import Rule, converge, step

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
    return Task(Model(weights, prior), data, Rule(), Course(n), np.random.default_rng(0)), truth


def two_clusters(task, truth):
    start = task.data.labelled(task.model.clusters, (truth > 1).astype(int))
    return converge(task.model, task.data, start, Rule(1e-9))


def entropy(resp):
    return -(resp * np.log(np.maximum(resp, 1e-300))).sum()


@PRIORS
def test_what_a_split_gains_is_the_difference_of_two_bounds(weights):
    task, truth = task_of(weights)
    fit = two_clusters(task, truth)
    members = Members.of(task.data, fit)
    pairs = [halve(task.model, task.data.take(members.rows(k)), fit, k) for k in range(2)]
    halves, parents = stacked(task.model, pairs), np.arange(2)
    division = task.data.divide(fit.scorer, halves, parents)
    resp = task.data.responsibilities(fit.scorer)
    for k in parents:
        score = (halves.coefficients @ task.model.clusters.features(task.data.source.T)).T + halves.log_weights[
            task.data.groups]
        first = 1 / (1 + np.exp(score[:, 2 * k + 1] - score[:, 2 * k]))
        parted = np.column_stack([resp, resp[:, k] * (1 - first)])
        parted[:, k] *= first
        before, after = (task.data.given(task.model.clusters, r) for r in (resp, parted))
        bounds = [task.model.bound(task.model.parameters(found), found, entropy(r))
                  for found, r in ((before, resp), (after, parted))]
        gain = _gains(task.model, fit.statistics, parents, division)[k]
        assert gain == pytest.approx(bounds[1] - bounds[0], abs=1e-6)
        assert gain > 10


@PRIORS
def test_groups_without_members_do_not_change_a_refined_split(weights):
    task, truth = task_of(weights)
    fit = two_clusters(task, truth)
    mine = task.data.take(Members.of(task.data, fit).rows(0))  # the lone row is not among them
    assert len(np.unique(mine.groups)) < mine.n_groups
    pair = halve(task.model, mine, fit, 0)
    side = mine.source @ fit.parameters.clusters.cut()[0][0] >= fit.parameters.clusters.cut()[1][0]
    start = mine.given(task.model.clusters, np.column_stack([side, ~side]).astype(float))
    direct = converge(task.model, mine, start, REFINEMENT)
    assert pair.bound == pytest.approx(direct.bound, rel=1e-12)
    assert pair.scorer.log_weights == pytest.approx(direct.scorer.log_weights, abs=1e-12)


@PRIORS
def test_a_cluster_cut_in_two_is_joined_again(weights):
    task, truth = task_of(weights)
    labels = truth + 4 * (np.random.default_rng(1).random(len(truth)) < 0.5) * (truth == 2)  # half of one at random
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, labels), Rule(1e-3, 2))
    assert fit.n_clusters == 7
    a, b = _joins(task.model, fit.statistics)[0]
    assert _joined(fit.statistics, a, b).moments.sum(0) == pytest.approx(fit.statistics.moments.sum(0))
    assert join(task, fit).bound > fit.bound


@PRIORS
def test_separate_clusters_are_not_joined(weights):
    task, truth = task_of(weights)
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, truth), Rule())
    assert _joins(task.model, fit.statistics) == []
    assert join(task, fit) is None


@PRIORS
@pytest.mark.parametrize("search", [greedy, exhaustive, together])
def test_every_search_takes_only_what_raises_the_bound(weights, search):
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
    task = Task(model, data, Rule(), Course(n), np.random.default_rng(0))
    return task, converge(model, data, data.labelled(model.clusters, (kind >= 24).astype(int)), Rule())


@pytest.mark.parametrize("n", [4_000, 40_000])
def test_rows_that_lie_badly_in_all_clusters_found_a_new_one_if_that_gains(n):
    task, fit = scattered(n)
    found = born(task, fit)
    assert found.n_clusters == 3
    assert found.bound > fit.bound
    assert found.statistics.owned[2] == pytest.approx(0.04 * n, rel=0.5)


def test_no_cluster_is_born_where_all_rows_lie_well():
    task, truth = task_of(GeneralisedDirichlet())
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, truth), Rule())
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
    rest = fit.parameters.weights.kl.sum() - entropy(resp)
    assert task.model.misfit(fit.parameters, fit.statistics).sum() + rest == pytest.approx(-fit.bound, rel=1e-9)


def test_a_cluster_that_failed_waits_until_the_others_were_tried():
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


def test_one_step_leaves_what_it_was_given_as_it_was():
    task, truth = task_of(GeneralisedDirichlet())
    found = task.data.labelled(task.model.clusters, truth)
    counts, moments = found.counts.copy(), found.moments.copy()
    step(task.model, task.data, found)
    assert (found.counts == counts).all()
    assert (found.moments == moments).all()
