"""Crowd clustering on simulated crowds with known truth (figures of the methods note, 7.2) and on real answers."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benthoscope.engine.crowd import (
    BayesianCrowdClustering,
    FactorizationCrowdClustering,
    average_linkage,
    informative_tasks,
)
from benthoscope.engine.metrics import adjusted_rand, variation_of_information
from tests.crowds import attribute_crowd, tasks_for


@pytest.fixture(scope="module")
def once():
    """Return crowds, their answers with one worker per task, and the fits."""
    crowds = [attribute_crowd(seed) for seed in range(5)]
    judged = [crowd.judgements(tasks_for(crowd)) for crowd in crowds]
    fits = [BayesianCrowdClustering(random_state=0).fit(some) for some in judged]
    return list(zip(crowds, judged, fits, strict=True))


@pytest.fixture(scope="module")
def thrice():
    """Return the same with three workers per task."""
    crowds = [attribute_crowd(seed) for seed in range(3)]
    judged = [crowd.judgements(tasks_for(crowd), 3) for crowd in crowds]
    fits = [BayesianCrowdClustering(random_state=0, restarts=3).fit(some) for some in judged]
    return list(zip(crowds, judged, fits, strict=True))


def test_with_one_worker_a_task_the_bayesian_model_leads_by_far(once):
    scores = [adjusted_rand(crowd.truth, fit.labels_) for crowd, _, fit in once]
    linked = [adjusted_rand(crowd.truth, average_linkage(judged, 6)) for crowd, judged, _ in once]
    factored = [
        adjusted_rand(
            crowd.truth, FactorizationCrowdClustering(6, starts=1, max_iter=300, random_state=0).fit(judged).labels_
        )
        for crowd, judged, _ in once
    ]
    assert np.mean(scores) >= 0.70 and min(scores) >= 0.55, scores
    assert np.mean([variation_of_information(crowd.truth, fit.labels_) for crowd, _, fit in once]) <= 1.0
    assert np.mean(linked) <= 0.40 and np.mean(scores) - np.mean(linked) >= 0.3
    assert np.mean(scores) > np.mean(factored)


def test_with_three_workers_a_task_clusters_and_their_number_are_right(thrice):
    scores = [adjusted_rand(crowd.truth, fit.labels_) for crowd, _, fit in thrice]
    assert np.mean(scores) >= 0.92, scores
    assert np.mean([variation_of_information(crowd.truth, fit.labels_) for crowd, _, fit in thrice]) <= 0.25
    assert all(6 <= fit.n_clusters_ <= 9 for _, _, fit in thrice)
    linked = [adjusted_rand(crowd.truth, average_linkage(judged, 6)) for crowd, judged, _ in thrice]
    assert np.mean(scores) - np.mean(linked) >= 0.2


def test_guessers_rank_last_and_do_not_affect_positions(once, thrice):
    for some, least in ((once, 0.9), (thrice, 0.95)):
        areas = [roc_auc_score(crowd.spam, -fit.worker_quality_) for crowd, _, fit in some]
        assert np.mean(areas) >= least, areas
    for crowd, _, fit in thrice:
        assert (~fit.looking_[crowd.spam]).mean() >= 0.8 and fit.looking_[~crowd.spam].mean() >= 0.9


def test_workers_are_grouped_by_their_criteria(once, thrice):
    for crowd, _, fit in [*once, *thrice]:
        is_selected = ~crowd.spam & (fit.schools() >= 0)
        names = np.unique(crowd.kind[is_selected], return_inverse=True)[1]
        assert adjusted_rand(names, fit.schools()[is_selected]) >= 0.9


def test_tables_of_workers_predict_how_often_they_merge_clusters(once, thrice):
    errors = []
    for _, judged, fit in [*once, *thrice]:
        asked, merged = np.zeros((2, judged.n_workers, fit.n_clusters_, fit.n_clusters_))
        worker_and_clusters = (judged.worker, fit.labels_[judged.first], fit.labels_[judged.second])
        np.add.at(asked, worker_and_clusters, 1)
        np.add.at(merged, worker_and_clusters, judged.same)
        well = (asked >= 20) & fit.looking_[:, None, None]
        errors.append(np.abs(fit.confusion().normalised[well] - merged[well] / asked[well]).mean())
    assert np.mean(errors) <= 0.08, errors


def test_the_gain_shows_whether_there_is_structure(once):
    assert all(fit.gain_ > 0.1 for _, _, fit in once)


def test_informative_tasks_show_uncertain_items(once):
    _, _, fit = once[0]
    tasks = informative_tasks(fit, 20, 10, np.random.default_rng(0))
    assert all(len(set(task.tolist())) == 20 for task in tasks)
    shown = np.concatenate(tasks)
    doubt = 1 - fit.probabilities_.max(1)
    assert doubt[shown].mean() > 1.5 * doubt.mean()
    assert fit.views_[shown].mean() < fit.views_.mean()
