"""The wheel that `pip install` installs: it is built, installed into a fresh environment, and runs the demo."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path
from queue import Empty, Queue
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOURCES = ("app", "assets", "engine", "sample_data", "pyproject.toml", "README.md", "LICENSE")
OLDEST_SETUPTOOLS = 77  # the first that reads a licence as an SPDX expression
STARTS_WITHIN = 300  # s
TYPED = """
from typing import reveal_type

from benthoscope import GMC, Workspace, __version__

reveal_type(GMC(width=0.05).fit([[0.0]]))
reveal_type(Workspace.open("reef").name)
reveal_type(__version__)
"""


@pytest.fixture(scope="module")
def setuptools_path(tmp_path_factory) -> list[str]:
    """Folders to add to PYTHONPATH so that a new enough setuptools can be imported."""
    if int(version("setuptools").split(".")[0]) >= OLDEST_SETUPTOOLS:
        return []
    folder = tmp_path_factory.mktemp("setuptools")
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(folder)]
    if subprocess.run([*command, f"setuptools>={OLDEST_SETUPTOOLS}"], capture_output=True, check=False).returncode:
        pytest.skip(f"setuptools {OLDEST_SETUPTOOLS} or newer is neither installed nor can it be downloaded")
    return [str(folder)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, setuptools_path) -> Path:
    """Built from a copy, because a build writes into the folder of its sources."""
    tree, target = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tree / name)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(target), str(tree)]
    subprocess.run(command, check=True, env=_environment(setuptools_path), timeout=300)
    (path,) = target.iterdir()
    return path


@pytest.fixture(scope="module")
def python(tmp_path_factory, wheel) -> Path:
    """The interpreter of a fresh environment with the wheel, which sees the libraries that are installed here."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*command, "--no-deps", "--no-index", str(wheel)], check=True, timeout=300)
    (site,) = folder.glob("lib/python*/site-packages")
    # No .pth file in these folders is read, so the editable installation of this tree stays out of sight.
    libraries = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (site / "libraries.pth").write_text("\n".join(libraries) + "\n")
    return python


def _environment(paths: list[str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**inherited, "PYTHONPATH": os.pathsep.join(paths)} if paths else inherited


def test_the_wheel_contains_one_package_with_every_file_of_the_tree(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        f"benthoscope/{path.relative_to(ROOT)}".replace("/app/package/", "/").replace("/app/plots/", "/plots/")
        for top in ("app", "assets", "engine", "sample_data")
        for path in (ROOT / top).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sorted(names) == sorted(expected)
    assert {"benthoscope/py.typed", "benthoscope/assets/help/home.md", "benthoscope/assets/css/review.css"} <= names


def test_the_metadata_of_the_wheel_name_the_extras_and_the_licence(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = archive.read(name).decode()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Version: {project['version']}\n" in metadata and "License-Expression: BSD-3-Clause\n" in metadata
    assert set(re.findall(r"^Provides-Extra: (.+)$", metadata, re.M)) == project["optional-dependencies"].keys()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in archive.namelist())


def test_the_installed_package_is_the_one_that_is_imported(python, tmp_path):
    code = "import benthoscope; print(benthoscope.__file__, benthoscope.__version__)"
    shown = subprocess.run(
        [str(python), "-c", code], cwd=tmp_path, capture_output=True, text=True, env=_environment([])
    )
    file, installed = shown.stdout.split()
    assert Path(file).is_relative_to(python.parents[1])
    assert installed == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_type_checkers_see_the_public_names(python, tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    script = tmp_path / "script.py"
    script.write_text(TYPED)
    command = [sys.executable, "-m", "mypy", "--python-executable", str(python), "--follow-imports=silent"]
    shown = subprocess.run([*command, script.name], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    types = [name.rpartition(".")[2] for name in re.findall(r'Revealed type is "(.+)"', shown.stdout)]
    assert types == ["GMC", "str", "str"], shown.stdout


def test_the_demo_of_the_installed_package_answers(python, tmp_path):
    """Run from a folder that is empty except for files whose names once hid the packages."""
    for name in ("engine.py", "app.py", "assets.py", "sample_data.py"):
        (tmp_path / name).write_text("raise RuntimeError('the wrong file was imported')\n")
    command = [str(python.parent / "benthoscope"), "demo", "--no-browser", "--folder", str(tmp_path / "demo")]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**_environment([]), "PYTHONUNBUFFERED": "1"},
    )
    try:
        # The address carries the token; the server answers with a cookie and a redirection.
        with build_opener(HTTPCookieProcessor()).open(_address(process), timeout=60) as answer:
            assert answer.status == 200 and "Benthoscope" in answer.read().decode()
    finally:
        process.terminate()
        process.wait(60)


def _address(process: subprocess.Popen) -> str:
    """The address that the server prints once it answers."""
    lines: Queue[str] = Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in process.stdout], daemon=True).start()
    printed, end = "", time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end:
        try:
            printed += lines.get(timeout=1)
        except Empty:
            assert process.poll() is None, f"the demo ended:\n{printed}"
            continue
        address = re.search(r"http://[^\s/]+:\d+/\S*", printed)
        if address:
            return address.group()
    raise AssertionError(f"the demo printed no address within {STARTS_WITHIN} s:\n{printed}")
