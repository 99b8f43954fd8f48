"""Benefit of groups for descriptors of real images, and the AUV transect of the reference library's tests.

The data are beside the checkout and not part of the project; without them these tests are skipped.
"""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.linalg import solve_triangular
from scipy.special import logsumexp, psi

from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import GMC, MODELS, VDP, model_named
from tests.acceptance.gaussian_groups import at_random, in_subsets, proportional

SHARED = Path(__file__).parents[2].parent / "shared"
PLANKTON, SCOTT = SHARED / "data" / "planktonset", SHARED / "data" / "scott25" / "scott25.npz"
needs_plankton = pytest.mark.skipif(not PLANKTON.is_dir(), reason="the plankton images are not on this machine")
needs_scott = pytest.mark.skipif(not SCOTT.is_file(), reason="the Scott Reef descriptors are not on this machine")


def described(path):
    """Return edges by position and direction, grey levels, and the size of an image: enough to show that groups
    help."""
    image = Image.open(path).convert("L")
    grey = np.asarray(image.resize((64, 64)), float) / 255
    down, across = np.gradient(grey)
    strength, direction = np.hypot(down, across), np.arctan2(down, across) % np.pi / np.pi * 8
    cell = (np.arange(64) // 16)[:, None] * 4 + np.arange(64)[None] // 16
    edges = np.sqrt(np.bincount((cell * 8 + direction.astype(int) % 8).ravel(), strength.ravel(), 128))
    levels = np.sqrt(np.histogram(grey, 16, (0, 1))[0]) / 64
    return np.concatenate([edges / (np.linalg.norm(edges) + 1e-9), levels, np.log(image.size) / 4])


@pytest.fixture(scope="module")
def plankton():
    """Fifteen principal components of the ten commonest classes, and their classes."""
    rows = list(csv.DictReader((PLANKTON / "labels.csv").open()))
    common = {label for label, _ in Counter(row["label"] for row in rows).most_common(10)}
    rows = [row for row in rows if row["label"] in common]
    features = np.array([described(PLANKTON / "images" / row["file"]) for row in rows])
    centred = features - features.mean(0)
    truth = np.unique([row["label"] for row in rows], return_inverse=True)[1]
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][:15].T, truth


@needs_plankton
def test_on_real_images_subset_groups_help_most_and_proportional_ones_not(plankton):
    X, truth = plankton
    none = v_measure(truth, VDP().fit(X).labels_)

    def mean(deal, trials):
        models = [GMC().fit(X, groups=deal(truth, 8, np.random.default_rng(trial))) for trial in range(trials)]
        return np.mean([v_measure(truth, model.labels_) for model in models])

    subsets, random, equal = mean(in_subsets, 4), mean(at_random, 4), mean(proportional, 1)
    assert subsets >= none + 0.02
    assert subsets > random > equal
    assert abs(equal - none) <= 0.03


@needs_plankton
def test_on_real_images_groups_improve_the_prediction_of_held_out_rows(plankton):
    X, truth = plankton
    groups = in_subsets(truth, 8, np.random.default_rng(0))
    left_out = np.random.default_rng(1).random(len(X)) < 0.2
    grouped = GMC().fit(X[~left_out], groups=groups[~left_out]).score(X[left_out], groups=groups[left_out])
    assert grouped > VDP().fit(X[~left_out]).score(X[left_out]) + 0.1


@pytest.fixture(scope="module")
def transect():
    return np.load(SCOTT)["X"]


@needs_scott
@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_standardised_auv_transect_has_four_clusters_as_in_the_reference_library(transect, name):
    X = (transect - transect.mean(0)) / transect.std(0)
    dives = np.arange(len(X)) * 5 // len(X)
    assert model_named(name)(width=1.0, scaled_prior=False).fit(X, groups=dives).n_clusters_ == 4


@needs_scott
def test_a_raw_auv_transect_has_about_the_six_clusters_of_the_reference_library(transect):
    """Ten columns are linearly dependent up to rounding. Searches differ by one cluster, and the widest search has the
    highest bound."""
    fits = {
        search: VDP(width=1.0, scaled_prior=False, search=search, random_state=0).fit(transect)
        for search in ("greedy", "exhaustive", "together")
    }
    assert {fit.n_clusters_ for fit in fits.values()} <= {5, 6, 7}
    bounds = {search: fit.lower_bound_ for search, fit in fits.items()}
    assert max(bounds, key=bounds.get) == "together"
    assert max(bounds.values()) - min(bounds.values()) < 2e-3 * abs(max(bounds.values()))
    assert min(v_measure(fits["together"].labels_, fit.labels_) for fit in fits.values()) > 0.8


@needs_scott
def test_a_raw_auv_transect_reaches_the_best_known_bound(transect):
    """The bound is that of the split-merge search before its tolerance became absolute. It had seven clusters; an
    eighth has a slightly higher bound."""
    fit = VDP(width=1.0, scaled_prior=False, random_state=0).fit(transect)
    assert fit.converged_
    assert fit.n_clusters_ in (7, 8)
    assert fit.lower_bound_ >= -658_418
    other = VDP(width=1.0, scaled_prior=False, random_state=2).fit(transect)
    assert other.lower_bound_ >= fit.lower_bound_ - 5e-3 * len(transect)


@needs_scott
def test_splits_of_nearly_dependent_columns_are_scored_exactly(transect):
    """The bound of the fit against a dense evaluation by triangular solves in double precision."""
    model = VDP(random_state=0).fit(transect)
    q, D = model.mixture_.parameters.clusters, transect.shape[1]
    Z = (transect - model.mixture_.frame.origin) / model.mixture_.frame.scale
    far = np.stack(
        [(solve_triangular(L, (Z - m).T, lower=True) ** 2).sum(0) for L, m in zip(q.factor, q.mean, strict=True)],
        axis=1,
    )
    log_scale = -2 * np.log(np.diagonal(q.factor, axis1=1, axis2=2)).sum(1)
    digammas = psi((q.freedom[:, None] - np.arange(D)) / 2).sum(1)
    log_likelihood = 0.5 * (digammas + log_scale - D * np.log(np.pi) - D / q.strength - q.freedom * far)
    weights = model.mixture_.parameters.weights
    bound = logsumexp(weights.expected_log + log_likelihood, axis=1).sum()
    bound -= weights.kl.sum() + q.kl(model.mixture_.prior).sum()
    bound -= transect.size * np.log(model.mixture_.frame.scale)
    assert model.lower_bound_ == pytest.approx(bound, rel=1e-9)
