"""Making long descriptors short: principal axes, found without holding the rows, and random projection (note 7.4)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from engine.problems import fail
from engine.progress import OnStep, Progress, ignore

Blocks = Callable[[], Iterable[np.ndarray]]  # a fresh walk over the rows, one array (n, D) at a time

EXACT_UP_TO = 2048  # columns: beyond, the covariance matrix is larger than the rows we would rather not hold


@dataclass(frozen=True)
class Projection:
    """x -> (x - centre) axes: `axes` has one column a kept dimension."""

    centre: np.ndarray    # (D,)
    axes: np.ndarray      # (D, d) float32
    spectrum: np.ndarray  # (d,) variance of the rows along each axis before any whitening; empty if not known

    @property
    def width(self) -> int:
        return self.axes.shape[1]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The rows (n, D), or one row (D,), in the short space, float32."""
        shift = self.centre @ self.axes
        return (np.asarray(rows, dtype=np.float32) @ self.axes - shift).astype(np.float32)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"centre": self.centre, "axes": self.axes, "spectrum": self.spectrum}


@dataclass(frozen=True)
class PrincipalAxes:
    """The `dimension` directions of largest variance; whitened rows have unit variance along each."""

    dimension: int = 32
    whiten: bool = False
    passes: int = 4      # over the rows, beyond EXACT_UP_TO columns
    oversampling: int = 16

    def fit(self, blocks: Blocks, *, rng: np.random.Generator, on_step: OnStep = ignore) -> Projection:
        """Holds one block and either the covariance matrix or, beyond EXACT_UP_TO columns, a few numbers a column. The
        blocks are walked twice, or 1 + `passes` times."""
        count, centre, width = _mean(blocks)
        keep = min(self.dimension, width, max(1, count - 1))
        if width <= EXACT_UP_TO:
            spectrum, axes = np.linalg.eigh(_covariance(blocks, centre, count))
            spectrum, axes = spectrum[::-1][:keep], axes[:, ::-1][:, :keep]
        else:
            spectrum, axes = self._subspace(blocks, centre, count, keep, rng, on_step)
        return self._projection(centre, np.maximum(spectrum, 0), _signed(axes))

    def _projection(self, centre: np.ndarray, spectrum: np.ndarray, axes: np.ndarray) -> Projection:
        if self.whiten:
            safe = spectrum > 1e-10 * max(spectrum.max(initial=0), 1e-300)  # rounding along an empty axis is no signal
            axes = axes * np.where(safe, 1 / np.sqrt(np.where(safe, spectrum, 1)), 0)
        return Projection(centre.astype(np.float32), np.ascontiguousarray(axes, dtype=np.float32), spectrum)

    def _subspace(self, blocks: Blocks, centre, count, keep, rng, on_step):
        """Randomised subspace iteration: the covariance times a thin matrix, block by block, `passes` times."""
        thin = min(keep + self.oversampling, count)
        basis = np.linalg.qr(rng.standard_normal((len(centre), thin)))[0]
        for done in range(self.passes):
            on_step(Progress(done, self.passes, "principal axes"))
            image = _covariance_times(blocks, centre, basis) / count
            if done == self.passes - 1:
                small = basis.T @ image  # Rayleigh-Ritz in the last subspace
                values, turn = np.linalg.eigh((small + small.T) / 2)
                return values[::-1][:keep], (basis @ turn)[:, ::-1][:, :keep]
            basis = np.linalg.qr(image)[0]
        raise fail("passes", f"{self.passes}", "the rows have to be walked at least once")


@dataclass(frozen=True)
class RandomProjection:
    """Gaussian directions of unit length, scaled so that distances keep their size on average."""

    dimension: int = 1000

    def fit(self, blocks: Blocks, *, rng: np.random.Generator, on_step: OnStep = ignore) -> Projection:
        """Looks at the first block only to learn how long a row is."""
        width = next(iter(blocks())).shape[1]
        keep = min(self.dimension, width)
        axes = rng.standard_normal((width, keep), dtype=np.float32)
        axes *= np.sqrt(width / keep) / np.linalg.norm(axes, axis=0)
        return Projection(np.zeros(width, dtype=np.float32), axes, np.empty(0))


def _mean(blocks: Blocks) -> tuple[int, np.ndarray, int]:
    count, total = 0, 0.0
    for block in blocks():
        count, total = count + len(block), total + block.sum(0, dtype=np.float64)
    if count == 0:
        raise fail("principal axes", "no rows to learn from", "give at least two images")
    return count, total / count, len(total)


def _covariance(blocks: Blocks, centre: np.ndarray, count: int) -> np.ndarray:
    scatter = np.zeros((len(centre), len(centre)))
    for block in blocks():
        shifted = block - centre  # float64 through the centre
        scatter += shifted.T @ shifted
    return scatter / count


def _covariance_times(blocks: Blocks, centre: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Scatter matrix times `basis`, without the scatter matrix: X'(X B) - n m (m'B) summed over blocks."""
    thin = basis.astype(np.float32)
    shift = centre @ basis
    out = np.zeros(basis.shape)
    for block in blocks():
        inner = np.asarray(block, dtype=np.float32) @ thin - shift.astype(np.float32)
        out += block.T.astype(np.float32, copy=False) @ inner
        out -= np.outer(centre, inner.sum(0, dtype=np.float64))
    return out


def _signed(axes: np.ndarray) -> np.ndarray:
    """Each axis turned so that its largest entry is positive: the same data give the same axes."""
    largest = axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])]
    return axes * np.where(largest < 0, -1.0, 1.0)
