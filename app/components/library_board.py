"""The library as it is drawn: numbers, table, map, descriptions, problems."""

import param

from app.components.dialogs import ActingComponent


class LibraryBoard(ActingComponent):
    _module = "library"
    _styles = ("parts", "library")

    content = param.Dict(default={}, doc="What app.state.library says.")
    sought = param.String(default="", doc="Only dives whose name holds this.")
