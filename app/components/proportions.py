"""Mixtures of clusters as stacked bars, and as a map of heat."""

import param

from app.components.telling import Telling


class Proportions(Telling):
    """Tells {act: dive, dive} as `id`, {act: cluster, cluster, id}."""

    _module = "explore/proportions"
    _styles = ("parts", "explore")

    rows = param.List(default=[], doc="{id, name, shares, note} of each dive.")
    colours = param.List(default=[], doc="The colour of every cluster.")
    names = param.List(default=[], doc="What each cluster is called.")
    current = param.Integer(default=None, allow_None=True, doc="Id of the dive in view.")


class HeatMap(Telling):
    """The same messages."""

    _module = "explore/heatmap"
    _styles = ("parts", "explore")

    rows = param.List(default=[], doc="{id, name} of the dives, in order.")
    columns = param.List(default=[], doc="{number, colour} of the clusters, in order.")
    values = param.List(default=[], doc="Shares, a list for each row.")
    colours = param.List(default=[], doc="The colour of every cluster.")
    current = param.Integer(default=None, allow_None=True, doc="Id of the dive in view.")
