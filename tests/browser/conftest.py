"""A real server, a real browser: every page is watched for calls to other hosts and for errors of its scripts.

def test_something(tab):              # a tab on the server of the clustered sample campaign, shared and read-only
    page = tab("library")

def test_something_else(tab, own_server):    # a server of the test's own on a copy that it may change
    page = tab("library", own_server)
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.vocabulary_file import add_catami
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.engine.workspace.storage.files import locked
from tests.browser import server_forks

ROOT = Path(__file__).parents[2]
ARTEFACTS = ROOT / "test-artefacts"
# The shell is the same browser without windows: it opens a page with about a quarter less CPU time.
CHROMIUM = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START = 120  # seconds a server may take on a busy machine
PATIENCE = 60_000  # milliseconds for anything on a page: a machine full of tests is slow
Process = subprocess.Popen | server_forks.ForkedServer
Prepare = Callable[[Workspace], None]
WORDS = ("sand", "kelp", "reef", "rubble")  # of the vocabulary of `named`
WORKSPACE = "sample.benthos"  # the folder of the clustered sample campaign
LAPTOP, LARGE = {"width": 1366, "height": 768}, {"width": 2560, "height": 1440}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Server:
    """A server in a process of its own."""

    process: Process
    address: str  # with its token

    @property
    def base(self) -> str:
        return f"http://{urlsplit(self.address).netloc}"

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    @cached_property
    def cookie(self) -> str:
        """The name under which a browser keeps the token."""
        return next(iter(httpx.get(self.address, timeout=START).cookies), "none")

    def stop(self) -> int:
        """As Ctrl-C does; the exit code."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@dataclass
class Watch:
    """Records forbidden behaviour of a page: errors and requests to other hosts."""

    base: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # parts of errors a test provokes on purpose
    handlers: dict[str, Callable] = field(default_factory=dict)  # by the event of the page

    def on(self, page) -> None:
        self.handlers = {
            "pageerror": lambda error: self.errors.append(str(error)),
            "console": lambda message: (
                message.type == "error" and self.errors.append(f"{message.text} ({message.location.get('url', '')})")
            ),
            "request": lambda request: self._request(request.url),
            "websocket": lambda socket: self._request(socket.url),
        }
        for event, handler in self.handlers.items():
            page.on(event, handler)

    def off(self, page) -> None:
        for event, handler in self.handlers.items():
            page.remove_listener(event, handler)

    def _request(self, url: str) -> None:
        address = urlsplit(url)
        if address.scheme in ("http", "https", "ws", "wss") and address.netloc != urlsplit(self.base).netloc:
            self.foreign.append(url)

    def check(self) -> None:
        errors = [error for error in self.errors if not any(piece in error for piece in self.expected)]
        assert not self.foreign, f"the page called other hosts: {self.foreign}"
        assert not errors, f"errors on the page: {errors}"


def start_server(workspace: Path, *words: str) -> Server:
    """`benthoscope serve` on a free port, once it answers, as a fork of a process that has imported everything."""
    if not server_forks.POSSIBLE:
        return start_new_process(workspace, *words)
    return _answering(_forks().start(_arguments(workspace, words), workspace.parent, _environment()))


@cache
def _forks() -> server_forks.Forks:
    return server_forks.Forks()


def start_new_process(workspace: Path, *words: str) -> Server:
    """The same in a process that has imported nothing yet, as when a person starts it."""
    command = [sys.executable, "-c", "from benthoscope.app.cli import main; main()", *_arguments(workspace, words)]
    return started(command, workspace.parent)


def _arguments(workspace: Path, words: Sequence[str]) -> list[str]:
    return ["serve", str(workspace), "--no-browser", *words]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def started(run: Sequence[str], folder: Path) -> Server:
    """A server run by this command, once it has printed its address."""
    return _answering(
        subprocess.Popen(
            run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1, env=_environment(), cwd=folder
        )
    )


