"""What people hand in, made into rows of finite numbers, or refused in one line."""

from pathlib import Path
from typing import Any

import numpy as np

from engine.mixtures import checking
from engine.problems import fail


def finite_rows(X: Any) -> np.ndarray:
    """(N, D), float32 where it came so and float64 else."""
    found = checking.rows_of(X)
    found = np.load(found, mmap_mode="r", allow_pickle=False) if isinstance(found, Path) else found
    rows = np.asarray(found, found.dtype if found.dtype == np.float32 else np.float64)
    bad = ~np.isfinite(rows).all(1)
    if bad.any():
        raise fail("X", f"row {int(bad.argmax())} holds NaN or infinity", "leave such rows out, they describe nothing")
    return rows


def at_least_two(X: np.ndarray) -> np.ndarray:
    if len(X) < 2:
        raise fail("X", f"n_samples={len(X)} where two rows or more are needed to compare", "give more images")
    return X


def whole_above_zero(where: str, value: Any) -> int:
    checking.positive(where, value, integer=True)
    return int(value)
