"""Regularised information maximisation, held to differences, identities and a slow account of its kernel form."""

import json
import pickle

import numpy as np
import pytest
from scipy.special import log_softmax as slow_log_softmax
from sklearn.base import clone

from benthoscope.engine.discriminative import RIM, KernelRIM, SemiSupervisedRIM, chosen_strength, rim_path
from benthoscope.engine.discriminative.coefficients import BLOCK, Coefficients, entropies
from benthoscope.engine.discriminative.kernel_factors import factored
from benthoscope.engine.discriminative.objective import (
    Information,
    InformationObjective,
    UncertainExamples,
    WeightedExamples,
    mutual_information,
)
from benthoscope.engine.discriminative.optimisation import (
    FitSettings,
    Given,
    Precision,
    best_of,
    climb,
    climb_from,
    kmeans,
    power,
    supervised_start,
)
from benthoscope.engine.discriminative.validation import fitted_gamma, overall, power_law, slope_of_gamma, tied_by_rank
from benthoscope.engine.metrics import adjusted_rand
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled


def toy(rng, spread=0.5, rows=300):
    """Three round clusters: rows (N, 2) and the cluster of each."""
    centres = np.array([(0, 2.5), (-2.2, -1.3), (2.2, -1.3)])
    truth = np.arange(rows) % 3
    return centres[truth] + spread * rng.standard_normal((rows, 2)), truth


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def data(rng):
    return rng.standard_normal((60, 4)), rng.integers(0, 3, 60)


def labelled(X, y, weights=None):
    return WeightedExamples(X, y, np.ones(len(y)) if weights is None else weights)


def uncertain(X, y, confusion=0.3):
    """Examples whose class may be the next one with a probability."""
    likelihoods = (1 - confusion) * np.eye(5)[y] + confusion * np.eye(5)[(y + 1) % 5]
    with np.errstate(divide="ignore"):
        return UncertainExamples(X, np.log(likelihoods), np.linspace(0, 2, len(X)))


def random_coefficients(rng, K=5, D=4, size=1.0):
    return Coefficients(size * rng.standard_normal((K, D)), size * rng.standard_normal(K))


def objectives(X, y):
    half = len(X) // 2
    log_sizes = np.log(power_law(5, 1.2))
    return {
        "linear": InformationObjective(0.03, Information(X)),
        "prior": InformationObjective(0.03, Information(X, log_sizes=log_sizes)),
        "no balance": InformationObjective(0.03, Information(X, balance=False)),
        "supervised": InformationObjective(0.03, labelled=labelled(X, y)),
        "semi": InformationObjective(0.03, Information(X[half:]), labelled(X[:half], y[:half]), 7.0),
        "semi without balance": InformationObjective(
            0.03, Information(X[half:], balance=False), labelled(X[:9], y[:9]), 7.0
        ),
        "weighted": InformationObjective(0.03, labelled=labelled(X, y, np.linspace(0, 2, len(X)))),
        "uncertain": InformationObjective(0.03, labelled=uncertain(X, y)),
        "kernel": InformationObjective(0.03, Information(factored(rbf(X))(rbf(X))[:, :4])),
    }


def rbf(X):
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2))


def differences(evaluate, at, step=1e-5):
    """Central differences of a function of a flat vector."""
    slopes = np.empty_like(at)
    for position in range(len(at)):
        up, down = at.copy(), at.copy()
        up[position] += step
        down[position] -= step
        slopes[position] = (evaluate(up) - evaluate(down)) / (2 * step)
    return slopes


@pytest.mark.parametrize(
    "name",
    ["linear", "prior", "no balance", "supervised", "semi", "semi without balance", "weighted", "uncertain", "kernel"],
)
def test_gradients_equal_central_differences(name, data, rng):
    objective, start = objectives(*data)[name], random_coefficients(rng)
    gradient = objective(start)[1].packed()
    expected = differences(lambda flat: objective(Coefficients.unpacked(flat, 5))[0], start.packed())
    assert np.abs(gradient - expected).max() <= 1e-6 * np.abs(expected).max()


