"""Runs programs whose name look-ups and connections are recorded, in Python and in native libraries.

Only loopback is allowed. Python's own calls are seen by an audit hook (`hook/sitecustomize.py`), native ones by a small
library that is compiled here and loaded before all others (`watch.c`). Both refuse what they record.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
LOG, LIBRARY = "calls.log", "watch.so"


@dataclass(frozen=True)
class Watched:
    """The output of a program, its exit code, its calls to other hosts, and the files in its home folder."""

    code: int
    output: str
    calls: tuple[str, ...]
    home_files: tuple[str, ...]


def compiler() -> str | None:
    """A C compiler that can make the library; on systems other than Linux only the audit hook is used."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None) if sys.platform == "linux" else None


def watched(command: Sequence[str], folder: Path, *, timeout: float = 400, **environment: str | None) -> Watched:
    """Runs the command with an empty home folder; variables that are None are removed from its environment."""
    home = folder / "home"
    home.mkdir(parents=True)
    changes = {
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join((str(FOLDER / "hook"), str(ROOT))),
        "NETWORK_WATCH_LOG": str(folder / LOG),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "XDG_CACHE_HOME": None,
        "XDG_CONFIG_HOME": None,
        "XDG_DATA_HOME": None,
        "XDG_STATE_HOME": None,
        "LD_PRELOAD": str(_library(folder)) if compiler() else None,
        **environment,
    }
    (folder / LOG).touch()
    everything = {**os.environ, **changes}
    ended = subprocess.run(
        command,
        env={name: value for name, value in everything.items() if value is not None},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return Watched(
        ended.returncode,
        ended.stdout + ended.stderr,
        tuple((folder / LOG).read_text().splitlines()),
        tuple(sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())),
    )


def _library(folder: Path) -> Path:
    made = folder / LIBRARY
    command = [compiler(), "-shared", "-fPIC", "-O1", "-o", str(made), str(FOLDER / "watch.c"), "-ldl"]
    subprocess.run(command, check=True)
    return made
