"""Plots of a live dive: mixture over time, the lives of clusters, memory in use, how well new images are predicted, and
the path that is sailed."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.plots.colours import GREY
from benthoscope.plots.style import (
    MARKS,
    POINTS,
    axis,
    cells,
    dots,
    framed,
    in_parts,
    legend_fits,
    line,
    straight,
    styled,
    theme_named,
)

EVENT_MARKS = {"birth": "circle", "split": "diamond", "merge": "triangle", "death": "x"}
PRINT_MARKS = {"birth": "o", "split": "D", "merge": "^", "death": "x"}
EVENT_TITLES = {"birth": "Birth", "split": "Split", "merge": "Merge", "death": "Death"}
JUMP = 20.0  # times the median distance of neighbours: the path is interrupted there
MOST_PLACES = 5_000  # of a path; more are closer than pixels
LEAST_HEIGHT, MOST_HEIGHT = 260, 620
MEMORY_HEIGHT = 240
PATH_WIDTH = 480  # pixels; a map of equal scales cannot be stretched to the page
SHORTEST = np.timedelta64(60_000, "ms")  # of a time axis; ticks of milliseconds say nothing
MOST_NUMBERS = 20  # of clusters, on the axis of a figure for print
TIME_TICKS = 4  # more labels of times would cover each other on a narrow page
TIME = ("Time", "@time{%F %T} UTC")
PERIOD = ("first_millisecond", "last_millisecond")  # identify a period for programs
TIME_FORMAT = {"hover_formatters": {"@time": "datetime"}}


def live_mixture(
    times: Sequence[float] | np.ndarray,
    shares: np.ndarray,
    names: Sequence[str],
    colours: Sequence[str],
    *,
    theme: str = "light",
) -> Any:
    """Shares (B, K) of the clusters among the images of successive periods, as stacked columns.

    `times` (B + 1,) are the limits of the periods in seconds since 1970. A period without images has an empty column.
    Programs identify a period by its limits in milliseconds after the first one.
    """
    values = 100 * np.asarray(shares, float)
    edges = _moments(times)
    limits = (edges - edges[0]).astype(int)
    cluster, period = (indices.ravel() for indices in np.indices(values.T.shape))
    ends = np.cumsum(values, axis=1)
    table = {
        "time": edges[:-1][period],
        "y0": (ends - values)[period, cluster],
        "end": edges[1:][period],
        "y1": ends[period, cluster],
        "cluster": np.array(list(names), object)[cluster],
        "share": values[period, cluster],
        "colour": np.array(list(colours), object)[cluster],
        "first_millisecond": limits[:-1][period],
        "last_millisecond": limits[1:][period],
        "column_number": cluster,
    }
    has_images = table["share"] > 0
    table = {name: column[has_images] for name, column in table.items()}
    facts = [axis("cluster", "Cluster"), axis("share", "Share of the images", "%"), "colour", *PERIOD, "column_number"]
    hover = [TIME, ("Cluster", "@cluster"), ("Share", "@share{0.0} %")]

    def columns(rows: np.ndarray) -> Any:
        rows_of_name = {name: column[rows] for name, column in table.items()}
        shapes = hv.Rectangles(rows_of_name, [axis("time", "Time", "UTC"), "y0", "end", "y1"], facts)
        return styled(cells(shapes, "colour", hover=hover), bokeh=TIME_FORMAT, matplotlib={"hooks": [_place_in_time]})

    figure = in_parts(table["cluster"], columns, "Cluster", names)
    return framed(
        figure,
        theme,
        title="Mixture of clusters over time",
        selects=MARKS,
        height=260,
        legend=legend_fits(figure),
        ylim=(0, 100),
        xlabel="Time (UTC)",
        xticks=TIME_TICKS,
        ylabel="Share of the images (%)",
    )


def _place_in_time(plot: Any, element: Any) -> None:
    """Draw rectangles between two times with matplotlib; HoloViews gives them no width."""
    to_number, rectangle = import_module("matplotlib.dates").date2num, import_module("matplotlib.patches").Rectangle
    begin, end = (to_number(element.dimension_values(column)) for column in ("time", "end"))
    low, high = (element.dimension_values(column) for column in ("y0", "y1"))
    sizes = zip(begin, low, end - begin, high - low, strict=True)
    plot.handles["artist"].set_paths([rectangle((x, y), width, height) for x, y, width, height in sizes])


def cluster_lives(
    times: Sequence[float],
    sizes: Sequence[Mapping[int, float]],
    events: Sequence[Sequence[tuple[str, int, int | None]]],
    colours: Mapping[int, str],
    *,
    names: Mapping[int, str] | None = None,
    theme: str = "light",
) -> Any:
    """The life of each cluster as a line from its birth to its end, with marks for births, splits, merges and deaths.

    `times` (R,) are those of the rounds in seconds since 1970, `sizes` the clusters after each round with their number
    of images, and `events` (kind, cluster, other cluster) of each round.
    """
    palette, titles = theme_named(theme), names or {}
    moments = _moments(times)
    x_axis, y_axis = axis("time", "Time", "UTC"), axis("cluster", "Cluster number")
    lives = [
        line(hv.Curve((moments[present], np.full(len(present), number)), x_axis, y_axis), colours[number], width=4)
        for number in sorted({number for clusters in sizes for number in clusters})
        for present in [np.flatnonzero([number in clusters for clusters in sizes])]
    ]
    rows = [
        (moments[at], number, kind, titles.get(number, f"Cluster {number}"), _event_text(kind, other, titles))
        for at, happened in enumerate(events)
        for kind, number, other in happened
    ]
    marks = [_event_marks(kind, [row for row in rows if row[2] == kind], palette.text) for kind in EVENT_MARKS]
    count = 1 + max((number for clusters in sizes for number in clusters), default=0)
    return framed(
        hv.Overlay([*lives, *(mark for mark in marks if mark is not None)]).collate(),
        theme,
        title="Changes of the clusters",
        height=int(min(max(170 + 16 * count, LEAST_HEIGHT), MOST_HEIGHT)),
        legend=True,
        xlabel="Time (UTC)",
        xticks=TIME_TICKS,
        ylabel="Cluster number",
        counts="y",
        **_shown_times(moments),
        bokeh={
            "legend_position": "top",
            "ylim": (-0.7, count - 0.3 + max(1.0, count / 4)),  # the legend covers no cluster
        },
        matplotlib={
            "ylim": (-0.7, count - 0.3),
            "legend_position": "right",
            "yticks": list(range(0, count, -(-count // MOST_NUMBERS))),
        },
    )


def _event_marks(kind: str, rows: Sequence[tuple[Any, ...]], colour: str) -> Any:
    if not rows:
        return None
    columns = dict(zip(("time", "cluster", "kind", "name", "text"), zip(*rows, strict=True), strict=True))
    table = {
        name: np.array(values, None if name in ("time", "cluster") else object) for name, values in columns.items()
    }
    points = hv.Scatter(
        table,
        axis("time", "Time", "UTC"),
        [axis("cluster", "Cluster number"), "name", "text"],
        label=EVENT_TITLES[kind],
    )
    return styled(
        points,
        color=colour,
        bokeh={
            "marker": EVENT_MARKS[kind],
            "size": 9,
            "tools": ["hover"],
            "hover_tooltips": [TIME, ("Cluster", "@name"), ("Event", "@text")],
            **TIME_FORMAT,
        },
        matplotlib={"marker": PRINT_MARKS[kind], "s": 40},
    )


def _event_text(kind: str, other: int | None, titles: Mapping[int, str]) -> str:
    if other is None:
        return EVENT_TITLES[kind]
    place = titles.get(other, f"cluster {other}")
    return f"{EVENT_TITLES[kind]} {'from' if kind == 'split' else 'into'} {place}"


def memory_use(
    times: Sequence[float],
    values: Sequence[float],
    budget: Sequence[float],
    binds: Sequence[bool],
    *,
    theme: str = "light",
) -> Any:
    """The stored numbers of the learner after each round, in per cent of the budget. Rounds in which the budget limited
    the number of clusters have a mark."""
    palette = theme_named(theme)
    x_axis, measure = axis("time", "Time", "UTC"), axis("used", "Memory in use", "%")
    moments = _moments(times)
    used = 100 * np.asarray(values, float) / np.maximum(np.asarray(budget, float), 1)
    limited = np.asarray(binds, bool)
    hover = [TIME, ("Memory in use", "@used{0.0} %")]
    layers = [
        straight(moments[[0, -1]], [100, 100], (x_axis, measure)),
        line(hv.Curve((moments, used), x_axis, measure), palette.lines[0]),
        styled(
            dots(hv.Scatter((moments, used), x_axis, measure), palette.lines[0], size=5, hover=hover), bokeh=TIME_FORMAT
        ),
    ]
    if limited.any():
        marks = hv.Scatter((moments[limited], used[limited]), x_axis, measure, label="Budget limits the clusters")
        layers.append(dots(marks, palette.lines[1], size=9))
    return framed(
        hv.Overlay(layers).collate(),
        theme,
        title="Memory of the learner",
        height=MEMORY_HEIGHT,
        legend=bool(limited.any()),
        ylim=(0, 110),
        **_shown_times(moments),
        xlabel="Time (UTC)",
        xticks=TIME_TICKS,
        ylabel="Share of the budget (%)",
        bokeh={"legend_position": "top"},  # beside the plot, it would leave little room on the page
    )


def fit_of_new_images(times: Sequence[float], scores: Sequence[float], *, theme: str = "light") -> Any:
    """The mean log density of the images of each round (nats per image) under the clusters of the round before, which
    have not learned them."""
    palette = theme_named(theme)
    x_axis, measure = axis("time", "Time", "UTC"), axis("fit", "Mean log density", "nats per image")
    moments, values = _moments(times), np.asarray(scores, float)
    hover = [TIME, ("Mean log density", "@fit{0.00} nats")]
    points = dots(hv.Scatter((moments, values), x_axis, measure), palette.lines[0], size=5, hover=hover)
    layers = [line(hv.Curve((moments, values), x_axis, measure), palette.lines[0]), styled(points, bokeh=TIME_FORMAT)]
    return framed(
        hv.Overlay(layers).collate(),
        theme,
        title="Fit of new images",
        height=MEMORY_HEIGHT,
        **_shown_times(moments),
        xlabel="Time (UTC)",
        xticks=TIME_TICKS,
        ylabel="Log density (nats per image)",
    )


def sailed_path(
    latitude: Sequence[float] | np.ndarray,
    longitude: Sequence[float] | np.ndarray,
    clusters: Sequence[int] | np.ndarray,
    names: Sequence[str],
    colours: Sequence[str],
    *,
    novel: Sequence[bool] | np.ndarray | None = None,
    images: Sequence[int] | np.ndarray | None = None,
    picture: str = "",
    theme: str = "light",
) -> Any:
    """The path so far (degrees, WGS 84) in the order of arrival, with a dot per image in the colour of its cluster.

    `clusters` (n,) are positions in `names` and `colours`, -1 for none. `novel` images have a ring, and the newest
    position has a cross. The path is interrupted where two neighbours are far apart. `picture` is the address of the
    pictures under the pointer, such as "/images/@image.jpg".
    """
    palette = theme_named(theme)
    at = _thinned(np.flatnonzero(np.isfinite(latitude) & np.isfinite(longitude)))
    lat, lon, code = (np.asarray(values)[at] for values in (latitude, longitude, clusters))
    is_novel = np.zeros(len(at), bool) if novel is None else np.asarray(novel, bool)[at]
    titles = np.array([*names, "No cluster"], object)[code]
    table = {
        "longitude": lon,
        "latitude": lat,
        "cluster": titles,
        "image": at if images is None else np.asarray(images)[at],
        "colour": np.array([*colours, GREY], object)[code],
    }
    dimensions = [axis("longitude", "Longitude", "° east"), axis("latitude", "Latitude", "° north")]
    facts = [axis("cluster", "Cluster"), axis("image", "Image"), "colour"]
    hover = [("Cluster", "@cluster"), ("Image", "@image"), ("Position", "@latitude{0.00000}°, @longitude{0.00000}°")]

    def points(rows: np.ndarray) -> Any:
        rows_of_name = {name: column[rows] for name, column in table.items()}
        return dots(hv.Points(rows_of_name, dimensions, facts), "colour", size=5, hover=hover, picture=picture)

    figure = in_parts(titles, points, "Cluster", [name for name in [*names, "No cluster"] if name in set(titles)])
    pieces = [line(hv.Curve((lon[piece], lat[piece]), *dimensions), GREY, width=1) for piece in _pieces(lat, lon)]
    rings = hv.Points((lon[is_novel], lat[is_novel]), dimensions)
    newest = hv.Points((lon[-1:], lat[-1:]), dimensions)
    middle = float(np.radians(lat.mean())) if len(lat) else 0.0
    scale = {"data_aspect": 1 / np.cos(middle)}
    return framed(
        hv.Overlay([*pieces, figure, _ring(rings, palette.lines[1]), _cross(newest, palette.text)]).collate(),
        theme,
        title="The path so far",
        selects=POINTS,
        width=PATH_WIDTH,
        height=360,
        legend=legend_fits(figure),
        bokeh=scale,
        matplotlib=scale,
    )


def _ring(points: Any, colour: str) -> Any:
    return styled(
        points,
        bokeh={"size": 11, "fill_alpha": 0, "line_color": colour, "line_width": 2},
        matplotlib={"s": 70, "facecolors": "none", "edgecolors": colour},
    )


def _cross(points: Any, colour: str) -> Any:
    return styled(
        points,
        color=colour,
        bokeh={"marker": "cross", "size": 18, "line_width": 2},
        matplotlib={"marker": "+", "s": 120},
    )


def _pieces(latitude: np.ndarray, longitude: np.ndarray) -> list[np.ndarray]:
    """Return the positions of each uninterrupted piece of a path."""
    if len(latitude) < 2:
        return []
    steps = np.hypot(np.diff(latitude), np.diff(longitude) * np.cos(np.radians(latitude[:-1])))
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    breaks = np.flatnonzero(steps > JUMP * usual) + 1 if usual else np.empty(0, int)
    return [piece for piece in np.split(np.arange(len(latitude)), breaks) if len(piece) > 1]


def _thinned(positions: np.ndarray) -> np.ndarray:
    if len(positions) <= MOST_PLACES:
        return positions
    return positions[np.unique(np.linspace(0, len(positions) - 1, MOST_PLACES).astype(int))]


def _shown_times(moments: np.ndarray) -> dict[str, Any]:
    """Return the limits of a time axis that would otherwise be shorter than a minute, such as that of one round."""
    if len(moments) and moments[-1] - moments[0] < SHORTEST:
        return {"xlim": (moments[0] - SHORTEST / 2, moments[-1] + SHORTEST / 2)}
    return {}


def _moments(times: Sequence[float] | np.ndarray) -> np.ndarray:
    return np.rint(1000 * np.asarray(times, float)).astype("datetime64[ms]")
