"""A real server, a real browser: every page is watched for calls to other hosts and for errors of its scripts.

    def test_something(tab):              # a tab on the server of the clustered sample campaign, shared and read-only
        page = tab("library")

    def test_something_else(tab, own):    # `own` is a server of the test's own on a copy that it may change
        page = tab("library", own)
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
from functools import cached_property
from pathlib import Path
from queue import Empty, Queue
from urllib.parse import urlsplit

import httpx
import pytest

from engine.jobs import run_now
from engine.labelling.vocabulary_file import add_catami
from engine.workspace import Workspace
from engine.workspace.vocabularies import NewTerm

ROOT = Path(__file__).parents[2]
ARTEFACTS = ROOT / "test-artefacts"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
START = 120  # seconds a server may take on a busy machine
PATIENCE = 60_000  # milliseconds for anything on a page: a machine full of tests is slow
WORDS = ("sand", "kelp", "reef", "rubble")  # of the vocabulary of `named`
LAPTOP, LARGE = {"width": 1366, "height": 768}, {"width": 2560, "height": 1440}


@pytest.hookimpl(tryfirst=True)  # before names are read by who hands tests out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))  # one server and one browser for all of them


@dataclass
class Server:
    """A server in a process of its own."""

    process: subprocess.Popen
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
    """What a page should not do."""

    base: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # parts of errors a test provokes on purpose

    def on(self, page) -> None:
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.errors.append(
            f"{message.text} ({message.location.get('url', '')})"))
        page.on("request", lambda request: self._request(request.url))
        page.on("websocket", lambda socket: self._request(socket.url))

    def _request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != urlsplit(self.base).netloc:
            self.foreign.append(url)

    def check(self) -> None:
        errors = [told for told in self.errors if not any(part in told for part in self.expected)]
        assert not self.foreign, f"the page called other hosts: {self.foreign}"
        assert not errors, f"errors on the page: {errors}"


def start_server(workspace: Path, *words: str) -> Server:
    """`benthoscope serve` on a free port, once it answers."""
    run = [sys.executable, "-c", "from app.cli import main; main()", "serve", str(workspace), "--no-browser", *words]
    return started(run, workspace.parent)


def started(run: Sequence[str], folder: Path) -> Server:
    """A server run by this command, once it has printed its address."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
                               env=environment, cwd=folder)
    said: Queue[str] = Queue()
    threading.Thread(target=lambda: [said.put(line) for line in process.stdout], daemon=True).start()
    told = []
    try:
        while True:
            told.append(said.get(timeout=START))
            found = re.search(r"http://\S+", told[-1])
            if found:
                return Server(process, found.group())
    except Empty:
        process.kill()
        raise AssertionError(f"the server did not start: {''.join(told)}") from None


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The images of the sample campaign that comes with the program; in a checkout without it, a small one made now."""
    from sample_data import campaign_path, make_campaign

    if campaign_path().is_dir():
        return campaign_path()
    folder = tmp_path_factory.mktemp("campaign")
    make_campaign(folder, dives=6, images=120, size=(320, 240), seed=0)
    return folder


@pytest.fixture(scope="session")
def clustered(tmp_path_factory: pytest.TempPathFactory, campaign: Path) -> Path:
    """A workspace with the sample campaign imported, described and clustered."""
    folder = tmp_path_factory.mktemp("clustered")
    shutil.copytree(campaign, folder / "images")
    with Workspace.create(folder / "sample.benthos", name="Sample campaign") as workspace:
        for kind, parameters in (("import", {"folder": str(folder / "images"), "collection": "Sample campaign"}),
                                 ("features", {"kinds": ["colour"]}),
                                 ("cluster", {"features": "colour", "name": "First look"})):
            job = run_now(workspace, kind, parameters)
            assert job.state == "done", job.error
    return folder / "sample.benthos"


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
def own(clustered: Path, tmp_path: Path, contexts: list) -> Iterator[Server]:
    """A server of the test's own on a copy of the clustered workspace."""
    shutil.copytree(clustered.parent, tmp_path / "copy")
    running = start_server(tmp_path / "copy" / clustered.name)
    yield running
    _close(contexts)
    running.stop()


@pytest.fixture
def named(clustered: Path, tmp_path: Path, contexts: list) -> Iterator[tuple[Server, Path]]:
    """A server on a copy of the clustered workspace that has a vocabulary, and the workspace's folder."""
    shutil.copytree(clustered.parent, tmp_path / "copy")
    folder = tmp_path / "copy" / clustered.name
    with Workspace.open(folder) as workspace:
        workspace.vocabularies.add("own", [NewTerm((word,)) for word in WORDS])
        add_catami(workspace)
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
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on this machine (install the package `chromium`)")
    with sync_api.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def tab(chromium, contexts: list, request: pytest.FixtureRequest) -> Iterator[Callable]:
    """Opens pages: `tab(slug, server, dark=..., size=...)`. At the end every page opened must have been without fault.

    `page.watch.expected.append(text)` allows for an error the test provokes."""
    watches: list[Watch] = []

    def opened(slug: str = "", at: Server | None = None, *, dark: bool = False, size: dict | None = None,
               wait: bool = True):
        at = at or request.getfixturevalue("server")
        context = chromium.new_context(viewport=size or LAPTOP)
        context.add_cookies([{"name": "bentho-theme", "value": "dark" if dark else "light", "url": at.base},
                             {"name": at.cookie, "value": at.token, "url": at.base}])
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.watch = Watch(at.base)
        page.watch.on(page)
        watches.append(page.watch)
        page.goto(f"{at.base}/{slug}")
        if wait:
            page.get_by_role("navigation", name="Pages").wait_for()
            page.get_by_role("button", name="Keyboard map").wait_for()  # from then on keys are heard
        return page

    yield opened
    _close(contexts)
    for watch in watches:
        watch.check()


@pytest.fixture
def screenshot(request: pytest.FixtureRequest) -> Callable:
    """`screenshot(page, "library")` keeps a picture among the test's artefacts."""
    def kept(page, name: str) -> Path:
        ARTEFACTS.mkdir(exist_ok=True)
        path = ARTEFACTS / f"{name}.png"
        page.screenshot(path=path)
        return path

    return kept
