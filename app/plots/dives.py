"""Plots of dives or albums: mixtures of clusters, distances between them, the profile and the track."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.engine.analysis import compare_mixtures, jensen_shannon
from benthoscope.plots.colours import GREY, distinct
from benthoscope.plots.style import (
    INCH,
    MARKS,
    MOST_ENTRIES,
    POINTS,
    REFERENCE,
    HeatValue,
    axis,
    cells,
    dots,
    framed,
    heat_map,
    in_parts,
    legend_fits,
    line,
    named_ticks,
    short_names,
    styled,
    theme_named,
)

CORNERS = 40  # of a pie
PIE = 0.045  # radius of a pie as a share of the extent of the map
NONE = -1  # no cluster
PROFILE = (900, 240)  # pixels of one panel
ENTRY = 15  # pixels of one entry of a legend
BAND = "90 % band"
NUMBER = "{0.[000]}"  # in a hover
LEAST = 0.01  # per cent of a bar; smaller parts are not drawn
MOST_PLACES = 6000  # of all tracks; more are closer than pixels
LEAST_PLACES = 60  # of one track


def mixture_bars(
    shares: np.ndarray,
    groups: Sequence[str],
    *,
    names: Sequence[str] | None = None,
    group_word: str = "Dive",
    kind: str = "Cluster",
    whole: str = "images",
    title: str = "",
    numbers: Sequence[int] | None = None,
    notes: Mapping[str, Sequence[str]] | None = None,
    theme: str = "light",
) -> Any:
    """Shares of the clusters as stacked bars, one bar per dive. `shares` (G, K); `names` (K,) of the clusters.

    Other words than clusters of images in dives are set with `group_word`, `kind` and `whole`. `numbers` (G,)
    identify the bars for programs. `notes`, such as {"Distance": texts}, are (G,) texts of the bars.
    """
    values = 100 * np.asarray(shares, float)
    titles = [f"{kind} {number}" for number in range(values.shape[1])] if names is None else list(names)
    cluster, row = (indices.ravel() for indices in np.indices(values.T.shape))
    ends = np.cumsum(values, axis=1)
    table = {
        "x0": (ends - values)[row, cluster],
        "y0": -row - 0.4,
        "x1": ends[row, cluster],
        "y1": -row + 0.4,
        "group": np.array(list(groups), object)[row],
        "cluster": np.array(titles, object)[cluster],
        "share": values[row, cluster],
        "colour": np.array(distinct(len(titles)), object)[cluster],
        "row_number": np.asarray(range(len(groups)) if numbers is None else numbers, int)[row],
        "column_number": cluster,
    }
    facts = [
        axis("group", group_word),
        axis("cluster", kind),
        axis("share", f"Share of the {whole}", "%"),
        "colour",
        "row_number",
        "column_number",
    ]
    hover = [(group_word, "@group"), (kind, "@cluster"), ("Share", "@share{0.0} %")]
    for number, (word, texts) in enumerate((notes or {}).items()):
        table[f"note{number}"] = np.array(list(texts), object)[row]
        facts.append(axis(f"note{number}", word))
        hover.append((word, f"@note{number}"))
    shown = values[row, cluster] >= LEAST  # smaller parts are too narrow to see
    table = {name: column[shown] for name, column in table.items()}

    def bars(rows: np.ndarray) -> Any:
        columns = {name: column[rows] for name, column in table.items()}
        return cells(hv.Rectangles(columns, ["x0", "y0", "x1", "y1"], facts), "colour", hover=hover)

    used = set(table["column_number"].tolist())
    height = int(min(max(130 + 26 * len(groups), 240), 900))
    order = [name for at, name in enumerate(titles) if at in used]
    figure = in_parts(table["cluster"], bars, kind, order, most=max(MOST_ENTRIES, (height - 130) // ENTRY))
    return framed(
        figure,
        theme,
        title=title or f"Mixture of {kind.lower()}s per {group_word.lower()}",
        height=height,
        selects=MARKS,
        legend=legend_fits(figure),
        xlim=(0, 100),
        ylim=(0.4 - len(groups), 0.6),
        yticks=named_ticks(groups, down=True),
        xlabel=f"Share of the {whole} (%)",
        ylabel=group_word,
    )


def mixture_heatmap(
    shares: np.ndarray,
    groups: Sequence[str],
    *,
    names: Sequence[str] | None = None,
    group_word: str = "Dive",
    kind: str = "Cluster",
    whole: str = "",
    title: str = "",
    order: tuple[Sequence[int], Sequence[int]] | None = None,
    numbers: Sequence[int] | None = None,
    theme: str = "light",
) -> Any:
    """Shares (G, K) as a heat map.

    Similar dives and similar clusters are neighbours, unless `order` gives the indices of the rows and columns to show.
    `numbers` (G,) identify the dives for programs.
    """
    row_numbers = np.asarray(range(len(groups)) if numbers is None else numbers, int)
    values = np.asarray(shares, float)
    titles = [str(number) for number in range(values.shape[1])] if names is None else list(names)
    if order is None:
        comparison = compare_mixtures(values)
        rows, columns = comparison.groups, comparison.clusters
    else:
        rows, columns = (np.asarray(indices, int) for indices in order)
    return heat_map(
        [groups[at] for at in rows],
        [titles[at] for at in columns],
        HeatValue(
            "share", f"Share of the {whole or group_word.lower()}", 100 * values[np.ix_(rows, columns)], "%", "{0.0}"
        ),
        row_axis=group_word,
        column_axis=kind,
        theme=theme,
        title=title or f"Shares of {kind.lower()}s, similar {group_word.lower()}s and {kind.lower()}s side by side",
        numbers=(row_numbers[rows], columns),
    )


def group_distances(
    shares: np.ndarray,
    groups: Sequence[str],
    *,
    group_word: str = "Dive",
    numbers: Sequence[int] | None = None,
    theme: str = "light",
) -> Any:
    """Jensen-Shannon distances of the mixtures (G, K), from 0 (equal) to 1 (nothing in common)."""
    values = np.asarray(shares, float)
    order = compare_mixtures(values).groups
    names = [groups[at] for at in order]
    row_numbers = np.asarray(range(len(groups)) if numbers is None else numbers, int)[order]
    return heat_map(
        names,
        names,
        HeatValue("distance", "Jensen-Shannon distance", jensen_shannon(values)[np.ix_(order, order)], "", "{0.00}"),
        row_axis=group_word,
        column_axis=group_word,
        theme=theme,
        title=f"Distances between {group_word.lower()}s by their mixtures",
        limits=(0, 1),
        numbers=(row_numbers, row_numbers),
    )


def profile(
    clusters: Sequence[int],
    *,
    time: Sequence[float] | None = None,
    depth: Sequence[float] | None = None,
    altitude: Sequence[float] | None = None,
    names: Mapping[int, str] | None = None,
    kind: str = "Cluster",
    images: Sequence[str | int] | None = None,
    picture: str = "",
    theme: str = "light",
) -> Any:
    """Depth and altitude (metres) along a dive, with images in the colours of their clusters.

    All arrays are in the order in which the images were taken. `time` is seconds since 1970; images without a time are
    left out if others have one. Without any time the axis counts images. A panel without values is left out. If there
    is neither depth nor altitude, one panel shows the sequence of clusters. A cluster below 0 means no cluster.
    `names` are those of some clusters, `kind` is the word for a cluster.
    `picture` is the address of the pictures under the pointer, such as "/images/@image.jpg".
    """
    numbers = np.full(len(clusters), np.nan)
    columns = {
        "cluster": np.asarray(clusters, int),
        "depth": np.asarray(numbers if depth is None else depth, np.float32),
        "altitude": np.asarray(numbers if altitude is None else altitude, np.float32),
        "image": np.asarray(range(len(clusters)) if images is None else images),
    }
    x_axis, of_image = _along(columns, time)
    titles = _titles(of_image["cluster"], names or {}, kind)
    panels = [
        (name, label)
        for name, label in (("depth", "Depth"), ("altitude", "Altitude"))
        if np.isfinite(of_image[name]).any()
    ]
    layers = [
        _panel(of_image, x_axis, axis(name, label, "m"), titles, kind, theme, legend=not at, picture=picture)
        for at, (name, label) in enumerate(panels)
    ]
    if not layers:
        of_image["sequence"] = np.zeros(len(of_image["time"]))
        sequence = axis("sequence", f"{kind}s")
        layers = [_panel(of_image, x_axis, sequence, titles, kind, theme, legend=False, picture=picture)]
    if len(layers) == 1:
        return layers[0]
    inches = (PROFILE[0] / INCH, len(layers) * PROFILE[1] / INCH)
    return styled(hv.Layout(layers).cols(1), matplotlib={"fig_inches": inches, "sublabel_format": "", "vspace": 0.5})


def _along(
    columns: Mapping[str, np.ndarray], time: Sequence[float] | None
) -> tuple[hv.Dimension, dict[str, np.ndarray]]:
    """The x axis of images in the order taken, and the columns with their place on it as `time`."""
    count = len(columns["image"])
    seconds = np.full(count, np.nan) if time is None else np.asarray(time, float)
    known = np.isfinite(seconds)
    if not known.any():
        return axis("time", "Image along the dive"), {"time": np.arange(count), **columns}
    moments = (1000 * seconds[known]).astype("datetime64[ms]")
    return axis("time", "Time", "UTC"), {
        "time": moments,
        **{name: values[known] for name, values in columns.items()},
    }


def _panel(
    of_image: Mapping[str, np.ndarray],
    x_axis: hv.Dimension,
    measure: hv.Dimension,
    all_titles: Mapping[int, str],
    kind: str,
    theme: str,
    legend: bool,
    picture: str,
) -> Any:
    """One line with a mark for each image, in the colour of its cluster."""
    known = np.isfinite(of_image[measure.name])
    columns = {name: values[known] for name, values in of_image.items()}
    titles = {number: all_titles[number] for number in np.unique(columns["cluster"]).tolist()}
    colours = [*distinct(max(titles, default=NONE) + 1), GREY]  # the last one is that of NONE
    columns["name"] = np.array([titles[number] for number in columns["cluster"].tolist()], object)
    columns["colour"] = np.array([colours[number] for number in columns["cluster"].tolist()], object)
    others = [column for column in _values_of_image(kind) if column.name != measure.name]

    def marks(rows: np.ndarray) -> Any:
        points = hv.Scatter({name: values[rows] for name, values in columns.items()}, x_axis, [measure, *others])
        of_part = set(columns["colour"][rows])
        colour = of_part.pop() if len(of_part) == 1 else "colour"  # a column of equal colours would be long
        return styled(
            dots(points, colour, size=5, hover=_hover(x_axis, kind), picture=picture),
            bokeh={"hover_formatters": {"@time": "datetime"}, "hooks": [_limit_hover]},
        )

    figure = in_parts(columns["name"], marks, kind, titles.values())
    path = line(hv.Curve((columns["time"], columns[measure.name]), x_axis, measure), GREY, width=1)
    sequence = measure.name == "sequence"
    without_axis: dict[str, Any] = {"yaxis": None} if sequence else {}
    return framed(
        path * figure,
        theme,
        title=f"{measure.label} along the dive",
        width=PROFILE[0],
        height=PROFILE[1] // 2 if sequence else PROFILE[1],
        legend=legend and legend_fits(figure),
        selects=POINTS,
        invert_yaxis=measure.name == "depth",
        **without_axis,
        matplotlib={} if sequence else {"aspect": PROFILE[0] / PROFILE[1]},
    )


def prediction(
    mean: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    measured: Sequence[float] | None = None,
    title: str = "Value",
    unit: str = "",
    time: Sequence[float] | None = None,
    images: Sequence[str | int] | None = None,
    picture: str = "",
    theme: str = "light",
) -> Any:
    """A predicted number along a dive: a line, the band from `low` to `high`, and the measured values as dots.

    All arrays are in the order in which the images were taken, with NaN where a value is unknown; the line and its band
    are interrupted there. `time`, `images` and `picture` are those of `profile`.
    """
    palette, count = theme_named(theme), len(mean)
    columns = {
        "mean": np.asarray(mean, np.float32),
        "low": np.asarray(low, np.float32),
        "high": np.asarray(high, np.float32),
        "measured": np.asarray(np.full(count, np.nan) if measured is None else measured, np.float32),
        "image": np.asarray(range(count) if images is None else images),
    }
    x_axis, of_image = _along(columns, time)
    value, about = axis("mean", f"Predicted {_lower(title)}", unit), axis("image", "Image")
    others = [axis("low", "Low end of the band", unit), axis("high", "High end of the band", unit)]
    is_predicted, is_measured = (np.isfinite(of_image[name]) for name in ("mean", "measured"))
    suffix = f" {unit}" if unit else ""
    place, shown_image = _moment(x_axis), ("Image", "@image")
    predicted_hover = [
        place,
        ("Predicted", f"@mean{NUMBER}{suffix}"),
        (BAND, f"@low{NUMBER} to @high{NUMBER}{suffix}"),
        shown_image,
    ]
    marks = hv.Scatter(
        {name: values[is_predicted] for name, values in of_image.items()},
        x_axis,
        [value, *others, axis("measured", f"Measured {_lower(title)}", unit), about],
    )
    dots_of_measured = hv.Scatter(
        {name: of_image[name][is_measured] for name in ("time", "measured", "image")},
        x_axis,
        [axis("measured", f"Measured {_lower(title)}", unit), about],
        label="Measured",
    )
    measured_hover = [place, ("Measured", f"@measured{NUMBER}{suffix}"), shown_image]
    one_hover = {"hover_formatters": {"@time": "datetime"}, "hooks": [_limit_hover]}
    colour = palette.lines[0]
    layers = [
        _band(of_image, x_axis, others, colour),
        line(
            hv.Curve((of_image["time"], of_image["mean"]), x_axis, value, group=REFERENCE, label="Predicted"),
            colour,
            width=1.5,
        ),
        styled(dots(marks, colour, size=3, hover=predicted_hover, picture=picture), bokeh=one_hover),
        styled(
            dots(dots_of_measured, palette.lines[1], size=5, hover=measured_hover, picture=picture), bokeh=one_hover
        ),
    ]
    return framed(
        hv.Overlay(layers).collate(),
        theme,
        title=f"{title} along the dive",
        width=PROFILE[0],
        height=PROFILE[1],
        selects=POINTS,
        ylabel=f"{title} ({unit})" if unit else title,
        matplotlib={"aspect": PROFILE[0] / PROFILE[1]},
    )


def _band(of_image: Mapping[str, np.ndarray], x_axis: hv.Dimension, ends: Sequence[hv.Dimension], colour: str) -> Any:
    """The area between two lines. Where they are interrupted, the area has no height."""
    x, low, high = (of_image[name] for name in ("time", "low", "high"))
    known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    begins = np.diff(known, prepend=-2) > 1
    last = np.diff(known, append=len(low) + 1) > 1
    middle = (low + high) / 2
    # Before and after each uninterrupted part, one more place with the middle as both ends.
    rows = np.concatenate([known[begins] - 0.5, known, known[last] + 0.5])
    at = np.concatenate([known[begins], known, known[last]])[np.argsort(rows, kind="stable")]
    closes = np.sort(rows) % 1 > 0
    area = hv.Area(
        (x[at], np.where(closes, middle[at], low[at]), np.where(closes, middle[at], high[at])),
        x_axis,
        list(ends),
        group=REFERENCE,
        label=BAND,
    )
    return styled(
        area,
        color=colour,
        alpha=0.2,
        show_legend=True,
        bokeh={"line_alpha": 0, "muted_alpha": 0.05},
        matplotlib={"linewidth": 0},
    )


def _lower(title: str) -> str:
    """A title within a sentence; names such as pH stay as they are."""
    return title[0].lower() + title[1:] if title[1:2].islower() else title


def _limit_hover(plot: Any, element: Any) -> None:
    """Show one image of a part at a time: marks of a long dive cover each other."""
    for tool in plot.state.toolbar.tools:
        if type(tool).__name__ == "HoverTool":
            tool.limit = 1


def _values_of_image(kind: str) -> list[hv.Dimension]:
    return [
        axis("depth", "Depth", "m"),
        axis("altitude", "Altitude", "m"),
        axis("image", "Image"),
        axis("cluster", f"{kind} number"),
        axis("name", kind),
        hv.Dimension("colour"),
    ]


def _titles(clusters: np.ndarray, names: Mapping[int, str], kind: str) -> dict[int, str]:
    """The name of every cluster in use, and of NONE."""
    numbered = {number: f"{kind} {number}" for number in np.unique(clusters).tolist()}
    return {**numbered, NONE: f"No {kind.lower()}", **names}


def _hover(x_axis: hv.Dimension, kind: str) -> list[tuple[str, str]]:
    values = [(kind, "@name"), ("Depth", "@depth{0.0} m"), ("Altitude", "@altitude{0.0} m"), ("Image", "@image")]
    return [_moment(x_axis), *values]


def _moment(x_axis: hv.Dimension) -> tuple[str, str]:
    return ("Time", "@time{%F %T} UTC") if x_axis.unit else ("Position in the dive", "@time")


def track_map(
    tracks: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    shares: Mapping[str, Sequence[float]] | None = None,
    names: Sequence[str] | None = None,
    kind: str = "Cluster",
    numbers: Mapping[str, int] | None = None,
    colours: Mapping[str, str] | None = None,
    group_word: str = "Dive",
    theme: str = "light",
) -> Any:
    """Tracks of dives in degrees (WGS 84): {dive: (latitudes, longitudes)}, with a pie of clusters on each dive that
    `shares` names. Images without a position are left out. `kind` is the word for a cluster. `numbers` identify the
    dives for programs."""
    ids = numbers or {dive: at for at, dive in enumerate(tracks)}
    most = max(MOST_PLACES // max(len(tracks), 1), LEAST_PLACES)
    lines = {dive: _positions(*track, most) for dive, track in tracks.items()}
    lines = {dive: positions for dive, positions in lines.items() if len(positions)}
    everywhere = np.concatenate([*lines.values(), np.zeros((0, 2))])
    middle = float(np.radians(everywhere[:, 1].mean())) if len(everywhere) else 0.0
    dimensions = [axis("longitude", "Longitude", "° east"), axis("latitude", "Latitude", "° north")]
    colours = colours or dict(zip(lines, distinct(len(lines)), strict=True))
    dives = [dive for dive, positions in lines.items() for _ in range(len(positions))]
    table = {
        "longitude": everywhere[:, 0],
        "latitude": everywhere[:, 1],
        "dive": np.array(dives, object),
        "row_number": np.array([ids[dive] for dive in dives], int),
        "colour": np.array([colours[dive] for dive in dives], object),
    }
    hover = [(group_word, "@dive"), ("Longitude", "@longitude{0.00000}°"), ("Latitude", "@latitude{0.00000}°")]

    def images(rows: np.ndarray) -> Any:
        columns = {name: column[rows] for name, column in table.items()}
        return dots(
            hv.Points(columns, dimensions, [axis("dive", group_word), "colour", "row_number"]),
            "colour",
            size=4,
            hover=hover,
        )

    entries = dict(zip(lines, short_names(lines), strict=True))
    figure = in_parts([entries[dive] for dive in dives], images, group_word, entries.values())
    paths = [line(hv.Curve(positions, *dimensions), colours[dive], width=1.2) for dive, positions in lines.items()]
    pies = _pies(lines, shares or {}, names, kind, group_word, ids, everywhere, middle, dimensions)
    scale = {"data_aspect": 1 / np.cos(middle)}
    return framed(
        hv.Overlay([*paths, figure, *pies]).collate(),
        theme,
        title=f"Tracks of the {group_word.lower()}s",
        legend_position="bottom",
        legend_cols=1,
        height=480,
        selects=MARKS,
        legend=legend_fits(figure),
        xticks=4,
        bokeh={**scale, "toolbar": "above"},
        matplotlib=scale,
    )


def _positions(latitude: Sequence[float], longitude: Sequence[float], most: int) -> np.ndarray:
    """(n, 2) longitudes and latitudes of the known positions, evenly thinned if there are many."""
    positions = np.stack([np.asarray(longitude, float), np.asarray(latitude, float)], axis=1)
    positions = positions[np.isfinite(positions).all(1)]
    return positions[np.unique(np.linspace(0, len(positions) - 1, min(len(positions), most)).astype(int))]


def _pies(
    tracks: Mapping[str, np.ndarray],
    shares: Mapping[str, Sequence[float]],
    names: Sequence[str] | None,
    kind: str,
    group_word: str,
    ids: Mapping[str, int],
    everywhere: np.ndarray,
    middle: float,
    dimensions: list[hv.Dimension],
) -> list[Any]:
    """Pies at the middle of the tracks, round on the map at this latitude (radians)."""
    if not any(dive in tracks for dive in shares):
        return []
    extent = np.ptp(everywhere, axis=0) * (np.cos(middle), 1)
    radius = PIE * max(float(extent.max()), 1e-4)
    wedges = []
    for dive, mixture in shares.items():
        if dive not in tracks:
            continue
        titles = [f"{kind} {number}" for number in range(len(mixture))] if names is None else names
        edges = np.concatenate([[0.0], np.cumsum(mixture)]) / max(float(np.sum(mixture)), 1e-12)
        centre, colours = tracks[dive].mean(0), distinct(len(mixture))
        for number, (start, end) in enumerate(pairwise(edges)):
            if end > start:
                ring = centre + radius * _wedge(start, end) / (np.cos(middle), 1)
                facts = {
                    "dive": dive,
                    "row_number": ids[dive],
                    "cluster": titles[number],
                    "share": 100 * (end - start),
                    "colour": colours[number],
                }
                wedges.append({"longitude": ring[:, 0], "latitude": ring[:, 1], **facts})
    hover = [(group_word, "@dive"), (kind, "@cluster"), ("Share", "@share{0.0} %")]
    return [
        cells(
            hv.Polygons(wedges, dimensions, ["dive", "cluster", "share", "colour", "row_number"]), "colour", hover=hover
        )
    ]


def _wedge(start: float, end: float) -> np.ndarray:
    """The outline of a slice of the unit circle, from the top clockwise; the ends are shares of the turn."""
    angles = 2 * np.pi * np.linspace(start, end, max(int(CORNERS * (end - start)), 1) + 1)
    return np.concatenate([[[0, 0]], np.stack([np.sin(angles), np.cos(angles)], axis=1), [[0, 0]]])
