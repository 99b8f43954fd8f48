"""Which objects are seen together more often than chance would have it, and an order in which that can be read."""

from dataclasses import dataclass

import numpy as np

from app.state.dive_compare import side_by_side

FARTHEST = 3.0  # log2 of the ratio: eight times as often says all there is to say
DOUBT = 0.5     # images added to what is seen and to what is expected: two rarities that never met say little


@dataclass(frozen=True)
class Company:
    """`ratio` (K, K) is log2 of images that show both over images expected to by chance; 0 on the diagonal."""

    ratio: np.ndarray
    order: np.ndarray  # (K,) those that keep the same company side by side


def company(together: np.ndarray, images: int) -> Company:
    """Of (K, K) counts of images that show both; on the diagonal those that show each."""
    each = np.diagonal(together).astype(float)
    expected = np.outer(each, each) / max(images, 1)
    ratio = np.clip(np.log2((together + DOUBT) / (expected + DOUBT)), -FARTHEST, FARTHEST)
    np.fill_diagonal(ratio, 0.0)
    distance = (FARTHEST - ratio) / (2 * FARTHEST)
    np.fill_diagonal(distance, 0.0)
    return Company(ratio, side_by_side(distance))
