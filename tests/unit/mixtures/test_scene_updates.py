"""One VB iteration of two levels and its bound: worked numbers, enumeration of every labelling, invariances."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from benthoscope.engine.distributions import Dirichlet, GaussianWishart, GeneralisedDirichlet, log_evidence, moments
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.inference import StoppingRule, converge, step
from benthoscope.engine.mixtures.model import Model, Parameters
from benthoscope.engine.mixtures.two_level.model import Images, Looks, SceneModel
from tests.unit.mixtures.test_mixture_updates import Q8, X8, entropy, log_marginal

IMAGE_OF_SEGMENT = np.array([0, 0, 1, 1, 2, 2, 3, 3], np.int32)
DIVES = np.array([0, 0, 1, 1], np.int32)
Y4 = np.array([(0.6, 0.3, 0.1), (0.5, 0.3, 0.2), (0.2, 0.5, 0.3), (0.1, 0.6, 0.3)])
W4 = np.array([[-1.0], [-0.8], [0.2], [1.1]])
LOOKS = Looks(W4, GaussianWishart.prior(W4.mean(0), 0.2 * W4.var()))
SEGMENTS = GaussianWishart.prior(X8.mean(0), 1.0)
G, D = GeneralisedDirichlet(), Dirichlet()

WORKED = {  # methods note 15.1, T4: shares, proportions, looks; F at the start, after 1, 2, 10; q(y) 0 and 3; q(z) 3
    "gd": (
        G,
        D,
        None,
        43.37174236,
        (42.72640076, 41.40806645, 38.56187583),
        (0.67324316, 0.20178719, 0.12496964),
        (0.15879834, 0.61526987, 0.22593180),
        (0.37371120, 0.44102072, 0.18526808),
    ),
    "dd": (
        D,
        D,
        None,
        43.47432895,
        (42.89800368, 41.95635628, 39.79876898),
        (0.54898599, 0.27852164, 0.17249237),
        (0.21223546, 0.48580458, 0.30195996),
        (0.35753257, 0.45518490, 0.18728253),
    ),
    "gg": (
        G,
        G,
        None,
        43.42115364,
        (42.45484347, 40.13822482, 37.15367712),
        (0.76894272, 0.14947066, 0.08158662),
        (0.13446155, 0.63757836, 0.22796009),
        (0.41393211, 0.43054565, 0.15552224),
    ),
    "mcm": (
        G,
        D,
        LOOKS,
        51.67017259,
        (50.62262859, 47.66765955, 44.42391679),
        (0.81666423, 0.12436023, 0.05897554),
        (0.02495246, 0.79084611, 0.18420143),
        (0.39227037, 0.42512667, 0.18260296),
    ),
}
EVERY_VARIANT = pytest.mark.parametrize("name", WORKED)


def two_level_data(X, images, n_images=None, chunk_rows=3):
    frame = Frame(np.zeros(X.shape[1]), 1.0)
    return Observations(X, images, n_images or int(images.max()) + 1, frame, chunk_rows=chunk_rows, whole_groups=True)


def two_levels(name, dives=DIVES, image_features=None, clusters=SEGMENTS):
    shares, proportions, worked, *_ = WORKED[name]
    image_features = None if worked is None else (image_features or worked)
    return SceneModel(proportions, clusters, images=Images(dives, int(dives.max()) + 1, image_features), shares=shares)


def iterated(model, data, resp, owners, times):
    fit = step(model, data, replace(data.statistics_of(model.clusters, resp), owners=owners))
    for _ in range(times - 1):
        fit = step(model, data, fit.statistics, fit.parameters)
    return fit


@EVERY_VARIANT
def test_iterations_equal_the_worked_numbers(name):
    *_, at_start, later, first_image, last_image, fourth_segment = WORKED[name]
    model, data = two_levels(name), two_level_data(X8, IMAGE_OF_SEGMENT)
    start = replace(data.statistics_of(SEGMENTS, Q8), owners=Y4)
    beliefs = Parameters(model.believed(model.scenes(start.counts, Y4), Y4), SEGMENTS.posterior(start.moments))
    assert -model.bound(beliefs, start, entropy(Q8)) == pytest.approx(at_start, abs=1e-6)
    for times, expected in zip((1, 2, 10), later, strict=True):
        assert -iterated(model, data, Q8, Y4, times).bound == pytest.approx(expected, abs=1e-6)
    once = iterated(model, data, Q8, Y4, 1)
    assert once.statistics.owners[0] == pytest.approx(first_image, abs=1e-7)
    assert once.statistics.owners[3] == pytest.approx(last_image, abs=1e-7)
    assert data.responsibilities(once.scorer)[3] == pytest.approx(fourth_segment, abs=1e-7)


def sample_state(seed, name, segments=150, images=40):
    """Rows of a random size for each image, some images without any."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((segments, 3)) * rng.choice([1, 3], (segments, 1)) + rng.integers(0, 3, (segments, 1))
    of_segment = np.sort(rng.integers(0, images - 3, segments)).astype(np.int32)
    dives = np.arange(images, dtype=np.int32) % 4
    W = rng.standard_normal((images, 2)) + rng.integers(0, 3, (images, 1))
    model = two_levels(
        name, dives, Looks(W, GaussianWishart.prior(W.mean(0), 0.2)), GaussianWishart.prior(X.mean(0), 0.5)
    )
    resp, owners = rng.dirichlet(np.ones(9), segments), rng.dirichlet(np.ones(10), images)
    return model, two_level_data(X, of_segment, images, 13), resp, owners


