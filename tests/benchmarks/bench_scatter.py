"""The plot of all images on our canvas against HoloViews with Datashader: first paint, pan and lasso in one run.

Both pages come from one server process (`tests.benchmarks.scatter_server`), show the same points at the same size, and
are measured in turns in the same Chromium. Other work on the machine changes wall times most, so the table also has the
time that the main thread of the browser and the server computed. SCATTER_SIZES="100000" measures fewer points.
"""

import math
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from tests.benchmarks.measure import Table
from tests.browser.conftest import CHROMIUM, FLAGS

SIZES = (100_000, 1_000_000)
TURNS = 4  # of both pages, one after the other
STEPS = 12  # of one pan
WINDOW = {"width": 1000, "height": 700}
PATIENCE = 120_000  # milliseconds
CANVAS, SHADED = "canvas", "shaded"
MEASURES = {
    "first paint": "ms",
    "first paint: browser": "ms of computing",
    "first paint: server": "ms of computing",
    "first paint: received": "kB",
    "pan: a step in the browser": "ms of computing",
    "pan: complete picture after the last step": "ms",
    "pan: server, whole pan": "ms of computing",
    "lasso: points highlighted": "ms",
    "lasso: browser": "ms of computing",
    "lasso: server": "ms of computing",
}
FIND = """
const find = (root, what) => root.querySelector(what)
  ?? [...root.querySelectorAll('*')].map((each) => each.shadowRoot && find(each.shadowRoot, what)).find(Boolean)
const models = () => (window.Bokeh?.documents ?? []).flatMap((document) => [...document._all_models.values()])"""
# `window.drawings` counts complete pictures, `window.drawn` is when the last one was drawn.
COUNT_DRAWINGS = f"""() => {{{FIND}
  Object.assign(window, {{drawings: 0, drawn: 0}})
  const note = () => requestAnimationFrame(() => {{ window.drawings += 1; window.drawn = performance.now() }})
  const plane = find(document, '.plane[data-frames]')
  if (plane) new MutationObserver(note).observe(plane, {{attributes: true, attributeFilter: ['data-frames']}})
  const images = models().filter((model) => model.type === 'GlyphRenderer' && model.glyph.type === 'ImageRGBA')
  for (const image of images) image.data_source.properties.data.change.connect(note)
}}"""
PAINTED = f"""() => {{{FIND}
  const shaded = window.Bokeh?.documents?.some((document) => document.is_idle)
    && models().some((model) => model.type === 'ColumnDataSource' && model.data.image?.length)
  if (!shaded && !find(document, '.plane[data-drawn]')) return false
  window.painted ??= performance.now()
  return true
}}"""
ACTIVATE_LASSO = f"""() => {{{FIND}
  for (const model of models()) if (model.type === 'LassoSelectTool') model.active = true
}}"""
FOLLOW_POINTER = "addEventListener('pointermove', () => { window.moved = performance.now() }, {capture: true})"
RELEASE = "addEventListener('pointerup', () => { window.released = performance.now() }, {once: true, capture: true})"


def tables() -> Iterator[Table]:
    path = next((executable for name in CHROMIUM if (executable := shutil.which(name))), None)
    if path is None:
        yield Table("Scatter plots", ["skipped"], [["no Chromium on this machine"]])
        return
    sizes = [int(size) for size in os.environ.get("SCATTER_SIZES", "").split(",") if size] or list(SIZES)
    rows: list[list[Any]] = []
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=FLAGS)
        address, server = _server(sizes)
        try:
            for images in sizes:
                rows += _compared(browser, address, psutil.Process(server.pid), images)
        finally:
            server.terminate()
            server.wait(30)
            browser.close()
    yield Table(
        "Own canvas and HoloViews with Datashader in Chromium, median of several turns (best to worst)",
        ["points", "measure", "own canvas", "HoloViews + Datashader", "unit"],
        rows,
        [
            "'Browser' is the main thread of the page, 'server' the process that serves both pages. "
            "While a person drags, Bokeh moves the old picture; the complete one comes from the server. "
            "The canvas draws the complete picture at every step.",
        ],
    )


