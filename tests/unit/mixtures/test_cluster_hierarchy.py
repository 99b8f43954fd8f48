"""The coarser and the finer clustering around a run are nested in it, whatever made the run."""

import numpy as np
import pytest

from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import VDP, cluster_hierarchy
from benthoscope.engine.progress import Cancelled


def nested_blobs(seed=0, rows=40):
    """Two regions of three sites of three blobs: rows, and the labels of the sites."""
    rng = np.random.default_rng(seed)
    regions, sites, blobs = (np.repeat(np.arange(n), 18 // n) for n in (2, 6, 18))
    centres = np.eye(4)[regions] * 40 + rng.standard_normal((6, 4))[sites] * 8 + rng.standard_normal((18, 4)) * 2
    blob = np.repeat(blobs, rows)
    return centres[blob] + 0.3 * rng.standard_normal((len(blob), 4)), sites[blob], regions[blob], blob


def is_nested(inner, outer):
    return len(np.unique(np.stack([inner, outer]), axis=1).T) == len(np.unique(inner))


def test_the_three_levels_form_a_tree():
    X, sites, _, _ = nested_blobs()
    hierarchy = cluster_hierarchy(X, sites, random_state=0)
    np.testing.assert_array_equal(hierarchy.middle, sites)
    assert is_nested(hierarchy.fine, hierarchy.middle)
    assert is_nested(hierarchy.middle, hierarchy.coarse)
    np.testing.assert_array_equal(hierarchy.coarse_parent[hierarchy.middle], hierarchy.coarse)
    np.testing.assert_array_equal(hierarchy.middle_parent[hierarchy.fine], hierarchy.middle)
    assert hierarchy.n_clusters == (hierarchy.coarse.max() + 1, 6, hierarchy.fine.max() + 1)


def test_finer_splits_and_coarser_joins_what_belongs_together():
    X, sites, regions, blobs = nested_blobs()
    hierarchy = cluster_hierarchy(X, sites, random_state=0)
    assert hierarchy.n_clusters[0] <= 3
    assert is_nested(hierarchy.coarse, regions)
    assert hierarchy.n_clusters[2] > 12
    assert v_measure(blobs, hierarchy.fine) > v_measure(blobs, sites) + 0.1


def test_a_cluster_without_rows_has_no_parent_and_no_parts():
    X, sites, _, _ = nested_blobs()
    labels = np.where(sites == 2, 3, sites)
    hierarchy = cluster_hierarchy(X, labels, n_clusters=8, random_state=0)
    np.testing.assert_array_equal(np.flatnonzero(hierarchy.coarse_parent < 0), [2, 6, 7])
    assert set(hierarchy.middle_parent) == {0, 1, 3, 4, 5}
    assert hierarchy.n_clusters[1] == 8


def test_one_cluster_stays_the_coarsest_level():
    X, sites, _, _ = nested_blobs()
    hierarchy = cluster_hierarchy(X, np.zeros(len(X), int), random_state=0)
    assert hierarchy.n_clusters[:2] == (1, 1)
    assert v_measure(sites, hierarchy.fine) > 0.5


def test_clusters_of_a_few_rows_stay_whole():
    X, sites, _, _ = nested_blobs(rows=1)
    hierarchy = cluster_hierarchy(X, sites, random_state=0)
    np.testing.assert_array_equal(hierarchy.middle_parent[hierarchy.fine], sites)
    assert hierarchy.n_clusters[2] == 6


def test_rows_of_a_file_and_of_an_array_give_the_same_levels(tmp_path):
    X, sites, _, _ = nested_blobs()
    np.save(tmp_path / "rows.npy", X)
    a, b = (cluster_hierarchy(rows, sites, random_state=0) for rows in (X, tmp_path / "rows.npy"))
    np.testing.assert_array_equal(a.fine, b.fine)
    np.testing.assert_array_equal(a.coarse, b.coarse)


def test_computing_levels_can_be_cancelled():
    X, sites, _, _ = nested_blobs()

    def stop(progress):
        if progress.done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        cluster_hierarchy(X, sites, random_state=0, on_step=stop)


def test_labels_that_are_no_cluster_numbers_are_rejected():
    X, sites, _, _ = nested_blobs()
    with pytest.raises(ValueError, match="cluster number"):
        cluster_hierarchy(X, sites[:-1])
    with pytest.raises(ValueError, match="cluster number"):
        cluster_hierarchy(X, sites - 1)
    with pytest.raises(ValueError, match="n_clusters"):
        cluster_hierarchy(X, sites, n_clusters=3)


def test_levels_of_a_fitted_run_are_nested_in_it():
    X, _, _, blobs = nested_blobs()
    run = VDP(random_state=0).fit(X)
    hierarchy = cluster_hierarchy(X, run.labels_, width=run.width, n_clusters=run.n_clusters_, random_state=0)
    assert is_nested(hierarchy.fine, run.labels_)
    assert hierarchy.widths == (run.width, run.width, run.width / 4)
    assert v_measure(blobs, hierarchy.fine) >= v_measure(blobs, run.labels_) - 0.01
