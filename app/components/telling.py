"""Components whose scripts tell what a person did, as small messages {act: ...}."""

from collections.abc import Callable, Mapping
from typing import Any

import param

from app.components.module import ModuleComponent

Told = Mapping[str, Any]


class Telling(ModuleComponent):
    """`on_told` is called with every message; what it raises is the page's affair."""

    __abstract = True

    on_told: Callable[[Told], None] = staticmethod(lambda told: None)

    def _handle_msg(self, told: Told) -> None:
        self.on_told(told)


class OfImages(Telling):
    """What all views of many images have in common. Positions count images by ascending id; sets of them are packed
    as app.state.wire says; arrays are fetched from their address."""

    __abstract = True

    title = param.String(default="", doc="What it is called by those who hear it.")
    count = param.Integer(default=0, doc="Images of the workspace.")
    version = param.Integer(default=1, doc="Of the workspace: part of every thumbnail's address.")
    run = param.Integer(default=None, allow_None=True, doc="Number of the run shown.")
    ids_url = param.String(default="", doc="int32 ids by position.")
    code_url = param.String(default="", doc="uint16 index of the colour of each image, 65535 for none.")
    colours = param.List(default=[], doc="The colour of every code.")
    names = param.List(default=[], doc="What every code means; empty for numbers.")
    unknown = param.String(default="#9aa5ad", doc="The colour of images without a code.")
    selected = param.Parameter(default=None, doc="The selected images, packed.")
    focus_id = param.Integer(default=0, doc="The image somebody pointed at in another view.")
