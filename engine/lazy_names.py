"""Packages whose names are loaded on first use, so that importing one of their modules does not load all of them."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, module_of_name: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package, for a table of its names and the modules that define them."""

    def load(name: str) -> Any:
        if name not in module_of_name:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(module_of_name[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(module_of_name)

    return load, names
