"""How far the mean over a sample without replacement may be from the mean over all (methods note 4)."""

import numpy as np


def validation_size(total: int, *, error: float, failure: float, span: float = 1.0) -> int:
    """The sample size at which a mean of values in [0, span] is wrong by `error` with probability below `failure`."""
    alone = span**2 * np.log(2 / failure) / (2 * error**2)
    return min(total, int(np.ceil(1 / (1 / alone + 1 / total))))


def deviation(seen: int, total: int, *, failure: float, span: float = 1.0) -> float:
    """Serfling's bound on the error of a mean over `seen` of `total` values; 0 once all are seen."""
    if seen >= total:
        return 0.0
    return float(span * np.sqrt(np.log(2 / failure) / 2 * (1 - (seen - 1) / total) / seen))
