"""The package as it is installed: its list of packages, its light import, and the errors without the extras."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import benthoscope
from benthoscope.engine.optional_dependencies import EXTRAS, import_optional, is_installed
from benthoscope.engine.problems import BadInput

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES = {"umap-learn": "umap"}  # the module of a distribution, where the names differ
WITHOUT_EXTRAS = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in {modules} else find(name, *rest)
"""


def run(code: str, *words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    """A new interpreter that cannot see the libraries of the extras."""
    hidden = WITHOUT_EXTRAS.format(modules=set(EXTRAS))
    return subprocess.run(
        [sys.executable, "-c", hidden + code, *words], capture_output=True, text=True, cwd=cwd, timeout=120
    )


def test_every_package_of_the_tree_is_listed():
    """setuptools takes only what is listed: a missing line would make a wheel without that package."""
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    folders = {path.parent for top in ("app", "assets", "engine", "sample_data") for path in (ROOT / top).rglob("*.py")}
    folders -= {ROOT / "app" / "package", ROOT / "app" / "plots"}  # installed as benthoscope and benthoscope.plots
    expected = {".".join(("benthoscope", *folder.relative_to(ROOT).parts)) for folder in folders}
    expected |= {"benthoscope", "benthoscope.plots"}
    assert listed == expected


def test_the_base_installation_contains_neither_the_app_nor_networks():
    names = {re.match(r"[A-Za-z0-9._-]+", line).group() for line in PROJECT["project"]["dependencies"]}
    assert not {MODULES.get(name, name).replace("-", "_") for name in names} & EXTRAS.keys()


def test_every_library_of_an_extra_has_its_module_in_the_table():
    extras = PROJECT["project"]["optional-dependencies"]
    expected = {}
    for extra in ("deep", "app", "figures", "cluster", "postgres"):
        for line in extras[extra]:
            name = re.match(r"[A-Za-z0-9._-]+", line).group()
            if name != "benthoscope":
                expected[MODULES.get(name, name).replace("-", "_")] = extra
    assert expected == EXTRAS


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, benthoscope; print(*(name for name in ('numpy', 'sqlalchemy') if name in sys.modules))"
    assert run(code).stdout.split() == []


def test_every_public_name_works_without_the_extras():
    code = "import benthoscope\nfor name in benthoscope.__all__: assert getattr(benthoscope, name)\nprint('all')"
    outcome = run(code)
    assert outcome.stdout.split() == ["all"], outcome.stderr


def test_every_module_of_the_engine_can_be_imported_without_the_extras():
    modules = [
        ".".join(("benthoscope", *path.relative_to(ROOT).with_suffix("").parts))
        for path in sorted((ROOT / "engine").rglob("*.py"))
        if "migrations" not in path.parts and path.parent.name != "package"
    ]
    code = f"from importlib import import_module\nfor name in {modules!r}: import_module(name)\nprint('all')"
    outcome = run(code)
    assert outcome.stdout.split() == ["all"], outcome.stderr


def test_type_checkers_see_the_names_that_are_loaded_when_used():
    tree = ast.parse(Path(benthoscope.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    checked = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert checked == benthoscope._MODULE_OF_NAME
    assert sorted(["__version__", *checked]) == sorted(benthoscope.__all__)
    assert (Path(benthoscope.__file__).parent / "py.typed").exists()


def test_the_version_is_that_of_the_installed_package():
    assert benthoscope.__version__ == version("benthoscope")


def test_a_name_the_package_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Nonsense"):
        benthoscope.Nonsense  # noqa: B018


@pytest.mark.parametrize("words", [["serve"], ["--help"], []])
def test_the_program_without_its_extra_prints_one_line_with_the_command(words, tmp_path):
    outcome = run("from benthoscope.__main__ import main; main()", *words, cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    (line,) = outcome.stderr.splitlines()
    assert line == "Error: Python package 'typer': is not installed; run: pip install 'benthoscope[app]'"


def test_the_program_without_its_extra_prints_json_where_json_is_asked_for(tmp_path):
    outcome = run("from benthoscope.__main__ import main; main()", "status", "--json", cwd=tmp_path)
    assert outcome.returncode == 2 and outcome.stderr == ""
    assert "pip install 'benthoscope[app]'" in json.loads(outcome.stdout)["error"]["remedy"]


def test_a_missing_module_of_our_own_is_not_taken_for_a_missing_extra(monkeypatch):
    import benthoscope.app.cli
    from benthoscope.__main__ import main

    def broken():
        raise ModuleNotFoundError("No module named 'benthoscope.typo'", name="benthoscope.typo")

    monkeypatch.setattr(benthoscope.app.cli, "main", broken)
    with pytest.raises(ModuleNotFoundError, match="typo"):
        main()


def test_the_package_can_be_run_as_a_module():
    command = [sys.executable, "-m", "benthoscope", "version"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ})
    assert outcome.stdout == f"Benthoscope {benthoscope.__version__}\n"


def test_a_missing_optional_library_names_its_extra(monkeypatch):
    monkeypatch.setitem(EXTRAS, "a_package_nobody_has", "cluster")
    with pytest.raises(BadInput, match=r"is not installed; run: pip install 'benthoscope\[cluster\]'"):
        import_optional("a_package_nobody_has")
    assert not is_installed("a_package_nobody_has") and is_installed("json")


def test_an_optional_library_that_is_broken_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import what_it_needs")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(EXTRAS, "broken_library", "cluster")
    with pytest.raises(ModuleNotFoundError, match="what_it_needs"):
        import_optional("broken_library")


def test_a_default_description_without_the_extra_uses_the_colour_descriptor():
    outcome = run(
        "from benthoscope.engine.features import available; word, problem = available('deep'); print(word, problem)"
    )
    assert outcome.stdout.startswith("colour deep descriptor: is not installed"), outcome.stderr
    assert "pip install 'benthoscope[deep]'" in outcome.stdout
