"""Training from labels: calibrated probabilities, prediction sets, and queues."""

import numpy as np
import pytest

from benthoscope.engine.jobs.cluster.label_constraints import joined_by_term, kept_apart, mixed
from benthoscope.engine.labelling.calibration import (
    accuracy_coverage,
    conformal_sets,
    conformal_threshold,
    reliability,
    temperature,
)
from benthoscope.engine.labelling.classifier import ENOUGH, LabelContext, LearnerSettings, inputs, learn, suggestions
from benthoscope.engine.labelling.page_choice.queues import (
    Candidates,
    by_disagreement,
    by_margin,
    by_outliers,
    by_varied_margin,
    disagreement,
    doubted,
    margins,
    queue_named,
    similar_groups,
)
from benthoscope.engine.mixtures import GMC
from benthoscope.engine.problems import BadInput


def habitats(rng, rows=2000, kinds=6, spread=1.0):
    """Images of several habitats: descriptors (N, 8) and the habitat of each."""
    centres, truth = 2.5 * rng.standard_normal((kinds, 8)), rng.integers(0, kinds, rows)
    return (centres[truth] + spread * rng.standard_normal((rows, 8))).astype(np.float32), truth


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def reef(rng):
    X, truth = habitats(rng, spread=2.2)
    return inputs(X, truth // 2, rng=rng), truth


def test_few_labels_and_their_clusters_predict_the_rest(rng):
    X, truth = habitats(rng)
    data, shuffled = inputs(X, truth // 2, rng=rng), rng.permutation(len(X))[:24]
    model = learn(data, shuffled, truth[shuffled] + 50, rng=rng)
    best_terms, sure = suggestions(model.probabilities(data.rows), model.terms)
    assert (best_terms == truth + 50).mean() > 0.95 and model.terms.min() >= 50
    assert ((sure > 0) & (sure <= 1)).all()


def test_random_draws_calibrate_the_probabilities(reef, rng):
    data, truth = reef
    shuffled = rng.permutation(len(truth))[:400]
    context = LabelContext(np.zeros(400, int), np.full(400, np.nan), np.ones(400, bool))
    model = learn(data, shuffled, truth[shuffled], context=context, rng=rng)
    P = model.probabilities(data.rows)
    right = model.terms[P.argmax(1)] == truth
    assert abs(P.max(1).mean() - right.mean()) < 0.06
    assert model.held_out.is_drawn.sum() == 400 and reliability(P.max(1), right).error < 0.08


def test_kinds_without_a_label_do_not_become_confident_suggestions(rng):
    """One bulk label in each of three clusters; six kinds have no term."""
    X, truth = habitats(rng, rows=1200, kinds=9, spread=2.0)
    clusters = np.where(rng.random(len(truth)) < 0.5, truth, 9 + truth // 3)
    named = np.flatnonzero(clusters < 3)
    labelled_rows = named[rng.random(len(named)) < 0.8]
    data = inputs(X, clusters, rng=rng)
    model = learn(
        data,
        labelled_rows,
        truth[labelled_rows],
        np.full(len(labelled_rows), 0.15),
        events=truth[labelled_rows],
        rng=rng,
    )
    P, unnamed = model.probabilities(data.rows), truth >= 3
    assert P[unnamed].max(1).mean() < 0.7, P[unnamed].max(1).mean()
    assert (model.terms[P.argmax(1)] == truth)[~unnamed].mean() > 0.95


def test_labels_of_one_event_do_not_validate_each_other(reef, rng):
    """Twenty copies of each of a few images. Held out one by one they predict each other, held out by event they do
    not."""
    data, truth = reef
    labelled_rows = rng.permutation(len(truth))[:30]
    shuffled = rng.permutation(truth[labelled_rows])  # labels that mean nothing
    repeated, names, event_numbers = np.repeat(labelled_rows, 20), np.repeat(shuffled, 20), np.repeat(np.arange(30), 20)
    one_by_one = learn(data, repeated, names, rng=np.random.default_rng(0), settings=LearnerSettings(penalty=1e-4))
    model = learn(
        data,
        repeated,
        names,
        events=event_numbers,
        rng=np.random.default_rng(0),
        settings=LearnerSettings(penalty=1e-4),
    )
    assert one_by_one.selection_score() > 0.9 and model.selection_score() < 0.6


def test_labels_with_little_trust_have_little_influence(reef, rng):
    data, truth = reef
    shuffled = rng.permutation(len(truth))[:300]
    wrong, trust = truth[shuffled].copy(), np.ones(300)
    wrong[:150], trust[:150] = (wrong[:150] + 1) % 6, 1e-6
    model = learn(data, shuffled, wrong, trust, rng=rng)
    best = model.terms[model.probabilities(data.rows).argmax(1)]
    without = learn(data, shuffled[150:], truth[shuffled[150:]], rng=rng)
    plain = without.terms[without.probabilities(data.rows).argmax(1)]
    assert (best == truth).mean() == pytest.approx((plain == truth).mean(), abs=0.04)


def test_training_continues_from_the_last_model_and_adds_new_terms(reef, rng):
    data, truth = reef
    few = np.flatnonzero(truth < 3)[:60]
    first = learn(data, few, truth[few], rng=rng)
    more_rows = np.concatenate([few, np.flatnonzero(truth >= 3)[:60]])
    second = learn(data, more_rows, truth[more_rows], before=first, rng=rng)
    assert second.terms.tolist() == [0, 1, 2, 3, 4, 5]
    assert (second.terms[second.probabilities(data.rows).argmax(1)] == truth).mean() > 0.6


def test_subsampled_labels_keep_the_proportions_of_terms(rng):
    X, truth = habitats(rng, rows=3 * ENOUGH)
    truth[:] = np.where(np.arange(len(truth)) < 40, truth, 0)  # all but forty of one term
    data = inputs(X, rng=rng)
    model = learn(data, np.arange(len(X)), truth, rng=rng)
    assert len(model.held_out.y) == ENOUGH
    assert np.bincount(model.held_out.y, minlength=6)[1:].sum() >= 25


def test_one_term_is_not_enough(reef, rng):
    with pytest.raises(BadInput, match="two different terms"):
        learn(reef[0], np.array([1, 2]), np.array([7, 7]), rng=rng)


def test_the_same_seed_learns_the_same(reef):
    data, truth = reef
    numbers = np.arange(0, 2000, 40)
    first, two = (learn(data, numbers, truth[numbers], rng=np.random.default_rng(0)) for _ in range(2))
    np.testing.assert_array_equal(first.probabilities(data.rows), two.probabilities(data.rows))


def test_a_rejected_suggestion_is_not_made_again():
    P = np.array([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1]])
    terms, sure = suggestions(P, np.array([5, 6, 7]), [(np.array([1]), 5)])
    assert terms.tolist() == [5, 6] and sure.tolist() == [0.7, 0.2]


def test_the_temperature_of_made_up_scores_is_found():
    rng = np.random.default_rng(0)
    scores = 2 * rng.standard_normal((20_000, 5))
    P = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    y = (P.cumsum(1) > rng.random((20_000, 1))).argmax(1)
    assert temperature(3 * scores, y) == pytest.approx(3, rel=0.05)
    honest = reliability(P.max(1), P.argmax(1) == y)
    assert honest.error < 0.02 and honest.weight.sum() == pytest.approx(1)
    assert reliability(np.minimum(P.max(1) * 1.4, 1), P.argmax(1) == y).error > 0.1


@pytest.mark.parametrize("error", [0.05, 0.2])
def test_conformal_sets_have_their_stated_coverage(error):
    """Over many draws of few held-out images, with a model far from calibrated."""
    rng, mean_values = np.random.default_rng(1), []
    for _ in range(300):
        P = rng.dirichlet(np.ones(4) * 0.5, 240)
        y = (P.cumsum(1) > rng.random((240, 1))).argmax(1)
        P = P**2 / (P**2).sum(1, keepdims=True)  # overconfident
        threshold = conformal_threshold(P[np.arange(40), y[:40]], error)
        mean_values.append(conformal_sets(P[40:], threshold)[np.arange(200), y[40:]].mean())
    assert 1 - error - 0.01 <= np.mean(mean_values) <= 1 - error + 0.06


def test_too_few_images_give_no_guarantee():
    assert conformal_threshold(np.array([0.9, 0.8]), 0.05) == 0.0
    assert conformal_sets(np.array([[0.5, 0.3, 0.2]]), 0.0).all()
    assert conformal_sets(np.array([[0.5, 0.3, 0.2]]), 0.9).tolist() == [[True, False, False]]


def test_weights_count_images():
    of_truth = np.array([0.9, 0.1])
    assert conformal_threshold(np.repeat(of_truth, [90, 10]), 0.15) == 0.9
    assert conformal_threshold(np.repeat(of_truth, [90, 10]), 0.15, np.repeat([1.0, 9.0], [90, 10])) == 0.1


def test_the_curve_of_accuracy_against_coverage_by_hand():
    curve = accuracy_coverage(np.array([0.9, 0.9, 0.8, 0.5]), np.array([True, True, False, True]))
    assert curve.thresholds.tolist() == [0.9, 0.8, 0.5] and curve.coverage.tolist() == [0.5, 0.75, 1.0]
    np.testing.assert_allclose(curve.accuracy, [1, 2 / 3, 3 / 4])
    assert (curve.at_least < curve.accuracy).all()


def test_the_careful_threshold_reaches_its_precision():
    """In at least nineteen of twenty draws, suggestions above the threshold are correct as often as requested on new
    images."""
    rng, flags = np.random.default_rng(0), []
    for _ in range(200):
        sure = rng.random(3000)
        right = rng.random(3000) < 0.6 + 0.4 * sure
        threshold = accuracy_coverage(sure[:300], right[:300]).threshold_for(0.85)
        if threshold is not None:
            flags.append(right[300:][sure[300:] >= threshold].mean() >= 0.85)
    assert len(flags) > 150 and np.mean(flags) >= 0.93
    assert accuracy_coverage(np.array([0.9]), np.array([False])).threshold_for(0.5) is None


def test_the_margin_is_the_second_less_the_first():
    P = np.array([[0.6, 0.3, 0.1], [0.4, 0.39, 0.21], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(margins(P), [-0.3, -0.01, -1.0])
    among = Candidates(P, np.eye(3), np.zeros(3, int), np.array([0.0, -5.0, 1.0]))
    assert by_margin(among, 2, None).tolist() == [1, 0]
    assert by_outliers(among, 1, None).tolist() == [1]


def test_a_varied_batch_has_no_twins_and_reaches_all_clusters():
    rng = np.random.default_rng(0)
    rows = np.repeat(10 * rng.standard_normal((20, 4)), 50, 0) + 0.01 * rng.standard_normal((1000, 4))
    P = np.tile([0.5, 0.5], (1000, 1))
    P[:50] = [0.501, 0.499]  # the first cluster a little less doubtful
    among = Candidates(P, rows, np.repeat(np.arange(20), 50), np.zeros(1000))
    assert len(set((by_varied_margin(among, 20, rng) // 50).tolist())) == 20
    assert len(set((by_margin(among, 20, rng) // 50).tolist())) == 1  # the baseline that it must exceed


def test_labels_that_the_model_doubts_come_first():
    P = np.array([[0.9, 0.1], [0.02, 0.98], [0.4, 0.6]])
    assert doubted(P, np.array([0, 0, 0]), 3).tolist() == [1, 2]


def test_the_model_is_compared_with_the_labels_of_the_cluster():
    P = np.array([[0.95, 0.05], [0.05, 0.95], [0.05, 0.95], [0.5, 0.5]])
    clusters, labelled, columns = np.array([0, 0, 1, 0]), np.zeros(20, int), np.zeros(20, int)
    assert by_disagreement(P, clusters, labelled, columns, 2).tolist() == [1, 3]  # cluster 1 has no label to contradict


def test_equal_models_have_no_disagreement():
    A, B = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]])
    np.testing.assert_allclose(disagreement([A, B]), [np.log(2), 0], atol=1e-9)


def test_an_unknown_queue_gives_a_clear_error():
    with pytest.raises(BadInput, match="did you mean 'margin'"):
        queue_named("margim")


def test_groups_are_alike_and_within_clusters(rng):
    X, truth = habitats(rng, rows=600)
    data = inputs(X, truth, rng=rng)
    groups = similar_groups(data.rows, truth, rng)
    assert all(len(np.unique(truth[groups.members(number)])) == 1 for number in range(groups.count))
    assert 5 <= np.median(np.bincount(groups.of)) <= 40
    within = ((data.rows - groups.centres[groups.of]) ** 2).sum(1).mean()
    assert within < ((data.rows - data.rows.mean(0)) ** 2).sum(1).mean() / 2


def test_groups_far_from_all_known_groups_are_new(rng):
    rows = np.concatenate([rng.standard_normal((200, 3)), 30 + rng.standard_normal((200, 3))])
    groups = similar_groups(rows, np.zeros(400, int), rng)
    known = np.array([rows[groups.members(number)].mean() < 15 for number in range(groups.count)])
    assert (groups.novelty(known)[~known] == 1).all() and (groups.novelty(known)[known] == 0).all()
    worth = groups.worth(np.full(400, 0.5), np.arange(400) < 200)
    np.testing.assert_allclose(worth.sum(), 100)


def test_after_constrained_clustering_no_cluster_has_two_terms(rng):
    X, truth = habitats(rng, rows=600, kinds=4)
    terms = np.where(np.arange(600) < 60, truth + 1, 0)
    merged = truth // 2
    assert mixed(merged, terms).tolist() == [0, 1]
    start = kept_apart(X, merged, terms)
    assert len(mixed(start, terms)) == 0 and (start.max() + 1) == 4
    assert (start == kept_apart(X, start, terms)).all()
    for cluster in range(4):
        assert np.bincount(truth[start == cluster]).max() / (start == cluster).sum() > 0.9
    assert joined_by_term(start, terms).keys() == {0, 1, 2, 3}


def test_labels_guide_the_next_clustering(rng):
    """Two habitats too close for the model: with forty labels of each it keeps them apart."""
    X = np.concatenate([rng.standard_normal((300, 2)), rng.normal((1.6, 0), 1, (300, 2))])
    truth = np.repeat([0, 1], 300)
    terms = np.where(np.arange(600) % 300 < 40, truth + 1, 0)
    alone = GMC(random_state=0).fit(X, groups=np.zeros(600))
    start = kept_apart(X, alone.labels_, terms)
    final = kept_apart(X, GMC(random_state=0, search="none").fit(X, groups=np.zeros(600), start=start).labels_, terms)
    assert len(mixed(alone.labels_, terms)) > 0 and len(mixed(final, terms)) == 0
    right = sum(np.bincount(truth[final == cluster]).max() for cluster in np.unique(final)) / 600
    assert right > 0.7


def test_descriptors_of_other_workspaces_get_the_same_rows_as_own_ones(rng):
    X, truth = rng.standard_normal((60, 6)) + 8 * np.eye(6)[np.arange(60) % 3], np.arange(60) % 3
    data = inputs(X, truth, rng=rng)
    assert data.row_map(X) == pytest.approx(data.rows, abs=1e-5)
