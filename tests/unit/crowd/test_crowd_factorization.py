"""Crowd clustering by factors, and the baselines."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from benthoscope.engine.crowd import (
    BayesianCrowdClustering,
    FactorizationCrowdClustering,
    as_judgements,
    average_linkage,
    consensus_factors,
    judgements_of,
    majority,
    sample_tasks,
    spectral_clusters,
)
from benthoscope.engine.crowd.baselines import coassociation
from benthoscope.engine.crowd.factorization import Factors, Targets, em_step, weighted_step
from benthoscope.engine.crowd.judgements import pairs_of
from benthoscope.engine.metrics import adjusted_rand
from benthoscope.engine.problems import BadInput
from tests.crowds import single_criterion_crowd


@pytest.fixture(scope="module")
def crowd():
    return single_criterion_crowd(0, n_items=60, n_workers=8)


@pytest.fixture(scope="module")
def judged(crowd):
    return crowd.judgements(sample_tasks(60, 12, 6, crowd.rng), 3)


def random_factors(judged, K, rng):
    mixed = rng.random((judged.n_workers, K, K))
    return Factors(rng.uniform(0.1, 0.6, (judged.n_items, K)), 0.6 * np.eye(K) + 0.1 * (mixed + mixed.mT))


def test_the_weighted_error_never_rises(judged):
    data, factors = Targets(pairs_of(judged)), random_factors(judged, 4, np.random.default_rng(0))
    errors = []
    for _ in range(150):
        factors, error = weighted_step(data, factors)
        errors.append(error)
    assert (np.diff(errors) <= 1e-9 * errors[0]).all()
    assert errors[-1] < 0.7 * errors[0]


def test_sparse_sums_equal_those_of_whole_matrices(crowd):
    """One EM step on a crowd of ten items, against the updates written with N x N matrices."""
    answers = [crowd.answer(worker, np.arange(10)) for worker in range(3)]
    judged = judgements_of(answers, 10, 3).judgements
    data, factors = Targets(pairs_of(judged)), random_factors(judged, 3, np.random.default_rng(1))
    step_result = em_step(data, factors)[0]
    L, P = dense(judged)
    Z, W = factors.items, factors.workers
    filled = P * L + (1 - P) * (Z @ W @ Z.T)
    G = np.maximum((filled @ Z @ W).sum(0), 0)
    Z = Z * np.sqrt(G / (Z @ (Z.T @ G)))
    filled = P * L + (1 - P) * (Z @ W @ Z.T)
    W = W * np.sqrt((Z.T @ filled @ Z) / (Z.T @ Z @ W @ Z.T @ Z))
    assert step_result.items == pytest.approx(Z, rel=1e-9)
    assert step_result.workers == pytest.approx(W, rel=1e-9)


def dense(judged):
    L, P = np.zeros((2, judged.n_workers, judged.n_items, judged.n_items))
    for a, b, j, same in zip(judged.first, judged.second, judged.worker, judged.same, strict=True):
        L[j, a, b] = L[j, b, a] = same
        P[j, a, b] = P[j, b, a] = 1
    for j in range(judged.n_workers):
        is_known = P[j].any(0)
        L[j][is_known, is_known] = P[j][is_known, is_known] = 1
    return L, P


def test_every_method_finds_clusters_that_all_workers_agree_on(crowd, judged):
    rng = np.random.default_rng(0)
    settings = {
        "factors": FactorizationCrowdClustering(4, starts=2, random_state=0).fit_predict(judged),
        "consensus": consensus_factors(judged, 4, starts=2, random_state=0),
        "linkage": average_linkage(judged, 4),
        "spectral": spectral_clusters(judged, 4, rng),
        "bayes": BayesianCrowdClustering(random_state=0, dimensions=(2, 3)).fit_predict(judged),
    }
    scores = {name: adjusted_rand(crowd.truth, labels) for name, labels in settings.items()}
    assert min(scores.values()) > 0.9, scores


def test_majority_links_pairs_that_most_put_together():
    rows = [[0, 1, 0, 1], [0, 1, 1, 1], [0, 1, 2, 0], [1, 2, 0, 1], [2, 3, 0, 0], [3, 4, 0, 1], [3, 4, 1, 0]]
    labels = majority(as_judgements(rows))
    assert labels[0] == labels[1] == labels[2]
    assert len({labels[0], labels[3], labels[4]}) == 3


def test_the_table_of_all_pairs_is_symmetric_with_the_mean_where_nobody_judged(judged):
    table = coassociation(judged)
    assert (table == table.T).all() and (np.diagonal(table) == 1).all()
    assert np.isclose(table, judged.same.mean()).any()


def test_items_nobody_judged_are_in_no_cluster(judged):
    changed = replace(judged, n_items=judged.n_items + 2)
    assert FactorizationCrowdClustering(4, starts=1, random_state=0).fit(changed).labels_[-2:].tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"form": "emm"}, "did you mean 'em'"),
        ({"n_clusters": 0}, "1 or more"),
    ],
)
def test_a_wrong_setting_is_reported(judged, change, words):
    with pytest.raises(BadInput, match=words):
        FactorizationCrowdClustering(**change).fit(judged)


@pytest.mark.parametrize(
    "model",
    [
        BayesianCrowdClustering(restarts=2, dimensions=[2]),
        FactorizationCrowdClustering(3),
    ],
)
def test_estimators_are_cloned_with_their_parameters_and_need_judgements(model):
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    with pytest.raises(BadInput, match="there are no judgements"):
        copied.fit(np.empty((0, 4)))


@pytest.mark.parametrize("change", [{"restarts": 0}, {"width": 0}, {"judgement_weight": 2}, {"dimensions": []}])
def test_a_wrong_setting_of_the_bayesian_model_is_reported(judged, change):
    with pytest.raises(BadInput):
        BayesianCrowdClustering(**change).fit(judged)
