"""Images in two dimensions: the plane of largest variance, and integer coordinates for drawing."""

from dataclasses import dataclass

import numpy as np

FITTED_ON = 20_000  # rows; they determine two axes of a million rows to three digits
BLOCK = 100_000  # rows in memory at the same time
NOWHERE = 65535  # coordinate of rows without a position
LAST = 65534  # the largest coordinate; a step is a hundredth of a pixel on the largest screens


@dataclass(frozen=True)
class PrincipalPlane:
    """`xy` (n, 2) float32 along the two axes of largest variance, the larger first. `shares` are the shares of the
    whole variance along them, from 0 to 1."""

    xy: np.ndarray
    shares: tuple[float, float]


def principal_plane(X: np.ndarray) -> np.ndarray:
    """Return (n, 2) float32 coordinates along the two axes of largest variance, the larger first. Signs are fixed by
    the sums of the axes."""
    return fit_principal_plane(X).xy


def fit_principal_plane(X: np.ndarray) -> PrincipalPlane:
    """Return the coordinates of `principal_plane` and how much of the variance they show."""
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(len(X), FITTED_ON, replace=False)) if len(X) > FITTED_ON else slice(None)
    sample = np.asarray(X[chosen], np.float64)
    centre = sample.mean(0)
    covariance = np.cov(sample - centre, rowvar=False) if len(sample) > 1 else np.eye(X.shape[1])
    variances, axes = np.linalg.eigh(np.atleast_2d(covariance))
    axes = axes[:, ::-1][:, :2]
    axes = (axes * np.where(axes.sum(0) < 0, -1, 1)).astype(np.float32)
    blocks = [(X[start : start + BLOCK] - centre.astype(np.float32)) @ axes for start in range(0, len(X), BLOCK)]
    xy = np.concatenate(blocks)
    if xy.shape[1] < 2:
        xy = np.column_stack([xy, np.zeros_like(xy)])
    first, second = [*np.maximum(variances[::-1], 0)[:2], 0.0][:2]
    total = max(float(np.maximum(variances, 0).sum()), 1e-30)
    return PrincipalPlane(xy, (float(first) / total, float(second) / total))


@dataclass(frozen=True)
class StepScale:
    """Where steps of a plane are: a coordinate is `start` plus the step times `unit`, the same on both axes."""

    start: tuple[float, float]
    unit: float


def step_scale(xy: np.ndarray) -> StepScale:
    """The scale of `to_steps` for coordinates (n, 2): nearly all of them fit, a few outliers do not."""
    xy = np.asarray(xy, np.float64)
    if not len(xy):
        return StepScale((0.0, 0.0), 1.0)
    low, high = np.percentile(xy, (0.05, 99.95), axis=0)
    side = max(float((high - low).max()) * 1.06, 1e-12)
    west, south = (low + high) / 2 - side / 2
    return StepScale((float(west), float(south)), side / LAST)


def to_steps(xy: np.ndarray, positions: np.ndarray, count: int) -> np.ndarray:
    """Return (count, 2) uint16 from 0 to LAST with the same scale on both axes. Outliers are moved to the border.

    `xy` is (n, 2), and row i belongs at `positions[i]`. All other rows are NOWHERE.
    """
    xy = np.asarray(xy, np.float64)
    steps = np.full((count, 2), NOWHERE, np.uint16)
    if len(xy):
        scale = step_scale(xy)
        steps[positions] = np.clip((xy - scale.start) / scale.unit, 0, LAST).round()
    return steps
