"""The board of Labels: words, agreement, history, files."""

import param

from app.components.in_order import TellingInOrder


class LabelsBoard(TellingInOrder):
    """Tells {act: ..., ...}; the acts are those of app.pages.labels."""

    _module = "labels"
    _styles = ("parts", "labels")

    content = param.Dict(default={}, doc="What app.state.labels_views.content says.")