def test_examples_of_a_known_class_are_those_without_uncertainty(data, rng):
    X, y = data
    start, weights = random_coefficients(rng, size=30.0), np.linspace(0, 2, len(X))  # the wrong classes underflow
    known, certain = labelled(X, y, weights).value(start), uncertain(X, y, confusion=0.0).value(start)
    assert certain[0] == pytest.approx(known[0])
    np.testing.assert_allclose(certain[1].packed(), known[1].packed(), atol=1e-9)


def test_an_even_prior_of_sizes_lowers_the_objective_by_log_k(data, rng):
    X, start = data[0], random_coefficients(rng)
    even = InformationObjective(0.1, Information(X, log_sizes=np.full(5, -np.log(5))))(start)
    plain = InformationObjective(0.1, Information(X))(start)
    assert even[0] == pytest.approx(plain[0] - np.log(5), abs=1e-12)
    np.testing.assert_allclose(even[1].packed(), plain[1].packed(), atol=1e-12)


def test_the_slope_of_the_power_law_equals_differences(rng):
    shares = np.sort(rng.dirichlet(np.ones(8)))[::-1]

    def value(gamma):
        return float(shares @ np.log(power_law(8, gamma[0])))

    assert slope_of_gamma(shares, 0.7) == pytest.approx(differences(value, np.array([0.7]))[0], rel=1e-6)


def test_the_exponent_of_a_power_law_is_found_again():
    assert fitted_gamma(power_law(12, 1.3)[::-1]) == pytest.approx(1.3, abs=1e-9)
    assert fitted_gamma(np.full(5, 0.2)) == pytest.approx(0, abs=1e-9)


def test_the_largest_size_is_tied_to_the_largest_class():
    tied = np.exp(tied_by_rank(np.array([0.1, 0.6, 0.3]), np.array([0.2, 0.1, 0.7])))
    np.testing.assert_allclose(tied, [0.3, 0.1, 0.6])


def test_a_linear_kernel_expansion_is_the_linear_model(data, rng):
    X = data[0]
    alpha, b = rng.standard_normal((5, len(X))), rng.standard_normal(5)
    W = alpha @ X
    by_kernel = 0.2 * np.einsum("ki,ij,kj->", alpha, X @ X.T, alpha)
    F, _ = InformationObjective(0.2, Information(X))(Coefficients(W, b))
    assert pytest.approx(mutual_information((X @ X.T) @ alpha.T + b) - by_kernel, rel=1e-10) == F


def test_the_dual_coefficients_give_the_scores_of_the_primal_ones(data, rng):
    matrix = rbf(data[0])
    factor = factored(matrix)
    W = rng.standard_normal((3, factor.axes.shape[1]))
    phi = factor(matrix)
    centred = matrix - matrix.mean(0) - matrix.mean(0)[:, None] + matrix.mean()
    np.testing.assert_allclose(phi @ phi.T, centred / (np.trace(centred) / 60), atol=1e-8)
    np.testing.assert_allclose(phi @ W.T, (centred / factor.scale) @ factor.dual(W).T, atol=1e-8)


def test_larger_rows_want_a_larger_penalty_and_nothing_else_changes(data, rng):
    X, start, c = data[0], random_coefficients(rng), 3.7
    shrunk = Coefficients(start.weights / c, start.biases)
    scaled = InformationObjective(0.1 * c**2, Information(c * X))(shrunk)[0]
    assert scaled == pytest.approx(InformationObjective(0.1, Information(X))(start)[0], abs=1e-12)


def test_at_an_optimum_the_weights_are_sums_of_the_gradients(rng):
    """Stationarity, worked out from slow formulas: W = G'X / (2 lambda)."""
    X = overall(toy(rng)[0])(toy(np.random.default_rng(5))[0])
    penalty, y = 2 / len(X), kmeans(X, 6, rng)
    start = supervised_start(X, y, 6, penalty)
    coefficients = climb(
        InformationObjective(penalty, Information(X)), start, Precision(1e-15, 1e-10, 5000)
    ).coefficients
    lp = slow_log_softmax(X @ coefficients.weights.T + coefficients.biases, axis=1)
    P = np.exp(lp)
    ratio = lp - np.log(P.mean(0))
    G = P * (ratio - (P * ratio).sum(1, keepdims=True)) / len(X)
    assert np.abs(coefficients.weights - G.T @ X / (2 * penalty)).max() < 1e-5


