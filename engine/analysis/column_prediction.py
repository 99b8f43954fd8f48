"""Predict a number of each image from its descriptor, and measure how good the predictions are.

In a dive with measurements, the prediction is the mean of the dive plus a deviation, which a model predicts from the
descriptor. The model learns deviations from all dives. Another model predicts dives without any measurement.

Neighbouring images of a dive are similar, so a random split would test a model on images that it nearly saw. The test
here leaves out whole blocks: each dive is cut into contiguous blocks with equal numbers of measured images, and each
block is predicted without its measurements. The model of dives without measurements is tested on whole dives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.base import clone

from benthoscope.engine.exemplars import SparseGPRegressor
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore

BAND = 0.9  # share of measurements that the band should contain
CONFIDENCE = 0.95  # that predictions beat the mean, before they count as better
FEWEST = 20  # measured images
MOST_FOLDS = 10  # of whole dives
LEAST_GROUPS = 3  # dives with measurements, to test predictions for dives without any
MOST_ROWS = 10_000  # random measured images that one model is fitted on; more cost time and hardly improve it


@dataclass(frozen=True)
class PredictionQuality:
    """Errors on blocks of images that the model did not see.

    `error` and `mean_error` are root mean squares, the latter of the mean of the other blocks of the dive (for whole
    dives, of the other dives). `explained`
    is 1 - error^2 / mean_error^2 with its 90 % interval `low` to `high`. `in_band` is the share of measurements in the
    band. A value that cannot be computed is None.
    """

    images: int
    blocks: int
    error: float
    mean_error: float
    explained: float | None
    low: float | None
    high: float | None
    in_band: float
    better: bool  # whether predictions are better than the mean, with 95 % confidence


@dataclass(frozen=True)
class ColumnPrediction:
    """Predictions (N,) with their standard deviations; `low` and `high` bound the band of 90 %.

    `block` is -1 for images without a measurement. A measured image has the prediction that was made without its block.
    `quality_of_group` has the dives with measurements. `quality_of_new_groups` is the quality in dives without any; it
    is None if all dives have some, or if too few have.
    """

    mean: np.ndarray
    std: np.ndarray
    low: np.ndarray
    high: np.ndarray
    block: np.ndarray
    quality: PredictionQuality
    quality_of_group: Mapping[int, PredictionQuality]
    quality_of_new_groups: PredictionQuality | None


def predict_column(
    X: np.ndarray,
    values: np.ndarray,
    groups: np.ndarray,
    order: np.ndarray,
    *,
    model: SparseGPRegressor | None = None,
    blocks: int = 10,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    seed: int = 0,
    on_step: OnStep = ignore,
) -> ColumnPrediction:
    """Predict `values` (N,), NaN where unknown, from descriptors X (N, D).

    `groups` (N,) are the dives, `order` (N,) ranks the images of a dive by time. Predictions are limited to `bounds`.
    """
    measured = np.flatnonzero(np.isfinite(values))
    if len(measured) < FEWEST:
        raise fail("values", f"only {len(measured)} images have one", f"measure at least {FEWEST} images")
    model = SparseGPRegressor(150, lengthscales="common", max_passes=1) if model is None else model
    block = contiguous_blocks(groups, order, measured, blocks)
    if block.max() < 1:
        raise fail("blocks", "there is only one block", "use at least two blocks")
    _, group = np.unique(groups, return_inverse=True)
    in_new_group = np.flatnonzero(~np.isin(group, group[measured]))
    in_known_group = np.setdiff1d(np.arange(len(values)), in_new_group)
    fold_of_group = np.full(len(values), -1)
    fold_of_group[measured] = np.unique(group[measured], return_inverse=True)[1] % MOST_FOLDS
    fits = int(block.max()) + 2 + (int(fold_of_group.max()) + 2 if len(in_new_group) else 0)
    learner = _Learner(X, values, group, model, bounds, np.random.default_rng(seed), fits, on_step)
    known = learner.predicted(in_known_group, block, by_group=True)
    mean, std, factor = known.mean, known.std, np.full(len(values), known.factor)
    quality_of_new_groups = None
    if len(in_new_group):
        new = learner.predicted(in_new_group, fold_of_group, by_group=False)
        mean[in_new_group], std[in_new_group] = new.mean[in_new_group], new.std[in_new_group]
        factor[in_new_group] = new.factor
        quality_of_new_groups = new.quality(measured) if fold_of_group.max() >= LEAST_GROUPS - 1 else None
    return ColumnPrediction(
        mean,
        std,
        np.clip(mean - factor * std, *bounds),
        np.clip(mean + factor * std, *bounds),
        block,
        known.quality(measured),
        {int(groups[rows[0]]): known.quality(rows) for rows in _by_group(group, measured)},
        quality_of_new_groups,
    )


@dataclass
class _Learner:
    """Fits models to measured images and predicts the others. `fits` is the number of all fits, for the progress."""

    X: np.ndarray
    values: np.ndarray
    group: np.ndarray  # 0, 1, ... of each image
    model: SparseGPRegressor
    bounds: tuple[float, float]
    rng: np.random.Generator
    fits: int
    on_step: OnStep
    done: int = 0

    def predicted(self, unmeasured: np.ndarray, fold: np.ndarray, *, by_group: bool) -> "_Tested":
        """Predict each measured image without its fold (N,), and the `unmeasured` ones from all measured images.

        With `by_group`, the model predicts deviations from the mean of the image's group.
        """
        count = len(self.values)
        mean, std, baseline = np.full(count, np.nan), np.full(count, np.nan), np.full(count, np.nan)
        measured = np.flatnonzero(fold >= 0)
        for number in range(int(fold.max()) + 1):
            out, remaining = np.flatnonzero(fold == number), measured[fold[measured] != number]
            if len(out) and len(remaining):
                mean[out], std[out], baseline[out] = self._fitted(remaining, out, by_group, "measuring the error")
        rows = unmeasured[fold[unmeasured] < 0]
        if len(rows):
            mean[rows], std[rows], _ = self._fitted(measured, rows, by_group, "predicting images without a value")
        return _Tested(self.values, mean, std, baseline, self.group * (int(fold.max()) + 1) + fold, fold)

    def _fitted(
        self, rows: np.ndarray, out: np.ndarray, by_group: bool, message: str
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return predictions, standard deviations and the means they are compared with, of the images `out`, learned
        from `rows`."""
        if len(rows) > MOST_ROWS:
            rows = self.rng.choice(rows, MOST_ROWS, replace=False)
        means = self._means(rows) if by_group else np.full(len(self.values), self.values[rows].mean())
        fresh = clone(self.model).set_params(random_state=int(self.rng.integers(2**31)))

        def on_fit(step: Progress) -> None:
            share = min(step.done / step.total, 1.0) if step.total else 0.0
            self.on_step(Progress(self.done + share, self.fits, message))

        fresh.fit(self.X[rows], self.values[rows] - means[rows], on_step=on_fit)
        self.done += 1
        deviation, std = fresh.predict(self.X[out], return_std=True)
        return np.clip(means[out] + deviation, *self.bounds), std, means[out]

    def _means(self, rows: np.ndarray) -> np.ndarray:
        """Return for each image (N,) the mean value of those `rows` that are in its group, or of all rows."""
        groups = int(self.group.max()) + 1
        counts = np.bincount(self.group[rows], minlength=groups)
        sums = np.bincount(self.group[rows], self.values[rows], minlength=groups)
        return np.where(counts > 0, sums / np.maximum(counts, 1), self.values[rows].mean())[self.group]


