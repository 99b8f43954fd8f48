"""How many more labels a wanted accuracy takes, by the course of this campaign so far."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST = 3          # learnings before which nothing can be said
LEAST_ERROR = 1e-3  # below, held-out labels tell no differences
SLOWEST = 0.05      # exponent below which more labels help so little that any number would be made up
FARTHEST = 50.0     # times the labels there are: beyond that a forecast is a fairy tale


@dataclass(frozen=True)
class Forecast:
    """`labels` in all until the wanted accuracy; None where the course does not lead there."""

    labels: int | None
    exponent: float


def forecast(labels: Sequence[int], accuracy: Sequence[float], wanted: float) -> Forecast | None:
    """From every learning's number of labels and accuracy: the error falls as a power of the labels, as it does for
    classifiers of most kinds; later learnings count more. None before there were enough of them."""
    n, error = np.asarray(labels, float), np.maximum(1 - np.asarray(accuracy, float), LEAST_ERROR)
    if len(np.unique(n)) < FEWEST:
        return None
    if error[-1] <= 1 - wanted:
        return Forecast(int(n[-1]), 0.0)
    weight = n / n.max()
    slope, level = np.polyfit(np.log(n), np.log(error), 1, w=np.sqrt(weight))
    if slope > -SLOWEST:
        return Forecast(None, -float(slope))
    needed = np.exp((np.log(1 - wanted) - level) / slope)
    return Forecast(int(np.ceil(max(needed, n[-1]))) if needed <= FARTHEST * n[-1] else None, -float(slope))
