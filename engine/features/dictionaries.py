"""Learn a dictionary of unit atoms from sample patches (methods note 7.3). Learners map patches (N, P), the number of
atoms and a generator to the dictionary (K, P)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from benthoscope.engine.distributions import GaussianGamma
from benthoscope.engine.features.encoders import MatchingPursuit, SparseCoding
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore

BLOCK = 2048  # patches compared with all atoms at a time: 8 MB, and short enough to stay responsive


class Learner(Protocol):
    def __call__(self, patches: np.ndarray, size: int, rng: np.random.Generator, on_step: OnStep) -> np.ndarray: ...


@dataclass(frozen=True)
class RandomPatches:
    """Random sample patches: no training, and almost as good as the best."""

    def __call__(self, patches: np.ndarray, size: int, rng: np.random.Generator, on_step: OnStep = ignore):
        return unit_rows(_draw(patches, size, rng))


@dataclass(frozen=True)
class KMeansCentres:
    """The centres found by k-means (Lloyd's iterations from random patches)."""

    iterations: int = 100
    tolerance: float = 1e-4  # an iteration must reduce the error by at least this fraction

    def __call__(self, patches: np.ndarray, size: int, rng: np.random.Generator, on_step: OnStep = ignore):
        centres, last = _draw(patches, size, rng), np.inf
        for done in range(self.iterations):
            nearest, error = _nearest(
                patches, centres, partial(on_step, Progress(done, self.iterations, "K-means dictionary"))
            )
            if error > last * (1 - self.tolerance):
                break
            centres, last = _means(patches, nearest, centres), error
        return unit_rows(centres)


@dataclass(frozen=True)
class SparseCodingDictionary:
    """Alternates between lasso codes of a batch of patches and a descent over the atoms, |d| <= 1, on all past batches;
    the influence of old batches decreases."""

    alternations: int = 50
    batch: int = 2000
    penalty: float = 0.3

    def __call__(self, patches: np.ndarray, size: int, rng: np.random.Generator, on_step: OnStep = ignore):
        atoms = unit_rows(_draw(patches, size, rng)).astype(np.float64)
        together, with_patches = np.zeros((size, size)), np.zeros(atoms.shape)
        for done in range(self.alternations):
            on_step(Progress(done, self.alternations, "sparse coding dictionary"))
            chosen = patches[rng.choice(len(patches), min(self.batch, len(patches)), replace=False)].astype(np.float64)
            codes = SparseCoding(self.penalty)(chosen, atoms).dense()
            fade = done / (done + 1)
            together = fade * together + codes.T @ codes / len(chosen)
            with_patches = fade * with_patches + codes.T @ chosen / len(chosen)
            atoms = _descend(atoms, together, with_patches)
            _revive(atoms, np.diagonal(together) <= 0, chosen, rng)
        return atoms.astype(patches.dtype)


@dataclass(frozen=True)
class KSVD:
    """Alternates between matching pursuit and, atom by atom, the best rank-one fit to the residual of the other
    atoms."""

    alternations: int = 50
    active: int = 10

    def __call__(self, patches: np.ndarray, size: int, rng: np.random.Generator, on_step: OnStep = ignore):
        atoms = unit_rows(_draw(patches, size, rng))
        for done in range(self.alternations):
            on_step(Progress(done, self.alternations, "K-SVD dictionary"))
            codes = MatchingPursuit(self.active)(patches, atoms)
            atoms = atoms.copy()
            _rank_one_sweep(patches, atoms, codes.atoms, codes.values, rng)
        return atoms


@dataclass(frozen=True)
class StreamedClusters:
    """The mean patches of the clusters of a mixture that reads the patches once, as a stream, in bounded memory.

    The patches decide the number of clusters, so the dictionary may be smaller than asked for.
    """

    memory: int = 4000
    epoch: int = 2000
    cluster_width: float = 0.05

    def __call__(self, patches: np.ndarray, size: int, rng: np.random.Generator, on_step: OnStep = ignore):
        from benthoscope.engine.streaming import MemoryBoundedVDP  # slow to import, and only this learner needs it

        textured = patches[_textured(patches)]
        if not len(textured):
            raise _too_little_texture(0, 1)
        mixture = MemoryBoundedVDP(
            memory=self.memory,
            epoch=self.epoch,
            horizon=len(textured),
            observation="diagonal",
            width=self.cluster_width,
            max_clusters=size,
            lineage=False,
            random_state=int(rng.integers(2**31)),
        )
        mixture.partial_fit(textured[rng.permutation(len(textured))], on_step=on_step)
        clusters = mixture.clusters_
        assert isinstance(clusters, GaussianGamma)  # of diagonal observations
        return unit_rows(clusters.mean).astype(patches.dtype)


def _nearest(patches: np.ndarray, centres: np.ndarray, between: Callable[[], None]) -> tuple[np.ndarray, float]:
    """Return the nearest centre of each patch and the sum of squared distances, computed block by block."""
    halves = (centres * centres).sum(1) / 2
    nearest, gain = np.empty(len(patches), dtype=np.int64), 0.0
    for start in range(0, len(patches), BLOCK):
        between()
        closeness = patches[start : start + BLOCK] @ centres.T - halves
        best = closeness.argmax(1)
        nearest[start : start + BLOCK] = best
        gain += float(closeness[np.arange(len(best)), best].sum(dtype=np.float64))
    return nearest, float((patches * patches).sum(dtype=np.float64)) - 2 * gain


def _means(patches: np.ndarray, nearest: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the mean of each centre's patches. Centres without patches do not move."""
    members = csr_array(
        (np.ones(len(patches), patches.dtype), nearest, np.arange(len(patches) + 1)), shape=(len(patches), len(centres))
    )
    counts = np.bincount(nearest, minlength=len(centres))[:, None]
    return np.where(counts > 0, (members.T @ patches) / np.maximum(counts, 1), centres).astype(patches.dtype)


def unit_rows(atoms: np.ndarray) -> np.ndarray:
    return atoms / np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1e-12)


def _draw(patches: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `size` different patches that are not flat."""
    textured = _textured(patches)
    if len(textured) < size:
        raise _too_little_texture(len(textured), size)
    return patches[np.sort(rng.choice(textured, size, replace=False))]


def _textured(patches: np.ndarray) -> np.ndarray:
    """Return the numbers of the patches that are not flat."""
    return np.flatnonzero(np.linalg.norm(patches, axis=1) > 0.5)


def _too_little_texture(count: int, atoms: int) -> Exception:
    return fail(
        "dictionary",
        f"there are only {count} patches with texture for {atoms} atoms",
        "use more training images or a smaller dictionary",
    )


def _descend(atoms: np.ndarray, together: np.ndarray, with_patches: np.ndarray) -> np.ndarray:
    """Run one sweep of block coordinate descent on the atoms for fixed codes (sums C'C and C'P). Atoms stay in the unit
    ball."""
    atoms = atoms.copy()
    for k in np.flatnonzero(np.diagonal(together) > 0):
        atom = atoms[k] + (with_patches[k] - together[k] @ atoms) / together[k, k]
        atoms[k] = atom / max(1.0, np.linalg.norm(atom))
    return atoms


def _revive(atoms: np.ndarray, unused: np.ndarray, patches: np.ndarray, rng: np.random.Generator) -> None:
    """Replace atoms that no patch has used so far by sample patches."""
    if unused.any():
        atoms[unused] = unit_rows(patches[rng.integers(len(patches), size=unused.sum())])


def _rank_one_sweep(patches, atoms, index, values, rng) -> None:
    """Set each atom and its codes to the leading singular pair of its residual, in place."""
    residual = patches - _rebuilt(atoms, index, values)
    users = [np.empty((0, 2), dtype=np.int64)] * len(atoms)
    flat = np.argwhere(index >= 0)
    which = index[flat[:, 0], flat[:, 1]]
    order = np.argsort(which, kind="stable")
    for k, members in zip(*_runs(which[order]), strict=True):
        users[k] = flat[order[members]]
    for k, uses in enumerate(users):
        if len(uses) == 0:
            worst = np.argmax((residual * residual).sum(1))
            atoms[k] = unit_rows(patches[worst][None])[0]
            residual[worst] = 0  # covered now; the next unused atom takes another patch
            continue
        rows, slots = uses[:, 0], uses[:, 1]
        without = residual[rows] + values[rows, slots][:, None] * atoms[k]
        atoms[k] = _leading(without, atoms[k])
        values[rows, slots] = without @ atoms[k]
        residual[rows] = without - values[rows, slots][:, None] * atoms[k]


def _runs(ordered: np.ndarray):
    """Yield the distinct values of a sorted array and the slice of each."""
    values, first = np.unique(ordered, return_index=True)
    ends = np.append(first[1:], len(ordered))
    return values, [slice(a, b) for a, b in zip(first, ends, strict=True)]


def _leading(rows: np.ndarray, start: np.ndarray, rounds: int = 3) -> np.ndarray:
    """Return the leading right singular vector of the rows, by power iteration from the current atom."""
    vector = start
    for _ in range(rounds):
        vector = rows.T @ (rows @ vector)
        length = np.linalg.norm(vector)
        if length == 0:
            return start
        vector = vector / length
    return vector


def _rebuilt(atoms: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = np.zeros((len(index), atoms.shape[1]), dtype=atoms.dtype)
    for slot in range(index.shape[1]):
        out += np.where(index[:, slot] >= 0, values[:, slot], 0)[:, None] * atoms[index[:, slot]]
    return out
