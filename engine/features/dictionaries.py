"""Learning a dictionary of unit atoms from sample patches (methods note 7.3). Each learner is called with patches
(N, P), the number of atoms and a generator, and gives the dictionary (K, P)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from engine.features.encoders import MatchingPursuit, SparseCoding
from engine.problems import fail
from engine.progress import OnStep, Progress, ignore

BLOCK = 2048  # patches compared with all atoms at a time: 8 MB, and a moment to look up in between


class Learner(Protocol):
    def __call__(self, patches: np.ndarray, size: int, rng: np.random.Generator, on_step: OnStep) -> np.ndarray: ...


@dataclass(frozen=True)
class RandomPatches:
    """Sample patches as they are: no learning at all, and close behind the best."""

    def __call__(self, patches: np.ndarray, size: int, rng: np.random.Generator, on_step: OnStep = ignore):
        return unit_rows(_draw(patches, size, rng))


@dataclass(frozen=True)
class KMeansCentres:
    """The centres K-means finds (Lloyd's iterations from random patches)."""

    iterations: int = 100
    tolerance: float = 1e-4  # share of the error by which an iteration has to lower it

    def __call__(self, patches: np.ndarray, size: int, rng: np.random.Generator, on_step: OnStep = ignore):
        centres, last = _draw(patches, size, rng), np.inf
        for done in range(self.iterations):
            nearest, error = _nearest(patches, centres, lambda now=done: on_step(
                Progress(now, self.iterations, "K-means dictionary")))
            if error > last * (1 - self.tolerance):
                break
            centres, last = _means(patches, nearest, centres), error
        return unit_rows(centres)


@dataclass(frozen=True)
class SparseCodingDictionary:
    """Alternates lasso codes of a batch of patches and a descent over the atoms, |d| <= 1, against all that has been
    seen, old batches fading."""

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
    """Alternates matching pursuit and, atom by atom, the best rank-one fit to what the other atoms leave over."""

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


def _nearest(patches: np.ndarray, centres: np.ndarray, between: Callable[[], None]) -> tuple[np.ndarray, float]:
    """The nearest centre of every patch, and the sum of squared distances; block by block."""
    halves = (centres * centres).sum(1) / 2
    nearest, gain = np.empty(len(patches), dtype=np.int64), 0.0
    for start in range(0, len(patches), BLOCK):
        between()
        closeness = patches[start:start + BLOCK] @ centres.T - halves
        best = closeness.argmax(1)
        nearest[start:start + BLOCK] = best
        gain += float(closeness[np.arange(len(best)), best].sum(dtype=np.float64))
    return nearest, float((patches * patches).sum(dtype=np.float64)) - 2 * gain


def _means(patches: np.ndarray, nearest: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The mean of each centre's patches; a centre without any stays where it is."""
    members = csr_array((np.ones(len(patches), patches.dtype), nearest, np.arange(len(patches) + 1)),
                        shape=(len(patches), len(centres)))
    counts = np.bincount(nearest, minlength=len(centres))[:, None]
    return np.where(counts > 0, (members.T @ patches) / np.maximum(counts, 1), centres).astype(patches.dtype)


def unit_rows(atoms: np.ndarray) -> np.ndarray:
    return atoms / np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1e-12)


def _draw(patches: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """`size` different patches that are not flat."""
    busy = np.flatnonzero(np.linalg.norm(patches, axis=1) > 0.5)
    if len(busy) < size:
        raise fail("dictionary", f"{len(busy)} patches with texture for {size} atoms",
                   "learn from more images, or ask for a smaller dictionary")
    return patches[np.sort(rng.choice(busy, size, replace=False))]


def _descend(atoms: np.ndarray, together: np.ndarray, with_patches: np.ndarray) -> np.ndarray:
    """One sweep of block coordinate descent on the atoms for fixed codes (sums C'C and C'P), each kept in the ball."""
    atoms = atoms.copy()
    for k in np.flatnonzero(np.diagonal(together) > 0):
        atom = atoms[k] + (with_patches[k] - together[k] @ atoms) / together[k, k]
        atoms[k] = atom / max(1.0, np.linalg.norm(atom))
    return atoms


def _revive(atoms: np.ndarray, unused: np.ndarray, patches: np.ndarray, rng: np.random.Generator) -> None:
    """Atoms no patch has used so far become sample patches."""
    if unused.any():
        atoms[unused] = unit_rows(patches[rng.integers(len(patches), size=unused.sum())])


def _rank_one_sweep(patches, atoms, index, values, rng) -> None:
    """Brings every atom, and the codes that use it, to the leading singular pair of its residual; in place."""
    residual = patches - _rebuilt(atoms, index, values)
    users = [np.empty((0, 2), dtype=np.int64)] * len(atoms)
    flat = np.argwhere(index >= 0)
    which = index[flat[:, 0], flat[:, 1]]
    order = np.argsort(which, kind="stable")
    for k, members in zip(*_runs(which[order]), strict=True):
        users[k] = flat[order[members]]
    for k, places in enumerate(users):
        if len(places) == 0:
            worst = np.argmax((residual * residual).sum(1))
            atoms[k] = unit_rows(patches[worst][None])[0]
            residual[worst] = 0  # explained now: the next unused atom takes another patch
            continue
        rows, slots = places[:, 0], places[:, 1]
        without = residual[rows] + values[rows, slots][:, None] * atoms[k]
        atoms[k] = _leading(without, atoms[k])
        values[rows, slots] = without @ atoms[k]
        residual[rows] = without - values[rows, slots][:, None] * atoms[k]


def _runs(ordered: np.ndarray):
    """The values of a sorted array and the slice where each stands."""
    found, first = np.unique(ordered, return_index=True)
    ends = np.append(first[1:], len(ordered))
    return found, [slice(a, b) for a, b in zip(first, ends, strict=True)]


def _leading(rows: np.ndarray, start: np.ndarray, rounds: int = 3) -> np.ndarray:
    """The leading right singular vector of the rows, by power iteration from the present atom."""
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
