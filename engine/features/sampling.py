"""Drawing fair samples."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Thing = TypeVar("Thing")


def split_evenly(total: int, parts: int) -> list[int]:
    """`total` shared among `parts`, none more than one above another, the larger shares first."""
    share, over = divmod(total, parts)
    return [share + (part < over) for part in range(parts)]


def draw(things: Sequence[Thing], most: int, rng: np.random.Generator) -> list[Thing]:
    """At most `most` of the things, in their order."""
    if len(things) <= most:
        return list(things)
    return [things[i] for i in np.sort(rng.choice(len(things), most, replace=False))]
