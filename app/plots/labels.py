"""Plots of labels: cover with intervals, agreement between people, and which terms they confuse."""

from collections.abc import Mapping, Sequence
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.plots.colours import distinct
from benthoscope.plots.style import (
    MARKS,
    HeatValue,
    axis,
    blend,
    cells,
    dots,
    framed,
    heat_map,
    named_ticks,
    theme_named,
)

COVER = axis("cover", "Cover", "% of the images")


def cover(
    terms: Sequence[str],
    estimate: Sequence[float | None],
    low: Sequence[float],
    high: Sequence[float],
    *,
    colours: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    group: str = "",
    theme: str = "light",
) -> Any:
    """Shares of terms (0 to 1) in one dive, each with its interval. A term without an estimate shows only the range."""
    title = f"Cover of {group}" if group else "Cover"
    return _intervals(terms, estimate, low, high, colours or distinct(len(terms)), methods, "Label", title, theme)


def cover_across_groups(
    groups: Sequence[str],
    estimate: Sequence[float | None],
    low: Sequence[float],
    high: Sequence[float],
    *,
    term: str,
    colour: str | None = None,
    methods: Sequence[str] | None = None,
    group_word: str = "Dive",
    theme: str = "light",
) -> Any:
    """The share (0 to 1) of one term in every dive, with its interval."""
    colours = [colour or theme_named(theme).lines[0]] * len(groups)
    title = f"Cover of {term} per {group_word.lower()}"
    return _intervals(groups, estimate, low, high, colours, methods, group_word, title, theme)


def _intervals(
    names: Sequence[str],
    estimate: Sequence[float | None],
    low: Sequence[float],
    high: Sequence[float],
    colours: Sequence[str],
    methods: Sequence[str] | None,
    word: str,
    title: str,
    theme: str,
) -> Any:
    """Horizontal intervals with a dot for the estimate, the first at the top; the numbers are beside the names.

    A range without an estimate is pale.
    """
    row, palette = -np.arange(len(names)), theme_named(theme)
    estimates = np.array([np.nan if value is None else 100 * value for value in estimate], float)
    known = np.isfinite(estimates)
    highest = 100 * np.asarray(high, float)
    table = {
        "low": 100 * np.asarray(low, float),
        "place": row - 0.11,
        "high": highest,
        "y1": row + 0.11,
        "name": list(names),
        "estimate": estimates,
        "estimate_text": [f"{value:.1f} %" if known[at] else "not estimated" for at, value in enumerate(estimates)],
        "method": [""] * len(names) if methods is None else list(methods),
        "colour": [
            colour if known[at] else blend(colour, palette.background, 3)[1] for at, colour in enumerate(colours)
        ],
    }
    hover = [
        (word, "@name"),
        ("Estimate", "@estimate_text"),
        ("Interval", "@low{0.0} to @high{0.0} %"),
        ("Method", "@method"),
    ]
    table["row_number"] = np.arange(len(names))
    facts = [
        axis("name", word),
        axis("estimate", "Estimate", "%"),
        "estimate_text",
        axis("method", "Method"),
        "colour",
        "row_number",
    ]
    ranges = hv.Rectangles(
        table, [axis("low", "Lower limit", "%"), "place", axis("high", "Upper limit", "%"), "y1"], facts
    )
    marked = {
        "cover": estimates[known],
        "place": row[known],
        "name": [name for name, k in zip(names, known, strict=True) if k],
    }
    marks = hv.Scatter(marked, COVER, ["place", "name"])
    figure = cells(ranges, "colour", hover=hover) * dots(
        marks, palette.text, size=8, hover=[(word, "@name"), ("Estimate", "@cover{0.0} %")]
    )
    return framed(
        figure,
        theme,
        title=title,
        height=int(min(max(100 + 26 * len(names), 170), 900)),
        legend=False,
        selects=MARKS,
        yticks=[(at, f"{name}  {_number(table, round(-at))}") for at, name in named_ticks(names, down=True)],
        xlabel=COVER.pprint_label,
        ylabel=word,
        xlim=(0, max(float(np.max(highest, initial=1.0)) * 1.05, 1.0)),
        ylim=(-len(names) + 0.4, 0.6),
    )


def _number(table: Mapping[str, Any], row: int) -> str:
    """The estimate of a row, or its range without one."""
    if np.isfinite(table["estimate"][row]):
        return f"{table['estimate'][row]:.1f} %"
    return f"{table['low'][row]:.0f} to {table['high'][row]:.0f} %"


def label_agreement(
    pairs: Sequence[tuple[str, str]],
    same: Sequence[float],
    kappa: Sequence[float],
    images: Sequence[int],
    *,
    theme: str = "light",
) -> Any:
    """Agreement of pairs of people on the images that both labelled: the share of equal labels (0 to 1), and Cohen's
    kappa, which corrects it for chance."""
    palette, names = theme_named(theme), [f"{first} and {second}" for first, second in pairs]
    row = -np.arange(len(names))
    hover = [
        ("People", "@name"),
        ("Equal labels", "@same{0%}"),
        ("Cohen's kappa", "@kappa{0.00}"),
        ("Images", "@images{0,0}"),
    ]
    kappas = np.asarray(kappa, float)
    table = {
        "name": names,
        "same": np.asarray(same, float),
        "kappa": kappas,
        "images": np.asarray(images),
        "place": row,
        "row_number": np.arange(len(names)),
    }
    value, people = axis("value", "Agreement (1 is perfect)"), "place"
    parts = {
        title: dots(
            hv.Scatter(
                {**table, "value": table[name]},
                value,
                [
                    people,
                    axis("name", "People"),
                    axis("same", "Share of equal labels"),
                    axis("kappa", "Cohen's kappa"),
                    axis("images", "Images"),
                    "row_number",
                ],
            ),
            palette.lines[number],
            size=10,
            hover=hover,
        )
        for number, (name, title) in enumerate((("same", "Share of equal labels"), ("kappa", "Cohen's kappa")))
    }
    return framed(
        hv.NdOverlay(parts, axis("Measure", "Measure"), sort=False),
        theme,
        title="Agreement between people",
        height=int(min(max(120 + 30 * len(names), 190), 900)),
        selects=MARKS,
        yticks=named_ticks(names, down=True),
        xlim=(min(-0.02, float(np.min(kappas, initial=0.0)) - 0.05), 1.03),
        ylim=(-len(names) + 0.4, 0.6),
        ylabel="People",
    )


def confusion(
    counts: np.ndarray,
    terms: Sequence[str],
    *,
    first: str = "first person",
    other: str = "second person",
    numbers: Sequence[int] | None = None,
    theme: str = "light",
) -> Any:
    """Images by the labels of two people (or of truth and suggestion): rows by the first, columns by the other.
    `numbers` identify the terms for programs."""
    table = np.asarray(counts)
    share = 100 * table / np.maximum(table.sum(1), 1)[:, None]
    return heat_map(
        terms,
        terms,
        HeatValue("share", "Share of the row", share, "%", "{0.0}"),
        [HeatValue("images", "Images", table, "", "{0,0}")],
        row_axis=f"Label of {first}",
        column_axis=f"Label of {other}",
        theme=theme,
        title="Labels given to the same images",
        limits=(0, 100),
        numbers=None if numbers is None else (numbers, numbers),
    )
