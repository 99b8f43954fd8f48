"""Plots of crowd campaigns: positions of images, groups that people form, and the answers of one person."""

from collections.abc import Sequence
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.plots.colours import GREY, distinct
from benthoscope.plots.style import POINTS, HeatValue, axis, dots, framed, heat_map, in_parts, legend_fits


def crowd_positions(
    xy: np.ndarray,
    clusters: Sequence[int],
    images: Sequence[int | str] | None = None,
    *,
    picture: str = "",
    theme: str = "light",
) -> Any:
    """Images in the plane of largest spread (N, 2): images that people put together are near each other.

    The axes have no unit. `picture` is the address of the pictures under the pointer, such as "/images/@image.jpg".
    """
    points, labels = np.asarray(xy, float).reshape(-1, 2), np.asarray(clusters, int)
    ids = np.arange(len(points)) if images is None else np.asarray(images)
    dimensions = [axis("x", "First direction of largest spread"), axis("y", "Second direction")]
    table = {
        "x": points[:, 0],
        "y": points[:, 1],
        "image": ids,
        "cluster": labels + 1,
        "colour": np.array([*distinct(int(labels.max(initial=-1)) + 1), GREY], object)[labels],
    }
    facts = [axis("image", "Image"), axis("cluster", "Cluster number"), "colour"]

    def marks(rows: np.ndarray) -> Any:
        points_of_part = hv.Points({name: column[rows] for name, column in table.items()}, dimensions, facts)
        return dots(points_of_part, "colour", hover=[("Image", "@image"), ("Cluster", "@cluster")], picture=picture)

    cluster_order = [f"Cluster {number + 1}" for number in np.unique(labels).tolist()]
    figure = in_parts([f"Cluster {number + 1}" for number in labels.tolist()], marks, "Cluster", cluster_order)
    return framed(
        figure,
        theme,
        title="Positions of images by the answers of the crowd",
        height=400,
        selects=POINTS,
        legend=legend_fits(figure),
    )


def school(
    together: np.ndarray,
    order: Sequence[int] | None = None,
    *,
    number: int = 1,
    people: int | None = None,
    theme: str = "light",
) -> Any:
    """Probability (0 to 1) that people of one school of thought put images of two clusters into one group. `order` puts
    clusters of one group side by side."""
    by = "" if people is None else f", {people} {'person' if people == 1 else 'people'}"
    return _together(together, order, f"School of thought {number}{by}", theme)


def worker_confusion(
    together: np.ndarray, order: Sequence[int] | None = None, *, person: str = "one person", theme: str = "light"
) -> Any:
    """Probability (0 to 1) that one person puts images of two clusters into one group."""
    return _together(together, order, f"Clusters that {person} puts together", theme)


def _together(table: np.ndarray, order: Sequence[int] | None, title: str, theme: str) -> Any:
    values = np.asarray(table, float)
    clusters = np.arange(len(values)) if order is None else np.asarray(order, int)
    names = [str(number + 1) for number in clusters]
    return heat_map(
        names,
        names,
        HeatValue("probability", "Put together", 100 * values[np.ix_(clusters, clusters)], "%", "{0}"),
        row_axis="Cluster",
        column_axis="Cluster",
        theme=theme,
        title=title,
        limits=(0, 100),
        numbers=(clusters, clusters),
    )
