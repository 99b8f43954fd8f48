"""Codes of patches against scikit-learn, optimality conditions and direct solutions."""

import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp

from benthoscope.engine.features.encoders import LocalityLinear, MatchingPursuit, SoftThreshold, SparseCoding, sparse


@pytest.fixture(scope="module")
def problem():
    """40 unit patches of length 32 and a dictionary of 100 unit atoms."""
    rng = np.random.default_rng(0)
    patches, atoms = rng.standard_normal((40, 32)), rng.standard_normal((100, 32))
    return patches / np.linalg.norm(patches, axis=1)[:, None], atoms / np.linalg.norm(atoms, axis=1)[:, None]


def test_soft_threshold_is_the_formula(problem):
    patches, atoms = problem
    expected = [[max(0.0, float(np.dot(p, d)) - 0.1) for d in atoms] for p in patches]
    assert SoftThreshold(0.1)(patches, atoms).dense() == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("active", [1, 3, 10])
def test_matching_pursuit_gives_scikit_learns_codes(problem, active):
    patches, atoms = problem
    reference = orthogonal_mp(atoms.T, patches.T, n_nonzero_coefs=active).reshape(100, -1).T
    assert MatchingPursuit(active)(patches, atoms).dense() == pytest.approx(reference, abs=1e-9)


def test_the_residual_of_matching_pursuit_is_orthogonal_to_its_atoms_and_shrinks_with_each(problem):
    patches, atoms = problem
    last = np.linalg.norm(patches, axis=1)
    for active in range(1, 11):
        codes = MatchingPursuit(active)(patches, atoms).dense()
        residual = patches - codes @ atoms
        assert ((codes != 0).sum(1) <= active).all()
        assert np.abs((residual @ atoms.T)[codes != 0]).max() < 1e-10
        length = np.linalg.norm(residual, axis=1)
        assert (length <= last + 1e-12).all()
        last = length


def test_matching_pursuit_recovers_a_mix_of_orthonormal_atoms_and_stops_there():
    atoms = np.linalg.qr(np.random.default_rng(1).standard_normal((32, 32)))[0]
    patch = 2.0 * atoms[3] - 1.5 * atoms[8] + 0.5 * atoms[30]
    codes = MatchingPursuit(10)(patch[None], atoms).dense()[0]
    assert np.flatnonzero(np.abs(codes) > 1e-9).tolist() == [3, 8, 30]
    assert codes[[3, 8, 30]] == pytest.approx([2.0, -1.5, 0.5], abs=1e-12)


def test_one_active_atom_is_the_nearest_in_angle(problem):
    patches, atoms = problem
    codes = MatchingPursuit(1)(patches, atoms)
    assert codes.atoms[:, 0].tolist() == np.abs(patches @ atoms.T).argmax(1).tolist()


def test_single_precision_pursuit_fits_as_well_as_double(problem):
    patches, atoms = problem
    single = MatchingPursuit(10)(patches.astype(np.float32), atoms).dense()
    double = MatchingPursuit(10)(patches, atoms).dense()
    fit = [np.linalg.norm(patches - codes @ atoms, axis=1) for codes in (single, double)]
    assert fit[0] == pytest.approx(fit[1], abs=2e-2)


def test_sparse_coding_meets_the_optimality_conditions_of_the_lasso(problem):
    patches, atoms = problem
    codes = SparseCoding(0.3, tolerance=1e-8)(patches, atoms).dense()
    slope = 2 * (patches - codes @ atoms) @ atoms.T
    assert np.abs(slope[codes == 0]).max() <= 0.3 + 1e-6
    assert slope[codes != 0] == pytest.approx(0.3 * np.sign(codes[codes != 0]), abs=1e-6)


def test_a_heavy_penalty_leaves_no_code_and_none_leaves_a_perfect_fit(problem):
    patches, atoms = problem
    assert not SparseCoding(3.0)(patches, atoms).dense().any()
    codes = SparseCoding(1e-6, tolerance=1e-9, rounds=5000)(patches[:5], atoms).dense()
    assert codes @ atoms == pytest.approx(patches[:5], abs=1e-3)


def test_locality_codes_are_five_sum_to_one_and_fit_best_among_such(problem):
    patches, atoms = problem
    codes = LocalityLinear(5, ridge=1e-9)(patches, atoms).dense()
    assert ((codes != 0).sum(1) == 5).all()
    assert codes.sum(1) == pytest.approx(1, abs=1e-10)
    rng = np.random.default_rng(2)
    for patch, code in zip(patches[:5], codes[:5], strict=True):
        near = np.flatnonzero(code)
        assert set(near) == set(np.argsort(np.linalg.norm(atoms - patch, axis=1))[:5])
        moves = rng.standard_normal((2000, 5)) * 0.05
        moves -= moves.mean(1, keepdims=True)  # the sum stays 1
        best = np.linalg.norm(patch - code[near] @ atoms[near])
        assert (np.linalg.norm(patch - (code[near] + moves) @ atoms[near], axis=1) > best - 1e-9).all()


def test_locality_codes_equal_the_constrained_least_squares_solution(problem):
    patches, atoms = problem
    code = LocalityLinear(5, ridge=0)(patches[:1], atoms).dense()[0]
    near = np.flatnonzero(code)
    system = np.block([[2 * atoms[near] @ atoms[near].T, np.ones((5, 1))], [np.ones((1, 5)), np.zeros((1, 1))]])
    direct = np.linalg.solve(system, np.append(2 * atoms[near] @ patches[0], 1))[:5]  # Lagrange multiplier last
    assert code[near] == pytest.approx(direct, abs=1e-9)


def test_codes_by_their_places_are_the_same_codes(problem):
    dense = np.where(np.random.default_rng(3).random((20, 30)) < 0.2, 1.5, 0.0)
    assert (sparse(dense).dense() == dense).all()


@pytest.mark.parametrize("encoder", [SoftThreshold(), MatchingPursuit(), SparseCoding(), LocalityLinear()])
def test_empty_and_zero_patches_have_finite_codes_and_inputs_stay_as_they_were(problem, encoder):
    patches, atoms = problem
    before = patches.copy(), atoms.copy()
    assert encoder(patches[:0], atoms).dense().shape == (0, 100)
    assert np.isfinite(encoder(np.zeros((2, 32)), atoms).dense()).all()
    assert (patches == before[0]).all() and (atoms == before[1]).all()
