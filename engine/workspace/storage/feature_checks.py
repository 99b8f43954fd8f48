"""Checksums of feature rows, one per image, to detect damage when rows are read and to repair the affected images.

A checksum is the sum of the row's 32-bit words, each multiplied by an odd 64-bit number. Each flipped bit changes it. A
million rows of 32 numbers take 25 ms, so rows can stay mapped and are checked once per process.
"""

import numpy as np

ROWS = 4096  # rows checked together; they fit into the processor's cache
SEED = 7331


def image_checks(image_ids: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the checksum of each image's id, number of rows and rows (n,) uint64. The rows of the images are
    contiguous in `rows`."""
    ends = np.cumsum(counts, dtype=np.int64)
    return checks_at(image_ids, rows, ends - counts, ends)


def checks_at(image_ids: np.ndarray, rows: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the same if the rows of image i are [begins[i], ends[i]). Sums intentionally overflow at 2^64."""
    totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_row_sums(rows), dtype=np.uint64)])
    of_id, of_count, offset = _numbers(3)
    ids, counts = np.asarray(image_ids, np.int64).astype(np.uint64), (ends - begins).astype(np.uint64)
    return totals[ends] - totals[begins] + ids * of_id + counts * of_count + offset


def _row_sums(rows: np.ndarray) -> np.ndarray:
    weights = _numbers(rows.shape[1] + 3)[3:]
    sums = np.empty(len(rows), np.uint64)
    for at in range(0, len(rows), ROWS):
        words = np.ascontiguousarray(rows[at : at + ROWS], np.float32).view(np.uint32)
        sums[at : at + ROWS] = words.astype(np.uint64) @ weights
    return sums


def _numbers(count: int) -> np.ndarray:
    """Return a fixed sequence of odd numbers; the stream of this generator is guaranteed not to change."""
    return np.random.PCG64(SEED).random_raw(count) | np.uint64(1)
