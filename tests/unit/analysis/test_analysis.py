"""The functions of engine.analysis on small arrays, as a notebook would call them."""

import numpy as np
import pytest

from benthoscope.engine import analysis
from benthoscope.engine.analysis.cooccurrence import similar_side_by_side
from benthoscope.engine.analysis.projections import LAST, NOWHERE

RNG = np.random.default_rng(0)
CENTRES = np.array([[0.0, 0], [10, 0], [0, 30]])
LABELS = np.repeat([0, 1, 2, -1], [20, 20, 20, 5])
X = (np.vstack([CENTRES, [[50, 50]]])[LABELS] + RNG.standard_normal((65, 2))).astype(np.float32)


# --- exemplars


def test_exemplars_cover_every_group_of_rows_and_the_largest_group_comes_first():
    rows = np.concatenate([np.zeros((30, 2)), np.full((10, 2), 20.0), np.full((5, 2), -20.0)])
    chosen = analysis.choose_exemplars(rows + 0.01 * RNG.standard_normal(rows.shape), 3)
    assert chosen[0] < 30 and sorted(np.searchsorted([30, 40], chosen, side="right").tolist()) == [0, 1, 2]


def test_exemplars_of_clusters_are_distinct_members_and_small_clusters_are_padded():
    labels = np.where(np.arange(65) < 63, LABELS, 3)
    table = analysis.cluster_exemplars(X, labels, 5, count=4)
    assert table.shape == (5, 4)
    for cluster in range(3):
        assert len(set(table[cluster].tolist())) == 4 and (labels[table[cluster]] == cluster).all()
    assert sorted(table[3].tolist())[:2] == [-1, -1] and set(table[3].tolist()) >= {63, 64}
    assert (table[4] == -1).all()


def test_choosing_exemplars_reports_every_cluster():
    steps = []
    analysis.cluster_exemplars(X, LABELS, 3, on_step=steps.append)
    assert [(step.done, step.total) for step in steps] == [(0, 3), (1, 3), (2, 3)]


def test_members_are_ordered_by_probability_and_unknown_ones_count_as_zero():
    members, probability = np.array([4, 7, 9, 12]), np.array([0.9, np.nan, 0.2, 1.0])
    assert analysis.most_probable(members, probability, 2).tolist() == [12, 4]
    assert analysis.least_probable(members, probability, 2).tolist() == [7, 9]
    assert analysis.random_members(members, 3).tolist() == analysis.random_members(members, 3).tolist()


