"""Names of clusters from a few labelled images, and their test on the others."""

import numpy as np
import pytest

from benthoscope.engine.analysis import recognise


def test_the_most_probable_images_name_a_cluster_and_the_others_test_it():
    clusters = np.zeros(9, int)
    probability = np.linspace(1, 0.2, 9)
    labels = np.array([1, 1, 1, 0, 0, 1, 1, 0, -1])
    result = recognise(clusters, probability, labels, 1)
    assert result.name_of_cluster.tolist() == [1]
    assert result.tested == 3 and result.accuracy == pytest.approx(2 / 3)


def test_a_cluster_without_labels_has_no_name():
    labels = np.array([0, 0, 0, -1, -1])
    result = recognise(np.array([0, 0, 0, 1, 1]), np.ones(5), labels, 2, named_from=1)
    assert result.name_of_cluster.tolist() == [0, -1] and result.tested == 2 and result.accuracy == 1


def test_without_images_to_test_there_is_no_accuracy():
    assert recognise(np.zeros(3, int), np.ones(3), np.full(3, -1), 1).accuracy is None
    assert recognise(np.zeros(3, int), np.ones(3), np.zeros(3, int), 1).accuracy is None