def contiguous_blocks(groups: np.ndarray, order: np.ndarray, measured: np.ndarray, blocks: int) -> np.ndarray:
    """Return the block (N,) of each measured image, -1 for the others: the measured images of each dive, by `order`,
    cut into `blocks` parts of nearly equal size."""
    block = np.full(len(groups), -1, np.int32)
    for group in np.unique(groups[measured]):
        rows = measured[groups[measured] == group]
        rows = rows[np.argsort(order[rows], kind="stable")]
        block[rows] = np.arange(len(rows)) * min(blocks, len(rows)) // len(rows)
    return block


def _by_group(group: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each group that has any."""
    ordered = rows[np.argsort(group[rows], kind="stable")]
    return np.split(ordered, np.flatnonzero(np.diff(group[ordered])) + 1)


def _inside_other_bands(scores: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return whether each measurement (n,) is in a band whose width was set without its fold."""
    inside = np.empty(len(scores), bool)
    for fold in np.unique(folds):
        out = folds == fold
        inside[out] = scores[out] <= np.quantile(scores[~out], BAND)
    return inside


@dataclass(frozen=True)
class _Tested:
    """Values, predictions, and the means they are compared with, of all images (N,). `block` (N,) numbers the blocks
    whose errors are independent, `fold` (N,) is -1 for images without a value."""

    values: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    baseline: np.ndarray
    block: np.ndarray
    fold: np.ndarray

    @cached_property
    def scores(self) -> np.ndarray:
        """Errors of predictions (N,) in standard deviations, NaN for images without a value."""
        with np.errstate(invalid="ignore"):
            return np.where(self.fold >= 0, np.abs(self.values - self.mean) / self.std, np.nan)

    @property
    def factor(self) -> float:
        """The half width of the band in standard deviations."""
        scores = self.scores[np.isfinite(self.scores)]
        return float(np.quantile(scores, BAND)) if len(scores) else float(norm.ppf((1 + BAND) / 2))

    @cached_property
    def inside(self) -> np.ndarray:
        """Whether each value (N,) is in a band whose width was set without its fold."""
        rows = np.flatnonzero(np.isfinite(self.scores))
        inside = np.zeros(len(self.values), bool)
        inside[rows] = _inside_other_bands(self.scores[rows], self.fold[rows])
        return inside

    def quality(self, rows: np.ndarray) -> PredictionQuality:
        """Return the quality on these measured images."""
        by_model = (self.values[rows] - self.mean[rows]) ** 2
        by_mean = (self.values[rows] - self.baseline[rows]) ** 2
        _, block = np.unique(self.block[rows], return_inverse=True)
        average, half = _mean_with_half_interval(by_mean - by_model, block)
        total = float(by_mean.mean())
        scale = total if total > 0 else None
        low = high = None
        if half is not None and scale is not None:
            low, high = (average - half) / scale, (average + half) / scale
        return PredictionQuality(
            len(rows),
            int(block.max()) + 1,
            float(np.sqrt(by_model.mean())),
            float(np.sqrt(total)),
            None if scale is None else average / scale,
            low,
            high,
            float(self.inside[rows].mean()),
            half is not None and average - half > 0,
        )


def _mean_with_half_interval(values: np.ndarray, block: np.ndarray) -> tuple[float, float | None]:
    """Return the mean and half its 90 % interval, from the differences between blocks; None with one block. Its lower
    end is exceeded with 95 % confidence."""
    count = np.bincount(block)
    mean = float(values.mean())
    if len(count) < 2:
        return mean, None
    deviations = np.bincount(block, values - mean)  # n_b times the deviation of the block's mean
    variance = float((deviations**2).sum()) / len(values) ** 2 * len(count) / (len(count) - 1)
    return mean, float(student.ppf(CONFIDENCE, len(count) - 1)) * float(np.sqrt(variance))
