"""One card a cluster."""

import param

from app.components.telling import Telling


class ClusterCards(Telling):
    """Tells {act: open | cluster | reveal, cluster, how}, {act: show, id, cluster}, {act: object, object}."""

    _module = "explore/cards"
    _styles = ("parts", "explore")

    cards = param.List(default=[], doc="What app.state.cards.Card says of each, in order.")
    total = param.Integer(default=0, doc="Clusters there are.")
    open = param.List(default=[], doc="Numbers of those shown alone.")
    dives = param.List(default=[], doc="Names of the dives.")
    colours = param.List(default=[], doc="The colour of every cluster.")
    cut = param.String(default="", doc="Which cutting into segments the crops are of; empty where there are none.")
    object_colours = param.List(default=[], doc="The colour of every object.")
    object_names = param.List(default=[], doc="What every object is called.")
    version = param.Integer(default=1, doc="Of the workspace.")
    kind = param.String(default="exemplars", doc="Which images stand for a cluster.")
    kind_choices = param.List(default=[], doc="[value, words].")
    order = param.String(default="size", doc="The order of the cards.")
    order_choices = param.List(default=[], doc="[value, words].")
    only = param.String(default="all", doc="Which cards are shown.")
    only_choices = param.List(default=[], doc="[value, words].")
    word = param.String(default="", doc="What the label or the number has to hold.")
    empty = param.String(default="No clusters yet: cluster the images in Library.", doc="Where there is no run.")
