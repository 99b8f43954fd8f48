"""Crowd clustering on simulated crowds of known truth (figures of the methods note, 7.2) and on real answers."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.metrics import roc_auc_score

from engine.crowd import (
    BayesianCrowdClustering,
    FactorizationCrowdClustering,
    average_linkage,
    informative_tasks,
    judgements_of,
    labels_of,
    refined,
)
from engine.crowd.judgements import Sorting
from engine.metrics import adjusted_rand, variation_of_information
from tests.crowds import attribute_crowd, context_crowd, greeble_crowd, school_crowd, single_criterion_crowd, tasks_for

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(scope="module")
def once():
    """Crowds, what they said with one worker a task, and what was learned of it."""
    crowds = [attribute_crowd(seed) for seed in range(5)]
    judged = [crowd.judgements(tasks_for(crowd)) for crowd in crowds]
    fits = [BayesianCrowdClustering(random_state=0).fit(some) for some in judged]
    return list(zip(crowds, judged, fits, strict=True))


@pytest.fixture(scope="module")
def thrice():
    """The same with three workers a task."""
    crowds = [attribute_crowd(seed) for seed in range(3)]
    judged = [crowd.judgements(tasks_for(crowd), 3) for crowd in crowds]
    fits = [BayesianCrowdClustering(random_state=0, restarts=3).fit(some) for some in judged]
    return list(zip(crowds, judged, fits, strict=True))


def test_with_one_worker_a_task_the_bayesian_model_leads_by_far(once):
    found = [adjusted_rand(crowd.truth, fit.labels_) for crowd, _, fit in once]
    linked = [adjusted_rand(crowd.truth, average_linkage(judged, 6)) for crowd, judged, _ in once]
    factored = [adjusted_rand(crowd.truth, FactorizationCrowdClustering(6, starts=1, max_iter=300, random_state=0)
                              .fit(judged).labels_) for crowd, judged, _ in once]
    assert np.mean(found) >= 0.70 and min(found) >= 0.55, found
    assert np.mean([variation_of_information(crowd.truth, fit.labels_) for crowd, _, fit in once]) <= 1.0
    assert np.mean(linked) <= 0.40 and np.mean(found) - np.mean(linked) >= 0.3
    assert np.mean(found) > np.mean(factored)


def test_with_three_workers_a_task_clusters_and_their_number_are_right(thrice):
    found = [adjusted_rand(crowd.truth, fit.labels_) for crowd, _, fit in thrice]
    assert np.mean(found) >= 0.92, found
    assert np.mean([variation_of_information(crowd.truth, fit.labels_) for crowd, _, fit in thrice]) <= 0.25
    assert all(6 <= fit.n_clusters_ <= 9 for _, _, fit in thrice)
    linked = [adjusted_rand(crowd.truth, average_linkage(judged, 6)) for crowd, judged, _ in thrice]
    assert np.mean(found) - np.mean(linked) >= 0.2


def test_guessers_rank_last_and_have_no_say(once, thrice):
    for some, least in ((once, 0.9), (thrice, 0.95)):
        areas = [roc_auc_score(crowd.spam, -fit.worker_quality_) for crowd, _, fit in some]
        assert np.mean(areas) >= least, areas
    for crowd, _, fit in thrice:
        assert (~fit.looking_[crowd.spam]).mean() >= 0.8 and fit.looking_[~crowd.spam].mean() >= 0.9


def test_workers_are_grouped_by_what_they_go_by(once, thrice):
    for crowd, _, fit in [*once, *thrice]:
        looks = ~crowd.spam & (fit.schools() >= 0)
        names = np.unique(crowd.kind[looks], return_inverse=True)[1]
        assert adjusted_rand(names, fit.schools()[looks]) >= 0.9


def test_tables_of_workers_foretell_how_often_they_merge_clusters(once, thrice):
    errors = []
    for _, judged, fit in [*once, *thrice]:
        asked, merged = np.zeros((2, judged.n_workers, fit.n_clusters_, fit.n_clusters_))
        place = (judged.worker, fit.labels_[judged.first], fit.labels_[judged.second])
        np.add.at(asked, place, 1)
        np.add.at(merged, place, judged.same)
        well = (asked >= 20) & fit.looking_[:, None, None]
        errors.append(np.abs(fit.confusion().normalised[well] - merged[well] / asked[well]).mean())
    assert np.mean(errors) <= 0.08, errors


def test_the_gain_tells_structure_from_noise(once):
    assert all(fit.gain_ > 0.1 for _, _, fit in once)
    guessing = single_criterion_crowd(0, spammers=1.0)
    fit = BayesianCrowdClustering(random_state=0).fit(guessing.judgements(tasks_for(guessing, 15), 3))
    assert fit.gain_ < 0.05


@pytest.mark.parametrize("spammers", [0.125, 0.5])
def test_one_criterion_is_found_even_if_half_the_crowd_guesses(spammers):
    crowd = single_criterion_crowd(0, spammers=spammers)
    fit = BayesianCrowdClustering(random_state=0).fit(crowd.judgements(tasks_for(crowd, 15), 3))
    assert adjusted_rand(crowd.truth, fit.labels_) >= 0.95
    assert 4 <= fit.n_clusters_ <= 5


def test_a_crowd_that_only_guesses_has_one_cluster():
    found = []
    for seed in range(3):
        crowd = single_criterion_crowd(seed, spammers=1.0)
        fit = BayesianCrowdClustering(random_state=0).fit(crowd.judgements(tasks_for(crowd, 15), 3))
        found.append(fit.n_clusters_)
    assert found.count(1) >= 2, found


def test_two_dimensions_hold_the_two_great_schools_and_three_all_of_them():
    crowd = greeble_crowd(0)
    judged = crowd.judgements(tasks_for(crowd), 10)
    flat = BayesianCrowdClustering(random_state=0, dimensions=[2], restarts=3).fit(judged)
    solid = BayesianCrowdClustering(random_state=0, dimensions=[3], restarts=3).fit(judged)
    assert adjusted_rand(crowd.truth // 2, flat.labels_) >= 0.80
    assert 7 <= solid.n_clusters_ <= 10
    assert adjusted_rand(crowd.truth, solid.labels_) >= 0.80


def test_showing_a_cluster_s_items_among_themselves_finds_what_context_hides():
    crowd = context_crowd(0)

    def ask(tasks):
        return crowd.judgements(tasks, 3)

    def new_model():
        return BayesianCrowdClustering(random_state=0, dimensions=(1, 2, 3), restarts=3)

    tree = refined(np.arange(crowd.n_items), ask, new_model, np.random.default_rng(0), size=20, views=6)
    fine = adjusted_rand(crowd.truth, labels_of(tree, crowd.n_items))
    flat = adjusted_rand(crowd.truth, new_model().fit(ask(tasks_for(crowd, 20, 12))).labels_)
    assert fine >= 0.55 and flat <= 0.40, (fine, flat)


def test_colluders_and_the_lazy_do_not_carry_the_day():
    crowd = school_crowd(1, lazy=0.15, colluders=0.1)
    fit = BayesianCrowdClustering(random_state=0, dimensions=(3, 4), restarts=3)
    fit.fit(crowd.judgements(tasks_for(crowd), 3))
    assert adjusted_rand(crowd.truth, fit.labels_) >= 0.9
    assert roc_auc_score(crowd.spam, -fit.worker_quality_) >= 0.9


def test_informative_tasks_show_what_is_in_doubt(once):
    _, _, fit = once[0]
    tasks = informative_tasks(fit, 20, 10, np.random.default_rng(0))
    assert all(len(set(task.tolist())) == 20 for task in tasks)
    shown = np.concatenate(tasks)
    doubt = 1 - fit.probabilities_.max(1)
    assert doubt[shown].mean() > 1.5 * doubt.mean()
    assert fit.views_[shown].mean() < fit.views_.mean()


def test_real_answers_on_two_birds_are_foretold_better_than_by_the_base_rate():
    """39 people said of 108 pictures whether they show one kind of bunting; seen here as sorting into two groups."""
    folder = DATA / "crowd_welinder"
    if not folder.exists():
        pytest.skip("the bluebird answers are not at hand (shared/data/crowd_welinder)")
    judged, truth = bluebirds(folder)
    rest, held = judged.split(0.2, np.random.default_rng(0))
    fit = BayesianCrowdClustering(random_state=0, dimensions=(1, 2, 3), restarts=3).fit(rest)
    rate = held.same.mean()
    base = rate * np.log(rate) + (1 - rate) * np.log(1 - rate)
    assert fit.score(held) > base + 0.01
    together = adjusted_rand(truth, fit.labels_)
    assert together > adjusted_rand(truth, average_linkage(rest, 2))


def bluebirds(folder, size=18):
    """Each worker's answers on pictures in tasks of `size`, and the true kind of each picture."""
    answers = yaml.safe_load((folder / "bluebirds_labels.yaml").read_text(encoding="utf-8"))
    truth = yaml.safe_load((folder / "bluebirds_gt.yaml").read_text(encoding="utf-8"))
    pictures = sorted(truth)
    sortings, rng = [], np.random.default_rng(0)
    for worker, name in enumerate(sorted(answers)):
        for part in np.array_split(rng.permutation(len(pictures)), len(pictures) // size):
            sortings.append(Sorting(worker, part.tolist(), [bool(answers[name][pictures[i]]) for i in part]))
    return (judgements_of(sortings, len(pictures), len(answers)).judgements,
            np.array([truth[name] for name in pictures]).astype(int))


