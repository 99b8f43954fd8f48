"""Common style of all plots: themes, axes with units, heat cells, and options for both backends of HoloViews.

A plot is made for Bokeh and, if matplotlib is installed, for matplotlib as well. So one object serves a page, a
notebook and a file for print.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from importlib import import_module
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.engine.optional_dependencies import is_installed
from benthoscope.engine.problems import unknown
from benthoscope.plots.colours import GREY

REFERENCE = "Reference"  # the group of lines that are no data
WIDTH, HEIGHT = 640, 360  # pixels; two such plots fit side by side on a screen of 1366 pixels
PICTURE = 160  # pixels, the width of a picture under the pointer
INCH = 100  # pixels of a page; gives the size of a figure in print
BELOW_LABEL = 0.85  # inches from the axis to the middle of a legend below its label
MOST_ENTRIES = 14  # of a legend; with more it is taller than the plot, and each entry costs 5 kB of the page
MOST_NAMES = 60  # on an axis; with more they cover each other
MOST_BELOW = 36  # rotated names below a plot
LONGEST_NAME = 30  # letters of a name on an axis
HEAD = 14  # of these letters come from the beginning of a longer name, the others from its end
NOT_ON_PAPER = "@media print { :host { visibility: hidden; } }"  # the style of a toolbar
UNIT = re.compile(r" \([^()]*\)$")
FONTS = {"title": 11, "labels": 10, "ticks": 9, "legend": 9}  # points
LONG_TITLE, SMALL_TITLE = 34, "9pt"  # letters; a longer title is smaller, so that it fits beside names of an axis
LINE_OF_FRAME = 2  # pixels
AROUND = 90  # pixels above and below a heat map
LETTER = 7  # pixels of a letter on an axis, on average


@dataclass(frozen=True)
class Theme:
    """Colours of a plot.

    `lines` are distinct for colour-blind people (Okabe and Ito). `low` and `high` end the shades of heat maps. `middle`
    is the neutral shade between two opposite colours.
    """

    background: str
    text: str
    icons: str
    grid: str
    lines: tuple[str, str, str, str]
    low: str
    high: str
    middle: str
    opposite: tuple[str, str]


THEMES = {
    "light": Theme(
        background="#ffffff",
        text="#16222c",
        icons="#4d5c69",
        grid="#d5dce2",
        lines=("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
        low="#f4f8fb",
        high="#08436b",
        middle="#f4f6f8",
        opposite=("#b35806", "#2166ac"),
    ),
    "dark": Theme(
        background="#151f26",
        text="#e6eef3",
        icons="#a3b5c1",
        grid="#33434e",
        lines=("#56b4e9", "#e69f00", "#2fc59a", "#e59ac3"),
        low="#1b2831",
        high="#9be3f5",
        middle="#26343e",
        opposite=("#f0a04b", "#6cb6ff"),
    ),
}


def theme_named(name: str) -> Theme:
    """Return a theme. Raises BadInput for an unknown name."""
    if name not in THEMES:
        raise unknown("theme", name, THEMES)
    return THEMES[name]


@cache
def backends() -> tuple[str, ...]:
    """Load the installed backends of HoloViews and return their names."""
    import_module("holoviews.plotting.bokeh")
    if not is_installed("matplotlib"):
        return ("bokeh",)
    import_module("holoviews.plotting.mpl")
    return ("bokeh", "matplotlib")


def axis(name: str, label: str, unit: str = "") -> hv.Dimension:
    """A column of a plot. Axes show the label and the unit."""
    return hv.Dimension(name, label=label, unit=unit or None)


Hover = Sequence[tuple[str, str]]  # (title, "@column{format}")
Options = Mapping[str, Any]
Numbers = Sequence[int] | np.ndarray


def styled(element: Any, *, bokeh: Options | None = None, matplotlib: Options | None = None, **both: Any) -> Any:
    """The element with options for the loaded backends; `both` apply to each of them, unless it has its own."""
    own = {"bokeh": bokeh or {}, "matplotlib": matplotlib or {}}
    for backend in backends():
        element = element.opts(backend=backend, **{**both, **own[backend]})
    return element


def line(element: Any, colour: str, *, dashed: bool = False, width: float = 2, **both: Any) -> Any:
    """A line of this colour."""
    return styled(
        element,
        color=colour,
        bokeh={"line_width": width, "line_dash": "dashed" if dashed else "solid", "muted_alpha": 0.12},
        matplotlib={"linewidth": 0.7 * width, **({"linestyle": "--"} if dashed else {})},
        **both,
    )


def dots(
    element: Any, colour: Any, *, size: float = 7, hover: Hover = (), alpha: float = 0.9, picture: str = ""
) -> Any:
    """Round marks of this colour; `size` is the diameter in pixels."""
    return styled(
        element,
        color=colour,
        alpha=alpha,
        bokeh={"size": size, "muted_alpha": 0.06, "nonselection_alpha": 0.15, **hovering(hover, picture)},
        matplotlib={"s": (0.75 * size) ** 2, "linewidth": 0},
    )


def cells(element: Any, colour: Any, *, hover: Hover = (), edge: str | None = None, **both: Any) -> Any:
    """Filled rectangles. `colour` is one colour or the name of a column."""
    return styled(
        element,
        bokeh={
            "color": colour,
            "line_color": edge,
            "muted_alpha": 0.08,
            "nonselection_alpha": 0.25,
            **hovering(hover),
        },
        matplotlib={"color": colour, "edgecolor": edge or "none", "linewidth": 0.3},
        **both,
    )


def hovering(hover: Hover, picture: str = "") -> dict[str, Any]:
    """Options that show values under the pointer, and the picture at this address, such as "/images/@image.jpg"."""
    if not hover:
        return {}
    return {"tools": ["hover"], "hover_tooltips": _with_picture(hover, picture) if picture else list(hover)}


def _with_picture(hover: Hover, picture: str) -> str:
    """The hover as HTML, for values that Bokeh escapes."""
    rows = "".join(f"<tr><td>{escape(UNIT.sub('', title))}:&nbsp;</td><td>{value}</td></tr>" for title, value in hover)
    return f'<img src="{escape(picture)}" alt="" width="{PICTURE}"><table>{rows}</table>'


# How a person selects in a plot: marks such as bars and cells with a click or a box; points, which are images, with a
# box or a lasso, because a click on a point opens its image.
MARKS, POINTS = "marks", "points"


def _whole_ticks(along: str) -> Options:
    """Bokeh options of an axis that counts: no fractional ticks."""
    if not along:
        return {}
    models = import_module("bokeh.models")
    ticker = models.BasicTicker(min_interval=1, num_minor_ticks=0)
    return {f"{along}ticks": ticker, f"{along}formatter": models.NumeralTickFormatter(format="0,0")}


def framed(
    figure: Any,
    theme: str,
    *,
    title: str = "",
    width: int = WIDTH,
    height: int = HEIGHT,
    legend: bool = True,
    selects: str = "",
    counts: str = "",
    bokeh: Options | None = None,
    matplotlib: Options | None = None,
    **both: Any,
) -> Any:
    """The finished plot: size, title, fonts, grid, legend, tools and colours of the theme. `selects` is empty, MARKS or
    POINTS. `counts`, "x" or "y", is an axis that has no fractions."""
    palette = theme_named(theme)
    entries: dict[str, Any] = (
        {} if isinstance(figure, hv.Element) else {"show_legend": legend, "legend_position": "right"}
    )
    return styled(
        figure,
        **{"title": title, "fontsize": FONTS, "show_grid": True, "padding": 0.04, **entries, **both},
        bokeh={
            "width": width,
            "height": height,
            "default_tools": ["pan", "wheel_zoom", "box_zoom", "reset", "save"],
            "active_tools": ["box_zoom"],
            "toolbar": "below",
            "hooks": [partial(_dress_bokeh, palette), partial(_add_selection, selects)],
            **_whole_ticks(counts),
            **(bokeh or {}),
        },
        matplotlib={
            "fig_inches": (width / INCH, height / INCH),
            "aspect": "auto",
            "hooks": [partial(_dress_matplotlib, palette, counts)],
            **(matplotlib or {}),
        },
    )


def _dress_bokeh(palette: Theme, plot: Any, element: Any) -> None:
    """Colours of the theme. The wheel zooms only with the Ctrl key, so that it scrolls the page otherwise."""
    figure = plot.state
    figure.output_backend = "canvas"  # WebGL costs more than it saves for so few marks, and some machines lack it
    figure.background_fill_color = figure.border_fill_color = palette.background
    figure.outline_line_color = palette.grid
    figure.title.text_color = palette.text
    if len(figure.title.text) > LONG_TITLE:
        figure.title.text_font_size = SMALL_TITLE
    for ruler in figure.axis:
        ruler.axis_line_color = ruler.major_tick_line_color = ruler.minor_tick_line_color = palette.grid
        ruler.axis_label_text_color = ruler.major_label_text_color = palette.text
        ruler.axis_label_text_font_style = "normal"
    figure.grid.grid_line_color = palette.grid
    figure.grid.grid_line_alpha = 0.6
    for legend in figure.legend:
        legend.background_fill_color, legend.label_text_color = palette.background, palette.text
        legend.title_text_color, legend.title_text_font_style = palette.text, "normal"
        legend.border_line_color, legend.click_policy = None, "mute"
        legend.spacing, legend.padding, legend.glyph_height, legend.label_height = 0, 4, 14, 14
        if legend in (*figure.above, *figure.below):  # BokehJS would draw it a margin lower than its place
            legend.margin = 0
        elif legend in figure.right:  # beside the frame, and not on its line
            legend.location = (LINE_OF_FRAME, 0)
    for bar in figure.select({"type": import_module("bokeh.models").ColorBar}):
        bar.background_fill_color, bar.bar_line_color = palette.background, palette.grid
        bar.title_text_color = bar.major_label_text_color = palette.text
        bar.title_text_font_style = "normal"
    for tool in figure.toolbar.tools:
        if type(tool).__name__ == "WheelZoomTool":
            tool.modifiers = {"ctrl": True}
            figure.toolbar.active_scroll = tool
        if type(tool).__name__ == "HoverTool":
            tool.visible = False  # one button for each layer would fill the toolbar
            if isinstance(tool.tooltips, list):  # HoloViews adds units to titles, but the values here have theirs
                tool.tooltips = [(UNIT.sub("", heading), value) for heading, value in tool.tooltips]
    figure.toolbar.logo = None
    # The button of the tools without room is a grey letter otherwise, too pale to read.
    icons = f":host {{ --bokeh-icon-color: {palette.icons}; --button-color: {palette.grid}; }}"
    figure.toolbar.stylesheets = [icons, f".bk-tool-overflow {{ color: {palette.text}; }}", NOT_ON_PAPER]


def _add_selection(selects: str, plot: Any, element: Any) -> None:
    """Tools that select marks or points. HoloViews would add them to the parts of an overlay only."""
    models, figure = import_module("bokeh.models"), plot.state
    if not selects or any(isinstance(tool, models.BoxSelectTool) for tool in figure.toolbar.tools):
        return
    box = models.BoxSelectTool()
    if selects == MARKS:
        figure.add_tools(models.TapTool(), box)
    else:
        figure.add_tools(box, models.LassoSelectTool())
        figure.toolbar.active_drag = box


# Formats of times in print. A tick of seconds has its minute.
TIME_FORMATS = ["%Y", "%b", "%d", "%H:%M", "%H:%M", "%H:%M:%S"]
DAYS = ["", "%Y", "%Y-%b", *["%Y-%b-%d"] * 3]  # below the ticks


def _dress_matplotlib(palette: Theme, counts: str, plot: Any, element: Any) -> None:
    axes, figure = plot.handles["axis"], plot.handles["fig"]
    figure.patch.set_facecolor(palette.background)
    axes.set_facecolor(palette.background)
    axes.tick_params(colors=palette.text)
    for ruler in (axes.xaxis, axes.yaxis):
        ruler.set_zorder(-1)  # grid lines lie below bars
        for grid_line in ruler.get_gridlines():
            grid_line.set(color=palette.grid, linewidth=0.6)
    for side in axes.spines.values():
        side.set_color(palette.grid)
    for text in (axes.title, axes.xaxis.label, axes.yaxis.label):
        text.set_color(palette.text)
    dates = import_module("matplotlib.dates")
    if axes.get_xlabel().endswith("(UTC)"):
        # Times, with their day once; the usual labels begin with the day of the month alone.
        locator = dates.AutoDateLocator()
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(
            dates.ConciseDateFormatter(
                locator,
                formats=TIME_FORMATS,
                zero_formats=["", *TIME_FORMATS[:3], *TIME_FORMATS[4:]],
                offset_formats=DAYS,
            )
        )
    _dress_ticks(axes, counts)
    for ruler in (axes.xaxis, axes.yaxis):
        if hasattr(ruler.get_major_formatter(), "set_useOffset"):
            ruler.get_major_formatter().set_useOffset(False)  # degrees are read off in full
    if "cax" in plot.handles:
        plot.handles["cax"].tick_params(colors=palette.text)
        plot.handles["cax"].yaxis.label.set_color(palette.text)
    legend = axes.get_legend()
    if legend:
        legend.get_frame().set(facecolor=palette.background, edgecolor="none")
        if getattr(plot, "legend_position", "") == "bottom":  # HoloViews puts it on the label of a low plot
            inches = axes.get_position().height * figure.get_figheight()
            legend.set_bbox_to_anchor((0, -BELOW_LABEL / inches, 1, 0.1), axes.transAxes)
        for text in legend.get_texts():
            text.set_color(palette.text)


def _dress_ticks(axes: Any, counts: str) -> None:
    """No fractions of things that are counted, and no names of ticks between those of a logarithmic axis."""
    ticker = import_module("matplotlib.ticker")
    if counts:
        getattr(axes, f"{counts}axis").set_major_locator(ticker.MaxNLocator(integer=True, min_n_ticks=1))
    for ruler in (axes.xaxis, axes.yaxis):
        if ruler.get_scale() == "log":
            ruler.set_minor_formatter(ticker.NullFormatter())


def short_names(names: Iterable[str]) -> list[str]:
    """Names with at most `LONGEST_NAME` letters. Long names lose their middle, because names of dives often begin or
    end with the same words. If two names would then be equal, they lose their end or beginning."""
    full = list(map(str, names))
    tail = LONGEST_NAME - 1 - HEAD
    cuts: list[Callable[[str], str]] = [
        lambda name: f"{name[:HEAD]}…{name[-tail:]}",
        lambda name: f"{name[: LONGEST_NAME - 1]}…",
        lambda name: f"…{name[1 - LONGEST_NAME :]}",
    ]
    shortened = [[name if len(name) <= LONGEST_NAME else cut(name) for name in full] for cut in cuts]
    return max(shortened, key=lambda each: len(set(each)))


def named_ticks(names: Iterable[str], *, down: bool = False, most: int = MOST_NAMES) -> list[tuple[float, str]]:
    """Ticks 0, 1, ... with these names, at most `most`; with `down`, the ticks are 0, -1, ..."""
    shortened = short_names(names)
    every = -(-len(shortened) // most) or 1
    return [(-at if down else at, name) for at, name in enumerate(shortened) if at % every == 0]


def _side_by_side(names: Sequence[str]) -> bool:
    """Whether names fit beside each other below a plot."""
    longest = max((min(len(str(name)), LONGEST_NAME) for name in names), default=0)
    return longest <= 3 or len(names) * (longest + 2) * LETTER < WIDTH / 2


def shades(theme: str) -> list[str]:
    """256 colours from no share to a large one; lightness alone tells them apart."""
    palette = theme_named(theme)
    return blend(palette.low, palette.high)


def opposites(theme: str) -> list[str]:
    """256 colours from orange over a neutral shade to blue, for values on both sides of zero."""
    palette = theme_named(theme)
    return blend(palette.opposite[0], palette.middle, 128) + blend(palette.middle, palette.opposite[1], 128)


def blend(first: str, last: str, steps: int = 256) -> list[str]:
    """Colours in even steps from one to another."""
    start, end = ([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (first, last))
    mixed = np.rint(np.linspace(start, end, steps)).astype(int).tolist()
    return ["#{:02x}{:02x}{:02x}".format(*channels) for channels in mixed]


@dataclass(frozen=True)
class HeatValue:
    """Values (R, C) of a heat map, with their title and unit and the number format of the hover."""

    name: str
    title: str
    values: Any
    unit: str = ""
    format: str = ""


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    shown: HeatValue,
    more: Sequence[HeatValue] = (),
    *,
    row_axis: str,
    column_axis: str,
    theme: str,
    title: str = "",
    limits: tuple[float, float] | None = None,
    diverging: bool = False,
    height: int | None = None,
    numbers: tuple[Numbers, Numbers] | None = None,
) -> Any:
    """A heat map with names on both axes, the first row at the top. `limits` are the ends of the colours. `numbers`
    identify rows and columns for programs; without them, they are 0, 1, ..."""
    row_numbers, column_numbers = numbers or (range(len(rows)), range(len(columns)))
    at_row, at_column = np.indices((len(rows), len(columns))).reshape(2, -1)
    extra = (shown, *more)
    table = {
        "x0": at_column - 0.5,
        "y0": -at_row - 0.5,
        "x1": at_column + 0.5,
        "y1": -at_row + 0.5,
        "row": np.array(list(map(str, rows)), object)[at_row],
        "column": np.array(list(map(str, columns)), object)[at_column],
        "row_number": np.asarray(row_numbers, int)[at_row],
        "column_number": np.asarray(column_numbers, int)[at_column],
        **{column.name: np.asarray(column.values).reshape(-1) for column in extra},
    }
    heat = hv.Rectangles(
        table,
        ["x0", "y0", "x1", "y1"],
        [
            axis("row", f"{row_axis} (row)"),
            axis("column", f"{column_axis} (column)"),
            "row_number",
            "column_number",
            *(axis(column.name, column.title, column.unit) for column in extra),
        ],
    )
    hover = [(row_axis, "@row"), (column_axis, "@column")]
    hover += [(column.title, f"@{column.name}{column.format}{column.unit and ' ' + column.unit}") for column in extra]
    palette = theme_named(theme)
    values = table[shown.name]
    heat = cells(
        heat,
        shown.name,
        hover=hover,
        edge=palette.background if len(heat) < 2000 else None,
        cmap=opposites(theme) if diverging else shades(theme),
        clim=limits or (0, max(float(np.nanmax(values, initial=0)), 1e-9)),
        colorbar=True,
    )
    tall = height or _heat_map_height(rows, columns)
    inside = tall - AROUND - (0 if _side_by_side(columns) else 6 * min(max(map(len, map(str, columns))), LONGEST_NAME))
    title_of_bar = shown.title if LETTER * len(shown.title) < inside else shown.title.partition(" of ")[0]
    label = f"{title_of_bar} ({shown.unit})" if shown.unit else title_of_bar
    return framed(
        heat,
        theme,
        title=title,
        selects=MARKS,
        height=tall,
        xticks=named_ticks(columns, most=MOST_NAMES if _side_by_side(columns) else MOST_BELOW),
        yticks=named_ticks(rows, down=True),
        xlabel=column_axis,
        ylabel=row_axis,
        xlim=(-0.5, len(columns) - 0.5),
        ylim=(0.5 - len(rows), 0.5),
        show_grid=False,
        xrotation=0 if _side_by_side(columns) else 60,
        clabel=label,
    )


def _heat_map_height(rows: Sequence[str], columns: Sequence[str]) -> int:
    """Pixels: lines of the height of a name, and room for the rotated names below."""
    names = min(max((len(str(name)) for name in columns), default=0), LONGEST_NAME)
    return int(min(max(100 + 20 * len(rows), 260), 860) + (6 * names if names > 3 else 0))


def straight(x: Sequence[float] | np.ndarray, y: Sequence[float], dimensions: Sequence[Any], colour: str = GREY) -> Any:
    """A thin dashed reference line."""
    return line(hv.Curve((list(x), list(y)), *dimensions, group=REFERENCE), colour, dashed=True, width=1.4)


def by_name(parts: Mapping[str, Any], dimension: str) -> Any:
    """Parts of a plot with one entry of the legend each; a click on the entry mutes the part."""
    # A batch of parts would need columns with the colour and size of every mark.
    return styled(hv.NdOverlay(parts, axis(dimension, dimension), sort=False), bokeh={"batched": False})


def in_parts(
    names: Sequence[str] | np.ndarray,
    draw: Callable[[np.ndarray], Any],
    dimension: str,
    order: Iterable[str],
    *,
    most: int = MOST_ENTRIES,
) -> Any:
    """A plot of rows that belong to the named categories: one part with an entry in the legend for each, or a single
    part if a legend of all names would not fit. `draw` makes the part of a mask of rows."""
    of_row, entries = np.asarray(names, object), list(dict.fromkeys(order))
    if not 0 < len(entries) <= most:
        return by_name({"all": draw(np.ones(len(of_row), bool))}, dimension)
    return by_name({name: draw(of_row == name) for name in entries}, dimension)


def legend_fits(figure: Any) -> bool:
    """Whether a plot of `in_parts` has entries that a legend can distinguish."""
    return len(figure) > 1
