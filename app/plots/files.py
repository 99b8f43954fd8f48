"""Figures as files and as tables: SVG, PNG, HTML and CSV."""

import hashlib
import json
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import holoviews as hv
import numpy as np

from benthoscope.engine.exchange.parsing.csv_output import csv_text
from benthoscope.engine.optional_dependencies import import_optional
from benthoscope.engine.problems import fail, unknown
from benthoscope.plots import FORMATS
from benthoscope.plots.style import NOT_ON_PAPER, REFERENCE, backends

DOTS_PER_INCH = 200  # of PNG files; enough for print at the width of a column
TITLE = "Benthoscope"
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><script>{scripts}</script></head>
<body><div id="plot"></div><script>Bokeh.embed.embed_item({item}, "plot")</script></body></html>
"""
COLUMN = re.compile(r"@(\w+)")  # in a hover
MODEL = re.compile(r'"(?:root_)?id":"(p\d+)"')  # the number of a model of Bokeh, in JSON without spaces
FROM_THE_LEFT = ":host(.bk-below) { justify-content: flex-start; }"  # the buttons of the page are at the right


def save(figure: Any, path: str | Path) -> Path:
    """Write a plot to a file. Its ending decides the format: svg, png, html or csv.

    SVG and PNG need matplotlib. HTML files contain BokehJS, so they work offline. No format needs a network or browser.
    """
    target = Path(path)
    content = rendered(figure, format_of(target))
    try:
        target.write_bytes(content)
    except OSError as error:
        raise fail(
            str(target), f"cannot be written ({error.strerror})", "check the folder and its permissions"
        ) from error
    return target


def format_of(path: Path) -> str:
    """The format of a file by its ending. Raises BadInput for others."""
    ending = path.suffix.lower().removeprefix(".")
    if not ending:
        raise fail(str(path), "has no ending", f"end it with one of {', '.join(f'.{name}' for name in FORMATS)}")
    if ending not in FORMATS:
        raise unknown("format of a figure", ending, FORMATS)
    return ending


def rendered(figure: Any, form: str) -> bytes:
    """The content of a file in one of `FORMATS`."""
    if form == "csv":
        table = data_table(figure)
        return csv_text([str(name) for name in table.columns], table.itertuples(index=False)).encode()
    if form == "html":
        return _html(bokeh_figure(figure)).encode()
    import_optional("matplotlib")
    content = hv.Store.renderers["matplotlib"].instance(dpi=DOTS_PER_INCH, fig=form)(figure, fmt=form)[0]
    return content.encode() if isinstance(content, str) else content


def _html(model: Any) -> str:
    """A page with the plot and BokehJS. Bokeh's own pages would refer to files of Panel's server."""
    scripts = import_module("bokeh.resources").Resources(mode="inline", components=["bokeh"]).js_raw
    item = json.dumps(_item(model)).replace("</", "<\\/")
    return PAGE.format(title=TITLE, scripts="\n".join(scripts), item=item)


def bokeh_figure(figure: Any, *, responsive: bool = False) -> Any:
    """The plot as a model of Bokeh; `responsive` plots fill the width of their place in a page."""
    backends()
    models = import_module("bokeh.models")
    # Without a document of its own, the plot would stay in memory as long as the document of the session or process.
    document = import_module("bokeh.document").Document()
    model = hv.Store.renderers["bokeh"].instance(mode="server").get_plot(figure, doc=document).state
    if isinstance(figure, hv.Layout):
        model.toolbar.logo = None
        model.toolbar.stylesheets = [NOT_ON_PAPER]
        model.toolbar.active_drag = _active_drag(model)
    if responsive:
        for toolbar in model.select({"type": models.Toolbar}):
            toolbar.tools = [tool for tool in toolbar.tools if not _saves(tool)]  # pages have buttons of their own
            toolbar.stylesheets = [*toolbar.stylesheets, FROM_THE_LEFT]
        for plot in {model, *model.select({"type": models.Plot})}:
            plot.sizing_mode = "stretch_width"
            if getattr(
                plot, "match_aspect", False
            ):  # a map: HoloViews fixes its size, and Bokeh fits only ranges of data to another size
                plot.frame_width = plot.frame_height = plot.width = None
                plot.aspect_scale = 1 / plot.aspect_scale  # HoloViews means height by width
                plot.x_range, plot.y_range = models.DataRange1d(), models.DataRange1d()
    return model


def _saves(tool: Any) -> bool:
    """Whether a tool saves the plot as an image."""
    return type(getattr(tool, "tools", [tool])[0]).__name__ == "SaveTool"


def _active_drag(layout: Any) -> Any:
    """The tool that all panels of a layout have as active; HoloViews forgets it when it merges their toolbars."""
    models = import_module("bokeh.models")
    active = {type(plot.toolbar.active_drag) for plot in layout.select({"type": models.Plot})}
    proxies = [tool for tool in layout.toolbar.tools if isinstance(tool, models.ToolProxy)]
    return next((proxy for proxy in proxies if type(proxy.tools[0]) in active), "auto")


def bokeh_item(figure: Any, columns: Iterable[str] = ()) -> dict[str, Any]:
    """The plot as JSON for `Bokeh.embed.embed_item`; it fills the width of its place in a page. The JSON has only the
    columns that the plot shows, and `columns`."""
    model = bokeh_figure(figure, responsive=True)
    _drop_unused(model, set(columns))
    return _item(model)


def fingerprint(item: str) -> str:
    """A short text that is equal for equal plots, from the JSON of a plot without spaces. The JSON itself is not: Bokeh
    numbers the models of a process."""
    numbers = {name: str(at) for at, name in enumerate(dict.fromkeys(MODEL.findall(item)))}
    return hashlib.sha256(MODEL.sub(lambda match: numbers[match[1]], item).encode()).hexdigest()[:24]


def _drop_unused(model: Any, columns: set[str]) -> None:
    """Remove columns that neither marks nor hovers use, and store numbers in as few bytes as they need."""
    models = import_module("bokeh.models")
    in_hovers = {
        name for tool in model.select({"type": models.HoverTool}) for name in COLUMN.findall(str(tool.tooltips))
    }
    for renderer in model.select({"type": models.GlyphRenderer}):
        glyphs = [renderer.glyph, renderer.selection_glyph, renderer.nonselection_glyph, renderer.muted_glyph]
        in_glyphs = {
            _field(glyph, name) for glyph in glyphs if hasattr(glyph, "dataspecs") for name in glyph.dataspecs()
        }
        renderer.js_property_callbacks = {}  # pages refuse scripts in data; assets/js/shared/plot_frame.js links panels
        data = renderer.data_source.data
        renderer.data_source.data = {
            name: _compact(values) for name, values in data.items() if name in columns | in_hovers | in_glyphs
        }


def _field(glyph: Any, name: str) -> str:
    """The column of a property of a glyph; empty for a constant."""
    value = getattr(glyph, name)
    if isinstance(value, str):
        return value
    return str(value.get("field", "") if isinstance(value, dict) else getattr(value, "field", ""))


def _compact(values: Any) -> Any:
    is_long = isinstance(values, np.ndarray) and values.dtype == np.int64
    return values.astype(np.int32) if is_long and np.abs(values).max(initial=0) < 2**31 else values


def _item(model: Any) -> dict[str, Any]:
    """JSON of a model, without the definitions of Panel's models: no plot uses them, and they have 150 kB."""
    item = import_module("bokeh.embed").json_item(model)
    item["doc"].pop("defs", None)
    return item


