"""The bound of the Bayesian crowd model and its updates, against sampling, differences and invariances (note 7.2)."""

from dataclasses import replace

import numpy as np
import pytest

from benthoscope.engine.crowd import BayesianCrowdClustering, Sorting, as_judgements, judgements_of
from benthoscope.engine.crowd.initialisation import nothing_to_find
from benthoscope.engine.crowd.judgements import pairs_of
from benthoscope.engine.crowd.posterior import (
    Beliefs,
    Prior,
    activities,
    bound,
    crossing,
    curvature,
    opening,
    packed,
    pairing,
    retouched,
    second_moments,
    spreading,
    sweep,
    unpacked,
    upper,
    with_items,
    with_matrices,
)
from benthoscope.engine.progress import Cancelled
from tests.crowds import attribute_crowd, tasks_for

pytestmark = pytest.mark.thorough

PRIOR = Prior()


def random_beliefs(rng, N, J, D, E):
    matrix, variance = rng.normal(size=(J, D, D)), rng.uniform(0.1, 1, (J, D, D))
    even = ((matrix + matrix.mT) / 2, (variance + variance.mT) / 2)
    return Beliefs(
        rng.normal(size=(N, D)),
        rng.uniform(0.1, 1, (N, D)),
        *even,
        rng.normal(size=J),
        rng.uniform(0.1, 1, J),
        np.empty(E),
        np.empty(E),
    )


@pytest.fixture(scope="module")
def small():
    """60 judgements of 7 items by 3 workers."""
    rng = np.random.default_rng(3)
    pairs = rng.permuted(np.tile(np.arange(7), (60, 1)), axis=1)[:, :2]
    rows = np.column_stack([pairs, rng.integers(0, 3, 60), rng.integers(0, 2, 60)])
    return pairs_of(as_judgements(rows, n_items=7, n_workers=3))


@pytest.fixture(scope="module")
def crowd():
    """17,100 judgements of 300 items: one worker a task."""
    made = attribute_crowd(0)
    return pairs_of(made.judgements(tasks_for(made)))


def test_moments_match_a_million_draws():
    rng = np.random.default_rng(0)
    D, draws = 3, 1_000_000
    pairs = pairs_of(as_judgements([[0, 1, 0, 1]]))
    q = random_beliefs(rng, 2, 1, D, 2)
    a, b = (q.position[i] + np.sqrt(q.position_variance[i]) * rng.normal(size=(draws, D)) for i in (0, 1))
    entries = packed(q.matrix[0]) + np.sqrt(packed(q.matrix_variance[0])) * rng.normal(size=(draws, 6))
    W = unpacked(entries, D)
    activity = np.einsum("nd,nde,ne->n", a, W, b) + q.bias[0] + np.sqrt(q.bias_variance[0]) * rng.normal(size=draws)
    first, second = activities(pairs, q)
    assert first[0] == pytest.approx(activity.mean(), rel=0.01, abs=0.03)
    assert second[0] == pytest.approx((activity**2).mean(), rel=0.01)
    turned = np.einsum("nde,ne->nd", W, b)
    M = second_moments(q.position, q.position_variance)
    foretold = spreading(q.matrix, q.matrix_variance)[0] @ M[1]
    assert unpacked(foretold, D) == pytest.approx(turned.T @ turned / draws, rel=0.01, abs=0.03)
    d, e = upper(D)
    z = a[:, d] * b[:, e] + np.where(d != e, a[:, e] * b[:, d], 0)
    assert crossing(np.outer(M[0], M[1]), D) == pytest.approx(z.T @ z / draws, rel=0.01, abs=0.03)
    assert pairing(np.outer(q.position[0], q.position[1])) == pytest.approx(z.mean(0), rel=0.01, abs=0.03)


def test_at_convergence_the_bound_is_flat_in_every_parameter(small):
    rng = np.random.default_rng(1)
    beliefs = opening(small, PRIOR, rng.standard_normal((7, 3)), 1.0)
    before = -np.inf
    for _ in range(20_000):
        beliefs, reported_bound = sweep(small, beliefs, PRIOR)
        if reported_bound - before < 1e-14 * abs(reported_bound):
            break
        before = reported_bound
    names = ("position", "position_variance", "matrix", "matrix_variance", "bias", "bias_variance", "delta")
    slopes = {name: max(abs(slope) for slope in _slopes(small, beliefs, name)) for name in names}
    assert max(slopes.values()) < 1e-5, slopes


