"""The bar on top of every page, and the navigation beside it."""

from typing import Any

import param

from app.components.module import ModuleComponent


class TopBar(ModuleComponent):
    """Search, jobs, person, theme, help, keyboard map, the message line, and the address in step with `query`."""

    _module = "top_bar"
    _styles = ("parts", "shell")

    workspace = param.String(doc="Name of the workspace.")
    page = param.String(doc="Slug of this page.")
    pages = param.List(doc="What can be gone to: {title, href, key}.")
    person = param.String(doc="Who sits here.")
    theme = param.Selector(objects=["light", "dark"], doc="Light or dark.")
    version = param.Integer(doc="Version of the workspace as the server last told it.")
    query = param.Dict(default={}, doc="What the address says after the question mark.")
    message = param.Dict(default={}, doc="{text, kind, undo} of the message line.")
    keys = param.List(default=[], doc="[key, what it does] of this page, for the keyboard map.")

    def _handle_msg(self, told: dict[str, Any]) -> None:
        self.on_told(told)

    on_told = staticmethod(lambda told: None)


class Navigation(ModuleComponent):
    """The pages as links."""

    _module = "navigation"
    _styles = ("parts", "navigation")

    pages = param.List(doc="{title, href, icon, current} of each.")
