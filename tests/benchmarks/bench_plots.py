"""Pages with plots: what a browser loads, and the CPU time of browser and server until the page is there and complete.

CPU time is compared, because it does not grow when other programs run. With BENTHOSCOPE_TREE, a folder that contains
another version of the package `benthoscope`, that version is measured with the same workspace.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.measure import Table
from tests.browser.conftest import CHROMIUM, FLAGS, LAPTOP
from tests.sample_workspace import build

TREE = "BENTHOSCOPE_TREE"
PAGES = ("learn", "runs", "labels?part=cover", "dive?dive=2")
REPEATS = 2
SERVE = "import sys; from benthoscope.app.cli import main; sys.argv[0] = 'benthoscope'; main()"
KEYS = re.compile("Keyboard shortcuts|Keyboard map")  # the second is the name in older versions
SKELETONS = ".plot-frame .stage.waiting"
LONGEST = 60_000  # milliseconds


@dataclass(frozen=True)
class Load:
    """One load of a page with an empty browser cache; kilobytes and CPU seconds."""

    plots: float  # kB of the plots
    all: float  # kB, with scripts, styles and messages
    first: float  # browser, until the page answers keys
    complete: float  # browser, until all of it is drawn
    server: float


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name, _server(build(Path(name))) as (process, address):
        rows = [(page, *astuple(load)) for page, load in _loads(process, address)]
    columns = ("page", "plots kB", "all kB", "browser CPU s, first", "browser CPU s, complete", "server CPU s")
    notes = (
        f"sample campaign; an empty browser cache, the best of {REPEATS} after one load that is not counted",
        "first: until the page answers keys; complete: until the plots in view are drawn and the network is idle",
    )
    yield Table(f"Pages with plots, {os.environ.get(TREE, 'this version')}", columns, rows, notes)


@contextlib.contextmanager
def _server(path: Path) -> Iterator[tuple[psutil.Process, str]]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    if TREE in os.environ:
        environment["PYTHONPATH"] = os.environ[TREE]
    command = [sys.executable, "-c", SERVE, "serve", str(path), "--no-browser", "--no-jobs"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=path.parent) as process:
        try:
            assert process.stdout is not None
            match = next(filter(None, (re.search(r"http://\S+", line) for line in process.stdout)))
            yield psutil.Process(process.pid), match.group()
        finally:
            process.terminate()


def _loads(process: psutil.Process, address: str) -> Iterator[tuple[str, Load]]:
    browser = next(filter(None, map(shutil.which, CHROMIUM)))
    base = f"http://{urlsplit(address).netloc}"
    with (
        sync_playwright() as playwright,
        contextlib.closing(playwright.chromium.launch(executable_path=browser, args=FLAGS)) as launched,
    ):
        for slug in PAGES:
            loads = [_load(launched, process, address, f"{base}/{slug}") for _ in range(REPEATS + 1)][1:]
            yield slug, Load(*(min(values) for values in zip(*map(astuple, loads), strict=True)))


def _load(browser: Any, process: psutil.Process, address: str, page_address: str) -> Load:
    context = browser.new_context(viewport=LAPTOP)
    page = context.new_page()
    page.set_default_timeout(LONGEST)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.goto("about:blank")
    tools = context.new_cdp_session(page)
    tools.send("Network.enable")
    tools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes: dict[str, float] = {}
    plots: set[str] = set()
    tools.on("Network.responseReceived", lambda event: _note(plots, event))
    tools.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    frames: list[float] = []
    tools.on("Network.webSocketFrameReceived", lambda event: frames.append(len(event["response"]["payloadData"])))
    before, browser_before = _cpu(process), _browser_cpu()
    page.goto(page_address)
    page.get_by_role("button", name=KEYS).wait_for()
    first = _since(browser_before)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1000)
    _wait_for_plots(page)
    complete = _since(browser_before)
    load = Load(
        sum(sizes.get(request, 0) for request in plots) / 1000,
        (sum(sizes.values()) + sum(frames)) / 1000,
        first,
        complete,
        _cpu(process) - before,
    )
    context.close()
    return load


def _note(plots: set[str], event: dict[str, Any]) -> None:
    if "/api/v1/plots/" in event["response"]["url"]:
        plots.add(event["requestId"])


def _wait_for_plots(page: Page) -> None:
    """Until the plots in view are drawn; the others are not loaded."""
    in_view = "(all) => all.filter((element) => element.getBoundingClientRect().top < innerHeight).length"
    for _ in range(100):
        if not page.locator(SKELETONS).evaluate_all(in_view):
            break
        page.wait_for_timeout(200)
    page.wait_for_timeout(500)


def _browser_cpu() -> dict[int, float]:
    """CPU seconds of each process of the browser. Chromium's own durations of tasks grow when other programs run."""
    seconds = {}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "chrom" in process.name():
                seconds[process.pid] = _cpu(process)
    return seconds


def _since(before: dict[int, float]) -> float:
    """CPU seconds since then. The process of the page before ends some time after it; its past is not subtracted."""
    return sum(seconds - before.get(process, 0) for process, seconds in _browser_cpu().items())


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
