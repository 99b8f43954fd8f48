"""Plots of topics: their shares along a dive."""

from collections.abc import Sequence
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.plots.colours import distinct
from benthoscope.plots.style import MARKS, axis, cells, framed, in_parts, legend_fits

MOST_BARS = 120  # along a dive; with more, bars are thinner than the pointer can hit
SIZE = (900, 300)  # pixels
MINUTE = 60.0  # seconds
MAIN = "Images with it as main topic"


def topics_along(
    weights: np.ndarray,
    *,
    time: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
    images: Sequence[int] | None = None,
    group_word: str = "dive",
    theme: str = "light",
) -> Any:
    """Shares of the topics along a dive, as stacked bars. `weights` (n, T) are those of the images in the order taken.

    `time` is seconds since 1970; images without a time are left out if others have one, and without any time the axis
    counts images. Long dives have one bar for several consecutive images, see `bars_along`: the mean of their weights.
    `images` are their numbers; each bar has that of its first image. The main topic of an image has its largest weight.
    """
    values = np.asarray(weights, float)
    numbers = np.arange(len(values)) if images is None else np.asarray(images)
    titles = [f"Topic {topic}" for topic in range(values.shape[1])] if names is None else list(names)
    at, label = _positions(len(values), time, group_word)
    bars = bars_along(len(values), time)
    shares = np.array([100 * values[bar].mean(0) for bar in bars]).reshape(-1, len(titles))
    main = np.array([np.bincount(values[bar].argmax(1), minlength=len(titles)) for bar in bars], int)
    first, last = _ends(at, bars)
    ends = np.cumsum(shares, axis=1)
    topic, row = (indices.ravel() for indices in np.indices(shares.T.shape))
    table = {
        "x0": first[row],
        "y0": (ends - shares)[row, topic],
        "x1": last[row],
        "y1": ends[row, topic],
        "along": first[row],
        "topic": np.array(titles, object)[topic],
        "share": shares[row, topic],
        "images": np.array([len(bar) for bar in bars], int)[row],
        "main": main.reshape(-1, len(titles))[row, topic],
        "image": np.array([numbers[bar[0]] for bar in bars], int)[row],
        "colour": np.array(distinct(len(titles)), object)[topic],
        "row_number": row,
        "column_number": topic,
    }
    facts = [
        axis("along", label),
        axis("topic", "Topic"),
        axis("share", "Share", "%"),
        axis("images", "Images in the bar"),
        axis("main", MAIN),
        axis("image", "First image"),
        "colour",
        "row_number",
        "column_number",
    ]
    hover = [
        ("Topic", "@topic"),
        ("Share", "@share{0.0} %"),
        ("Images in the bar", "@images"),
        (MAIN, "@main"),
        ("First image", "@image"),
    ]

    def stacked(rows: np.ndarray) -> Any:
        part = {name: column[rows] for name, column in table.items()}
        return cells(hv.Rectangles(part, ["x0", "y0", "x1", "y1"], facts), "colour", hover=hover)

    figure = in_parts(table["topic"], stacked, "Topic", titles)
    return framed(
        figure,
        theme,
        title=f"Topics along the {group_word}",
        width=SIZE[0],
        height=SIZE[1],
        selects=MARKS,
        legend=legend_fits(figure),
        ylim=(0, 100),
        xlabel=label,
        ylabel="Share (%)",
        matplotlib={"aspect": SIZE[0] / SIZE[1]},
    )


def bars_along(count: int, time: Sequence[float] | None = None) -> list[np.ndarray]:
    """The images of each bar of `topics_along`, as indices in the order taken."""
    at, _ = _positions(count, time)
    shown = np.flatnonzero(np.isfinite(at))
    return [bar for bar in np.array_split(shown, max(min(MOST_BARS, len(shown)), 1)) if len(bar)]


def _positions(count: int, time: Sequence[float] | None, group_word: str = "dive") -> tuple[np.ndarray, str]:
    """Return the place of each image along the dive, NaN for images that are left out, and the title of the axis."""
    seconds = np.full(count, np.nan) if time is None else np.asarray(time, float)
    if not np.isfinite(seconds).any():
        return np.arange(count, dtype=float), f"Image along the {group_word}"
    return (seconds - np.nanmin(seconds)) / MINUTE, "Time since the first image (min)"


def _ends(at: np.ndarray, bars: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return where each bar begins and ends: at the next bar, unless the dive ends or has a gap there."""
    if not bars:
        return np.empty(0), np.empty(0)
    first = np.array([at[bar[0]] for bar in bars])
    steps = np.diff(at[np.isfinite(at)])
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0
    following = np.append(first[1:], np.inf)
    last = np.array([at[bar[-1]] for bar in bars])
    ends = np.where(following - last > 2 * usual, last + usual, following)
    return first, np.maximum(ends, first + 1e-9)
