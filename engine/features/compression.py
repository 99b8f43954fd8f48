"""Dimension reduction of long descriptors: principal axes, computed block by block, and random projection (note
7.4)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.value_checks import UnusableInput, unusable_values

Blocks = Callable[[], Iterable[np.ndarray]]  # each call yields the rows again, one array (n, D) at a time

LARGEST_PROJECTED = 1e30  # largest magnitude of a value; projected rows are float32, whose range ends at 3e38
EXACT_UP_TO = 2048  # columns; with more, the covariance matrix would be too large


@dataclass(frozen=True)
class LinearProjection:
    """Maps x to (x - centre) axes. `axes` has one column per output dimension."""

    centre: np.ndarray  # (D,)
    axes: np.ndarray  # (D, d) float32
    spectrum: np.ndarray  # (d,) variance of the rows along each axis before whitening; empty if unknown

    @property
    def width(self) -> int:
        return self.axes.shape[1]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Project the rows (n, D), or one row (D,). Returns float32."""
        shift = self.centre @ self.axes
        return (np.asarray(rows, dtype=np.float32) @ self.axes - shift).astype(np.float32)

    def squared_distances(self, rows: np.ndarray, count: int | None = None) -> np.ndarray:
        """Return the squared distance (n,) of each row (n, D) from the plane of the first `count` axes, which must be
        orthogonal. None means all axes."""
        lengths = np.linalg.norm(self.axes[:, :count], axis=0)
        directions = self.axes[:, :count] / np.where(lengths > 0, lengths, 1)
        shifted = np.asarray(rows, np.float64) - self.centre
        return np.maximum((shifted**2).sum(1) - ((shifted @ directions) ** 2).sum(1), 0.0)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"centre": self.centre, "axes": self.axes, "spectrum": self.spectrum}


@dataclass(frozen=True)
class PrincipalAxes:
    """The `dimension` directions with the largest variance. Whitened rows have unit variance along each.

    The `further` next directions are learned as well. Classifiers use them, clusterings do not.
    """

    dimension: int = 32
    whiten: bool = False
    passes: int = 4  # passes over the rows, if there are more than EXACT_UP_TO columns
    oversampling: int = 16
    further: int = 0

    def fit(self, blocks: Blocks, *, rng: np.random.Generator, on_step: OnStep = ignore) -> LinearProjection:
        """Fit with one block in memory, and either the covariance matrix or, above EXACT_UP_TO columns, a few numbers
        per column. Reads the blocks twice, or 1 + `passes` times."""
        count, centre, width = _mean(blocks)
        keep = min(self.dimension + self.further, width, max(1, count - 1))
        if width <= EXACT_UP_TO:
            spectrum, axes = np.linalg.eigh(_covariance(blocks, centre, count))
            spectrum, axes = spectrum[::-1][:keep], axes[:, ::-1][:, :keep]
        else:
            spectrum, axes = self._subspace(blocks, centre, count, keep, rng, on_step)
        return self._projection(centre, np.maximum(spectrum, 0), _signed(axes))

    def _projection(self, centre: np.ndarray, spectrum: np.ndarray, axes: np.ndarray) -> LinearProjection:
        if self.whiten:
            # rounding errors along an empty axis are not a signal
            safe = spectrum > 1e-10 * max(spectrum.max(initial=0), 1e-300)
            axes = axes * np.where(safe, 1 / np.sqrt(np.where(safe, spectrum, 1)), 0)
        return LinearProjection(centre.astype(np.float32), np.ascontiguousarray(axes, dtype=np.float32), spectrum)

    def _subspace(self, blocks: Blocks, centre, count, keep, rng, on_step):
        """Run randomised subspace iteration: multiply the covariance by a thin matrix, block by block, `passes`
        times."""
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
        raise fail("passes", f"{self.passes}", "use at least one pass over the rows")


@dataclass(frozen=True)
class RandomProjection:
    """Random Gaussian directions of unit length, scaled so that distances are preserved on average."""

    dimension: int = 1000

    def fit(self, blocks: Blocks, *, rng: np.random.Generator, on_step: OnStep = ignore) -> LinearProjection:
        """Fit. Reads only the first block, to get the number of columns."""
        width = next(iter(blocks())).shape[1]
        keep = min(self.dimension, width)
        axes = rng.standard_normal((width, keep), dtype=np.float32)
        axes *= np.sqrt(width / keep) / np.linalg.norm(axes, axis=0)
        return LinearProjection(np.zeros(width, dtype=np.float32), axes, np.empty(0))


def _mean(blocks: Blocks) -> tuple[int, np.ndarray, int]:
    count, total = 0, np.zeros(())  # the first block makes it a row
    for block in blocks():
        unusable = unusable_values(block, LARGEST_PROJECTED, first_row=count)
        if unusable is not None:
            raise UnusableInput("features", unusable)
        count, total = count + len(block), total + block.sum(0, dtype=np.float64)
    if count == 0:
        raise fail("principal axes", "there are no rows to learn from", "give at least two images")
    return count, total / count, len(total)


def _covariance(blocks: Blocks, centre: np.ndarray, count: int) -> np.ndarray:
    scatter = np.zeros((len(centre), len(centre)))
    for block in blocks():
        shifted = block - centre  # centred in float64
        scatter += shifted.T @ shifted
    return scatter / count


def _covariance_times(blocks: Blocks, centre: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return the scatter matrix times `basis` without computing the scatter matrix: X'(X B) - n m (m'B), summed over
    blocks."""
    thin = basis.astype(np.float32)
    shift = centre @ basis
    out = np.zeros(basis.shape)
    for block in blocks():
        inner = np.asarray(block, dtype=np.float32) @ thin - shift.astype(np.float32)
        out += block.T.astype(np.float32, copy=False) @ inner
        out -= np.outer(centre, inner.sum(0, dtype=np.float64))
    return out


def _signed(axes: np.ndarray) -> np.ndarray:
    """Flip each axis so that its largest entry is positive. The same data then give the same axes."""
    largest = axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])]
    return axes * np.where(largest < 0, -1.0, 1.0)


Thing = TypeVar("Thing")


def split_evenly(total: int, count: int) -> list[int]:
    """Split `total` into parts that differ by at most one, larger parts first."""
    share, over = divmod(total, count)
    return [share + (number < over) for number in range(count)]


def draw(things: Sequence[Thing], most: int, rng: np.random.Generator) -> list[Thing]:
    """Draw at most `most` of the items at random, in their original order."""
    if len(things) <= most:
        return list(things)
    return [things[i] for i in np.sort(rng.choice(len(things), most, replace=False))]