@EVERY_VARIANT
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_never_falls_over_any_half_step(name, seed):
    model, data, resp, owners = sample_state(seed, name)
    changed, bound = replace(data.statistics_of(model.clusters, resp), owners=owners), -np.inf
    for _ in range(60):
        scenes, clusters = model.scenes(changed.counts, owners), model.clusters.posterior(changed.moments)
        after_m = model.bound(Parameters(model.believed(scenes, owners), clusters), changed, entropy(resp))
        owners = model.owners(changed.counts, scenes)
        after_y = model.bound(Parameters(model.believed(scenes, owners), clusters), changed, entropy(resp))
        fit = step(model, data, changed)
        resp, changed = data.responsibilities(fit.scorer), fit.statistics
        for earlier, later in ((bound, after_m), (after_m, after_y), (after_y, fit.bound)):
            assert later >= earlier - 1e-9 * abs(later)
        assert model.bound(fit.parameters, changed, entropy(resp)) == pytest.approx(fit.bound, rel=1e-8)
        np.testing.assert_array_equal(changed.owners, owners)
        bound = fit.bound


def exact_log_evidence(model, X, images):
    """log p(X, W) by enumerating every labelling of images and segments; each term is a product of exact marginals."""
    dives, image_features, terms = model.images.dives, model.images.image_features, []
    for of_images in product(range(2), repeat=len(dives)):
        owners = np.eye(2)[list(of_images)]
        scene = log_marginal(model.shares, np.stack([owners[dives == j].sum(0) for j in range(dives.max() + 1)]))
        if image_features is not None:
            scene += log_evidence(
                image_features.prior, moments(image_features.prior, image_features.rows, owners)
            ).sum()
        for of_segments in product(range(2), repeat=len(X)):
            resp = np.eye(2)[list(of_segments)]
            counts = owners[images].T @ resp
            total = log_evidence(model.clusters, moments(model.clusters, X, resp)).sum()
            terms.append(scene + total + log_marginal(model.weights, counts))
    return logsumexp(terms)


@EVERY_VARIANT
def test_the_bound_is_below_the_evidence_of_all_labellings(name):
    model, data, rng = two_levels(name), two_level_data(X8, IMAGE_OF_SEGMENT), np.random.default_rng(0)
    exact, gaps = exact_log_evidence(model, X8, IMAGE_OF_SEGMENT), []
    for _ in range(20):
        start = replace(data.statistics_of(SEGMENTS, rng.dirichlet(np.ones(2), 8)), owners=rng.dirichlet(np.ones(2), 4))
        gaps.append(exact - converge(model, data, start, StoppingRule(1e-10)).bound)
    assert min(gaps) > 0
    assert min(gaps) < 5


