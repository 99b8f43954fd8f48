"""Dictionaries: what each learner promises, on patches made of known atoms."""

import numpy as np
import pytest

from engine.features.dictionaries import KSVD, KMeansCentres, RandomPatches, SparseCodingDictionary
from engine.features.encoders import MatchingPursuit
from engine.progress import Cancelled, ignore

LEARNERS = [RandomPatches(), KMeansCentres(iterations=20), SparseCodingDictionary(15, 400), KSVD(8, active=2)]


@pytest.fixture(scope="module")
def truth():
    """1,500 patches, each a mix of two of 24 true atoms in 16 dimensions."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((24, 16))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    pairs = np.array([rng.choice(24, 2, replace=False) for _ in range(1500)])
    weights = rng.uniform(0.5, 1.5, (1500, 2)) * rng.choice([-1, 1], (1500, 2))
    patches = (weights[:, :, None] * atoms[pairs]).sum(1)
    patches = patches[np.linalg.norm(patches, axis=1) > 0.6]
    return atoms, (patches + 0.01 * rng.standard_normal(patches.shape)).astype(np.float32)


def misfit(patches, atoms):
    codes = MatchingPursuit(2)(patches, atoms).dense()
    return float(((patches - codes @ atoms) ** 2).mean())


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_atoms_have_at_most_unit_length_and_the_seed_decides(truth, learner):
    _, patches = truth
    made = [learner(patches, 24, np.random.default_rng(seed), ignore) for seed in (0, 0, 1)]
    assert made[0].shape == (24, 16) and np.isfinite(made[0]).all()
    assert np.linalg.norm(made[0], axis=1).max() <= 1 + 1e-5
    assert (made[0] == made[1]).all() and (made[0] != made[2]).any()


@pytest.mark.parametrize("learner", [SparseCodingDictionary(40, 800, penalty=0.2), KSVD(30, active=2)],
                         ids=lambda learner: type(learner).__name__)
def test_learned_atoms_fit_the_patches_far_better_than_random_ones(truth, learner):
    _, patches = truth
    rng = np.random.default_rng(0)
    random = misfit(patches, RandomPatches()(patches, 24, rng, ignore))
    assert misfit(patches, learner(patches, 24, rng, ignore)) < 0.5 * random


def test_ksvd_finds_most_of_the_true_atoms(truth):
    atoms, patches = truth
    found = KSVD(40, active=2)(patches, 24, np.random.default_rng(0), ignore)
    assert (np.abs(atoms @ found.T).max(1) > 0.95).mean() > 0.7


def test_ksvd_fits_better_the_longer_it_learns(truth):
    _, patches = truth
    learnt = (KSVD(rounds, active=2)(patches, 24, np.random.default_rng(1), ignore) for rounds in (1, 5, 20))
    errors = [misfit(patches, atoms) for atoms in learnt]
    assert errors[0] > errors[1] > errors[2]


def test_kmeans_centres_are_nearer_to_the_patches_than_random_patches(truth):
    _, patches = truth
    patches = patches / np.linalg.norm(patches, axis=1, keepdims=True)
    random = RandomPatches()(patches, 24, np.random.default_rng(0), ignore)
    centres = KMeansCentres()(patches, 24, np.random.default_rng(0), ignore)
    assert (patches @ centres.T).max(1).mean() > (patches @ random.T).max(1).mean() + 0.02


@pytest.mark.parametrize("learner", LEARNERS[1:], ids=lambda learner: type(learner).__name__)
def test_learning_stops_when_it_is_cancelled(truth, learner):
    def stop(progress):
        raise Cancelled

    with pytest.raises(Cancelled):
        learner(truth[1], 24, np.random.default_rng(0), stop)
