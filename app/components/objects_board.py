"""The gallery of objects: cards of crops, who keeps company with whom, shares, and what points say."""

import param

from app.components.telling import Telling


class ObjectsBoard(Telling):
    """Tells {act: ..., ...}; the acts are those of app.pages.objects."""

    _module = "objects"
    _styles = ("parts", "explore", "objects")

    content = param.Dict(default={}, doc="What app.state.object_views.content says; empty at first.")
