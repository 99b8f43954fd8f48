"""The images of one dive in the order taken: the strip of Explore."""

import param

from benthoscope.app.components.base import ImageView


class Strip(ImageView):
    """One dive with clusters, depth and altitude. Sends {act: strip, dive}, {act: select, how, images} and
    {act: pick, position}."""

    _module = "shared/strip"
    _styles = ("parts", "explore")

    dives = param.List(default=[], doc="[id, name] of the dives to choose from.")
    dive = param.Integer(default=None, allow_None=True, doc="Id of the shown dive.")
    positions = param.Parameter(default=None, doc="int32 positions of its images along the track.")
    depth = param.Parameter(default=None, doc="float32 metres, NaN where unknown.")
    altitude = param.Parameter(default=None, doc="float32 metres, NaN where unknown.")
    time = param.Parameter(default=None, doc="float64 seconds since 1970.")
