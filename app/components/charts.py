"""A dive from its first image to its last: clusters, depth and altitude."""

import param

from app.components.telling import OfImages


class Strip(OfImages):
    """Tells {act: strip, dive}, {act: select, how, images}, {act: pick, position}."""

    _module = "explore/strip"
    _styles = ("parts", "explore")

    dives = param.List(default=[], doc="[id, name] of those that can be chosen.")
    dive = param.Integer(default=None, allow_None=True, doc="Id of the one shown.")
    positions = param.Parameter(default=None, doc="int32 positions of its images along the track.")
    depth = param.Parameter(default=None, doc="float32 metres of each, NaN where unknown.")
    altitude = param.Parameter(default=None, doc="float32 metres of each.")
    time = param.Parameter(default=None, doc="float64 seconds since 1970 of each.")
