"""Components whose JavaScript is an ES module of ours under assets/js, cached by the browser and shared by pages."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from panel.custom import JSComponent

ASSETS = files("assets")
# The module is fetched from the server that served the page: a blob's relative imports would lead nowhere.
LOADER = """
export async function render(context) {{
  const part = await import(new URL("{url}", document.baseURI).href)
  return part.render(context)
}}
"""


def asset_url(path: str) -> str:
    """The address of a file under assets; it changes with the content, so browsers may keep it for ever."""
    digest = hashlib.sha256((ASSETS / path).read_bytes()).hexdigest()[:12]
    return f"/assets/{digest}/{path}"


class ModuleComponent(JSComponent):
    """A subclass names its module (`assets/js/NAME.js`, exporting render({model, el, view})) and may name style sheets
    (`assets/css/NAME.css`); parameters are in step with the module's `model`."""

    __abstract = True
    _module: ClassVar[str] = ""
    _styles: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs):
        if cls._module:
            # All of the modules live in one folder whose digest covers them all, so that they may import each other.
            cls._esm = LOADER.format(url=module_url(cls._module))
            cls._stylesheets = [asset_url(f"css/{name}.css") for name in cls._styles]
        super().__init_subclass__(**kwargs)


def module_url(name: str) -> str:
    """The address of a module; it changes when any module does, because they import each other relatively."""
    return f"/assets/{_digest_of_modules()}/js/{name}.js"


@cache
def _digest_of_modules() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(str(ASSETS / "js")).rglob("*.js")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
