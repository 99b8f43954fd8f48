"""A bank of small colour filters learned by independent component analysis, and the filter responses of image regions
(methods note 8, steps 1 to 4 and 6)."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numba
import numpy as np
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benthoscope.engine.features.compression import split_evenly
from benthoscope.engine.problems import fail

FLOOR = 1e-6  # lower limit of a response before the logarithm
CONTRAST_FLOOR = 0.01  # fraction of the intensity range, added to a patch's standard deviation
STRIP = 16  # image rows filtered at a time; the patches of a strip fit the cache
LOGS_SAVED = 24  # responses multiplied before one logarithm; 1e-6 ** 24 is far above the smallest double


@dataclass(frozen=True)
class FilterBank:
    """`filters` (L, side * side * 3) give the responses of a pixel: filters (patch - mean). With `normalise`, the mean
    level of each patch is removed and the patch is divided by its contrast first."""

    filters: np.ndarray
    mean: np.ndarray  # (side * side * 3,)
    side: int
    normalise: bool

    def answers(self, image: np.ndarray) -> Iterable[tuple[int, np.ndarray]]:
        """Yield an RGB uint8 image in strips: the first row of the strip and the responses (pixels, L), row by row."""
        half = self.side // 2
        padded = np.pad(image.astype(np.float32) / 255, [(half, half), (half, half), (0, 0)], mode="reflect")
        bank, offset = self.filters.T.astype(np.float32), (self.filters @ self.mean).astype(np.float32)
        for top in range(0, image.shape[0], STRIP):
            rows = min(STRIP, image.shape[0] - top)
            patches = _patches(padded[top : top + rows + 2 * half], self.side)
            if self.normalise:
                _normalise(patches)
            yield top, patches @ bank - offset

    def strength(self, image: np.ndarray, mask: np.ndarray, segments: int) -> np.ndarray:
        """Return the mean logarithm of the absolute responses (segments, L) over the pixels of each segment of `mask`
        (H, W). Each segment must contain a pixel."""
        product = np.ones((segments, len(self.filters)))
        total = np.zeros_like(product)
        count = np.zeros(segments, dtype=np.int64)
        for top, answers in self.answers(image):
            labels = mask[top : top + STRIP].ravel()
            _multiply(answers, labels, product, total, count)
        return ((total + np.log(product)) / count[:, None]).astype(np.float32)


@dataclass(frozen=True)
class IndependentComponents:
    """Training settings of a filter bank. 5 px patches and normalised contrast suit survey images with varying
    light."""

    side: int = 5
    filters: int = 50
    normalise: bool = True
    patches: int = 50_000
    iterations: int = 200

    def fit(self, images: Iterable[np.ndarray], *, rng: np.random.Generator) -> FilterBank:
        sample = self._sample(list(images), rng)
        if self.normalise:
            _normalise(sample)
        answering = FastICA(
            min(self.filters, self._rank()),
            algorithm="parallel",
            fun="logcosh",
            whiten="unit-variance",
            tol=1e-3,
            max_iter=self.iterations,
            random_state=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", ConvergenceWarning)  # filters that have not fully converged are as useful
            answering.fit(sample)
        return FilterBank(
            answering.components_.astype(np.float32), answering.mean_.astype(np.float32), self.side, self.normalise
        )

    def _rank(self) -> int:
        """Return the number of dimensions of the patches; removing the mean level removes one."""
        return self.side**2 * 3 - int(self.normalise)

    def _sample(self, images: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        usable = [image for image in images if min(image.shape[:2]) >= self.side]
        if not usable:
            raise fail("filter bank", f"no image is {self.side} px wide", "give larger images")
        shares = split_evenly(self.patches, len(usable))
        patches = [_random_patches(i, self.side, n, rng) for i, n in zip(usable, shares, strict=True)]
        return np.concatenate(patches)


def _random_patches(image: np.ndarray, side: int, count: int, rng: np.random.Generator) -> np.ndarray:
    tops = rng.integers(image.shape[0] - side + 1, size=count)
    lefts = rng.integers(image.shape[1] - side + 1, size=count)
    steps = np.arange(side)
    rows, columns = tops[:, None, None] + steps[:, None], lefts[:, None, None] + steps
    return image[rows, columns].reshape(count, -1).astype(np.float32) / np.float32(255)


def _patches(strip: np.ndarray, side: int) -> np.ndarray:
    """Return the patch around each pixel of a strip padded by side // 2 (pixels, side * side * 3)."""
    height, width = strip.shape[0] - side + 1, strip.shape[1] - side + 1
    windows = np.lib.stride_tricks.sliding_window_view(strip, (side, side), axis=(0, 1))
    return windows.transpose(0, 1, 3, 4, 2).copy().reshape(height * width, -1)  # a copy, because it is changed in place


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _normalise(patches):
    """Subtract the mean of each row and divide by its standard deviation plus the floor, in place."""
    for row in patches:
        level, square = np.float32(0), np.float32(0)
        for value in row:
            level += value
        level /= row.size
        for value in row:
            square += (value - level) * (value - level)
        scale = np.float32(1) / (np.sqrt(square / row.size) + np.float32(CONTRAST_FLOOR))
        for i in range(row.size):
            row[i] = (row[i] - level) * scale


@numba.njit(cache=True, nogil=True)
def _multiply(answers, labels, product, total, count):
    """Add log |response| to the total of each pixel's segment. For speed, responses are multiplied, and the logarithm
    is taken of the products."""
    for n in range(labels.size):
        segment = labels[n]
        row, running = answers[n], product[segment]
        for k in range(row.size):
            running[k] *= max(abs(row[k]), FLOOR)
        count[segment] += 1
        if count[segment] % LOGS_SAVED == 0:
            for k in range(row.size):
                total[segment, k] += np.log(running[k])
                running[k] = 1.0
