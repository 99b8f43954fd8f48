"""Plots of clusterings: the fit, sizes of clusters, widths, and two runs side by side."""

from collections.abc import Sequence
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.plots.colours import distinct
from benthoscope.plots.style import (
    MARKS,
    HeatValue,
    axis,
    cells,
    dots,
    framed,
    heat_map,
    line,
    named_ticks,
    theme_named,
)

STEP = axis("step", "Step of the fit")
WIDTH_OF_CLUSTERS = axis("width", "Cluster width (prior scale, no unit)")


def lower_bound(
    steps: Sequence[float], bound: Sequence[float], *, row_word: str = "image", theme: str = "light"
) -> Any:
    """The lower bound per image (nats) at every step of a fit. `row_word` says what a row is, such as "patch"."""
    measure = axis("bound", "Lower bound", f"nats per {row_word}")
    return _fit(steps, bound, measure, "Lower bound during the fit", theme, "0.000")


def cluster_count(
    steps: Sequence[float], clusters: Sequence[int], *, kind: str = "Clusters", theme: str = "light"
) -> Any:
    """The number of clusters at every step of a fit. `kind` is another word for them."""
    return _fit(steps, clusters, axis("clusters", kind), f"{kind} during the fit", theme, "0", steps_of_one=True)


def _fit(
    steps: Sequence[float],
    values: Sequence[float],
    measure: hv.Dimension,
    title: str,
    theme: str,
    form: str,
    *,
    steps_of_one: bool = False,
) -> Any:
    palette = theme_named(theme)
    data = (np.asarray(steps, float), np.asarray(values, float))
    interpolation = "steps-post" if steps_of_one else "linear"
    layers = line(hv.Curve(data, STEP, measure), palette.lines[0], interpolation=interpolation)
    hover = [
        ("Step", "@step"),
        (measure.label, f"@{measure.name}{{{form}}}{(measure.unit and ' ' + measure.unit) or ''}"),
    ]
    marks = dots(hv.Scatter(data, STEP, measure), palette.lines[0], size=5, hover=hover)
    counts = "y" if steps_of_one else ""
    return framed(layers * marks, theme, title=title, height=240, legend=False, counts=counts)


def cluster_sizes(
    sizes: Sequence[int], numbers: Sequence[int] | None = None, *, theme: str = "light", title: str = "Cluster sizes"
) -> Any:
    """Images of every cluster as columns in the colours of the clusters, the largest first.

    `numbers` name the clusters; without them, they are 0, 1, ...
    """
    images = np.asarray(sizes)
    names = np.arange(len(images)) if numbers is None else np.asarray(numbers)
    order = np.argsort(-images, kind="stable")
    rank, total = np.arange(len(order)), max(images.sum(), 1)
    colours = np.array(distinct(int(names.max(initial=-1)) + 1), object)
    table = {
        "x0": rank - 0.42,
        "y0": np.zeros(len(order)),
        "x1": rank + 0.42,
        "images": images[order],
        "cluster": names[order],
        "share": images[order] / total,
        "colour": colours[names[order]],
    }
    columns = hv.Rectangles(
        table,
        ["x0", "y0", "x1", axis("images", "Images")],
        [axis("cluster", "Cluster"), axis("share", "Share of all images"), "colour"],
    )
    hover = [("Cluster", "@cluster"), ("Images", "@images{0,0}"), ("Share of all images", "@share{0.0%}")]
    return framed(
        cells(columns, "colour", hover=hover),
        theme,
        title=title,
        height=260,
        selects=MARKS,
        xticks=named_ticks(map(str, names[order])),
        xlabel="Cluster",
        ylabel="Images",
        counts="y",
    )


def width_sweep(
    widths: Sequence[float], clusters: Sequence[int], runs: Sequence[str] | None = None, *, theme: str = "light"
) -> Any:
    """The number of clusters of runs that differ only in width."""
    return _sweep(widths, clusters, runs, axis("clusters", "Clusters"), "Clusters by width", theme, "0", counts="y")


def held_out_likelihood(
    widths: Sequence[float], likelihood: Sequence[float], runs: Sequence[str] | None = None, *, theme: str = "light"
) -> Any:
    """The mean log likelihood (nats) of images that the runs did not see. Runs without a value are left out."""
    measure = axis("likelihood", "Held-out log likelihood", "nats per image")
    short = "Log likelihood (nats/image)"  # the plot is lower than the whole label is long
    return _sweep(widths, likelihood, runs, measure, "Held-out likelihood by width", theme, "0.0000", ylabel=short)


def _sweep(
    widths: Sequence[float],
    values: Sequence[float],
    runs: Sequence[str] | None,
    measure: hv.Dimension,
    title: str,
    theme: str,
    form: str,
    **options: Any,
) -> Any:
    """A line with marks; `options` are those of `framed`."""
    names = [""] * len(widths) if runs is None else list(runs)
    points = [(w, v, n) for w, v, n in zip(widths, values, names, strict=True) if v is not None]
    points.sort(key=lambda point: point[0])
    by_width = np.array([point[0] for point in points], float)
    data = {
        "width": by_width,
        measure.name: np.array([point[1] for point in points], float),
        "run": [point[2] for point in points],
    }
    palette = theme_named(theme)
    hover = [("Run", "@run"), ("Width", "@width{0.[000000]}"), (measure.label, f"@{measure.name}{{{form}}}")]
    layers = line(hv.Curve(data, WIDTH_OF_CLUSTERS, [measure]), palette.lines[0])
    marks = dots(hv.Scatter(data, WIDTH_OF_CLUSTERS, [measure, "run"]), palette.lines[1], size=9, hover=hover)
    return framed(
        layers * marks,
        theme,
        title=title,
        height=260,
        legend=False,
        logx=True,
        xticks=_ticks(by_width),
        **options,
    )


def _ticks(widths: np.ndarray) -> list[tuple[float, str]]:
    return [(float(width), f"{width:g}") for width in np.unique(widths)]


def contingency(
    counts: np.ndarray,
    row_clusters: Sequence[int],
    column_clusters: Sequence[int],
    *,
    first: str = "first run",
    other: str = "other run",
    kinds: tuple[str, str] = ("Cluster", "Cluster"),
    row_totals: Sequence[int] | None = None,
    theme: str = "light",
) -> Any:
    """Images by cluster of two runs. The shade is the share of the row; rows and columns are in the given order.

    `counts` (R, C) may show only the largest clusters; then `row_totals` (R,) are the sizes of the rows. `kinds` are
    the words for a row and a column.
    """
    table = np.asarray(counts)
    totals = table.sum(1) if row_totals is None else np.asarray(row_totals)
    share = 100 * table / np.maximum(totals, 1)[:, None]
    return heat_map(
        [str(number) for number in row_clusters],
        [str(number) for number in column_clusters],
        HeatValue("share", "Share of the row", share, "%", "{0.0}"),
        [HeatValue("images", "Images", table, "", "{0,0}")],
        row_axis=f"{kinds[0]} of {first}",
        column_axis=f"{kinds[1]} of {other}",
        theme=theme,
        title="Images by cluster of two runs",
        limits=(0, 100),
        numbers=(row_clusters, column_clusters),
    )
