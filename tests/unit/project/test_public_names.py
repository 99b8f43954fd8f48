"""Public means listed in a package's `__all__`, and the list is true."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import benthoscope
from benthoscope import app, engine

ROOT = Path(__file__).parents[3]


def packages():
    for house in (engine, app):
        yield house.__name__
        yield from (
            module_info.name
            for module_info in pkgutil.walk_packages(house.__path__, f"{house.__name__}.")
            if module_info.ispkg and not {"migrations", "package"} & set(module_info.name.split("."))
        )


@pytest.mark.parametrize("name", sorted(packages()))
def test_the_public_names_of_a_package_exist_and_are_listed_once(name):
    module = importlib.import_module(name)
    listed = list(getattr(module, "__all__", []))
    assert len(listed) == len(set(listed))
    assert [word for word in listed if not hasattr(module, word)] == []


@pytest.mark.parametrize("name", sorted(name for name in packages() if name.startswith("benthoscope.engine.")))
def test_a_package_of_the_engine_lists_what_it_takes_from_its_own_modules(name):
    path = ROOT / Path(*name.split(".")[1:]) / "__init__.py"
    by_module = {
        node.module: [alias.asname or alias.name for alias in node.names]
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{name}.")
    }
    listed = set(getattr(importlib.import_module(name), "__all__", []))
    missing = sorted(word for words in by_module.values() for word in words if word not in listed)
    assert not missing, f"{name} imports {missing} from its modules but does not list them in __all__"


def test_every_public_name_of_benthoscope_is_the_class_of_that_name():
    names = set(benthoscope.__all__) - {"__version__"}
    assert [name for name in names if getattr(benthoscope, name).__name__ != name] == []
