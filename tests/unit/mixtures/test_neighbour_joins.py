"""Clusters whose rows are neighbours are joined: pieces of one class come together, separate classes stay apart."""

import numpy as np
import pytest

from benthoscope.engine.metrics import adjusted_rand
from benthoscope.engine.mixtures import cluster_hierarchy
from benthoscope.engine.mixtures.neighbour_joins import join_by_neighbours, linked_rows

LENGTH, BETWEEN = 2.0, 7.0  # of a piece along its strip, and between two strips; strips are about 4 wide


def strips(classes=5, pieces=4, rows=40, seed=0):
    """Parallel strips, which are the classes, each cut into pieces: rows, classes and pieces. Most pieces are closer to
    the piece of the next strip beside them than to the far end of their own strip."""
    rng = np.random.default_rng(seed)
    classes_of_rows = np.repeat(np.arange(classes), pieces * rows)
    along = rng.uniform(0, LENGTH * pieces, len(classes_of_rows))
    across = rng.standard_normal((len(along), 2)) + np.outer(classes_of_rows, [BETWEEN, 0])
    return np.column_stack([along, across]), classes_of_rows, classes_of_rows * pieces + (along // LENGTH).astype(int)


def blobs(centres, rows=20):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(centres)), rows)
    return np.asarray(centres, float)[labels] + rng.standard_normal((len(labels), len(centres[0]))), labels


@pytest.mark.parametrize("pieces", [2, 3, 4])
def test_classes_that_were_cut_into_pieces_come_back(pieces):
    X, classes, cut = strips(pieces=pieces)
    hierarchy = cluster_hierarchy(X, cut, random_state=0)
    assert hierarchy.n_clusters[0] == 5
    assert adjusted_rand(classes, hierarchy.coarse) == 1


def test_pieces_of_different_sizes_come_back():
    X, classes, cut = strips()
    is_left_out = (cut % 4 == 0) & (np.arange(len(cut)) % 3 > 0)  # the first piece of each strip loses two thirds
    X, classes, cut = X[~is_left_out], classes[~is_left_out], cut[~is_left_out]
    assert adjusted_rand(classes, cluster_hierarchy(X, cut, random_state=0).coarse) == 1


def test_classes_of_several_gaussians_come_back():
    rng = np.random.default_rng(0)
    gaussians = np.repeat(np.arange(18), 40)
    classes = gaussians // 3
    corners = 2.5 * np.eye(4)[gaussians % 3]  # the three Gaussians of a class overlap
    X = 12 * rng.standard_normal((6, 4))[classes] + corners + rng.standard_normal((len(classes), 4))
    assert adjusted_rand(classes, cluster_hierarchy(X, gaussians, random_state=0).coarse) == 1


def test_clusters_without_common_neighbours_are_joined_by_their_distance():
    X, labels = blobs([[0, 0], [50, 0], [500, 0], [580, 0]])
    np.testing.assert_array_equal(join_by_neighbours(X, labels, 4), [0, 1, 2, 3])
    np.testing.assert_array_equal(join_by_neighbours(X, labels, 3), [0, 0, 2, 3])
    np.testing.assert_array_equal(join_by_neighbours(X, labels, 2), [0, 0, 2, 2])
    np.testing.assert_array_equal(join_by_neighbours(X, labels, 1), [0, 0, 0, 0])


def test_clusters_that_mix_are_joined_down_to_the_smallest_number():
    X, _ = blobs([[0, 0]], rows=120)
    labels = np.arange(120) % 6
    assert len(np.unique(join_by_neighbours(X, labels, most=6))) == 1
    assert len(np.unique(join_by_neighbours(X, labels, most=6, fewest=3))) == 3


def test_neither_the_order_nor_the_place_nor_the_unit_of_the_rows_matters():
    X, _, cut = strips(classes=3)
    expected = join_by_neighbours(X, cut, 6)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(join_by_neighbours(X[order], cut[order], 6), expected)
    np.testing.assert_array_equal(join_by_neighbours(1e-3 * X + 1e6, cut, 6), expected)


def test_a_part_of_the_rows_gives_the_same_groups():
    X, _, cut = strips(rows=100)
    linked = linked_rows(cut, most=500)
    np.testing.assert_array_equal(join_by_neighbours(X[linked], cut[linked], 10), join_by_neighbours(X, cut, 10))


def test_linked_rows_are_an_equal_share_of_each_cluster_and_enough_of_small_ones():
    labels = np.concatenate([np.zeros(1000, int), np.ones(30, int), np.full(5, 2), np.full(965, 3)])
    np.testing.assert_array_equal(linked_rows(labels, most=2000), np.arange(2000))
    linked = linked_rows(labels, most=200)
    np.testing.assert_array_equal(np.bincount(labels[linked]), [100, 20, 5, 97])
    assert (np.diff(linked) > 0).all()
    np.testing.assert_array_equal(np.diff(linked[labels[linked] == 0]), 10)  # evenly spaced


@pytest.mark.parametrize(
    "labels, groups",
    [([0], [0]), ([0, 0], [0]), ([0, 1], [0, 1]), ([0, 1, 2], [0, 0, 2]), ([0] * 30, [0]), ([0, 1] * 30, [0, 1])],
)
def test_one_cluster_few_images_and_equal_images_have_levels(labels, groups):
    labels = np.array(labels)
    hierarchy = cluster_hierarchy(np.ones((len(labels), 3)), labels, random_state=0)
    assert len(hierarchy.coarse_parent) == len(groups)
    np.testing.assert_array_equal(hierarchy.coarse_parent[labels], hierarchy.coarse)
    assert hierarchy.n_clusters[0] == len(np.unique(groups))
    again = cluster_hierarchy(np.ones((len(labels), 3)), labels, random_state=0)
    np.testing.assert_array_equal(again.coarse, hierarchy.coarse)