def _answering(process: Process) -> Server:
    """The server of this process, once it has printed its address."""
    queue: Queue[str] = Queue()
    threading.Thread(target=lambda: [queue.put(line) for line in process.stdout], daemon=True).start()
    lines = []
    try:
        while True:
            lines.append(queue.get(timeout=START))
            match = re.search(r"http://\S+", lines[-1])
            if match:
                return Server(process, match.group())
    except Empty:
        process.kill()
        raise AssertionError(f"the server did not start: {''.join(lines)}") from None


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The images of the sample campaign that comes with the program; in a checkout without it, a small one made now."""
    from benthoscope.sample_data import campaign_path, make_campaign

    if campaign_path().is_dir():
        return campaign_path()
    folder = tmp_path_factory.mktemp("campaign")
    make_campaign(folder, dives=6, images=120, size=(320, 240), seed=0)
    return folder


@pytest.fixture(scope="session")
def clustered(tmp_path_factory: pytest.TempPathFactory, campaign: Path) -> Path:
    """A workspace with the sample campaign imported, described and clustered: by the first of the test processes, and
    each has a copy."""
    base = tmp_path_factory.getbasetemp()
    template = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "clustered"
    with locked(template.with_suffix(".lock")):
        if not (template / "complete").exists():
            _fill(template, campaign)
            (template / "complete").touch()
    return copied(template / WORKSPACE, tmp_path_factory.mktemp("clustered"))


def _fill(folder: Path, campaign: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # of a process that failed
    shutil.copytree(campaign, folder / "images")
    with Workspace.create(folder / WORKSPACE, name="Sample campaign") as workspace:
        for kind, parameters in (
            ("import", {"folder": str(folder / "images"), "collection": "Sample campaign"}),
            ("features", {"kinds": ["colour"]}),
            ("cluster", {"features": "colour", "name": "First look"}),
        ):
            job = run_now(workspace, kind, parameters)
            assert job.state == "done", job.error


@pytest.fixture(scope="session")
def server(clustered: Path) -> Iterator[Server]:
    """Shared by all tests that change nothing in the workspace."""
    running = start_server(clustered)
    yield running
    running.stop()


@pytest.fixture
def contexts() -> Iterator[list]:
    """The browser contexts of a test; closed before its servers stop, lest their pages complain of that."""
    opened: list = []
    yield opened
    _close(opened)


def _close(opened: list) -> None:
    while opened:
        opened.pop().close()


@pytest.fixture
def own_server(clustered: Path, tmp_path: Path, contexts: list) -> Iterator[Server]:
    """A server of the test's own on a copy of the clustered workspace."""
    running = start_server(copied(clustered, tmp_path))
    yield running
    _close(contexts)
    running.stop()


@pytest.fixture(scope="session")
def prepared(clustered: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Prepare], Path]:
    """Copies of the clustered workspace, each changed once by a function: copy them, do not change them."""
    folders: dict[Prepare, Path] = {}

    def folder_of(prepare: Prepare) -> Path:
        if prepare not in folders:
            folder = copied(clustered, tmp_path_factory.mktemp(prepare.__name__))
            with Workspace.open(folder) as workspace:
                prepare(workspace)
            folders[prepare] = folder
        return folders[prepare]

    return folder_of


def add_terms(workspace: Workspace) -> None:
    workspace.vocabularies.add("own", [NewTerm((word,)) for word in WORDS])
    add_catami(workspace)


def copied(folder: Path, target: Path) -> Path:
    """The folder of a copy of a workspace and of the images beside it."""
    return shutil.copytree(folder.parent, target / "copy") / folder.name


@pytest.fixture
def named(prepared: Callable[[Prepare], Path], tmp_path: Path, contexts: list) -> Iterator[tuple[Server, Path]]:
    """A server on a copy of the clustered workspace that has vocabularies, and the workspace's folder."""
    folder = copied(prepared(add_terms), tmp_path)
    started = start_server(folder)
    yield started, folder
    _close(contexts)
    if started.process.poll() is None:
        started.stop()


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Shared by all tests that look at an empty workspace and leave it so."""
    folder = tmp_path_factory.mktemp("empty")
    Workspace.create(folder / "empty").close()
    running = start_server(folder / "empty.benthos")
    yield running
    running.stop()


@pytest.fixture
def blank(tmp_path: Path, contexts: list) -> Iterator[Server]:
    """A server on an empty workspace that the test may fill."""
    Workspace.create(tmp_path / "blank").close()
    running = start_server(tmp_path / "blank.benthos")
    yield running
    _close(contexts)
    running.stop()


@pytest.fixture(scope="session")
def chromium():
    """The system's browser; Playwright's own is not installed, because its download is another host."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((executable for name in CHROMIUM if (executable := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on this machine (install the package `chromium`)")
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


# Before the scripts of a page run: a browser that an earlier test used forgets what that test stored, once for each
# server. The cookie has the number of the use and says whether the tour of Explore is shown.
FORGET = """(() => {
  let use
  try { use = document.cookie.match(/bentho-test=(\\d+)(-tour)?/) } catch { return } // a frame without a host
  if (!use || localStorage.getItem("bentho-test") === use[1]) return
  localStorage.clear()
  sessionStorage.clear()
  localStorage.setItem("bentho-test", use[1])
  if (!use[2]) localStorage.setItem("bentho-tour-explore", "closed")
})()"""
OUTSIDE = -10  # a place of the pointer beside the page
USES = count()


