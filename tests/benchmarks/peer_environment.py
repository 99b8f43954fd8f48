"""Other programs that benchmarks compare with. They are no dependencies: `make peers` installs them in an environment
of their own, and each runs as a program that gets its input in a file and prints its figures."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

PROJECT = Path(__file__).parents[2]
PYTHON = Path(sys.prefix) / "peers" / "bin" / "python"
MISSING = "Other programs are left out: `make peers` installs them in an environment of their own."


def is_available() -> bool:
    return PYTHON.exists()


def peer_result(script: str, *words: str, **arrays: np.ndarray) -> dict[str, Any]:
    """Run a script of this folder with the arrays in a file, and return the JSON object that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input.npz"
        np.savez(path, **arrays)
        command = [str(PYTHON), str(Path(__file__).parent / script), str(path), *words]
        output = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)
    return json.loads(output.stdout)
