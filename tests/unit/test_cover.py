"""Estimates of cover: unbiased, honest about their error, no wider than they need be."""

import numpy as np
import pytest

from engine.labelling.cover import Stratified, neyman, proposed, regression, spread_of, strata, stratified


def world(rng, N=4000):
    """Clusters of uneven size, each with its own share of the habitat, and a model that knows some of it."""
    shares = np.array([0.95, 0.6, 0.1, 0.02, 0.0])
    cluster = rng.choice(5, N, p=[0.15, 0.2, 0.3, 0.3, 0.05])
    truth = rng.random(N) < shares[cluster]
    model = np.clip(0.7 * truth + 0.3 * shares[cluster] + 0.15 * rng.standard_normal(N), 0, 1)
    return cluster, truth, model


def sampled(rng, cluster, n):
    """`n` images drawn in proportion to the clusters, at random within them."""
    sizes = np.bincount(cluster, minlength=5)
    return proposed(cluster, np.empty(0, np.int64), neyman(sizes, np.ones(5), n), rng)


@pytest.mark.parametrize("n", [60, 200])
def test_intervals_hold_the_truth_as_often_as_they_say_and_estimates_are_unbiased(n):
    rng = np.random.default_rng(n)
    cluster, truth, model = world(rng)
    held, errors, widths = [], [], []
    for _ in range(600):
        places = sampled(rng, cluster, n)
        both = (stratified(strata(cluster, places, truth[places])),
                regression(model, cluster, places, truth[places]))
        held.append([share.low <= truth.mean() <= share.high for share in both])
        errors.append([share.estimate - truth.mean() for share in both])
        widths.append([share.high - share.low for share in both])
    coverage, bias = np.mean(held, axis=0), np.mean(errors, axis=0)
    assert (coverage >= 0.93).all() and (coverage <= 0.995).all()
    assert (np.abs(bias) <= 3 * np.std(errors, axis=0) / np.sqrt(600) + 0.004).all()
    assert np.mean(widths, axis=0)[1] < 0.8 * np.mean(widths, axis=0)[0]  # the model pays


def test_a_useless_model_is_ignored_and_does_no_harm():
    rng = np.random.default_rng(0)
    cluster, truth, _ = world(rng)
    useless, held, widths = rng.random(len(truth)), [], []
    for _ in range(300):
        places = sampled(rng, cluster, 100)
        share = regression(useless, cluster, places, truth[places])
        held.append(share.low <= truth.mean() <= share.high)
        widths.append((share.high - share.low) / (
            lambda plain: plain.high - plain.low)(stratified(strata(cluster, places, truth[places]))))
    assert np.mean(held) >= 0.93 and np.mean(widths) <= 1.15


def test_strata_make_the_estimate_sharper_than_plain_chance():
    rng = np.random.default_rng(0)
    cluster, truth, _ = world(rng)
    by_cluster, plain = [], []
    for _ in range(300):
        places = sampled(rng, cluster, 150)
        by_cluster.append(stratified(strata(cluster, places, truth[places])).estimate)
        plain.append(truth[rng.permutation(len(truth))[:150]].mean())
    assert np.std(by_cluster) < 0.75 * np.std(plain)


def test_what_was_labelled_in_full_is_known():
    truth = np.array([1, 0, 0, 1], bool)
    share = stratified(strata(np.array([0, 0, 1, 1]), np.arange(4), truth))
    assert (share.estimate, share.low, share.high, share.method) == (0.5, 0.5, 0.5, "counted in full")


def test_no_find_among_some_labels_is_no_proof_of_absence():
    share = stratified(strata(np.zeros(1000, int), np.arange(50), np.zeros(50, bool)))
    assert share.estimate == 0 and share.low == 0 and 0.01 < share.high < 0.15
    assert stratified(strata(np.zeros(1000, int), np.empty(0, int), np.empty(0, bool))).high > 0.9


def test_what_was_found_bounds_the_share_from_both_sides():
    """At least the images seen with the term have it, at least those seen without do not."""
    share = stratified(strata(np.zeros(10, int), np.arange(9), np.arange(9) < 3))
    assert share.low >= 0.3 and share.high <= 0.4 + 1e-12


def test_the_allocation_is_neymans():
    """Textbook: n in proportion to size times spread, when the budget is large."""
    sizes, spread = np.array([1000, 2000, 4000]), np.array([0.5, 0.25, 0.1])
    wanted = sizes * spread / (sizes * spread).sum() * 300
    np.testing.assert_allclose(neyman(sizes, spread, 300), wanted, atol=2)


def test_the_allocation_counts_what_is_labelled_already_and_never_exceeds_a_stratum():
    sizes = np.array([5, 1000])
    more = neyman(sizes, np.array([0.5, 0.5]), 100, np.array([0, 90]))
    assert more.sum() == 100 and more[0] <= 5
    assert neyman(sizes, np.array([0.5, 0.5]), 10**6).tolist() == [5, 1000]


def test_proposals_are_unlabelled_images_in_the_numbers_wanted():
    rng = np.random.default_rng(0)
    stratum = rng.integers(0, 3, 300)
    found = proposed(stratum, np.arange(100), np.array([5, 0, 7]), rng)
    assert (found >= 100).all() and len(set(found.tolist())) == 12
    assert np.bincount(stratum[found], minlength=3).tolist() == [5, 0, 7]


def test_a_stratum_with_few_labels_is_taken_for_varied():
    both = [Stratified(np.array([10, 10]), np.array([0, 8]), np.array([0.0, hits])) for hits in (8.0, 0.0)]
    spread = spread_of(both)
    assert spread[0] > spread[1]