@dataclass
class Window:
    """A browser context with one page that tests use one after the other. A page that opens in a process with the
    program's scripts in memory needs half of the CPU time of a page in a new context."""

    idle: list["Window"]  # where it waits for the next test
    context: Any
    page: Any
    is_reusable: Callable[[], bool] = lambda: False

    @classmethod
    def new(cls, idle: list["Window"], chromium: Any) -> "Window":
        context = chromium.new_context()
        context.add_init_script(FORGET)
        return cls(idle, context, context.new_page())

    def begin(self, at: Server, cookies: dict[str, str], size: dict, is_reusable: Callable[[], bool]) -> None:
        """Give the page these cookies, the usual patience and a watch of its own."""
        self.context.add_cookies([{"name": name, "value": value, "url": at.base} for name, value in cookies.items()])
        self.page.set_viewport_size(size)
        self.page.set_default_timeout(PATIENCE)
        self.page.watch = Watch(at.base)
        self.page.watch.on(self.page)
        self.is_reusable = is_reusable

    def close(self) -> None:
        """Leave the page, and let the next test have the window if nothing of this test is left in it."""
        if self.page.is_closed() or self.page.watch.errors or not self.is_reusable() or not self._parked():
            self.context.close()
            return
        self.page.watch.off(self.page)
        self.page.unroute_all()
        self.page.mouse.move(OUTSIDE, OUTSIDE)
        for other in self.context.pages:
            if other != self.page:
                other.close()
        self.context.clear_cookies()
        self.context.clear_permissions()
        self.idle.append(self)

    def _parked(self) -> bool:
        """Whether the page is now a small one of the same host, so that its process stays; not if its server ended."""
        from playwright.sync_api import Error as PlaywrightError

        try:
            self.page.goto(f"{self.page.watch.base}/health")
        except PlaywrightError:
            return False
        return True


@pytest.fixture(scope="session")
def windows(chromium) -> Iterator[list[Window]]:
    """The windows that no test uses now."""
    idle: list[Window] = []
    yield idle
    for window in idle:
        window.context.close()


@pytest.fixture
def tab(chromium, windows: list[Window], contexts: list, request: pytest.FixtureRequest) -> Iterator[Callable]:
    """Opens pages: `tab(slug, server, dark=..., size=..., person=...)`. The tour of Explore is closed unless
    `tour`. At the end every page opened must have been without fault.

    A window may have shown pages of an earlier test. A test that changes it for good, such as by a script that runs
    in every page, or that looks at what a page loads, takes a new one with `fresh`.

    `page.watch.expected.append(text)` allows for an error the test provokes."""
    watches: list[Watch] = []
    failures = request.session.testsfailed

    def is_reusable() -> bool:
        return request.session.testsfailed == failures  # after a failure, keys may be down

    def opened(
        slug: str = "",
        at: Server | None = None,
        *,
        dark: bool = False,
        size: dict | None = None,
        wait: bool = True,
        person: str = "",
        tour: bool = False,
        fresh: bool = False,
    ):
        at = at or request.getfixturevalue("server")
        cookies = {"bentho-theme": "dark" if dark else "light", at.cookie: at.token}
        if person:
            cookies["bentho-person"] = person
        window = windows.pop() if windows and not fresh else Window.new(windows, chromium)
        contexts.append(window)
        cookies["bentho-test"] = f"{next(USES)}{'-tour' if tour else ''}"
        window.begin(at, cookies, size or LAPTOP, (lambda: False) if fresh else is_reusable)
        page = window.page
        watches.append(page.watch)
        page.goto(f"{at.base}/{slug}")
        if wait:
            page.get_by_role("navigation", name="Pages").wait_for()
            page.get_by_role("button", name="Keyboard shortcuts").wait_for()  # from then on keys are heard
        return page

    yield opened
    _close(contexts)
    for watch in watches:
        watch.check()


@pytest.fixture
def screenshot(request: pytest.FixtureRequest) -> Callable:
    """`screenshot(page, "library")` keeps a picture among the test's artefacts."""

    def remaining(page, name: str) -> Path:
        ARTEFACTS.mkdir(exist_ok=True)
        path = ARTEFACTS / f"{name}.png"
        page.screenshot(path=path)
        return path

    return remaining
