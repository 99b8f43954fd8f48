"""Tables of what workers merge, their quality, and the clusters of positions they speak of."""

import numpy as np
import pytest
from scipy.special import expit

from benthoscope.engine.crowd import (
    BayesianCrowdClustering,
    Sorting,
    as_judgements,
    block_order,
    judgements_of,
    sample_tasks,
)
from benthoscope.engine.crowd.cluster_merging import Answers, evidence, memberships, told_apart, without_scraps
from benthoscope.engine.crowd.consensus import PlatonicClusters, given_number, of_members, platonic_clusters
from benthoscope.engine.crowd.posterior import Beliefs
from benthoscope.engine.crowd.workers import Confusion, by_size, confusion, looking, quality, schools
from benthoscope.engine.metrics import adjusted_rand
from tests.crowds import at_random, single_criterion_crowd, tasks_for


def clusters_of(mean, covariance, labels=None):
    K = len(mean)
    labels = np.arange(K) if labels is None else np.asarray(labels)
    return PlatonicClusters(labels, np.eye(K)[labels], mean, covariance, np.zeros((len(labels), K)))


@pytest.fixture
def believed():
    """One worker and two clusters, with plenty of doubt."""
    rng = np.random.default_rng(0)
    matrix, variance = rng.normal(size=(1, 2, 2)), rng.uniform(0.05, 0.3, (1, 2, 2))
    even = ((matrix + matrix.mT) / 2, (variance + variance.mT) / 2)
    beliefs = Beliefs(
        np.zeros((2, 2)), np.ones((2, 2)), *even, np.array([0.3]), np.array([0.2]), np.empty(0), np.empty(0)
    )
    cov = np.array([[[0.3, 0.1], [0.1, 0.2]], [[0.2, -0.05], [-0.05, 0.4]]])
    return beliefs, clusters_of(rng.normal(size=(2, 2)), cov)


def test_the_source_s_estimate_is_a_bound_and_its_normal_form_a_logistic(believed):
    beliefs, clusters = believed
    matrix = confusion(beliefs, clusters)
    product = np.einsum("kd,jde,le->jkl", clusters.mean, beliefs.matrix, clusters.mean) + beliefs.bias[0]
    assert matrix.bound / matrix.certainty == pytest.approx(expit(product), abs=1e-12)
    assert matrix.normalised == pytest.approx(expit(product), abs=1e-12)
    assert (matrix.certainty <= 1 + 1e-12).all()
    assert (matrix.bound <= sampled_table(beliefs, clusters) + 0.005).all()


def sampled_table(beliefs, clusters, draws=400_000):
    rng = np.random.default_rng(1)
    out = np.empty((2, 2))
    entries = rng.normal(size=(draws, 2, 2))
    entries[:, 1, 0] = entries[:, 0, 1]
    W = beliefs.matrix[0] + np.sqrt(beliefs.matrix_variance[0]) * entries
    tau = beliefs.bias[0] + np.sqrt(beliefs.bias_variance[0]) * rng.normal(size=draws)
    for k in range(2):
        for m in range(2):
            a, b = (rng.multivariate_normal(clusters.mean[i], clusters.covariance[i], draws) for i in (k, m))
            out[k, m] = expit(np.einsum("nd,nde,ne->n", a, W, b) + tau).mean()
    return out


def test_merged_clusters_of_a_worker_are_in_block_order():
    table = np.full((1, 4, 4), 0.1)
    for block in ((0, 2), (1, 3)):
        table[0][np.ix_(block, block)] = 0.9
    merged_matrix = Confusion(table, table, table)
    atoms = merged_matrix.atoms(0)
    assert atoms[0] == atoms[2] != atoms[1] == atoms[3]
    order = merged_matrix.order(0).tolist()
    assert abs(order.index(0) - order.index(2)) == 1 and abs(order.index(1) - order.index(3)) == 1
    assert block_order(np.zeros((2, 2))).tolist() == [0, 1]


def test_quality_is_zero_for_constant_answers_and_the_entropy_for_correct_ones():
    labels = np.array([0, 0, 1, 1])
    clusters = clusters_of(np.eye(2), np.stack([np.eye(2)] * 2), labels)
    pairs = [(a, b) for a in range(4) for b in range(a)]
    rows = [[a, b, 0, int(labels[a] == labels[b])] for a, b in pairs] + [[a, b, 1, 1] for a, b in pairs]
    table = np.stack([np.where(np.eye(2) > 0, 1 - 1e-9, 1e-9), np.full((2, 2), 1 - 1e-9)])
    scores = quality(as_judgements(rows, n_workers=3), Confusion(table, table, table), clusters)
    rate = 2 / 6
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    assert scores[0] == pytest.approx(entropy, abs=0.02)
    assert scores[1] == pytest.approx(0, abs=0.02)
    assert np.isnan(scores[2])
    assert looking(scores, 0.3).tolist() == [True, False, True]


