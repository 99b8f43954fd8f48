"""Dense SIFT: 128 numbers for each 16 x 16 patch on a regular grid (methods note 7.1, steps 2 and 3)."""

import math
from dataclasses import dataclass

import numba
import numpy as np

BINS = 4  # spatial bins per side
ORIENTATIONS = 8
LENGTH = BINS * BINS * ORIENTATIONS
CLIP = 0.2  # Lowe's limit for one entry, so that strong edges, often caused by lighting, do not dominate


@dataclass(frozen=True)
class Patches:
    """The patches of one image."""

    vectors: np.ndarray  # (N, 128) float32, unit length or, for flat patches, shorter
    rows: np.ndarray  # (N,) centre, px from the top edge of the image
    columns: np.ndarray  # (N,) centre, px from the left edge
    height: int  # of the image
    width: int


@dataclass(frozen=True)
class DenseSift:
    """Square patches `patch` px wide every `stride` px. A patch whose gradients have a norm below `floor` (grey levels
    in 0..1) gets a vector shorter than 1, because scaling the noise of smooth sand up would make it look textured."""

    patch: int = 16
    stride: int = 8
    floor: float = 0.05

    def __call__(self, plane: np.ndarray) -> Patches:
        """Describe a float grey image. An image smaller than a patch is extended by mirroring."""
        plane = at_least(np.asarray(plane, dtype=np.float32), self.patch)
        height, width = plane.shape
        tops, lefts = self._starts(height), self._starts(width)
        strength, direction = gradients(plane)
        raw = _histograms(strength, direction, tops, lefts, self._spatial(), self._window())
        rows, columns = np.meshgrid(tops + self.patch / 2, lefts + self.patch / 2, indexing="ij")
        return Patches(normalised(raw, self.floor), rows.ravel(), columns.ravel(), height, width)

    def _starts(self, length: int) -> np.ndarray:
        return np.arange(0, length - self.patch + 1, self.stride)

    def _spatial(self) -> np.ndarray:
        """Return the weight of each pixel for each bin along one axis (BINS, patch), linear in the distance from the
        centre."""
        across = self.patch / BINS
        centres = (np.arange(BINS) + 0.5) * across - 0.5
        far = np.abs(np.arange(self.patch) - centres[:, None]) / across
        return np.maximum(0, 1 - far).astype(np.float32)

    def _window(self) -> np.ndarray:
        """Return Gaussian weights along one axis (patch,), with a standard deviation of half the patch, as in Lowe's
        paper."""
        offset = np.arange(self.patch) - (self.patch - 1) / 2
        return np.exp(-0.5 * (offset / (self.patch / 2)) ** 2).astype(np.float32)


def at_least(plane: np.ndarray, size: int) -> np.ndarray:
    """Extend the plane by mirroring at its right and lower edges until both sides reach `size`."""
    lacking = [max(0, size - length) for length in plane.shape]
    return np.pad(plane, [(0, lack) for lack in lacking], mode="symmetric") if any(lacking) else plane


def normalised(raw: np.ndarray, floor: float) -> np.ndarray:
    """Scale to unit length, clip the entries at 0.2, and scale again."""
    unit = raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), floor)
    clipped = np.minimum(unit, CLIP)
    length = np.linalg.norm(clipped, axis=1, keepdims=True)
    before = np.linalg.norm(unit, axis=1, keepdims=True)  # below 1 for flat patches, which stay short
    return clipped * (np.minimum(before, 1) / np.maximum(length, 1e-12))


@numba.njit(cache=True, nogil=True)
def gradients(plane):
    """Return the strength and orientation (in bins, 0..8) of the grey-level gradient at each pixel, by central
    differences."""
    height, width = plane.shape
    strength = np.empty((height, width), dtype=np.float32)
    orientation = np.empty((height, width), dtype=np.float32)
    for r in range(height):
        up, down = max(r - 1, 0), min(r + 1, height - 1)
        for c in range(width):
            column_before, column_after = max(c - 1, 0), min(c + 1, width - 1)
            dy = (plane[down, c] - plane[up, c]) / max(down - up, 1)
            dx = (plane[r, column_after] - plane[r, column_before]) / max(column_after - column_before, 1)
            strength[r, c] = math.sqrt(dx * dx + dy * dy)
            turn = math.atan2(dy, dx) * (ORIENTATIONS / (2 * math.pi))
            orientation[r, c] = turn if turn >= 0 else turn + ORIENTATIONS
    return strength, orientation


@numba.njit(cache=True, nogil=True)
def _histograms(strength, orientation, tops, lefts, spatial, window):
    """Return sums of strength (patches, 128), distributed linearly among the nearest bins in row, column and
    orientation."""
    patch = window.size
    out = np.zeros((tops.size * lefts.size, BINS, BINS, ORIENTATIONS), dtype=np.float32)
    for i in range(tops.size):
        for j in range(lefts.size):
            cells = out[i * lefts.size + j]
            for y in range(patch):
                for x in range(patch):
                    weight = strength[tops[i] + y, lefts[j] + x] * window[y] * window[x]
                    turn = orientation[tops[i] + y, lefts[j] + x]
                    low = int(turn)
                    upper = turn - low
                    low %= ORIENTATIONS
                    high = (low + 1) % ORIENTATIONS
                    for a in range(BINS):
                        for b in range(BINS):
                            share = weight * spatial[a, y] * spatial[b, x]
                            if share > 0:
                                cells[a, b, low] += share * (1 - upper)
                                cells[a, b, high] += share * upper
    return out.reshape(-1, LENGTH)
