"""Base classes of components: ES modules under assets/js, shared by pages, that send commands as messages."""

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import param
from panel.custom import JSComponent

ASSETS = files("benthoscope.assets")
# The module is fetched from the server of the page, because relative imports do not work in a blob.
# assets/js/core/panel_gaps.js makes `importModule`.
LOADER = """
export async function render(context) {{
  const part = await window.importModule(new URL("{url}", document.baseURI).href)
  return part.render(context)
}}
"""
# While a page loads, assets/css/look.css shows grey blocks. The first part of the page, or its failure, ends that.
PART_LOADER = """
export async function render(context) {{
  try {{
    const part = await window.importModule(new URL("{url}", document.baseURI).href)
    return part.render(context)
  }} finally {{
    requestAnimationFrame(() => {{ document.documentElement.dataset.drawn = "" }})
  }}
}}
"""
PAGES = "pages/"  # modules whose drawing ends the grey blocks; the frame and closed dialogs come earlier


def asset_url(path: str) -> str:
    """The address of a file under assets. It changes with the content, so browsers may cache it indefinitely."""
    digest = hashlib.sha256((ASSETS / path).read_bytes()).hexdigest()[:12]
    return f"/assets/{digest}/{path}"


class ModuleComponent(JSComponent):
    """A subclass names its module (`assets/js/NAME.js`, exporting render({model, el, view})) and may name style sheets
    (`assets/css/NAME.css`). Its parameters are synchronised with the module's `model`."""

    __abstract = True
    draws_page: ClassVar[bool] = False
    _module: ClassVar[str] = ""
    _styles: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs):
        if cls._module:
            # One digest covers all modules, so that they can import each other by relative addresses.
            cls.draws_page = cls._module.startswith(PAGES)
            loader = PART_LOADER if cls.draws_page else LOADER
            cls._esm = loader.format(url=module_url(cls._module))
            cls._stylesheets = [asset_url(f"css/{name}.css") for name in cls._styles]
        super().__init_subclass__(**kwargs)


def module_url(name: str) -> str:
    """The address of a module. It changes when any module changes, because they import each other."""
    return f"/assets/{_digest_of_modules()}/js/{name}.js"


@cache
def _digest_of_modules() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(str(ASSETS / "js")).rglob("*.js")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


Message = Mapping[str, Any]  # {"act": name of a command, ...}, see app.session.commands
OnMessage = Callable[[Message], Mapping[str, Any] | None]


class CommandComponent(ModuleComponent):
    """A component whose script sends commands. `on_message` runs a command and may return parameters to set."""

    __abstract = True

    def __init__(self, on_message: OnMessage | None = None, **values: Any):
        super().__init__(**values)
        self.on_message: OnMessage = on_message or (lambda message: None)

    def _handle_msg(self, message: Message) -> None:
        self.param.update(**(self.on_message(message) or {}))


class ImageView(CommandComponent):
    """Base class of components that show many images. A position is the index of an image by ascending id. Sets of
    images are packed as in app.session.selection; arrays are fetched from their address."""

    __abstract = True

    title = param.String(default="", doc="Title for screen readers.")
    count = param.Integer(default=0, doc="Number of images in the workspace.")
    version = param.Integer(default=1, doc="Version of the images, part of the address of thumbnails.")
    run = param.Integer(default=None, allow_None=True, doc="Id of the shown run.")
    ids_url = param.String(default="", doc="int32 ids by position.")
    code_url = param.String(default="", doc="uint16 index of the colour of each image, 65535 for none.")
    colours = param.List(default=[], doc="The colour of every code.")
    names = param.List(default=[], doc="The meaning of every code; empty for numbers.")
    unknown = param.String(default="#9aa5ad", doc="The colour of images without a code.")
    selected = param.Parameter(default=None, doc="The selected images, packed.")
    focus_id = param.Integer(default=0, doc="Id of the image to scroll to.")


class OrderedCommandComponent(CommandComponent):
    """A component with numbered messages: the browser knows which of its messages the server has processed.

    `heard`, the number of the last processed message, is sent with the new parameters; until then the script knows that
    its content is about to change. app.server.session_executor runs the messages of one tab sequentially."""

    __abstract = True

    heard = param.Integer(default=0, doc="Number of the last processed message.")

    def _handle_msg(self, message: Message) -> None:
        content = dict(message)
        shown: Mapping[str, Any] = {}
        number = int(content.pop("nth"))
        try:
            shown = self.on_message(content) or {}
        finally:
            self.param.update(**shown, heard=max(self.heard, number))
