"""Plots of suggestions: calibration, accuracy against coverage, learning, and the extension of a cluster."""

from collections.abc import Sequence
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.plots.style import axis, by_name, cells, dots, framed, line, straight, styled, theme_named

PERCENT = "%"


def calibration(
    confidence: Sequence[float] | np.ndarray,
    right: Sequence[float] | np.ndarray,
    weight: Sequence[float] | np.ndarray,
    *,
    theme: str = "light",
) -> Any:
    """Predicted against observed accuracy in ranges of confidence (all 0 to 1). `weight` is the share of the images in
    each range, shown by the size of the dot. The dashed line is perfect calibration."""
    palette = theme_named(theme)
    predicted, observed = (
        axis("predicted", "Predicted accuracy", PERCENT),
        axis("observed", "Observed accuracy", PERCENT),
    )
    share = 100 * np.asarray(weight, float)
    data = {
        "predicted": 100 * np.asarray(confidence, float),
        "observed": 100 * np.asarray(right, float),
        "weight": share,
        "diameter": 6 + 2 * np.sqrt(share),
    }
    hover = [
        ("Predicted", "@predicted{0.0} %"),
        ("Observed", "@observed{0.0} %"),
        ("Share of the images", "@weight{0.0} %"),
    ]
    marks = dots(
        hv.Scatter(data, predicted, [observed, axis("weight", "Share of the images", "%"), "diameter"]),
        palette.lines[0],
        hover=hover,
    )
    marks = styled(marks, bokeh={"size": "diameter"}, matplotlib={"s": hv.dim("diameter") ** 2 / 2})
    layers = line(hv.Curve(data, predicted, [observed]), palette.lines[0], width=1.5)
    return framed(
        straight([0, 100], [0, 100], (predicted, observed)) * layers * marks,
        theme,
        title="Calibration",
        height=300,
        legend=False,
        xlim=(-2, 102),
        ylim=(-2, 104),
    )


def accuracy_coverage(
    coverage: Sequence[float],
    accuracy: Sequence[float],
    at_least: Sequence[float],
    *,
    thresholds: Sequence[float] | None = None,
    decided: float | None = None,
    theme: str = "light",
) -> Any:
    """Accuracy of the most confident suggestions against the share of images they decide (all 0 to 1), with its lower
    bound at 95 % confidence. `decided` marks the share that can be accepted."""
    palette = theme_named(theme)
    share = axis("coverage", "Images decided", PERCENT)
    measure = axis("accuracy", "Accuracy of their suggestions", PERCENT)
    count = len(coverage)
    base = {
        "coverage": 100 * np.asarray(coverage, float),
        "threshold": np.full(count, np.nan) if thresholds is None else 100 * np.asarray(thresholds, float),
    }
    hover = [
        ("Images decided", "@coverage{0.0} %"),
        ("Accuracy", "@accuracy{0.0} %"),
        ("Confidence from", "@threshold{0.0} %"),
    ]
    curves, marks = {}, {}
    for name, values, colour in (
        ("Measured", accuracy, palette.lines[0]),
        ("At least (95 %)", at_least, palette.lines[1]),
    ):
        data = {**base, "accuracy": 100 * np.asarray(values, float)}
        curves[name] = line(hv.Curve(data, share, [measure]), colour, dashed=name != "Measured")
        marks[name] = dots(
            hv.Scatter(data, share, [measure, axis("threshold", "Confidence", "%")]), colour, size=5, hover=hover
        )
    figure = by_name(curves, "Accuracy") * by_name(marks, "Accuracy")
    if decided is not None:
        figure = figure * styled(hv.VLine(100 * decided), color=palette.lines[2], bokeh={"line_width": 2})
    return framed(
        figure,
        theme,
        title="Accuracy by coverage",
        height=300,
        legend_position="bottom",
        legend_cols=1,
        xlim=(0, 102),
        ylim=(-2, 104),
    )


def learning_curve(labels: Sequence[int], accuracy: Sequence[float], *, theme: str = "light") -> Any:
    """Accuracy of the first suggestion (0 to 1) after each training, by the number of labels it was trained on."""
    palette = theme_named(theme)
    given, measure = axis("labels", "Labelled images"), axis("accuracy", "Accuracy of the first suggestion", PERCENT)
    data = {"labels": np.asarray(labels, float), "accuracy": 100 * np.asarray(accuracy, float)}
    hover = [("Labelled images", "@labels{0,0}"), ("Accuracy", "@accuracy{0.0} %")]
    layers = line(hv.Curve(data, given, measure), palette.lines[0])
    marks = dots(hv.Scatter(data, given, measure), palette.lines[0], size=8, hover=hover)
    return framed(
        layers * marks, theme, title="Accuracy by labels", height=300, legend=False, counts="x", ylim=(-2, 104)
    )


def extension_curve(
    share: Sequence[float],
    *,
    low: float,
    high: float,
    cut: float,
    answers: Sequence[tuple[float, bool]] = (),
    theme: str = "light",
) -> Any:
    """How likely the images of each page belong to a cluster that is extended (0 to 1), the most similar pages first.

    Between the pages `low` and `high` the model is unsure. The cluster ends at the page `cut`. `answers` are pairs of a
    page and whether an image of it belongs.
    """
    palette = theme_named(theme)
    page, measure = axis("page", "Page of images, most similar first"), axis("share", "Probability to belong", PERCENT)
    data = {"page": np.arange(len(share)) + 0.5, "share": 100 * np.asarray(share, float)}
    unsure = cells(hv.Rectangles([(low, -6, high, 104)], ["x0", "y0", "x1", "y1"]), palette.lines[1], alpha=0.15)
    layers = line(hv.Curve(data, page, measure), palette.lines[0])
    marks = dots(
        hv.Scatter(data, page, measure),
        palette.lines[0],
        size=5,
        hover=[("Page", "@page{0}"), ("Probability", "@share{0} %")],
    )
    end = styled(hv.VLine(cut), color=palette.text, bokeh={"line_width": 2})
    given = {
        word: dots(
            hv.Scatter(
                {
                    "page": [at + 0.5 for at, yes in answers if yes is wanted],
                    "share": [0.0] * sum(yes is wanted for _, yes in answers),
                },
                page,
                measure,
            ),
            colour,
            size=9,
            hover=[("Page", "@page{0}"), ("Answer", word)],
        )
        for word, wanted, colour in (("belongs", True, palette.lines[2]), ("does not belong", False, palette.lines[1]))
    }
    return framed(
        unsure * layers * marks * end * by_name(given, "Answer"),
        theme,
        title="Extension of the cluster",
        height=240,
        legend=bool(answers),
        legend_position="bottom",
        legend_cols=2,
        xlabel=page.pprint_label,
        ylabel=measure.pprint_label,
        ylim=(-6, 104),
    )
