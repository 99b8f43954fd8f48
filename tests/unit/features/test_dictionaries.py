"""Dictionaries: guarantees of each learner on patches with known atoms."""

import numpy as np
import pytest

from benthoscope.engine.features import Choices, descriptor_named
from benthoscope.engine.features.dictionaries import (
    KSVD,
    KMeansCentres,
    RandomPatches,
    SparseCodingDictionary,
    StreamedClusters,
)
from benthoscope.engine.features.encoders import MatchingPursuit
from benthoscope.engine.features.scspm import LEARNERS as BY_NAME
from benthoscope.engine.features.scspm import ScSPM
from benthoscope.engine.jobs.job_parameters import OF_KIND
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled, ignore

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


@pytest.mark.parametrize(
    "learner",
    [SparseCodingDictionary(40, 800, penalty=0.2), KSVD(30, active=2)],
    ids=lambda learner: type(learner).__name__,
)
def test_learned_atoms_fit_the_patches_far_better_than_random_ones(truth, learner):
    _, patches = truth
    rng = np.random.default_rng(0)
    random = misfit(patches, RandomPatches()(patches, 24, rng, ignore))
    assert misfit(patches, learner(patches, 24, rng, ignore)) < 0.5 * random


def test_ksvd_finds_most_of_the_true_atoms(truth):
    atoms, patches = truth
    ksvd = KSVD(40, active=2)(patches, 24, np.random.default_rng(0), ignore)
    assert (np.abs(atoms @ ksvd.T).max(1) > 0.95).mean() > 0.7


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


@pytest.fixture(scope="module")
def kinds_of_patches():
    """Four kinds of patches of unit length, 300 of each, and their directions."""
    rng = np.random.default_rng(1)
    directions = np.linalg.qr(rng.standard_normal((16, 4)))[0].T
    patches = np.repeat(directions, 300, axis=0) + 0.05 * rng.standard_normal((1200, 16))
    return directions, (patches / np.linalg.norm(patches, axis=1, keepdims=True)).astype(np.float32)


def test_streamed_patches_decide_the_size_of_the_dictionary(kinds_of_patches):
    directions, patches = kinds_of_patches
    learner = StreamedClusters(memory=600, epoch=300)
    first, again = (learner(patches, 24, np.random.default_rng(0), ignore) for _ in range(2))
    assert 4 <= len(first) <= 8 and (first == again).all() and first.dtype == patches.dtype
    assert np.linalg.norm(first, axis=1) == pytest.approx(1, abs=1e-5)
    assert (directions @ first.T).max(1).min() > 0.99
    assert len(learner(patches, 3, np.random.default_rng(0), ignore)) == 3


def test_flat_patches_are_refused_with_advice():
    with pytest.raises(BadInput, match="more training images"):
        StreamedClusters()(np.zeros((50, 16), np.float32), 8, np.random.default_rng(0), ignore)


def test_a_descriptor_keeps_the_size_of_its_streamed_dictionary():
    rng = np.random.default_rng(2)
    images = [rng.integers(0, 255, (96, 96, 3), dtype=np.uint8) for _ in range(3)]
    made = ScSPM(learner=StreamedClusters(memory=200, epoch=100), atoms=40, training_patches=300).fit(images)
    assert made.atoms == len(made.dictionary) <= 40
    again = ScSPM.restored(made.parameters, made.arrays)
    assert (
        len(again.describe(images[0])) == made.width and (again.describe(images[0]) == made.describe(images[0])).all()
    )


def test_the_way_of_learning_a_dictionary_is_chosen_by_name():
    assert descriptor_named("scspm", Choices(dictionary="stream")).base.learner == StreamedClusters()
    assert descriptor_named("rp", Choices(dictionary="ksvd")).base.learner == KSVD()
    assert tuple(BY_NAME) == OF_KIND["features"]["dictionary"].choices
    with pytest.raises(BadInput, match="stream"):
        descriptor_named("scspm", Choices(dictionary="strem"))


@pytest.mark.parametrize("learner", [*LEARNERS[1:], StreamedClusters()], ids=lambda learner: type(learner).__name__)
def test_learning_stops_when_it_is_cancelled(truth, learner):
    def stop(progress):
        raise Cancelled

    with pytest.raises(Cancelled):
        learner(truth[1], 24, np.random.default_rng(0), stop)