@pytest.mark.parametrize(
    "X",
    [np.ones((9, 3)), np.repeat(np.eye(3), 4, 0), np.eye(3)[:2]],
    ids=["constant", "duplicates", "fewer rows than classes"],
)
def test_degenerate_rows_give_finite_results(X):
    for model in (RIM(n_clusters=5, n_init=2, random_state=0), KernelRIM(n_clusters=5, n_init=2, random_state=0)):
        fitted_model = model.fit(X)
        assert np.isfinite(fitted_model.predict_proba(X)).all() and np.isfinite(fitted_model.lower_bound_)
        assert len(fitted_model.labels_) == len(X)


def test_huge_scores_give_finite_objective_and_gradient(data, rng):
    huge = random_coefficients(rng, size=1e4)
    for name, objective in objectives(*data).items():
        F, gradient = objective(huge)
        assert np.isfinite(F) and np.isfinite(gradient.packed()).all(), name


def test_mutual_information_lies_between_nothing_and_log_k(rng):
    for size in (0.01, 1, 30):
        for _ in range(20):
            value = mutual_information(size * rng.standard_normal((50, 7)))
            assert -1e-12 <= value <= np.log(7) + 1e-12


def test_certain_rows_in_even_classes_share_all_information():
    assert mutual_information(1e3 * np.eye(4)[np.arange(40) % 4]) == pytest.approx(np.log(4), abs=1e-12)


def test_entropy_is_none_where_sure_and_log_k_where_unknown():
    lp = np.log(np.array([[1 - 1e-15, 1e-15], [0.5, 0.5]]))
    np.testing.assert_allclose(entropies(lp), [0, np.log(2)], atol=1e-12)


def test_many_rows_in_blocks_give_the_gradient_of_all_at_once(rng):
    X, start = rng.standard_normal((2 * BLOCK + 77, 3)), random_coefficients(rng, 4, 3)
    F, gradient = InformationObjective(0.0, Information(X))(start)
    scores = X @ start.weights.T + start.biases
    lp = slow_log_softmax(scores, axis=1)
    P, lph = np.exp(lp), np.log(np.exp(lp).mean(0))
    ratio = lp - lph
    G = P * (ratio - (P * ratio).sum(1, keepdims=True)) / len(X)
    assert pytest.approx(float((P * ratio).sum() / len(X)), rel=1e-10) == F
    np.testing.assert_allclose(gradient.weights, G.T @ X, rtol=1e-10)


def test_values_not_stored_between_passes_are_computed_again(rng, monkeypatch):
    X, start = rng.standard_normal((500, 3)), random_coefficients(rng, 4, 3)
    information_objective = InformationObjective(0.1, Information(X))(start)
    monkeypatch.setattr("benthoscope.engine.discriminative.objective.KEPT", 0)
    anew = InformationObjective(0.1, Information(X))(start)
    assert anew[0] == information_objective[0]
    np.testing.assert_array_equal(anew[1].packed(), information_objective[1].packed())


def test_superfluous_classes_become_empty(rng):
    """Toy set at its own scale, lambda N = 2: the dead have no share, no weights, and biases far below the living."""
    X, truth = toy(rng)
    best_fit = best_of(X, FitSettings(50, 2 / len(X)), [kmeans(X, 50, rng)], 1)
    shares = np.exp(best_fit.coefficients.log_probabilities(X)).mean(0)
    alive = np.unique(best_fit.labels)
    dead = np.setdiff1d(np.arange(50), alive)
    assert len(alive) == 3 and adjusted_rand(truth, best_fit.labels) == 1
    assert shares[dead].max() <= 1e-6
    assert np.linalg.norm(best_fit.coefficients.weights[dead], axis=1).max() <= 1e-2
    assert best_fit.coefficients.biases[alive].min() - best_fit.coefficients.biases[dead].max() >= 5


def test_the_objective_never_falls_during_optimisation(rng):
    X, _ = toy(rng)
    model = RIM(n_clusters=10, n_init=1, random_state=0).fit(X)
    assert np.diff(model.lower_bound_history_).min() >= -1e-12


