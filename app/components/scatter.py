"""Images as points: the plot of an embedding, and the map of dives with graticule, scale and pies of clusters."""

import param

from benthoscope.app.components.base import ImageView


class Plane(ImageView):
    """Sends {act: select, how, images}, {act: pick, position}, {act: cluster | dive, ...}, {act: clear} and
    {act: legend, kind, ids}, the entries of the legend that are shown; none means all."""

    _module = "shared/scatter"
    _styles = ("parts", "explore")

    xy_url = param.String(default="", doc="Address of the coordinates, two numbers for each image.")
    xy_kind: param.Selector[str] = param.Selector(
        default="u2", objects=["u2", "f4"], doc="uint16 (65535 nowhere) or float32 (NaN nowhere)."
    )
    extent = param.List(default=[0, 65534, 0, 65534], doc="West, east, south and north edge of all points.")
    margin = param.Integer(default=20, doc="Margin in pixels.")
    shown = param.Parameter(default=None, doc="The drawn images, packed; empty means all.")
    outlines = param.List(default=[], doc="{cluster, rings, colour} around the clusters.")
    pictures = param.List(default=[], doc="{cluster, peak, id, colour, name}, the most important first.")
    pies = param.List(default=[], doc="{dive, name, x, y, shares, colours, names} of the dives.")
    legend = param.Dict(
        default={},
        doc="{title, kind, entries: {id, colour, text, count}, chosen: ids}, or {title, ends, colours} of numbers.",
    )
    caption = param.String(default="", doc="What the points are, for the title of a saved picture.")
    axes = param.List(default=[], doc="Names of both axes; none for a map.")
    scale = param.Dict(default={}, doc="{start: [x, y], unit}: coordinates are start + number * unit.")
    lines_url = param.String(default="", doc="int32 positions in the order of the track, -1 where a line ends.")
    geographic = param.Boolean(default=False, doc="Whether the plane is a map in metres.")
    middle = param.List(default=[0.0, 0.0], doc="Latitude and longitude of the origin of a map.")
    tiles = param.String(default="", doc="Address of map tiles with {z}, {x} and {y}; empty means none.")
    note = param.String(default="", doc="Text shown if there is nothing to draw.")


class Embedding(Plane):
    """A projection of the features: similar images are near each other."""

    def __init__(self, **values):
        super().__init__(**{"title": "Embedding", **values})


class DiveMap(Plane):
    """A map with a coarse coastline. It loads tiles only from the server that a person configured."""

    def __init__(self, **values):
        super().__init__(**{"title": "Map", "geographic": True, "xy_kind": "f4", "margin": 40, **values})