def test_schools_are_workers_who_merge_the_same_clusters():
    array, other = np.array([[0.9, 0.9], [0.9, 0.9]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    table = np.stack([array, other, array, other, other, array])
    clusters = clusters_of(np.eye(2), np.stack([np.eye(2)] * 2), [0, 0, 1, 1])
    trusted = np.array([True] * 5 + [False])
    assert schools(Confusion(table, table, table), clusters, trusted).tolist() == [1, 0, 1, 0, 0, -1]
    assert (schools(Confusion(table, table, table), clusters, np.zeros(6, bool)) == -1).all()


def test_groups_are_numbered_by_size():
    assert by_size(np.array([5, 5, 9, 9, 9])).tolist() == [1, 1, 0, 0, 0]


def test_separate_positions_are_found_with_their_number_and_most_certain_members():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 200)
    centres = np.array([[2, 2], [2, -2], [-2, 2], [-2, -2.0]])
    position = centres[truth] + 0.2 * rng.normal(size=(200, 2))
    judged = np.ones(200, bool)
    judged[:5] = False
    labels = platonic_clusters(position, judged, rng)[0]
    assert labels.K == 4 and (labels.labels[:5] == -1).all()
    assert len(set(zip(labels.labels[5:], truth[5:], strict=True))) == 4
    assert (np.diff(labels.sizes) <= 0).all()
    surest = labels.exemplars(0, 3)
    near = np.linalg.norm(position - labels.mean[0], axis=1)
    assert near[surest].max() < np.median(near[labels.labels == 0]) + 0.3
    given_count = given_number(position, judged, 2, rng)
    assert given_count.K == 2


def test_positions_all_in_one_place_are_one_cluster():
    labels = platonic_clusters(np.zeros((30, 2)), np.ones(30, bool), np.random.default_rng(0))[0]
    assert labels.K == 1 and np.isfinite(labels.covariance).all()


def test_nothing_judged_gives_no_cluster():
    labels = platonic_clusters(np.zeros((3, 2)), np.zeros(3, bool), np.random.default_rng(0))[0]
    assert labels.K == 0 and labels.labels.tolist() == [-1, -1, -1]


def sorted_answers(truth, workers, rng, slip=0.0):
    """Everybody judges every pair, some wrongly."""
    a, b = np.triu_indices(len(truth), 1)
    rows = [
        np.column_stack([a, b, np.full(len(a), worker), (truth[a] == truth[b]) ^ (rng.random(len(a)) < slip)])
        for worker in range(workers)
    ]
    return as_judgements(np.concatenate(rows).astype(int))


def test_clusters_that_no_worker_distinguishes_are_merged():
    rng = np.random.default_rng(0)
    truth = np.arange(40) % 2
    answers = Answers.of(sorted_answers(truth, 3, rng, 0.05))
    split = np.eye(4)[truth + 2 * (rng.random(40) < 0.5)]
    joined = told_apart(answers, split)
    assert joined.shape == (40, 2)
    assert evidence(answers, joined) > evidence(answers, split)
    assert (joined.argmax(1)[truth == 0] == joined[truth == 0].argmax(1)[0]).all()


def test_clusters_that_one_worker_distinguishes_stay_separate():
    rng = np.random.default_rng(0)
    truth = np.arange(40) % 4
    answers = Answers.of(sorted_answers(truth, 2, rng, 0.02))
    assert told_apart(answers, np.eye(4)[truth]).shape == (40, 4)


def test_judgements_with_less_weight_separate_fewer_clusters():
    rng = np.random.default_rng(0)
    truth = np.arange(40) % 4
    judged = sorted_answers(truth, 2, rng, 0.02)
    numbers = [told_apart(Answers.of(judged, weight), np.eye(4)[truth]).shape[1] for weight in (1.0, 0.3, 0.001)]
    assert numbers[0] == numbers[1] == 4 > numbers[2]


def test_an_item_in_the_wrong_cluster_is_moved_by_the_answers():
    rng = np.random.default_rng(0)
    truth = np.arange(40) % 2
    answers = Answers.of(sorted_answers(truth, 3, rng, 0.05))
    initial_labels = truth.copy()
    initial_labels[:3] = 1 - initial_labels[:3]
    likely = np.broadcast_to(np.where(np.eye(2) > 0, 0.9, 0.1), (3, 2, 2))
    shares_of_items = memberships(answers, np.eye(2)[initial_labels], likely)
    assert (shares_of_items.argmax(1) == truth).all()
    assert of_members(rng.normal(size=(40, 2)), shares_of_items).K == 2


def test_a_small_cluster_of_mistakes_is_removed_and_its_items_join_other_clusters():
    crowd = single_criterion_crowd(1, n_items=90, n_workers=10, clusters=3, spammers=0)
    answers = Answers.of(crowd.judgements(tasks_for(crowd, size=15, views=4), 1))
    strays = np.concatenate([np.flatnonzero(crowd.truth == kind)[:2] for kind in range(3)])
    mixed = crowd.truth.copy()
    mixed[strays] = 3
    labels = without_scraps(answers, np.eye(4)[mixed])
    assert labels.shape == (90, 3) and adjusted_rand(crowd.truth, labels.argmax(1)) == 1
    merged_labels = without_scraps(answers, np.eye(3)[crowd.truth])
    assert (merged_labels.argmax(1) == crowd.truth).all()


def test_no_worker_is_called_guessing_after_one_answer(rng=np.random.default_rng(0)):
    crowd = single_criterion_crowd(0, n_items=60, n_workers=12, spammers=0.25)
    tasks = sample_tasks(60, 12, 12, rng)
    often = [crowd.answer(worker, task) for worker, task in zip(np.arange(len(tasks)) % 12, tasks, strict=True)]
    newcomer = Sorting(12, tasks[0].tolist(), at_random(tasks[0], rng).tolist())
    model = BayesianCrowdClustering(dimensions=(2,), restarts=3, random_state=0)
    model.fit(judgements_of([*often, newcomer], 60, 13).judgements)
    assert not model.looking_[:12][crowd.spam].any() and model.looking_[:12][~crowd.spam].all() and model.looking_[12]