@EVERY_VARIANT
def test_one_iteration_equals_the_plain_formulas(name):
    """Written out for single images and segments, with no block, chunk or run of groups."""
    model, data, resp, owners = sample_state(7, name)
    fit = iterated(model, data, resp, owners, 1)
    X, images, dives = data.source, data.groups, model.images.dives
    counts = np.stack([resp[images == i].sum(0) for i in range(len(dives))])
    shares = model.shares.posterior(np.stack([owners[dives == j].sum(0) for j in range(4)])).expected_log
    proportions = model.weights.posterior(np.einsum("it,ik->tk", owners, counts)).expected_log
    joint = shares[dives] + np.einsum("ik,tk->it", counts, proportions)
    if model.images.image_features is not None:
        W, prior = model.images.image_features.rows, model.images.image_features.prior
        posterior = prior.posterior(moments(prior, W, owners))
        joint += (posterior.coefficients() @ prior.features(W.T)).T
    new = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    clusters = model.clusters.posterior(moments(model.clusters, X, resp))
    log_resp = (new @ proportions)[images] + (clusters.coefficients() @ model.clusters.features(X.T)).T
    expected = np.exp(log_resp - logsumexp(log_resp, axis=1, keepdims=True))
    np.testing.assert_allclose(fit.statistics.owners, new, atol=1e-12)
    np.testing.assert_allclose(data.responsibilities(fit.scorer), expected, atol=1e-12)
    np.testing.assert_allclose(
        fit.statistics.counts, np.stack([expected[images == i].sum(0) for i in range(len(dives))]), atol=1e-9
    )


def test_one_image_cluster_is_a_mixture_of_segments_that_sees_no_images():
    model, data, resp, _ = sample_state(1, "gd")
    changed = replace(data, groups=np.zeros(len(data), np.int32), n_groups=1, whole_groups=False)
    for times in (1, 5):
        two = iterated(model, data, resp, np.ones((40, 1)), times)
        plain, statistics = Model(Dirichlet(), model.clusters), changed.statistics_of(model.clusters, resp)
        for _ in range(times):
            fit = step(plain, changed, statistics)
            statistics = fit.statistics
        assert two.bound == pytest.approx(fit.bound, rel=1e-12)


def test_images_without_segments_are_clustered_by_their_features_alone():
    model, data, _, owners = sample_state(2, "mcm")
    nothing = replace(data, source=data.source[:1], groups=data.groups[:1])
    alone = replace(nothing, groups=np.zeros(1, np.int32), n_groups=1, whole_groups=False)
    image_features = model.images.image_features
    images = Observations(image_features.rows, model.images.dives, 4, Frame(np.zeros(2), 1.0))
    mixture, statistics = Model(model.shares, image_features.prior), images.statistics_of(image_features.prior, owners)
    both = iterated(model, nothing, np.ones((1, 1)), owners, 6)
    for _ in range(6):
        fit = step(mixture, images, statistics)
        statistics = fit.statistics
    segment = step(Model(Dirichlet(), model.clusters), alone, alone.statistics_of(model.clusters, np.ones((1, 1))))
    assert both.bound == pytest.approx(fit.bound + segment.bound, rel=1e-10)


@EVERY_VARIANT
def test_the_order_of_images_dives_and_clusters_does_not_matter(name):
    model, data, resp, owners = sample_state(3, name)
    rng = np.random.default_rng(0)
    order, scenes, clusters = rng.permutation(40), rng.permutation(10), rng.permutation(9)
    number = np.argsort(order)[data.groups]
    rows = np.argsort(number, kind="stable")
    moved = replace(data, source=data.source[rows], groups=number[rows].astype(np.int32))
    images = replace(model.images.take(order), dives=(3 - model.images.dives[order]).astype(np.int32))
    other = iterated(replace(model, images=images), moved, resp[rows][:, clusters], owners[order][:, scenes], 8)
    same = iterated(model, data, resp, owners, 8)
    assert other.bound == pytest.approx(same.bound, rel=1e-10)
    np.testing.assert_allclose(other.statistics.owners, same.statistics.owners[order][:, scenes], atol=1e-8)


def test_owners_stay_while_there_is_one_segment_cluster_if_they_are_frozen():
    model, data, _, owners = sample_state(4, "gd")
    ones = np.ones((len(data), 1))
    free = iterated(model, data, ones, owners, 3).statistics.owners
    frozen_owners = iterated(replace(model, frozen=True), data, ones, owners, 3).statistics.owners
    np.testing.assert_array_equal(frozen_owners, owners)
    for dive in range(4):  # all images are equal, so the differences of the start disappear
        np.testing.assert_allclose(free[dive::4], np.broadcast_to(free[dive], free[dive::4].shape), atol=1e-12)
