"""The methods the mixtures are compared with."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from benthoscope.engine.distance_models import KMeans
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import GMC
from benthoscope.engine.mixtures.baselines import BayesianRestarts, GaussianMixtureByBIC, SelfTuningSpectral
from benthoscope.engine.problems import BadInput


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 100)
    corners = 9 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    return corners[truth] + rng.standard_normal((400, 3)), truth


ALL = [
    KMeans(n_clusters=4, random_state=0),
    GaussianMixtureByBIC(most=7, starts=3, random_state=0),
    SelfTuningSpectral(random_state=0),
    BayesianRestarts(restarts=2, random_state=0),
]


@pytest.mark.parametrize("method", ALL, ids=lambda method: type(method).__name__)
def test_separate_blobs_are_found_and_found_again(method, blobs):
    X, truth = blobs
    first = method.fit(X).labels_
    assert v_measure(truth, first) > 0.98
    assert method.n_clusters_ == 4
    assert (method.fit(X).labels_ == first).all()


def test_bic_is_the_penalised_likelihood_and_its_least_is_kept(blobs):
    X, _ = blobs
    model = GaussianMixtureByBIC(most=6, starts=3, random_state=0).fit(X)
    K, D = model.n_clusters_, 3
    parameters = (K - 1) + K * D + K * D * (D + 1) / 2
    expected = -2 * model.score_samples(X).sum() + parameters * np.log(len(X))
    assert model.bic_[K] == pytest.approx(expected, rel=1e-9)
    assert min(model.bic_, key=model.bic_.get) == K
    other = GaussianMixture(K, n_init=5, random_state=1).fit(X)
    assert model.score(X) >= other.score(X) - 1e-3


def test_spectral_clustering_parts_rings_that_no_plane_parts():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], 300)
    angle, radius = rng.uniform(0, 2 * np.pi, 600), np.array([1.0, 4.0])[truth] + 0.1 * rng.standard_normal(600)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    model = SelfTuningSpectral(threshold=0.001, neighbours=15, random_state=0).fit(X)
    assert v_measure(truth, KMeans(n_clusters=2, random_state=0).fit(X).labels_) < 0.2
    assert model.eigenvalues_[:2] == pytest.approx([0, 0], abs=1e-6)
    assert v_measure(truth, model.labels_) == pytest.approx(1)


def test_eigenvalues_of_a_laplacian_ascend_from_zero(blobs):
    values = SelfTuningSpectral(random_state=0).fit(blobs[0]).eigenvalues_
    assert values[0] == pytest.approx(0, abs=1e-9)
    assert (np.diff(values) >= -1e-9).all()
    assert values[-1] <= 2


def test_restarts_keep_the_highest_bound_and_take_groups(blobs):
    X, truth = blobs
    model = BayesianRestarts(model=GMC, restarts=3, surplus=8, random_state=0).fit(X, groups=truth % 2)
    assert model.lower_bound_ == max(model.lower_bounds_)
    assert model.best_.weights_.shape[0] == 2
    assert (model.predict(X, truth % 2) == model.labels_).all()


def test_more_clusters_than_rows_are_rejected():
    with pytest.raises(BadInput, match="8 clusters of 3 rows"):
        KMeans(n_clusters=8).fit(np.eye(3))
