"""k-means and HDBSCAN: the results of scikit-learn, in parts that can be cancelled."""

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN as DenseTree
from sklearn.cluster import KMeans as Lloyd

from benthoscope.engine.distance_models import HDBSCAN, KMeans, density, k_means
from benthoscope.engine.metrics import adjusted_rand
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled

RNG = np.random.default_rng(0)
CENTRES = 6 * RNG.standard_normal((8, 5))
TRUTH = RNG.choice(8, 1_500, p=np.arange(8, 0, -1) / 36)
ROWS = CENTRES[TRUTH] + RNG.standard_normal((1_500, 5))
SCATTERED = np.concatenate([ROWS, RNG.uniform(-15, 15, (200, 5))])


def cancel_after(count):
    """An `on_step` that cancels at this report, and the messages so far."""
    messages = []

    def on_step(progress):
        messages.append(progress.message)
        if len(messages) == count:
            raise Cancelled

    return on_step, messages


def test_k_means_is_as_good_as_that_of_scikit_learn():
    model = KMeans(n_clusters=8, n_init=5, random_state=0).fit(ROWS)
    assert model.inertia_ == pytest.approx(Lloyd(8, n_init=5, random_state=0).fit(ROWS).inertia_, rel=1e-3)
    assert model.converged_ and model.n_clusters_ == 8
    sizes = np.bincount(model.labels_)
    assert (np.diff(sizes) <= 0).all()
    means = np.stack([ROWS[model.labels_ == cluster].mean(0) for cluster in range(8)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=0.05)


def test_k_means_of_more_rows_than_it_reads_at_once_uses_batches(monkeypatch, tmp_path):
    whole = KMeans(n_clusters=8, n_init=3, random_state=0).fit(ROWS)
    monkeypatch.setattr(k_means, "MOST_WHOLE", 500)
    monkeypatch.setattr(k_means, "BATCH", 200)
    np.save(tmp_path / "rows.npy", ROWS.astype(np.float32))
    messages = []
    model = KMeans(n_clusters=8, n_init=3, random_state=0)
    model.fit(tmp_path / "rows.npy", on_step=lambda step: messages.append(step.message))
    assert adjusted_rand(whole.labels_, model.labels_) > 0.99
    assert model.inertia_ == pytest.approx(whole.inertia_, rel=0.02)
    assert "pass 2 of 2 over all images" in messages


def test_probabilities_of_k_means_are_those_of_equal_round_gaussians():
    model = KMeans(n_clusters=3, n_init=2, random_state=0).fit(ROWS)
    squared = ((ROWS[:9, None] - model.cluster_centers_) ** 2).sum(2)
    weights = np.exp(-squared / (2 * model.inertia_ / ROWS.size))
    np.testing.assert_allclose(model.predict_proba(ROWS[:9]), weights / weights.sum(1, keepdims=True), atol=1e-9)
    labels, probability = model.assign(ROWS)
    np.testing.assert_array_equal(labels, model.labels_)
    assert probability.min() >= 1 / 3


def test_fewer_distinct_rows_than_clusters_give_fewer_clusters():
    model = KMeans(n_clusters=5, n_init=2, random_state=0).fit(np.repeat([[0.0, 0], [1, 1], [5, 5]], 4, axis=0))
    assert model.n_clusters_ == 3 and np.bincount(model.labels_).tolist() == [4, 4, 4]


@pytest.mark.parametrize("size", [5, 15])
@pytest.mark.parametrize("method", ["eom", "leaf"])
def test_hdbscan_finds_the_clusters_of_scikit_learn(size, method):
    options = {"min_samples": 1, "cluster_selection_method": method}  # then no two edges have the same length
    model = HDBSCAN(min_cluster_size=size, **options).fit(SCATTERED)
    expected = DenseTree(size, copy=True, **options).fit(SCATTERED)
    assert adjusted_rand(expected.labels_, model.labels_) == 1
    np.testing.assert_array_equal(expected.labels_ < 0, model.labels_ < 0)
    np.testing.assert_allclose(expected.probabilities_, model.probabilities_, atol=1e-9)
    assert (np.diff(np.bincount(model.labels_[model.labels_ >= 0])) <= 0).all()


@pytest.mark.parametrize("size, samples", [(5, None), (15, 5)])
def test_edges_of_equal_length_move_few_rows(size, samples):
    model = HDBSCAN(min_cluster_size=size, min_samples=samples).fit(SCATTERED)
    expected = DenseTree(size, min_samples=samples, copy=True).fit(SCATTERED)
    assert adjusted_rand(expected.labels_, model.labels_) > 0.97
    assert abs(int((expected.labels_ < 0).sum()) - int((model.labels_ < 0).sum())) <= 17  # one row in a hundred


def test_the_tree_has_the_least_length(monkeypatch):
    monkeypatch.setattr(density, "PAIRS", 5_000)
    rows = SCATTERED[::6]
    _, lengths = density._tree(rows, 4, lambda step: None)
    far = np.sqrt(((rows[:, None] - rows) ** 2).sum(2))
    core = np.sort(far, axis=1)[:, 3]
    reach = np.maximum(far, np.maximum(core[:, None], core))
    inside, shortest, total = np.arange(len(rows)) == 0, reach[0].copy(), 0.0
    for _ in range(len(rows) - 1):
        nearest = np.where(inside, np.inf, shortest).argmin()
        total += shortest[nearest]
        inside[nearest] = True
        shortest = np.minimum(shortest, reach[nearest])
    assert lengths.sum() == pytest.approx(total, rel=1e-9)


def test_equal_rows_have_a_cluster():
    model = HDBSCAN(min_cluster_size=5).fit(np.repeat([[0.0, 0], [9, 9]], 10, axis=0))
    assert model.n_clusters_ == 2 and (model.labels_ >= 0).all()


@pytest.mark.parametrize("model", [KMeans(n_clusters=8, n_init=3, random_state=0), HDBSCAN()], ids=str)
def test_a_fit_reports_its_steps_and_can_be_cancelled_at_each(model, monkeypatch):
    monkeypatch.setattr(density, "PAIRS", 200_000)
    messages = []
    model.fit(ROWS, on_step=lambda step: messages.append(step.message))
    assert len(set(messages)) > 3 or len(messages) > 5
    for count in (1, len(messages) // 2, len(messages)):
        on_step, seen = cancel_after(count)
        with pytest.raises(Cancelled):
            model.fit(ROWS, on_step=on_step)
        assert seen == messages[:count] and not hasattr(model, "labels_")


@pytest.mark.parametrize("model", [KMeans(n_clusters=8, n_init=1, random_state=0), HDBSCAN()], ids=str)
def test_a_stored_model_gives_the_same_clusters(model):
    fitted = model.fit(ROWS)
    arrays, metadata = fitted.to_arrays()
    again = type(model).from_arrays(arrays, metadata)
    for first, other in zip(fitted.assign(ROWS), again.assign(ROWS), strict=True):
        np.testing.assert_array_equal(first, other)
    assert again.n_clusters_ == fitted.n_clusters_


@pytest.mark.parametrize(
    "model, says",
    [
        (KMeans(n_clusters=0), "n_clusters"),
        (KMeans(n_clusters=2_000), "2000 clusters of 1500 rows.*; request fewer"),
        (KMeans(n_init=0), "n_init"),
        (HDBSCAN(min_cluster_size=1), "min_cluster_size: must be at least 2"),
        (HDBSCAN(min_samples=0), "min_samples"),
        (HDBSCAN(min_samples=1_501), "at least 1501 rows"),
        (HDBSCAN(cluster_selection_method="tree"), "no 'tree'"),
        (HDBSCAN(cluster_selection_epsilon=-1), "cluster_selection_epsilon"),
    ],
    ids=str,
)
def test_a_wrong_parameter_gives_one_line(model, says):
    with pytest.raises(BadInput, match=says) as error:
        model.fit(ROWS)
    assert "\n" not in str(error.value)


def test_hdbscan_refuses_more_rows_than_it_can_compare():
    with pytest.raises(BadInput, match=r"at most 100,000 images \(got 100,001\); cluster one collection.*kmeans"):
        HDBSCAN().fit(np.zeros((100_001, 1), np.float32))
