"""Explore in a browser with 100,000 and 1,000,000 images: first paint, lasso to gallery, scrolling, memory of a tab.

The workspaces are created here, with rows but without images. EXPLORE_SIZES="100000" measures fewer.
"""

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from tests.benchmarks.measure import Table
from tests.benchmarks.sized_workspace import make_workspace
from tests.browser.conftest import CHROMIUM, FLAGS, Server, start_new_process

SIZES = (100_000, 1_000_000)
READY = ".pane.embedding .plane[data-drawn]"
LENGTH = ".gallery[data-length]"
LASSOS, SCREENS, TABS = 6, 40, 5
WIDE = {"width": 1366, "height": 768}


def tables() -> Iterator[Table]:
    path = next((executable for name in CHROMIUM if (executable := shutil.which(name))), None)
    if path is None:
        yield Table("Explore", ["skipped"], [["no Chromium on this machine"]])
        return
    sizes = [int(size) for size in os.environ.get("EXPLORE_SIZES", "").split(",") if size] or SIZES
    rows: list[list[Any]] = []
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=FLAGS)
        for images in sizes:
            rows += [[f"{images:,}", *row] for row in _measured(browser, images)]
        browser.close()
    yield Table(
        "Explore in Chromium",
        ["images", "measure", "median", "worst", "unit", "target"],
        rows,
        ["Where the load is far above the number of cores these are times of the machine, not of the app."],
    )


def _measured(browser: Browser, images: int) -> Iterator[list[Any]]:
    permanent_folder = os.environ.get("EXPLORE_WORKSPACES")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(permanent_folder or folder) / f"n{images}.benthos"
        if not workspace.exists():
            make_workspace(workspace, images)
        began = time.perf_counter()
        server = start_new_process(workspace)
        try:
            _opened(browser, server)[1].close()
            yield ["server start to first page drawn", *_spread([time.perf_counter() - began]), "s", ""]
            yield from _pages(browser, server, images)
        finally:
            server.stop()


def _pages(browser: Browser, server: Server, images: int) -> Iterator[list[Any]]:
    paints, cards = zip(*(_first_paint(browser, server) for _ in range(4)), strict=True)
    yield ["first useful paint (tiles and points)", *_spread(paints), "s", "2.5" if images <= 100_000 else "4"]
    yield ["cards", *_spread(cards), "s", ""]
    page, context = _opened(browser, server)
    yield ["drawing all points", *_spread([_frame(page) for _ in range(5)]), "ms", ""]
    yield ["lasso to gallery", *_spread(_lassos(page)), "ms", "300"]
    frames, blanks = _scrolled(page)
    yield ["scrolling: a frame", *_spread(frames), "ms", ""]
    yield ["scrolling: a tile stays blank", *_spread(blanks), "ms", "200"]
    yield ["heap of the tab", _heap(page), _heap(page), "MB", ""]
    context.close()
    yield ["server memory a tab more", *_spread([_memory_of_tabs(browser, server)]), "MB", "60"]


def _opened(browser: Browser, server: Server) -> tuple[Page, Any]:
    context = browser.new_context(viewport=WIDE)
    context.add_cookies([{"name": server.cookie, "value": server.token, "url": server.base}])
    page = context.new_page()
    page.set_default_timeout(180_000)
    page.goto(f"{server.base}/explore")
    page.locator(READY).wait_for()
    page.locator(".cards .card").first.wait_for()
    return page, context


def _first_paint(browser: Browser, server: Server) -> tuple[float, float]:
    """Return the seconds until tiles and points are drawn, and until cards are, with an empty browser cache."""
    context = browser.new_context(viewport=WIDE)
    context.add_cookies([{"name": server.cookie, "value": server.token, "url": server.base}])
    page = context.new_page()
    page.set_default_timeout(180_000)
    began = time.perf_counter()
    page.goto(f"{server.base}/explore")
    page.locator(".tile img").first.wait_for()
    page.locator(READY).wait_for()
    draw_seconds = time.perf_counter() - began
    page.locator(".cards .card").first.wait_for()
    text_seconds = time.perf_counter() - began
    context.close()
    return draw_seconds, text_seconds