def test_the_same_seed_gives_the_same_clusters(rng):
    X, _ = toy(rng, spread=1.0)
    first, two = (RIM(n_clusters=8, n_init=2, random_state=3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, two.labels_)
    assert first.lower_bound_ == two.lower_bound_


def test_permuting_rows_permutes_the_clusters(rng):
    X, _ = toy(rng, spread=1.0)
    start, order = kmeans(X, 8, rng), rng.permutation(len(X))
    model = RIM(n_clusters=8).fit(X, start=start)
    two = RIM(n_clusters=8).fit(X[order], start=start[order])
    assert adjusted_rand(model.labels_[order], two.labels_) >= 0.99


def test_clusters_are_numbered_by_falling_size_and_rows_predict_as_they_were_labelled(rng):
    X, _ = toy(rng, spread=1.0)
    for model in (RIM(n_clusters=8, n_init=2, random_state=0), KernelRIM(n_clusters=8, n_init=2, random_state=0)):
        fitted_model = model.fit(X)
        assert (np.diff(np.bincount(fitted_model.labels_)) <= 0).all()
        assert fitted_model.predict_proba(X).shape == (len(X), fitted_model.n_clusters_)
        assert (fitted_model.predict(X) == fitted_model.labels_).mean() > 0.999


def test_the_input_is_not_changed_and_the_model_can_be_copied(rng):
    X, _ = toy(rng)
    before = X.copy()
    model = KernelRIM(n_clusters=5, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(X, before)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    "model",
    [
        RIM(n_clusters=5, n_init=1),
        KernelRIM(n_clusters=5, n_init=1),
        KernelRIM(kernel="cosine", n_clusters=5, n_init=1),
        KernelRIM(kernel="precomputed", n_clusters=5, n_init=1),
    ],
    ids=str,
)
def test_a_stored_model_assigns_as_before(model, rng):
    X = toy(rng)[0]
    rows = rbf(X) if model.get_params().get("kernel") == "precomputed" else X
    model.set_params(random_state=0).fit(rows)
    arrays, metadata = model.to_arrays()
    again = type(model).from_arrays(arrays, json.loads(json.dumps(metadata)))
    for first, two in zip(model.assign(rows), again.assign(rows), strict=True):
        np.testing.assert_allclose(first, two, atol=1e-12)
    assert again.n_clusters_ == model.n_clusters_ and again.lower_bound_ == model.lower_bound_
    assert again.information(rows) == pytest.approx(model.information(rows))


def test_a_precomputed_kernel_gives_the_clusters_of_its_rows(rng):
    X, _ = toy(rng)
    settings = {"n_clusters": 6, "n_init": 2, "random_state": 0}
    plain = KernelRIM(gamma=0.5, **settings).fit(X)
    matrix = KernelRIM(kernel="precomputed", **settings).fit(rbf(X))
    np.testing.assert_array_equal(plain.labels_, matrix.labels_)
    np.testing.assert_allclose(matrix.predict_proba(rbf(X)), plain.predict_proba(X), atol=1e-6)


def test_landmarks_stand_for_the_rows_they_leave_out(rng):
    X, truth = toy(rng, rows=900)
    model = KernelRIM(n_clusters=6, strength=4.0, landmarks=60, gamma=0.1, n_init=2, random_state=0).fit(X)
    assert len(model.landmarks_) == 60 and adjusted_rand(truth, model.labels_) > 0.98


def test_a_cancelled_fit_leaves_no_partial_model(rng):
    def stop(progress):
        raise Cancelled

    model = RIM(n_clusters=5)
    with pytest.raises(Cancelled):
        model.fit(toy(rng)[0], on_step=stop)
    assert not hasattr(model, "labels_")


def test_a_prior_of_sizes_reaches_the_fit(rng):
    X, _ = toy(rng)
    plan = FitSettings(3, 1 / 300, sizes=Given((0.6, 0.3, 0.1)))
    with_prior = climb_from(X, plan, supervised_start(X, kmeans(X, 3, rng), 3, 1 / 300))
    even = climb_from(X, FitSettings(3, 1 / 300), supervised_start(X, kmeans(X, 3, rng), 3, 1 / 300))
    assert with_prior.value < even.value  # even clusters do not fit uneven sizes
    assert np.exp(power(np.array([0.6, 0.3, 0.1]))).sum() == pytest.approx(1)
    assert RIM(n_clusters=4, sizes="power", n_init=1, random_state=0).fit(X).n_clusters_ >= 2


def test_a_power_law_of_sizes_does_not_end_with_one_cluster():
    rng = np.random.default_rng(1)
    shares = power_law(6, 1.0)
    truth = rng.choice(6, 600, p=shares)
    X = 4 * rng.standard_normal((6, 4))[truth] + rng.standard_normal((600, 4))
    settings = {"n_clusters": 12, "n_init": 3, "random_state": 0}
    model = RIM(sizes="power", **settings).fit(X)
    assert model.n_clusters_ > 1
    informed = RIM(sizes=shares, **settings).fit(X)
    assert adjusted_rand(truth, model.labels_) > adjusted_rand(truth, informed.labels_) - 0.05


@pytest.mark.parametrize("classes", [3, 12, 40])
def test_one_class_with_everything_does_not_fit_a_power_law_perfectly(classes):
    everything = np.eye(classes)[0]
    assert everything @ power(everything) < -0.3
    assert fitted_gamma(power_law(classes, 1.0), prior=3.0) == pytest.approx(1.0, abs=1e-9)


def test_on_a_path_of_growing_penalties_the_middle_of_the_plateau_is_chosen(rng):
    X, _ = toy(rng)
    Z = overall(X)(X)
    path = rim_path(Z, kmeans(Z, 30, rng), FitSettings(30, 1.0))
    counts = [step.survivors for step in path]
    assert counts == sorted(counts, reverse=True)
    strength = chosen_strength([path])
    assert next(step.survivors for step in path if step.strength == strength) == 3
    target = chosen_strength([path], target=1)
    assert next(step.survivors for step in path if step.strength == target) == min(counts)
    assert RIM(n_clusters=20, strength="auto", n_init=3, random_state=0).fit(X).n_clusters_ == 3


def test_without_weight_of_information_only_the_labels_count(data):
    """tau = 0 against a slow supervised fit by another optimiser's tolerance: probabilities to 1e-4."""
    X, y = data
    shown = np.where(np.arange(60) < 30, y, -1)
    none = SemiSupervisedRIM(information=0.0, tol=1e-14).fit(X, shown)
    little = SemiSupervisedRIM(information=1e-12, tol=1e-14).fit(X, shown)
    np.testing.assert_allclose(none.predict_proba(X), little.predict_proba(X), atol=1e-4)
    assert none.lower_bound_ == pytest.approx(little.lower_bound_, abs=1e-7)


def test_labels_of_any_type_are_returned(rng):
    X, truth = toy(rng)
    names = np.array([3, 7, 9])[truth]
    shown = np.full(len(X), -1)
    shown[:6] = names[:6]
    model = SemiSupervisedRIM(penalty=0.01).fit(X, shown)
    assert model.score(X, names) > 0.98 and model.predict_proba(X).shape == (300, 3)


@pytest.mark.parametrize(
    "model, arguments, told",
    [
        (RIM(n_clusters=0), (np.eye(4),), "n_clusters"),
        (RIM(strength=-1), (np.eye(4),), "strength"),
        (RIM(scale="tall"), (np.eye(4),), "no 'tall'"),
        (RIM(sizes=[0.5, -0.5]), (np.eye(4),), "are not valid shares"),
        (RIM(), ([[1.0, np.nan], [0.0, 1.0]],), "X row 0: contains NaN in column 1"),
        (RIM(), ([[1.0, 2.0]],), "at least two rows"),
        (KernelRIM(kernel="rfb"), (np.eye(4),), "did you mean 'rbf'"),
        (KernelRIM(kernel="precomputed"), (np.ones((3, 4)),), "not that of a kernel matrix"),
        (KernelRIM(kernel="precomputed"), (np.triu(np.ones((4, 4))),), "not symmetric"),
        (
            KernelRIM(init="spectral", landmarks=3, n_init=1),
            (np.random.default_rng(0).normal(size=(9, 2)),),
            "landmarks",
        ),
        (SemiSupervisedRIM(), (np.eye(4), [-1, -1, -1, -1]), "no row has a label"),
        (SemiSupervisedRIM(), (np.eye(4), [0, 1]), "one label per row"),
    ],
    ids=str,
)
def test_unusable_input_gives_a_one_line_error(model, arguments, told):
    with pytest.raises(BadInput, match=told):
        model.fit(*arguments)
