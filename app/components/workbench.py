"""The frame of Explore: four panes with borders that move, and the bar above them."""

import param
from panel.custom import Child

from app.components.telling import Telling


class Workbench(Telling):
    """Tells {act: set, name, value} for the small controls in the panes' heads."""

    _module = "explore/workbench"
    _styles = ("parts", "explore")

    clusters = Child(doc="The cards.")
    embedding = Child(doc="The plane of likeness.")
    map = Child(doc="The plane of places.")
    strip = Child(doc="Below the map.")
    gallery = Child(doc="The tiles.")
    pane = param.String(default="", doc="The pane that fills the page; empty for all.")
    tools = param.Dict(default={}, doc="Small controls of every pane.")
    told = param.Dict(default={}, doc="A few words beside every pane's title.")


class SelectionBar(Telling):
    """Tells what is to be done with the selection: {act: label | save | split | clear | invert | back | ...}."""

    _module = "explore/selection_bar"
    _styles = ("parts", "explore")

    choices = param.List(default=[], doc="Small controls on the left.")
    filters = param.List(default=[], doc="{kind, id, text} of the filters that are on.")
    legend = param.Dict(default={}, doc="{ends, colours} of a ramp; empty for clusters and labels.")
    shown = param.Integer(default=0, doc="Images that pass the filters.")
    total = param.Integer(default=0, doc="Images there are.")
    selected_count = param.Integer(default=0, doc="Images selected.")
    terms = param.List(default=[], doc="Words that can be labels.")
    saved = param.List(default=[], doc="[id, name, images] of the saved selections.")
    export_url = param.String(default="", doc="Where the selection can be had as CSV.")
    crowd = param.Boolean(default=False, doc="Whether there is a crowd to ask.")
    goto = param.String(default="", doc="An address of this server that the tab goes to.")
