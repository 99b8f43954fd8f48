"""Other programs that benchmarks compare with. They are no dependencies: `make peers` installs them in an environment
of their own, and each runs as a program that gets its input in a file and prints its figures."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        command = _command(script, words, Path(folder), arrays)
        output = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)
    return json.loads(output.stdout)


@contextmanager
def peer_answers(script: str, *words: str, **arrays: np.ndarray) -> Iterator[Callable[[dict[str, Any]], Any]]:
    """Run a script that answers questions: the function sends one as a line of JSON and returns the answer, another."""
    with tempfile.TemporaryDirectory() as folder:
        command = _command(script, words, Path(folder), arrays)
        program = subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert program.stdin and program.stdout

        def answer(question: dict[str, Any]) -> Any:
            print(json.dumps(question), file=program.stdin, flush=True)
            line = program.stdout.readline()
            if not line:
                raise RuntimeError(f"{script} ended with the code {program.wait()}")
            return json.loads(line)

        try:
            yield answer
        finally:
            program.stdin.close()
            program.wait()


def _command(script: str, words: tuple[str, ...], folder: Path, arrays: dict[str, np.ndarray]) -> list[str]:
    path = folder / "input.npz"
    np.savez(path, **arrays)
    return [str(PYTHON), str(Path(__file__).parent / script), str(path), *words]