def _server(sizes: list[int]) -> tuple[str, subprocess.Popen]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = [sys.executable, "-m", "tests.benchmarks.scatter_server", str(port), *map(str, sizes)]
    server = subprocess.Popen(run, cwd=Path(__file__).parents[2], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address, end = f"http://localhost:{port}", time.monotonic() + 180
    while time.monotonic() < end:
        try:
            httpx.get(f"{address}/points/xy?images={sizes[0]}", timeout=60)
            return address, server
        except httpx.TransportError:
            time.sleep(0.5)
    server.kill()
    raise TimeoutError("the server did not start")


def _compared(browser: Browser, address: str, server: psutil.Process, images: int) -> list[list[Any]]:
    """Rows of one number of points. The first turn of each page warms up the server and is not counted."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for turn in range(TURNS + 1):
        for kind in (CANVAS, SHADED):
            for name, value in _turn(browser, f"{address}/{kind}?images={images}", server).items():
                if turn:
                    values[name][kind].append(value)
    return [
        [f"{images:,}", name, _spread(values[name][CANVAS]), _spread(values[name][SHADED]), unit]
        for name, unit in MEASURES.items()
    ]


def _turn(browser: Browser, address: str, server: psutil.Process) -> dict[str, float]:
    context = browser.new_context(viewport=WINDOW)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    probe = context.new_cdp_session(page)
    probe.send("Performance.enable")
    received = _received(page, probe)
    clock = _Clock(page, probe, server)
    page.goto(address, wait_until="commit")
    page.wait_for_function(PAINTED, polling="raf")
    paint = page.evaluate("window.painted")
    browser_ms, server_ms = clock.read()
    values = {
        "first paint": paint,
        "first paint: browser": browser_ms,
        "first paint: server": server_ms,
        "first paint: received": received[0] / 1000,
    }
    page.wait_for_timeout(1000)
    page.evaluate(COUNT_DRAWINGS)
    try:
        return {**values, **_pan(page, clock), **_lasso(page, clock)}
    finally:
        context.close()


def _received(page: Page, probe: CDPSession) -> list[float]:
    """Bytes that the page received so far, in a list of one number."""
    total = [0.0]

    def add(size: float) -> None:
        total[0] += size

    probe.send("Network.enable")
    probe.on("Network.dataReceived", lambda event: add(event["dataLength"]))
    probe.on("Network.webSocketFrameReceived", lambda event: add(len(event["response"]["payloadData"])))
    return total


class _Clock:
    """Milliseconds of computing since the last reading: the main thread of the page, and the server."""

    def __init__(self, page: Page, probe: CDPSession, server: psutil.Process):
        self._probe, self._server = probe, server
        self._last = (0.0, self._server_seconds())

    def read(self) -> tuple[float, float]:
        metrics = {entry["name"]: entry["value"] for entry in self._probe.send("Performance.getMetrics")["metrics"]}
        now = (metrics["TaskDuration"], self._server_seconds())
        spent = tuple(1000 * max(after - before, 0) for after, before in zip(now, self._last, strict=True))
        self._last = now
        return spent[0], spent[1]

    def _server_seconds(self) -> float:
        times = self._server.cpu_times()
        return times.user + times.system


def _middle(page: Page) -> tuple[float, float]:
    return (380.0, 290.0) if CANVAS in page.url else (370.0, 250.0)


def _pan(page: Page, clock: _Clock) -> dict[str, float]:
    x, y = _middle(page)
    page.mouse.move(x, y)
    page.mouse.down()
    clock.read()
    page.evaluate(FOLLOW_POINTER)
    before = page.evaluate("window.drawings")
    for step in range(STEPS):
        page.mouse.move(x + 8 * (step + 1), y + 5 * (step + 1))
    page.mouse.up()
    _wait_for_drawing(page, before)
    browser_ms, server_ms = clock.read()
    return {
        "pan: a step in the browser": browser_ms / STEPS,
        "pan: complete picture after the last step": page.evaluate("window.drawn - window.moved"),
        "pan: server, whole pan": server_ms,
    }


def _lasso(page: Page, clock: _Clock) -> dict[str, float]:
    x, y = _middle(page)
    if CANVAS in page.url:
        page.locator("[data-tool=lasso]").click()
    else:
        page.evaluate(ACTIVATE_LASSO)
    page.mouse.move(x + 110, y)
    page.mouse.down()
    for step in range(25):
        page.mouse.move(x + 110 * math.cos(step / 12 * math.pi), y + 110 * math.sin(step / 12 * math.pi))
    page.wait_for_timeout(300)
    clock.read()
    before = page.evaluate("window.drawings")
    page.evaluate(RELEASE)
    page.mouse.up()
    _wait_for_drawing(page, before)
    browser_ms, server_ms = clock.read()
    return {
        "lasso: points highlighted": page.evaluate("window.drawn - window.released"),
        "lasso: browser": browser_ms,
        "lasso: server": server_ms,
    }


def _wait_for_drawing(page: Page, before: int) -> None:
    """Wait for a new picture, and until no other one has followed for a while."""
    page.wait_for_function("(before) => window.drawings > before", arg=before, polling="raf")
    page.wait_for_function("() => performance.now() - window.drawn > 700", polling=100)


def _spread(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{_short(ordered[len(ordered) // 2])} ({_short(ordered[0])} to {_short(ordered[-1])})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
