"""The map from descriptors to the columns of the classifier. It is learned once from the images of a workspace, and can
be applied to descriptors of other images."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.discriminative.kernel_factors import Factor, Kernel, factored, rbf
from benthoscope.engine.discriminative.validation import Scale, overall

LEARN_FROM = 5_000  # rows used to compute the principal axes
LANDMARKS = 400  # images whose kernel values form the columns for curved boundaries
CURVED = 128  # number of these columns; they improve the accuracy by two to four percentage points
SHORT = 64  # columns up to which boundaries are curved; longer descriptors are separated as well by linear ones
WIDTH = 256  # columns of a long descriptor that are used; more cost time and do not help
ROWS_AT_ONCE = 16_384


@dataclass(frozen=True)
class PrincipalColumns:
    """The leading principal axes of descriptors. Without `axes`, the descriptors are short enough to stay as they
    are."""

    offset: np.ndarray  # (width,)
    axes: np.ndarray | None  # (D, width) float32

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the columns (n, width) float32. Works in blocks, so that a mapped file is never in memory as a
        whole."""
        axes = self.axes
        if axes is None:
            return np.asarray(X, np.float32)
        return _by_blocks(X, axes.shape[1], lambda block: np.asarray(block, np.float32) @ axes - self.offset)


@dataclass(frozen=True)
class KernelColumns:
    """Kernel values with landmarks, as columns in which linear boundaries are curved boundaries of the rows."""

    landmarks: np.ndarray  # (L, width) float64
    kernel: Kernel
    factor: Factor

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return the columns (n, r) float32 of rows (n, width)."""
        return _by_blocks(
            rows,
            self.factor.axes.shape[1],
            lambda block: self.factor(self.kernel(np.asarray(block, np.float64), self.landmarks)).astype(np.float32),
        )


@dataclass(frozen=True)
class RowMap:
    """Principal columns, for short descriptors kernel columns of them, and a scale."""

    principal: PrincipalColumns
    curved: KernelColumns | None
    scale: Scale

    @property
    def width(self) -> int:
        """Return the number of columns of the descriptors."""
        axes = self.principal.axes
        return len(self.principal.offset) if axes is None else len(axes)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows (n, r) float32 of descriptors (n, D)."""
        columns = self.principal(X)
        return self.scale(columns if self.curved is None else self.curved(columns))


def learned_map(X: np.ndarray, rng: np.random.Generator) -> tuple[RowMap, np.ndarray]:
    """Return the map learned from descriptors X (N, D), and the rows it gives them (N, r)."""
    principal = _principal_columns(X, rng)
    columns, curved = principal(X), None
    if X.shape[1] <= SHORT:
        curved = _kernel_columns(columns, rng)
        columns = curved(columns)
    scale = overall(columns)
    return RowMap(principal, curved, scale), scale(columns)


def _principal_columns(X: np.ndarray, rng: np.random.Generator) -> PrincipalColumns:
    if X.shape[1] <= WIDTH:
        return PrincipalColumns(np.zeros(X.shape[1], np.float32), None)
    sample = np.sort(rng.choice(len(X), min(LEARN_FROM, len(X)), replace=False))
    rows = np.asarray(X[sample], np.float64)
    mean = rows.mean(0)
    axes = np.linalg.eigh((rows - mean).T @ (rows - mean))[1][:, ::-1][:, :WIDTH].astype(np.float32)
    return PrincipalColumns(mean.astype(np.float32) @ axes, axes)


def _kernel_columns(rows: np.ndarray, rng: np.random.Generator) -> KernelColumns:
    landmarks = np.asarray(rows[rng.permutation(len(rows))[:LANDMARKS]], np.float64)
    kernel = rbf(landmarks, None)
    return KernelColumns(landmarks, kernel, factored(kernel(landmarks, landmarks), CURVED))


def _by_blocks(rows: np.ndarray, width: int, values: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    blocks = [values(rows[at : at + ROWS_AT_ONCE]) for at in range(0, len(rows), ROWS_AT_ONCE)]
    return np.concatenate(blocks) if blocks else np.empty((0, width), np.float32)
