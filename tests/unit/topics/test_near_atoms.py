"""Document steps with the atoms that count give what steps with all atoms give."""

import numpy as np
import pytest
from scipy.special import logsumexp

from benthoscope.engine.compute import InOrder
from benthoscope.engine.topics import document_step as steps
from benthoscope.engine.topics import sparse_mapping
from benthoscope.engine.topics.document_step import AllAtoms, FewAtoms, FrozenTopics
from benthoscope.engine.topics.documents import as_documents
from benthoscope.engine.topics.monitor import Monitor
from benthoscope.engine.topics.near_atoms import NearAtoms, RememberedAtoms, WeightedAtoms, _within, nearest_atoms
from benthoscope.engine.topics.sparse_mapping import normalised, towards
from benthoscope.engine.topics.state import initial_state, topic_prior
from benthoscope.engine.topics.updates import bound, global_step
from benthoscope.engine.topics.variational import AscentRule, Runtime, collect, coordinate_ascent
from tests.topic_corpora import scattered


@pytest.fixture(scope="module")
def fitted():
    corpus = scattered(30, 2.0, 0, size=40)
    data = as_documents(corpus.X - corpus.X.mean(0), corpus.image)
    rng = np.random.default_rng(0)
    state = initial_state(topic_prior(4, 8, float(corpus.X.var()), 4.0), data.random_rows(30, rng), rng)
    for _ in range(5):
        state = global_step(state, collect(data, state, Runtime(InOrder(), prune=False)))
    return data, state


def statistics_rows(data, state):
    block = data.blocks()[0]
    return block, np.ascontiguousarray(state.prior.base.features(block.read().T).T)


def test_the_atoms_that_count_give_the_same_sums_as_all_atoms(fitted):
    data, state = fitted
    frozen = FrozenTopics.of(state)
    _, rows = statistics_rows(data, state)
    every, few = AllAtoms.of(frozen, rows), FewAtoms.of(frozen, rows)
    G = every.topic_likelihood * np.exp(every.shift - few.shift)[:, None]
    np.testing.assert_allclose(few.topic_likelihood, G, rtol=1e-10, atol=1e-12)
    weights = np.random.default_rng(1).dirichlet(np.ones(4), len(rows))
    for own, other in zip(few.sums(weights), every.sums(weights), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)


def test_a_fit_with_many_atoms_equals_one_with_matrix_products(fitted, monkeypatch):
    data, state = fitted
    dense = collect(data, state, Runtime(InOrder()))
    monkeypatch.setattr(steps, "DENSE", 1)
    few = collect(data, state, Runtime(InOrder()))
    assert bound(state, few) == pytest.approx(bound(state, dense), rel=1e-11)
    np.testing.assert_allclose(few.document_counts, dense.document_counts, atol=1e-8)


def test_only_atoms_close_to_the_best_one_count():
    products = np.array([[0.0, -3.0, -200.0, -99.0], [-500.0, 1.0, 0.5, -400.0]])
    near = NearAtoms.all_that_count(np.eye(2), WeightedAtoms.of(products.T.copy(), np.zeros(4)))
    first, second = np.split(near.atoms, near.starts[1:-1])
    assert sorted(first) == [0, 1, 3] and sorted(second) == [1, 2]


def test_the_nearest_atoms_are_the_most_likely_ones():
    """Also when atoms share coefficients and differ in their weights only."""
    rng = np.random.default_rng(0)
    rows, of_groups = rng.standard_normal((50, 6)), rng.standard_normal((300, 6))
    rows[:, 0] = 1
    coefficients, weights = of_groups[rng.integers(300, size=500)], rng.standard_normal(500)
    atoms, products = WeightedAtoms.of(coefficients, weights), rows @ coefficients.T + weights
    assert len(atoms.groups) < 300
    expected = np.sort(np.argsort(-products, axis=1)[:, :9], axis=1)
    np.testing.assert_array_equal(np.sort(nearest_atoms(rows, atoms, 9), axis=1), expected)
    assert nearest_atoms(rows, WeightedAtoms.of(coefficients[:4], weights[:4]), 9).shape == (50, 4)
    expected_within = np.flatnonzero(products[0] >= products[0].max() - 2)
    counts, numbers, values = _within(rows[:1] @ atoms.groups.T, atoms.starts, atoms.members, atoms.behind, 2.0)
    assert sorted(numbers) == expected_within.tolist() and counts.tolist() == [len(numbers)]
    np.testing.assert_allclose(values, products[0, numbers])


def test_documents_are_searched_ever_more_rarely_and_when_their_atoms_are_gone():
    memory = RememberedAtoms(np.array([2, 1]), 3)
    searched = []
    for _ in range(9):
        lists, is_due = memory.visit(np.array([0, 1]))
        searched.append(bool(is_due[0]))
        lists[is_due] = [0, 1, 2]
        memory.store(np.array([0, 1]), lists)
    assert searched == [True, True, True, False, True, False, False, False, True]
    memory.renumber(np.array([1, 4]), 5)
    lists, is_due = memory.visit(np.array([1]))
    assert lists.tolist() == [[-1, 0, -1]] and not is_due.any()
    memory.renumber(np.array([1]), 2)
    assert memory.visit(np.array([1]))[1].all()


def test_remembered_atoms_end_close_to_all_atoms():
    corpus = scattered(60, 2.0, 1, size=40)
    data = as_documents(corpus.X - corpus.X.mean(0), corpus.image)
    rng = np.random.default_rng(0)
    state = initial_state(topic_prior(8, 8, float(corpus.X.var()), 8.0), data.random_rows(60, rng), rng)
    bounds = [
        coordinate_ascent(data, state, AscentRule(15, 0.0), Runtime(InOrder(), n_nearest=count), Monitor()).bound
        for count in (None, 24)
    ]
    assert bounds[1] == pytest.approx(bounds[0], rel=5e-3)


@pytest.mark.parametrize("large", [1_000_000, 1])
def test_a_step_of_the_mapping_is_the_one_of_the_formula(monkeypatch, large):
    """Also when the product is computed in single precision first."""
    monkeypatch.setattr(sparse_mapping, "LARGE", large)
    rng = np.random.default_rng(0)
    current, _ = normalised(rng.standard_normal((6, 4)), -800.0)
    np.testing.assert_allclose(np.exp(current).sum(1), 1)
    moments, coefficients = 1e5 * rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    coefficients[1:] = coefficients[0] + 1e-4 * coefficients[1:]
    likelihood, prior = moments @ coefficients.T, rng.standard_normal(4)
    for rate in (1.0, 0.25):
        log_rows, links = towards(current, moments, coefficients, prior, 2.0, rate, -800.0)
        target = (1 - rate) * current + rate * (prior + likelihood / 2)
        target -= logsumexp(target, axis=1, keepdims=True)
        np.testing.assert_allclose(log_rows, target, atol=1e-9)
        np.testing.assert_allclose(links.toarray(), np.exp(target), atol=1e-12)
