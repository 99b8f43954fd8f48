"""How pure clusters are: the agreement of labels against a count by hand and the truth, and the silhouette."""

import numpy as np
import pytest

from benthoscope.engine.analysis.cluster_purity import FEWEST_PAIRS, label_agreement, separation


def test_pairs_are_counted_in_each_cluster_and_clusters_are_weighted_by_size():
    clusters = np.array([0] * 6 + [1] * 12 + [2] * 2)
    labels = np.array([0, 0, 0, 1, -1, -1] + [1, 1, 1, 0] + [-1] * 8 + [0, -1])
    result = label_agreement(clusters, labels)
    assert (result.labelled, result.pairs, result.covered) == (9, 12, 0.9)
    assert result.agreement == pytest.approx(0.5)  # 3 of 6 pairs in both; cluster 2 has one label


def test_with_few_pairs_nothing_is_claimed():
    result = label_agreement(np.zeros(50, int), np.array([0, 0, 0, 0] + [-1] * 46))
    assert result.pairs == 6 < FEWEST_PAIRS
    assert result.agreement is None
    assert label_agreement(np.zeros(0, int), np.zeros(0, int)).agreement is None


def test_random_labels_estimate_the_truth_without_bias():
    rng = np.random.default_rng(0)
    clusters = rng.integers(6, size=3000)
    truth = np.where(rng.random(3000) < 0.8, clusters, rng.integers(6, size=3000))
    whole = label_agreement(clusters, truth).agreement
    estimates = []
    for _ in range(300):
        drawn = rng.choice(3000, 100, replace=False)
        labels = np.full(3000, -1)
        labels[drawn] = truth[drawn]
        estimates.append(label_agreement(clusters, labels).agreement)
    assert whole == pytest.approx(0.7, abs=0.02)
    assert np.mean(estimates) == pytest.approx(whole, abs=0.01)


def test_silhouette_is_near_one_for_distant_clusters_and_unknown_for_one():
    rng = np.random.default_rng(0)
    clusters = np.repeat([0, 1], 50)
    rows = rng.standard_normal((100, 3)) + 100 * clusters[:, None]
    assert separation(rows, clusters) > 0.95
    assert abs(separation(rng.standard_normal((100, 3)), clusters)) < 0.1
    assert separation(rows, np.zeros(100, int)) is None