def test_example_segments_come_from_different_images_while_there_are_enough():
    offsets, labels = np.array([0, 4, 8, 12]), np.tile([0, 0, 1, 1], 3)
    values = RNG.standard_normal((12, 3))
    probability = np.linspace(0.1, 1, 12)
    examples = analysis.segment_exemplars(values, labels, offsets, 2, probability, count=4)
    for kind in ("typical", "borderline", "random"):
        for cluster in range(2):
            rows = examples[kind][cluster]
            assert len(set(rows.tolist())) == 4 and (labels[rows] == cluster).all()
            assert sorted((rows[:3] // 4).tolist()) == [0, 1, 2]
    assert examples["borderline"][0][0] == 0
    far = analysis.segment_exemplars(values, labels, offsets, 2, count=1)["borderline"][1][0]
    of_cluster = values[labels == 1]
    assert ((values[far] - of_cluster.mean(0)) ** 2).sum() == pytest.approx(
        ((of_cluster - of_cluster.mean(0)) ** 2).sum(1).max()
    )


# --- geometry


def test_centres_spread_and_distances_are_those_of_the_definition():
    geometry = analysis.measure_clusters(X, LABELS, 4)
    used = X[LABELS >= 0].astype(float)
    total = np.sqrt(((used - used.mean(0)) ** 2).sum(1).mean())
    for cluster in range(3):
        rows = X[cluster == LABELS].astype(float)
        far = np.sqrt(((rows - rows.mean(0)) ** 2).sum(1))
        np.testing.assert_allclose(geometry.centres[cluster], rows.mean(0), atol=1e-4)
        assert geometry.spread[cluster] == pytest.approx(np.sqrt((far**2).mean()) / total, rel=1e-4)
        np.testing.assert_allclose(geometry.distance[cluster == LABELS], far / np.sqrt((far**2).mean()), rtol=1e-3)
    assert np.isnan(geometry.centres[3]).all() and np.isnan(geometry.distance[LABELS < 0]).all()
    assert geometry.nearest(0) == [1, 2]


def test_an_outline_is_around_its_cluster_and_few_images_have_none():
    labels = np.repeat([0, 1, 2], [200, 200, 3])
    places = np.vstack([np.full((200, 2), 15_000), np.full((200, 2), 45_000), np.full((3, 2), 60_000)])
    xy = (places + RNG.normal(0, 1500, places.shape)).clip(0, LAST).astype(np.uint16)
    outlines = analysis.cluster_outlines(xy, labels, 3)
    assert [outline.cluster for outline in outlines] == [0, 1]
    for outline, middle in zip(outlines, (15_000, 45_000), strict=True):
        assert np.abs(np.array(outline.peak) - middle).max() < 3000
        ring = np.array(outline.rings[0])
        assert (ring.min(0) < middle).all() and (ring.max(0) > middle).all()


# --- projections


def test_the_principal_plane_is_that_of_a_singular_value_decomposition():
    values = RNG.standard_normal((300, 6)) * [5, 1, 3, 1, 1, 1]
    _, _, axes = np.linalg.svd(values - values.mean(0), full_matrices=False)
    xy = analysis.principal_plane(values.astype(np.float32))
    np.testing.assert_allclose(np.abs(xy), np.abs((values - values.mean(0)) @ axes[:2].T), atol=1e-3)


def test_the_principal_plane_knows_its_share_of_the_variance():
    values = RNG.standard_normal((300, 6)) * [5, 1, 3, 1, 1, 1]
    variances = np.linalg.svd(values - values.mean(0), compute_uv=False) ** 2
    plane = analysis.fit_principal_plane(values.astype(np.float32))
    np.testing.assert_allclose(plane.shares, variances[:2] / variances.sum(), rtol=1e-4)
    assert analysis.fit_principal_plane(np.arange(5, dtype=np.float32)[:, None]).shares == (1.0, 0.0)


def test_steps_stand_for_coordinates():
    xy = RNG.uniform(-3, 8, (400, 2))
    scale, steps = analysis.step_scale(xy), analysis.to_steps(xy, np.arange(400), 400)
    np.testing.assert_allclose(scale.start + steps * scale.unit, xy, atol=0.01)


def test_steps_have_one_scale_for_both_axes_and_rows_without_a_position_are_nowhere():
    xy = np.column_stack([np.linspace(-3, 3, 8), np.linspace(0, 1, 8)])
    steps = analysis.to_steps(xy, np.arange(2, 10), 10)
    assert (steps[:2] == NOWHERE).all() and steps[2:].max() <= LAST
    width, height = np.ptp(steps[2:].astype(int), axis=0)
    assert width / height == pytest.approx(6, rel=0.02)
    assert (analysis.to_steps(np.empty((0, 2)), np.empty(0, int), 3) == NOWHERE).all()


# --- tracks


def test_track_lines_follow_time_and_end_at_gaps_and_between_groups():
    xy = np.array([[0, 0], [1, 0], [np.nan, np.nan], [3, 0], [4, 0], [5, 0], [6, 0]])
    group, taken_at = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([30.0, 10, 20, 40, 5, np.nan, 4])
    everything = np.ones(7, bool)
    assert analysis.track_lines(xy, group, taken_at, everything).tolist() == [1, -1, 0, 3, -1, 6, 4]
    assert analysis.track_lines(xy, group, taken_at, group == 1).tolist() == [6, 4]
    assert len(analysis.track_lines(xy, group, taken_at, ~everything)) == 0


# --- co-occurrence and mixtures


def test_cooccurrence_is_zero_by_chance_and_limited_at_eight_times():
    together = np.array([[400, 200, 380], [200, 500, 0], [380, 0, 400]])
    result = analysis.cooccurrence(together, 1000)
    assert result.ratio[0, 1] == pytest.approx(0, abs=1e-6) and result.ratio[1, 2] == -3
    assert result.ratio[0, 2] == pytest.approx(np.log2(380.5 / 160.5)) and (np.diagonal(result.ratio) == 0).all()
    assert abs(result.order.tolist().index(0) - result.order.tolist().index(2)) == 1


def test_groups_are_compared_by_their_mixtures():
    mixtures = np.array([[0.9, 0.1, 0], [0, 0.1, 0.9], [0.85, 0.15, 0], [0, 0, 0]])
    comparison = analysis.compare_mixtures(mixtures)
    assert comparison.most_similar(0, 1) == [2] and (comparison.distance[3, :3] == 1).all()
    order = comparison.groups.tolist()
    assert abs(order.index(0) - order.index(2)) == 1 and sorted(comparison.clusters.tolist()) == [0, 1, 2]


def test_similar_rows_are_neighbours_also_where_the_best_order_is_too_slow():
    place = RNG.permutation(450).astype(float)
    order = similar_side_by_side(np.abs(place[:, None] - place[None]))
    assert sorted(order.tolist()) == list(range(450))
    assert np.median(np.abs(np.diff(place[order]))) < 10


# --- tracks


def test_metres_are_right_across_the_date_line():
    tracks = analysis.tracks_in_metres(np.array([-17.0, -17.0, np.nan]), np.array([179.999, -179.999, 0.0]))
    expected = 0.002 * 111_320 * np.cos(np.radians(17))
    assert np.linalg.norm(tracks.xy[0] - tracks.xy[1]) == pytest.approx(expected, rel=1e-3)
    assert np.isnan(tracks.xy[2]).all() and tracks.any
    assert not analysis.tracks_in_metres(np.full(2, np.nan), np.full(2, np.nan)).any


def test_groups_are_at_the_median_of_their_positions_and_groups_without_one_are_left_out():
    xy = np.array([[0.0, 0], [2, 4], [4, 8], [np.nan, np.nan], [7, 7]])
    assert analysis.group_positions(xy, np.array([0, 0, 0, 1, 2])) == [(0, 2.0, 4.0), (2, 7.0, 7.0)]


# --- points


def test_points_are_counted_by_cluster_and_term_and_missed_ones_are_not():
    table = analysis.point_table(np.array([0, 0, 1, -1, 1]), np.array([8, 8, 5, 8, 8]), 3)
    assert table.term_ids.tolist() == [8, 5] and table.counts.tolist() == [[2, 0], [1, 1], [0, 0]]
    assert table.missed == 1 and table.points == 4 and 0 <= table.v_measure < 1
    assert analysis.point_table(np.array([-1]), np.array([8]), 3) is None


def test_the_segment_under_a_point_is_found_in_a_smaller_mask():
    mask = np.array([[0, 1], [2, 3]], np.uint16)
    points = np.array([[10.0, 10], [90, 10], [10, 190], [500, 500]])
    assert analysis.rows_under_points(points, (100, 200), mask, 40).tolist() == [40, 41, 42, 43]