def _slopes(pairs, beliefs, name, step=1e-5):
    values = getattr(beliefs, name)
    for position in np.ndindex(values.shape):
        if name.startswith("matrix") and position[1] > position[2]:
            continue
        sides = []
        for sign in (1, -1):
            moved = values.copy()
            moved[_mirrored(name, position, pairs)] += sign * step
            sides.append(bound(pairs, _weighed(pairs, replace(beliefs, **{name: moved})), PRIOR))
        yield (sides[0] - sides[1]) / (2 * step)


def _mirrored(name, position, pairs):
    """Both places where one parameter stands."""
    if name.startswith("matrix"):
        j, d, e = position
        return ([j], [d], [e]) if d == e else ([j, j], [d, e], [e, d])
    return [position[0], pairs.mirror[position[0]]] if name == "delta" else position


def _weighed(pairs, beliefs):
    return replace(beliefs, weight=pairs.count * curvature(beliefs.delta))


def test_no_block_update_ever_lowers_the_bound(crowd):
    beliefs = opening(crowd, PRIOR, np.random.default_rng(0).standard_normal((300, 4)), 1.0)
    bounds = [bound(crowd, beliefs, PRIOR)]
    blocks = (
        lambda q: with_items(crowd, q, PRIOR),
        lambda q: with_matrices(crowd, q, PRIOR),
        lambda q: retouched(crowd, q)[0],
    )
    for number in range(400):
        beliefs = blocks[number % 3](beliefs)
        bounds.append(bound(crowd, beliefs, PRIOR))
    assert np.diff(bounds).min() > -1e-8 * abs(bounds[-1])
    assert bounds[-1] > bounds[0] + 0.1 * crowd.n_judgements


def test_the_bound_of_a_sweep_equals_the_sum_of_all_terms(crowd):
    beliefs = opening(crowd, PRIOR, np.random.default_rng(0).standard_normal((300, 3)), 1.0)
    for _ in range(5):
        beliefs, reported_bound = sweep(crowd, beliefs, PRIOR)
    assert reported_bound == pytest.approx(bound(crowd, beliefs, PRIOR), rel=1e-11)


def test_the_bound_lies_below_the_log_evidence(small):
    """Importance sampling from the prior, on four judgements so that it can be trusted."""
    rows = [[0, 1, 0, 1], [1, 2, 0, 0], [0, 2, 0, 0], [0, 3, 0, 1]]
    pairs = pairs_of(as_judgements(rows))
    prior = Prior(1.0, 1.0, 1.0)
    beliefs = opening(pairs, prior, np.random.default_rng(0).standard_normal((4, 2)), 1.0)
    for _ in range(500):
        beliefs, reported_bound = sweep(pairs, beliefs, prior)
    rng, draws = np.random.default_rng(1), 200_000
    x, w, tau = rng.normal(size=(draws, 4, 2)), rng.normal(size=(draws, 3)), rng.normal(size=draws)
    W = unpacked(w, 2)
    likelihood = np.ones(draws)
    for a, b, _, same in rows:
        activity = np.einsum("nd,nde,ne->n", x[:, a], W, x[:, b]) + tau
        likelihood /= 1 + np.exp(-(1 if same else -1) * activity)
    evidence = np.log(likelihood.mean())
    assert (
        evidence - 1.5 < reported_bound < evidence
    )  # it keeps one of the many mirrored optima, and forgets the others


def test_swapping_the_items_of_judgements_changes_nothing():
    crowd = attribute_crowd(1, n_items=40, n_workers=6)
    judged = crowd.judgements(tasks_for(crowd, 10, 4))
    swapped = replace(judged, first=judged.second, second=judged.first)
    start = np.random.default_rng(0).standard_normal((40, 3))
    ends = [_after(pairs_of(some), start, 30) for some in (judged, swapped)]
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-12)


def test_reflecting_and_exchanging_axes_changes_nothing(small):
    start = np.random.default_rng(0).standard_normal((7, 3))
    turned = start[:, [2, 0, 1]] * [1, -1, 1]
    ends = [_after(small, some, 30) for some in (start, turned)]
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-9)


def test_only_the_product_of_the_scales_matters(small):
    start, c = np.random.default_rng(0).standard_normal((7, 3)), np.sqrt(5)
    wide = Prior(PRIOR.items * c**2, PRIOR.matrices / c**4, PRIOR.bias)
    initial = opening(small, PRIOR, start, 1.0)
    same = replace(opening(small, wide, c * start, c**2), matrix=initial.matrix / c**2)
    same = retouched(small, same)[0]
    ends = [_followed(small, q, prior, 30) for q, prior in ((initial, PRIOR), (same, wide))]
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-9)
    assert c * ends[0][0].position == pytest.approx(ends[1][0].position, abs=1e-8)


def _after(pairs, start, sweeps):
    return _followed(pairs, opening(pairs, PRIOR, start, 1.0), PRIOR, sweeps)


