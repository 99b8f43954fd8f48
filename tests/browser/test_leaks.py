"""The server releases the memory of closed tabs, and no tab waits for another."""

import os
import sys
import time

import httpx
import pytest

from tests.browser.conftest import ROOT, Server, Watch, started
from tests.browser.slow_page import SECONDS

SESSIONS = 20
MEGABYTES = 10
PATIENCE = 60  # seconds for the last session to end
FEW = 5  # documents that first calls leave behind (of Bokeh, Panel and HoloViews); they do not grow


@pytest.fixture(scope="module")
def watched(clustered):
    running = started([sys.executable, "-m", "tests.browser.watched_server", str(clustered)], ROOT)
    yield running
    running.stop()


def document_counts(server: Server) -> dict[str, float]:
    return httpx.get(f"{server.base}/documents", headers={"authorization": f"Bearer {server.token}"}, timeout=30).json()


def settled(server: Server, few: float) -> dict[str, float]:
    """The figures once the sessions have ended and no more documents are left than that, or after patience has."""
    end = time.monotonic() + PATIENCE
    time.sleep(3)
    while (counts := document_counts(server))["documents"] > few and time.monotonic() < end:
        time.sleep(0.5)
    return counts


@pytest.mark.skipif(os.name != "posix", reason="resident memory is measured as Linux and macOS tell it")
def test_twenty_sessions_opened_and_closed_leave_no_document_and_little_memory(tab, watched):
    slugs = ("", "library", "explore", "runs", "jobs", "help")
    first = tab("", watched)

    def address(number):
        return f"{watched.base}/{slugs[number % len(slugs)]}"

    def complete(page):
        page.get_by_role("navigation", name="Pages").wait_for()
        page.wait_for_load_state("networkidle")  # with its plots: what the server loads for them is loaded now

    for number in range(4 * len(slugs)):  # what the first visitors of each page load is kept for the others
        first.goto(address(number))
        complete(first)
    first.goto(f"{watched.base}/health")
    before = settled(watched, FEW)
    for number in range(SESSIONS):
        with first.expect_popup() as opened:  # a tab that shares the process of the first one
            first.evaluate("(address) => void window.open(address)", address(number))
        watch = Watch(watched.base)
        watch.on(opened.value)
        complete(opened.value)
        opened.value.close()
        watch.check()
    after = settled(watched, before["documents"])
    assert after["documents"] <= before["documents"] <= FEW
    assert after["megabytes"] - before["megabytes"] < MEGABYTES


def test_a_slow_callback_of_one_tab_keeps_nobody_else_waiting(tab, watched):
    slow, other = tab("slow", watched), tab("library", watched)
    slow.get_by_role("button", name="Slow").click()
    began = time.monotonic()
    httpx.get(f"{watched.base}/api/v1/jobs", headers={"authorization": f"Bearer {watched.token}"}, timeout=30)
    other.get_by_role("button", name="Add images").first.click()
    other.get_by_role("dialog", name="Add images").wait_for()
    assert time.monotonic() - began < SECONDS
    slow.get_by_text("slow is over").wait_for()
