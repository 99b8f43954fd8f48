"""Crowd clustering of crowds that agree, guess, split in schools, depend on context; and of real answers."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.metrics import roc_auc_score

from benthoscope.engine.crowd import BayesianCrowdClustering, average_linkage, judgements_of, labels_of, refined
from benthoscope.engine.crowd.judgements import Sorting
from benthoscope.engine.metrics import adjusted_rand
from tests.crowds import context_crowd, greeble_crowd, school_crowd, single_criterion_crowd, tasks_for

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.parametrize("spammers", [0.125, 0.5])
def test_one_criterion_is_found_even_if_half_the_crowd_guesses(spammers):
    crowd = single_criterion_crowd(0, spammers=spammers)
    fit = BayesianCrowdClustering(random_state=0).fit(crowd.judgements(tasks_for(crowd, 15), 3))
    assert adjusted_rand(crowd.truth, fit.labels_) >= 0.95
    assert 4 <= fit.n_clusters_ <= 5


def test_a_crowd_that_only_guesses_has_one_cluster():
    pairs = []
    for seed in range(3):
        crowd = single_criterion_crowd(seed, spammers=1.0)
        fit = BayesianCrowdClustering(random_state=0).fit(crowd.judgements(tasks_for(crowd, 15), 3))
        pairs.append((fit.n_clusters_, fit.gain_))
    assert [K for K, _ in pairs].count(1) >= 2, pairs
    assert max(gain for _, gain in pairs) < 0.05, pairs


def test_two_dimensions_separate_the_two_large_schools_and_three_separate_all():
    crowd = greeble_crowd(0)
    judged = crowd.judgements(tasks_for(crowd), 10)
    flat = BayesianCrowdClustering(random_state=0, dimensions=[2], restarts=3).fit(judged)
    solid = BayesianCrowdClustering(random_state=0, dimensions=[3], restarts=3).fit(judged)
    assert adjusted_rand(crowd.truth // 2, flat.labels_) >= 0.95
    assert 7 <= solid.n_clusters_ <= 10
    assert adjusted_rand(crowd.truth, solid.labels_) >= 0.80


def test_showing_the_items_of_one_cluster_reveals_differences_that_context_hides():
    crowd = context_crowd(0)

    def ask(tasks):
        return crowd.judgements(tasks, 3)

    def new_model():
        return BayesianCrowdClustering(random_state=0, dimensions=(1, 2, 3), restarts=3)

    tree = refined(np.arange(crowd.n_items), ask, new_model, np.random.default_rng(0), size=20, views=6)
    fine = adjusted_rand(crowd.truth, labels_of(tree, crowd.n_items))
    flat = adjusted_rand(crowd.truth, new_model().fit(ask(tasks_for(crowd, 20, 12))).labels_)
    assert fine >= 0.55 and flat <= 0.40, (fine, flat)


def test_colluding_and_careless_workers_do_not_change_the_result():
    crowd = school_crowd(1, lazy=0.15, colluders=0.1)
    fit = BayesianCrowdClustering(random_state=0, dimensions=(3, 4), restarts=3)
    fit.fit(crowd.judgements(tasks_for(crowd), 3))
    assert adjusted_rand(crowd.truth, fit.labels_) >= 0.9
    assert roc_auc_score(crowd.spam, -fit.worker_quality_) >= 0.9


def test_real_answers_on_two_birds_are_predicted_better_than_by_the_base_rate():
    """39 people judged for 108 images whether they show one kind of bunting. Here these answers are sortings into two
    groups. 153 pairs of an answer come from 18 decisions; with full weight, the model would overestimate their
    information."""
    folder = DATA / "crowd_welinder"
    if not folder.exists():
        pytest.skip("the bluebird answers are not at hand (shared/data/crowd_welinder)")
    judged, truth = bluebirds(folder)
    training, held_out = judged.split(0.2, np.random.default_rng(0))
    fit = BayesianCrowdClustering(random_state=0, dimensions=(1, 2, 3), restarts=3, judgement_weight=0.3).fit(training)
    rate = held_out.same.mean()
    base = rate * np.log(rate) + (1 - rate) * np.log(1 - rate)
    assert fit.score(held_out) > base + 0.01
    together = adjusted_rand(truth, fit.labels_)
    assert together > adjusted_rand(truth, average_linkage(training, 2))


def bluebirds(folder, size=18):
    """Return each worker's answers for images in tasks of `size`, and the true kind of each image."""
    answers = yaml.safe_load((folder / "bluebirds_labels.yaml").read_text(encoding="utf-8"))
    truth = yaml.safe_load((folder / "bluebirds_gt.yaml").read_text(encoding="utf-8"))
    pictures = sorted(truth)
    sortings, rng = [], np.random.default_rng(0)
    for worker, name in enumerate(sorted(answers)):
        for piece in np.array_split(rng.permutation(len(pictures)), len(pictures) // size):
            sortings.append(Sorting(worker, piece.tolist(), [bool(answers[name][pictures[i]]) for i in piece]))
    return (
        judgements_of(sortings, len(pictures), len(answers)).judgements,
        np.array([truth[name] for name in pictures]).astype(int),
    )
