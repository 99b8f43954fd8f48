"""Runs the tests of the JavaScript that needs no browser, with Node's own test runner."""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
OLDEST = (20, 19)  # the first that imports .js files as modules without a package.json


def node_version(node: str) -> tuple[int, ...]:
    text = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in text.strip().lstrip("v").split(".")[:2])


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.test.mjs")), ids=lambda path: path.name)
def test_javascript(file: Path):
    node = shutil.which("node")
    if node is None or node_version(node) < OLDEST:
        pytest.skip("no Node 20.19 or newer on this machine (install the package `nodejs`)")
    run = subprocess.run([node, "--test", str(file)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