def data_table(figure: Any) -> Any:
    """The values of a plot as a pandas data frame, with labels and units as names of the columns.

    These are the values of the layer with the most rows; equal rows of several panels count once. Raises BadInput if
    the plot is an image of so many points that it contains no values.
    """
    frames = [_frame(layer) for layer in _layers(figure)]
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return import_module("pandas").DataFrame()
    detailed = max(frames, key=lambda frame: (len(frame), len(frame.columns)))
    alike = [frame[list(detailed)] for frame in frames if set(frame) == set(detailed)]
    return import_module("pandas").concat(alike).drop_duplicates()


def _layers(figure: Any) -> list[Any]:
    if isinstance(figure, hv.Layout | hv.Overlay):
        return [layer for panel in figure for layer in _layers(panel)]
    if isinstance(figure, hv.RGB):
        raise fail("plot", "is an image of too many points to list them", "export the run instead")
    has_data = (
        isinstance(figure, hv.Dataset | hv.NdOverlay)
        and not isinstance(figure, hv.Polygons)
        and figure.group != REFERENCE
    )
    return [figure] if has_data else []


def _frame(layer: Any) -> Any:
    """The columns of a layer that are data, named as on its axes."""
    titles = {dimension.name: dimension.pprint_label for dimension in layer.dimensions()}
    frame = layer.dframe()
    keys = layer.kdims if isinstance(layer, hv.NdOverlay) else []
    dropped = [
        *HELPERS,
        *(key.name for key in keys if any(key.name == titles.get(name) for name in frame if name != key.name)),
    ]
    return frame.drop(columns=[name for name in frame if name in dropped]).rename(columns=titles)


# How marks are drawn, and numbers for programs: no data for people.
HELPERS = (
    *("colour", "diameter", "estimate_text", "place", "x0", "y0", "x1", "y1"),
    *("row_number", "column_number", "first_millisecond", "last_millisecond"),
)
