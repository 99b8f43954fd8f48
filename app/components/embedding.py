"""Images as points on a plane."""

import param

from app.components.telling import OfImages


class Plane(OfImages):
    """Tells {act: select, how, images}, {act: pick, position}, {act: cluster | dive, ...}, {act: clear}."""

    _module = "explore/plane"
    _styles = ("parts", "explore")

    xy_url = param.String(default="", doc="Coordinates of every image, two numbers each.")
    xy_kind = param.Selector(default="u2", objects=["u2", "f4"], doc="uint16 (65535 nowhere) or float32 (NaN nowhere).")
    extent = param.List(default=[0, 65534, 0, 65534], doc="West, east, south, north of all.")
    margin = param.Integer(default=8, doc="Pixels around all.")
    shown = param.Parameter(default=None, doc="The images drawn, packed; nothing means all.")
    outlines = param.List(default=[], doc="{cluster, rings, colour} around the clusters.")
    pictures = param.List(default=[], doc="{cluster, peak, id, colour, name}, the more important first.")
    pies = param.List(default=[], doc="{dive, name, x, y, shares, colours} of the dives.")
    geographic = param.Boolean(default=False, doc="Whether the plane is a map in metres.")
    middle = param.List(default=[0.0, 0.0], doc="Latitude and longitude of the origin of a map.")
    tiles = param.String(default="", doc="Where a map's tiles come from, with {z}, {x} and {y}; empty: from nowhere.")
    note = param.String(default="", doc="What stands in the middle where there is nothing to draw.")


class Embedding(Plane):
    """Near means alike: a projection of the features."""

    def __init__(self, **values):
        super().__init__(**{"title": "Embedding", **values})
