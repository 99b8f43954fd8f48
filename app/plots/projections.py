"""The plot of a projection: similar images are near each other."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.engine.optional_dependencies import import_optional
from benthoscope.plots.colours import GREY, distinct
from benthoscope.plots.style import POINTS, axis, dots, framed, in_parts, legend_fits, styled, theme_named

MOST_POINTS = 50_000  # drawn one by one; Datashader draws more of them as an image
PIXELS = (900, 640)  # of that image
NONE = -1  # no cluster


def embedding(
    xy: np.ndarray,
    clusters: Sequence[int] | np.ndarray,
    *,
    names: Sequence[str] | None = None,
    kind: str = "Cluster",
    images: Sequence[int | str] | np.ndarray | None = None,
    axes: tuple[str, str] = ("First axis", "Second axis"),
    theme: str = "light",
) -> Any:
    """Images at coordinates (N, 2) in the colours of their clusters. Clusters below 0 are images without a cluster.

    `kind` is the word for a cluster. `axes` are the labels, such as "PC 1 (23 % of the variance)". Points whose
    coordinates are not finite are left out. Beyond 50,000 points the plot is an image, without values of single points.
    """
    points, labels = np.asarray(xy, float), np.asarray(clusters, int)
    known = np.isfinite(points).all(1)
    ids = np.arange(len(points)) if images is None else np.asarray(images)
    points, labels, ids = points[known], labels[known], ids[known]
    dimensions = [axis("x", axes[0]), axis("y", axes[1])]
    numbers = np.unique(labels).tolist()
    titles = {number: _title(number, names, kind) for number in numbers}
    colours = [*distinct(max(numbers, default=NONE) + 1), GREY]  # the last one is that of NONE
    as_image = len(points) > MOST_POINTS
    if as_image:  # one mark outside of the plot for each entry of the legend
        points_, labels_, ids_ = np.full((len(numbers), 2), np.nan), np.array(numbers), np.zeros(len(numbers), int)
    else:
        points_, labels_, ids_ = points, labels, ids
    table = {
        "x": points_[:, 0],
        "y": points_[:, 1],
        "image": ids_,
        "cluster": np.array([titles[number] for number in labels_.tolist()], object),
        "colour": np.array([colours[number] for number in labels_.tolist()], object),
    }

    def marks(rows: np.ndarray) -> Any:
        columns = {name: column[rows] for name, column in table.items()}
        facts = [axis("image", "Image"), axis("cluster", kind), "colour"]
        hover = [("Image", "@image"), (kind, "@cluster")]
        return dots(hv.Points(columns, dimensions, facts), "colour", size=4, hover=hover, alpha=0.7)

    figure = in_parts(table["cluster"], marks, kind, titles.values())
    fits = legend_fits(figure)
    if as_image:
        figure = _shaded(points, labels, {number: colours[number] for number in numbers}, dimensions) * figure
    return framed(
        figure,
        theme,
        title="Embedding of the images",
        width=800,
        height=520,
        legend=fits,
        selects="" if as_image else POINTS,
    )


def cluster_members(
    xy: np.ndarray | Sequence[tuple[float, float]],
    labelled: Sequence[bool],
    images: Sequence[int | str] | None = None,
    *,
    picture: str = "",
    theme: str = "light",
) -> Any:
    """Members of one cluster at coordinates (N, 2) along its two axes of largest variance, scaled to 0 to 1.

    `picture` is the address of the pictures under the pointer, such as "/images/@image.jpg".
    """
    plane, done = np.asarray(xy, float).reshape(-1, 2), np.asarray(labelled, bool)
    palette = theme_named(theme)
    titles = np.where(done, "Labelled", "Not labelled").astype(object)
    colours = {"Labelled": GREY, "Not labelled": palette.lines[0]}
    dimensions = [
        axis("x", "First axis of largest variance (scaled, no unit)"),
        axis("y", "Second axis (scaled, no unit)"),
    ]
    ids = np.arange(len(plane)) if images is None else np.asarray(images)

    def marks(rows: np.ndarray) -> Any:
        table = {"x": plane[rows, 0], "y": plane[rows, 1], "image": ids[rows], "label": titles[rows]}
        state = hv.Points(table, dimensions, [axis("image", "Image"), axis("label", "State")])
        colour = colours[titles[rows][0]] if rows.any() else GREY
        points = dots(state, colour, size=6, hover=[("Image", "@image"), ("State", "@label")], picture=picture)
        marked = {"selection_color": palette.lines[1], "nonselection_alpha": 0.6, "muted_alpha": 0.4}
        return styled(points, bokeh=marked)

    figure = in_parts(titles, marks, "State", [title for title in ("Not labelled", "Labelled") if title in titles])
    return framed(
        figure,
        theme,
        title="Members of the cluster",
        width=900,
        height=300,
        legend=legend_fits(figure),
        selects=POINTS,
    )


def _title(number: int, names: Sequence[str] | None, kind: str) -> str:
    if number == NONE:
        return f"No {kind.lower()}"
    return f"{kind} {number}" if names is None else names[number]


def _shaded(
    points: np.ndarray, labels: np.ndarray, colour_of: dict[int, str], dimensions: list[hv.Dimension]
) -> hv.RGB:
    """All points as an image; the colour of a pixel mixes those of its clusters, its opacity follows their number."""
    datashader = import_optional("datashader")
    pandas = import_module("pandas")
    names = {number: f"cluster {number}" for number in colour_of}
    frame = pandas.DataFrame(
        {"x": points[:, 0], "y": points[:, 1], "cluster": [names[number] for number in labels.tolist()]}
    )
    frame["cluster"] = frame["cluster"].astype("category")
    (left, right), (low, high) = ((values.min(), values.max()) for values in points.T)
    canvas = datashader.Canvas(*PIXELS, x_range=(left, right), y_range=(low, high))
    counts = canvas.points(frame, "x", "y", datashader.by("cluster", datashader.count()))
    colours = {names[number]: colour for number, colour in colour_of.items()}
    shade = datashader.transfer_functions
    shaded = shade.spread(shade.shade(counts, color_key=colours, how="eq_hist", min_alpha=150), px=1)
    pixels = np.flipud(shaded.to_numpy().view(np.uint8).reshape(*shaded.shape, 4))
    return styled(hv.RGB(pixels, dimensions, bounds=(left, low, right, high), vdims=list("RGBA")))
