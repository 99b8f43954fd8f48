"""The board of Learn: a batch of images with their suggestions, and the plots that say how good those are."""

import param

from app.components.in_order import TellingInOrder


class LearnBoard(TellingInOrder):
    """Tells {act: queue | accept | name | sure | wanted | next | learn | undo | choose | find, ...}."""

    _module = "learn"
    _styles = ("parts", "review", "learn", "notice")

    content = param.Dict(default={}, doc="What app.state.learn_views.content says.")
    hits = param.Dict(default={}, doc="{text, terms}: the terms for the letters typed.")
