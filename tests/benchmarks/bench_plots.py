"""Pages with plots: what a browser loads, and the CPU time of browser and server until the page is there and complete.

CPU time is compared, because it grows little when other programs run. With BENTHOSCOPE_TREE, the folder of another
checkout, both versions are measured in turn. The other version makes the workspace with its own module
`tests/sample_workspace.py`. If it lacks that file, BENTHOSCOPE_TREE_WORKSPACE is a workspace that it can open.
"""

import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.measure import Table
from tests.browser.conftest import CHROMIUM, FLAGS, LAPTOP

TREE, TREE_WORKSPACE = "BENTHOSCOPE_TREE", "BENTHOSCOPE_TREE_WORKSPACE"
PAGES = ("learn", "runs", "labels?part=cover", "dive?dive=2")
REPEATS = 3
SERVE = "import sys; from {}.cli import main; sys.argv[0] = 'benthoscope'; main()"
BUILD = "import pathlib, sys; from tests.sample_workspace import build; print(build(pathlib.Path(sys.argv[1])))"
# Asked in every frame. Playwright's own waiting asks up to half a second late, when the page draws plots already.
ANSWERS_KEYS = """() => {
  const within = (each) => (each.shadowRoot ? all(each.shadowRoot) : [])
  const all = (root) => [...root.querySelectorAll("*")].flatMap((each) => [each, ...within(each)])
  const words = /Keyboard shortcuts|Keyboard map/ // the second is the name in older versions
  return all(document).some((each) => words.test(each.getAttribute("aria-label") ?? each.title ?? ""))
}"""
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


@dataclass(frozen=True)
class Version:
    """A checkout, the folder from which Python imports its package, and its module `app`."""

    name: str
    root: Path
    imports: Path
    app: str

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join(map(str, (self.imports, self.root)))
        return {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": path}

    def workspace(self, folder: Path) -> Path:
        if not (self.root / "tests" / "sample_workspace.py").exists():
            return Path(os.environ[TREE_WORKSPACE])
        folder.mkdir()
        command = [sys.executable, "-c", BUILD, str(folder)]
        done = subprocess.run(command, env=self.environment, cwd=folder, check=True, capture_output=True, text=True)
        return Path(done.stdout.splitlines()[-1])


@dataclass(frozen=True)
class Running:
    process: psutil.Process
    address: str  # with its token


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        versions = list(_versions(Path(name)))
        running = {
            version.name: stack.enter_context(_server(version, Path(name) / f"workspace-{number}"))
            for number, version in enumerate(versions)
        }
        rows = [(page, version, *_summary(loads)) for page, version, loads in _loads(running)]
    first = "browser CPU s, first"
    columns = (
        "page",
        "version",
        "plots kB",
        "all kB",
        first,
        f"{first}, median",
        "browser CPU s, complete",
        "server CPU s",
    )
    notes = (
        f"sample campaign; an empty browser cache, the best of {REPEATS} after one load that is not counted",
        "first: until the page answers keys; complete: until the plots in view are drawn and the network is idle",
    )
    yield Table("Pages with plots", columns, rows, notes)


def _versions(folder: Path) -> Iterator[Version]:
    own = Path(__file__).parents[2]
    for name, root in {"this": own, "other": Path(os.environ.get(TREE, own)).absolute()}.items():
        if name == "other" and root == own:
            continue
        if not (root / "app" / "package").exists():  # before the code was one package
            yield Version(name, root, root, "app")
            continue
        imports = folder / name
        package = imports / "benthoscope"
        package.mkdir(parents=True)
        parts = [root / part for part in ("app", "assets", "engine", "sample_data", "app/plots")]
        for path in (*filter(Path.exists, parts), *(root / "app" / "package").glob("*.py")):
            (package / path.name).symlink_to(path)
        yield Version(name, root, imports, "benthoscope.app")


@contextlib.contextmanager
def _server(version: Version, folder: Path) -> Iterator[Running]:
    path = version.workspace(folder)
    command = [sys.executable, "-c", SERVE.format(version.app), "serve", str(path), "--no-browser", "--no-jobs"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=version.environment, cwd=path.parent
    ) as process:
        try:
            assert process.stdout is not None
            match = next(filter(None, (re.search(r"http://\S+", line) for line in process.stdout)), None)
            if match is None:
                raise RuntimeError(f"{version.root} cannot open {path}; its message is above")
            yield Running(psutil.Process(process.pid), match.group())
        finally:
            process.terminate()


def _loads(running: Mapping[str, Running]) -> Iterator[tuple[str, str, list[Load]]]:
    """Pages of all versions in turn, so that they share the load of the machine."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)))
    with (
        sync_playwright() as playwright,
        contextlib.closing(playwright.chromium.launch(executable_path=browser, args=FLAGS)) as launched,
    ):
        for slug in PAGES:
            loads: dict[str, list[Load]] = {name: [] for name in running}
            for _ in range(REPEATS + 1):
                for name, server in running.items():
                    page = f"http://{urlsplit(server.address).netloc}/{slug}"
                    loads[name].append(_load(launched, server.process, server.address, page))
            for name, values in loads.items():
                yield slug, name, values[1:]


def _summary(loads: list[Load]) -> tuple[float, ...]:
    """The least of each value, and the median of the first."""
    plots, whole, first, complete, server = (min(values) for values in zip(*map(astuple, loads), strict=True))
    return plots, whole, first, statistics.median(load.first for load in loads), complete, server


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
    page.wait_for_function(ANSWERS_KEYS, polling="raf")
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