def _followed(pairs, beliefs, prior, sweeps):
    for _ in range(sweeps):
        beliefs, reported_bound = sweep(pairs, beliefs, prior)
    return beliefs, reported_bound


def test_a_start_near_the_origin_collapses_and_the_default_does_not(crowd):
    rng = np.random.default_rng(0)
    collapsed = _followed(crowd, opening(crowd, PRIOR, 0.1 * rng.standard_normal((300, 4)), 1.0), PRIOR, 150)[0]
    assert np.abs(collapsed.position).max() < 1e-6
    assert bound(crowd, collapsed, PRIOR) < nothing_to_find(crowd, PRIOR) + 0.01 * crowd.n_judgements


def test_workers_without_answers_and_items_never_shown_keep_their_priors():
    pairs = pairs_of(as_judgements([[0, 1, 0, 1], [1, 2, 0, 0]], n_items=5, n_workers=3))
    beliefs = _after(pairs, np.random.default_rng(0).standard_normal((5, 2)), 5)[0]
    assert (beliefs.matrix[1:] == 0).all() and (beliefs.matrix_variance[1:] == PRIOR.matrices).all()
    assert (beliefs.bias[1:] == 0).all() and (beliefs.bias_variance[1:] == PRIOR.bias).all()
    model = BayesianCrowdClustering(dimensions=[1], random_state=0)
    model.fit([[0, 1, 0, 1], [1, 2, 0, 0]], n_items=5, n_workers=3)
    assert model.labels_[3:].tolist() == [-1, -1] and (model.labels_[:3] >= 0).all()
    assert np.isnan(model.worker_quality_[1:]).all() and model.looking_.all()


def test_one_worker_one_dimension_and_repeated_judgements_give_finite_results():
    rows = [[0, 1, 0, 1], [0, 1, 0, 1], [0, 2, 0, 0], [1, 2, 0, 0], [3, 2, 0, 1], [0, 3, 0, 0]]
    model = BayesianCrowdClustering(dimensions=[1], random_state=0).fit(rows)
    assert np.isfinite(model.positions_).all() and np.isfinite(model.lower_bound_)
    assert np.isfinite(model.predict_same([0, 0], [1, 2], [0, 0])).all()


def test_the_same_seed_gives_the_same_arrays():
    crowd = attribute_crowd(2, n_items=60, n_workers=10)
    judged = crowd.judgements(tasks_for(crowd, 12, 4))
    fits = [BayesianCrowdClustering(random_state=7, dimensions=[2, 3]).fit(judged) for _ in range(2)]
    for name in ("positions_", "labels_", "worker_quality_", "probabilities_"):
        assert np.array_equal(*(getattr(fit, name) for fit in fits)), name
    assert fits[0].lower_bound_history_ == fits[1].lower_bound_history_
    again = fits[0].fit(judged)  # nothing of an earlier fit is left
    assert again.lower_bound_history_ == fits[1].lower_bound_history_ and (again.looking_ == fits[1].looking_).all()


def test_updating_continues_from_the_last_fit_and_adds_new_workers_and_items():
    crowd = attribute_crowd(3, n_items=80, n_workers=12, spammers=0.0)
    answers = crowd.answers(tasks_for(crowd, 12, 8), 2)
    few, count = (_numbered(crowd, answers[:end]) for end in (80, len(answers)))
    model = BayesianCrowdClustering(random_state=0, dimensions=[3]).fit(few, n_items=80)
    before = model.lower_bound_ / len(few)
    model.update(count)
    assert len(model.labels_) == 80 and len(model.worker_quality_) == 12
    assert model.lower_bound_ / len(count) > before
    fresh = BayesianCrowdClustering(random_state=0, dimensions=[3]).fit(count)
    assert model.lower_bound_ > fresh.lower_bound_ * 1.05  # bounds are negative: no more than 5 % behind


def _numbered(crowd, answers):
    return judgements_of(answers, crowd.n_items, len(crowd.habits)).judgements


def test_every_sweep_is_reported_and_may_stop_the_fit():
    history = []

    def listen(progress):
        history.append(progress)
        if len(history) == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        BayesianCrowdClustering(random_state=0).fit([[0, 1, 0, 1], [1, 2, 0, 0], [0, 2, 0, 0]], on_step=listen)
    assert [step.done for step in history] == [1, 2, 3, 4, 5] and "bound" in history[0].figures


def test_a_crowd_that_puts_everything_together_finds_one_cluster():
    judgements = judgements_of([Sorting(worker, range(12), [0] * 12) for worker in range(3)], 12, 3).judgements
    model = BayesianCrowdClustering(random_state=0).fit(judgements)
    assert model.n_clusters_ == 1 and (model.labels_ == 0).all()
