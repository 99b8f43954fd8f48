"""The keys of `--json` are an interface for scripts. `json_keys.json` lists those that release 0.1.0 printed."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app

KEYS = json.loads(Path(__file__).with_name("json_keys.json").read_text(encoding="utf-8"))
RELEASED = Path(__file__).parents[1] / "workspace" / "released_0_1_0.zip"


def key_paths(value: Any, path: str = "") -> set[str]:
    """All keys of nested JSON; the elements of a list share one path."""
    if isinstance(value, dict):
        return {f"{path}.{key}" for key in value}.union(
            *(key_paths(item, f"{path}.{key}") for key, item in value.items())
        )
    if isinstance(value, list):
        return set().union(*(key_paths(item, f"{path}[]") for item in value))
    return set()


# Commands that print more than an empty list only after these.
STEPS_BEFORE = {
    "labels redo --person Ann": ("labels undo --person Ann",),
    "import-labels OUT/labels.csv --dry-run --person Cy": ("export csv OUT",),
    "jobs": (
        "import images --dry-run",
        "import images",
        "learn --features colour",
        "export csv OUT",
        "import-labels OUT/labels.csv --dry-run --person Cy",
    ),
    "jobs log 1": ("import images",),
}


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("released")
    with zipfile.ZipFile(RELEASED) as archive:
        archive.extractall(folder)
    assert run(folder, "relink images")
    return folder


@pytest.fixture
def workspace_folder(released, tmp_path) -> Path:
    """A copy for one test: tests of this file run in any order and on several workers."""
    return shutil.copytree(released, tmp_path / "released")


def run(folder: Path, words: str) -> Any:
    arguments = [
        word.replace("OUT", str(folder / "out")).replace("images", str(folder / "images")) for word in words.split()
    ]
    outcome = CliRunner().invoke(
        app, [*arguments, "--json"], env={"BENTHOSCOPE_WORKSPACE": str(folder / "reef.benthos")}
    )
    assert outcome.exit_code in (0, 2), outcome.output
    return json.loads(outcome.stdout)


@pytest.mark.parametrize("words", KEYS)
def test_the_keys_are_those_of_the_release(workspace_folder, words):
    for earlier in STEPS_BEFORE.get(words, ()):
        run(workspace_folder, earlier)
    assert sorted(key_paths(run(workspace_folder, words))) == KEYS[words]
