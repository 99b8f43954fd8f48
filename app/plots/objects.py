"""Plots of objects, the clusters of segments: which occur together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benthoscope.engine.analysis import cooccurrence as compared_with_chance
from benthoscope.engine.analysis.cooccurrence import LARGEST_RATIO
from benthoscope.plots.style import HeatValue, heat_map


def cooccurrence(
    together: np.ndarray,
    images: int,
    *,
    names: Sequence[str] | None = None,
    order: Sequence[int] | None = None,
    theme: str = "light",
) -> Any:
    """How often two objects are in one image, compared with chance.

    `together` (K, K) counts images with both objects; its diagonal counts images with each. `images` counts all
    images. `order` are the objects to show; without it, all, with similar ones side by side.
    """
    counts = np.asarray(together)
    compared = compared_with_chance(counts, images)
    shown = compared.order if order is None else np.asarray(order, int)
    titles = [f"Object {number}" for number in range(len(counts))] if names is None else list(names)
    ratio, pairs = compared.ratio[np.ix_(shown, shown)], counts[np.ix_(shown, shown)]
    return heat_map(
        [titles[at] for at in shown],
        [titles[at] for at in shown],
        HeatValue("ratio", "Observed / chance", ratio, "log2", "{0.00}"),
        [HeatValue("both", "Images with both", pairs, "", "{0,0}")],
        row_axis="Object",
        column_axis="Object",
        theme=theme,
        title="Objects in the same image, compared with chance",
        limits=(-LARGEST_RATIO, LARGEST_RATIO),
        diverging=True,
        numbers=(shown, shown),
    )
