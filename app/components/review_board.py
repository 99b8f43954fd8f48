"""The board of Review: tiles, clusters, the term to give, the curve of a list being grown."""

import param

from app.components.in_order import TellingInOrder


class ReviewBoard(TellingInOrder):
    """Tells {act: ..., ...}; the acts are those of app.pages.review."""

    _module = "review"
    _styles = ("parts", "review")

    content = param.Dict(default={}, doc="What app.state.review_views.content says.")
    hits = param.Dict(default={}, doc="{text, terms}: the terms for the letters typed.")