def _frame(page: Page) -> float:
    """Return the milliseconds to draw the embedding after a zoom step."""
    plane = page.locator(READY)
    frames = plane.get_attribute("data-frames")
    page.locator(".pane.embedding .stage").press("+")
    _until(lambda: plane.get_attribute("data-frames") != frames)
    page.locator(".pane.embedding .stage").press("0")
    page.wait_for_timeout(200)
    return float(plane.get_attribute("data-drawn"))


def _lassos(page: Page) -> list[float]:
    """Return the milliseconds from releasing the lasso until the gallery lists its images."""
    page.locator(".pane.embedding [data-tool=lasso]").click()
    return [_lasso(page, 0.2 + 0.05 * number) for number in range(LASSOS)]


def _lasso(page: Page, share: float) -> float:
    box, gallery = page.locator(".pane.embedding .stage").bounding_box(), page.locator(LENGTH)
    x, y, far = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, share * box["height"]
    page.mouse.move(x + far, y)
    page.mouse.down()
    for step in range(24):
        page.mouse.move(x + far * math.cos(step / 12 * math.pi), y + far * math.sin(step / 12 * math.pi))
    before = gallery.get_attribute("data-length")
    page.evaluate(WATCH, before)
    page.mouse.up()
    _until(lambda: page.evaluate("window.__listed !== null"))
    return float(page.evaluate("window.__listed - window.__released"))


# Shadow roots hide elements from the document, so the gallery is looked for through them.
WATCH = """(before) => {
  const find = (root) => { for (const element of root.querySelectorAll('*')) {
    if (element.matches('.gallery[data-length]')) return element
    const found = element.shadowRoot && find(element.shadowRoot)
    if (found) return found } return null }
  const gallery = find(document)
  window.__listed = null
  window.addEventListener('pointerup', () => { window.__released = performance.now() }, {once: true, capture: true})
  const look = () => {
    if (gallery.dataset.length === before) requestAnimationFrame(look)
    else window.__listed = performance.now()
  }
  requestAnimationFrame(look)
}"""
SCROLL = """async (screens) => {
  const find = (root, what) => { for (const element of root.querySelectorAll('*')) {
    if (element.matches(what)) return element
    const found = element.shadowRoot && find(element.shadowRoot, what)
    if (found) return found } return null }
  const scroller = find(document, '.scroller'), frames = [], since = new Map(), blanks = []
  let last = performance.now()
  const step = scroller.clientHeight / 12
  for (let frame = 0; frame < screens * 12; frame++) {
    await new Promise(requestAnimationFrame)
    scroller.scrollTop += step
    const now = performance.now(), box = scroller.getBoundingClientRect()
    frames.push(now - last)
    last = now
    for (const tile of scroller.querySelectorAll('.tile')) {
      const place = tile.getBoundingClientRect(), picture = tile.firstChild, id = tile.dataset.id
      const seen = place.bottom > box.top && place.top < box.bottom
      if (seen && !(picture.complete && picture.naturalWidth)) { if (!since.has(id)) since.set(id, now) }
      else if (since.has(id)) { blanks.push(now - since.get(id)); since.delete(id) }
    }
  }
  return [frames, blanks]
}"""


def _scrolled(page: Page) -> tuple[list[float], list[float]]:
    """Return the milliseconds between frames, and those with visible tiles without an image, at five screens per
    second."""
    frames, blanks = page.evaluate(SCROLL, SCREENS)
    return frames, blanks or [0.0]


def _heap(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 2**20


def _memory_of_tabs(browser: Browser, server: Server) -> float:
    """Return the increase of the server's resident memory per additional tab in MB."""
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss
    contexts = [_opened(browser, server)[1] for _ in range(TABS)]
    grown = (process.memory_info().rss - before) / TABS / 2**20
    for context in contexts:
        context.close()
    return grown


def _until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.perf_counter() + seconds
    while not true():
        if time.perf_counter() > end:
            raise TimeoutError("the page did not follow")
        time.sleep(0.01)


def _spread(values) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[-1]
