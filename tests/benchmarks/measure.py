"""Measure CPU seconds, wall seconds and peak memory of a function, and print tables."""

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil


@dataclass(frozen=True)
class Cost:
    cpu: float  # user + system seconds of this process and the children it waited for
    wall: float  # seconds
    peak: float  # MB, the largest resident set of the process so far


@dataclass(frozen=True)
class Table:
    """A heading, column names and rows; printed as Markdown so that it can be pasted as it is."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = field(default_factory=tuple)

    def __str__(self) -> str:
        lines = [f"### {self.title}", "", _row(self.columns), _row(["---"] * len(self.columns))]
        lines += [_row([_text(cell) for cell in row]) for row in self.rows]
        return "\n".join([*lines, *(["", *self.notes] if self.notes else [])])


def measure(function: Callable[[], Any]) -> tuple[Any, Cost]:
    """Run the function in this process. Returns its result and its cost."""
    cpu, wall = _cpu(), time.perf_counter()
    result = function()
    return result, Cost(_cpu() - cpu, time.perf_counter() - wall, _peak())


def machine() -> str:
    """Return one line that describes this machine."""
    memory = psutil.virtual_memory().total / 2**30
    load = os.getloadavg()[0]
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"Python {platform.python_version()}, commit {_commit()}, load {load:.1f} at the start"
    )


def _commit() -> str:
    process = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return process.stdout.strip() or "unknown"


def _cpu() -> float:
    own_usage, children = (resource.getrusage(target) for target in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own_usage.ru_utime + own_usage.ru_stime + children.ru_utime + children.ru_stime


def _peak() -> float:
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes on macOS, kB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _row(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _text(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
