"""The start of the server: CPU time until its address, and time until a browser has drawn the first page."""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from playwright.sync_api import sync_playwright

from benthoscope.app.server.application import SLOW_LIBRARIES
from tests.benchmarks.measure import Table
from tests.benchmarks.sized_workspace import make_workspace
from tests.browser.conftest import CHROMIUM, FLAGS

IMAGES = 10_000
TURNS = 5
SERVE = "import sys; {first}; from benthoscope.app.cli import main; sys.argv[0] = 'benthoscope'; main()"
STARTS = {
    "as it is": "pass",
    "with the slow libraries imported first": f"import {', '.join(SLOW_LIBRARIES)}",
}


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "start.benthos"
        make_workspace(path, IMAGES)
        medians = {start: _median(path, first) for start, first in STARTS.items()}
    usual = medians["as it is"]
    rows = [(start, *times, times[0] / usual[0], times[2] / usual[2]) for start, times in medians.items()]
    columns = ("start", "CPU s to the address", "s to the address", "s to the first drawn page", "CPU", "page")
    notes = (
        f"{IMAGES:,} images, the median of {TURNS} starts; the last two columns are ratios to the first line",
        "targets: 1.5 CPU s to the address, 3 s to the drawn page on a machine that does nothing else",
    )
    yield Table("Start of the server", columns, rows, notes)


def _median(path: Path, first: str) -> tuple[float, ...]:
    turns = [_once(path, first) for _ in range(TURNS)]
    return tuple(statistics.median(values) for values in zip(*turns, strict=True))


def _once(path: Path, first: str) -> tuple[float, float, float]:
    """Return CPU seconds to the address, and seconds to the address and to the page. The browser runs before."""
    command = [sys.executable, "-c", SERVE.format(first=first), "serve", str(path), "--no-browser", "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    browser = next(filter(None, map(shutil.which, CHROMIUM)))
    with (
        sync_playwright() as playwright,
        contextlib.closing(playwright.chromium.launch(executable_path=browser, args=FLAGS)) as launched,
    ):
        tab = launched.new_page()
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            address = _address(process)
            times = psutil.Process(process.pid).cpu_times()
            known = time.perf_counter() - began
            tab.goto(address)
            tab.get_by_role("heading").first.wait_for()
            return times.user + times.system, known, time.perf_counter() - began
        finally:
            process.terminate()
            process.wait(60)


def _address(process: subprocess.Popen) -> str:
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line.startswith("}"):
            return str(json.loads(text)["address"])
    raise RuntimeError(f"the server ended: {text}")
