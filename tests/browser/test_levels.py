"""From a folder to clusters by one button on Home, and finer and coarser clusters on Explore and Review."""

import re
import shutil
import sys

import pytest
from playwright.sync_api import expect

from benthoscope.engine.jobs import JobQueue
from benthoscope.engine.workspace import Workspace
from tests.browser.conftest import LAPTOP, LARGE, started


@pytest.fixture
def folder(campaign, tmp_path):
    """Two dives with 16 images of the sample campaign each."""
    for dive in sorted(path for path in campaign.iterdir() if path.is_dir() and path.name.startswith("r2"))[:2]:
        images = sorted(path for path in dive.rglob("*") if path.suffix.lower() in (".jpg", ".png"))[:16]
        (tmp_path / "images" / dive.name).mkdir(parents=True)
        for image in images:
            shutil.copy(image, tmp_path / "images" / dive.name)
    return tmp_path / "images"


SLOW_STEPS = """
import time
import benthoscope.engine.jobs.chain as chain
result = chain._step_result
chain._step_result = lambda *words: (result(*words), time.sleep(4))[0]
from benthoscope.app.cli import main
main()
"""


@pytest.fixture
def slow(tmp_path, contexts):
    """A server on an empty workspace whose chains stay for some seconds at each step, so that each can be seen."""
    Workspace.create(tmp_path / "slow").close()
    running = started(
        [sys.executable, "-c", SLOW_STEPS, "serve", str(tmp_path / "slow.benthos"), "--no-browser"], tmp_path
    )
    yield running
    while contexts:
        contexts.pop().close()
    running.stop()


def test_one_button_leads_from_a_folder_to_explore(tab, slow, folder, screenshot):
    page = tab("", slow)
    screenshot(page, "home-empty")
    page.get_by_role("button", name="Choose a folder").click()
    dialog = page.get_by_role("dialog", name="Choose a folder")
    dialog.get_by_label("Folder", exact=True).fill(str(folder))
    dialog.get_by_role("button", name="Open", exact=True).click()
    dialog.get_by_role("button", name="Scan folder").click()
    button = dialog.get_by_role("button", name="Import, describe and cluster 32 images")
    expect(dialog.get_by_text(re.compile("Time: "))).to_be_visible()
    screenshot(page, "home-dialog")
    button.click()
    expect(page.locator(".startjob").get_by_role("progressbar")).to_be_visible()
    expect(page.locator(".startjob p")).to_contain_text(re.compile("Step . of 3"))
    current = page.locator(".home ol li.running")
    expect(current).to_contain_text("Add images")
    expect(page.locator(".home ol li.next")).to_have_count(0)
    screenshot(page, "home-running")
    expect(current).to_contain_text("Describe", timeout=120_000)
    expect(page.locator(".home ol li.done")).to_contain_text("32 images")  # without a reload, while the chain runs
    expect(page.locator(".home .strip img")).to_have_count(32)
    screenshot(page, "home-running-describe")
    follow = page.locator(".startjob").get_by_role("link", name="Open Explore")
    follow.wait_for(timeout=180_000)
    expect(current).to_have_count(0)
    expect(page.locator(".home ol li.next")).to_contain_text("Explore")
    screenshot(page, "home-done")
    follow.click()
    expect(page.get_by_role("toolbar", name="Explore").get_by_role("combobox", name="Run")).to_be_visible()
    expect(page.get_by_role("button", name="Finer", exact=False).first).to_be_visible()


@pytest.mark.parametrize("size", [LAPTOP, LARGE], ids=["laptop", "large"])
def test_explore_switches_to_finer_and_coarser_clusters(tab, size, screenshot):
    page = tab("explore", size=size)
    bar = page.get_by_role("toolbar", name="Explore")
    count = lambda: int(page.locator(".pane.clusters header .told").inner_text())  # noqa: E731
    expect(page.locator(".pane.clusters header .told")).to_have_text(re.compile(r"\d+"))
    usual = count()
    bar.get_by_role("button", name="Finer").click()
    expect(page.locator(".pane.clusters header .told")).not_to_have_text(str(usual))
    assert count() > usual
    expect(bar.get_by_role("button", name="Finer")).to_be_disabled()
    screenshot(page, f"explore-finer-{size['width']}")
    bar.get_by_role("button", name="Coarser").click()
    expect(page.locator(".pane.clusters header .told")).to_have_text(str(usual))
    bar.get_by_role("button", name="Coarser").click()
    expect(bar.get_by_role("button", name="Coarser")).to_be_disabled()
    assert count() <= usual
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0


def test_review_switches_levels_by_key_and_comes_back_to_what_was_clicked(tab, named, screenshot):
    server, _ = named
    page = tab("review", server)
    heading = page.locator(".head h1")
    page.locator(".tile").first.wait_for()
    before = heading.inner_text()
    page.locator(".tile").nth(1).click()
    expect(page.locator(".tile.marked")).to_have_count(1)
    usual = page.url  # names the run; the number and the size of a cluster can be the same at two levels
    page.keyboard.press(">")
    expect(page).not_to_have_url(usual)
    expect(page.get_by_text(re.compile("splits into|does not split")).first).to_be_visible()
    screenshot(page, "review-finer")
    page.keyboard.press("<")
    expect(heading).to_have_text(before)
    expect(page.locator(".tile.marked")).to_have_count(1)
    left_run = page.url
    page.get_by_role("button", name="Coarser").click()
    expect(page).not_to_have_url(left_run)
    expect(page.get_by_text("is part of the coarser cluster").first).to_be_visible()
    expect(page.get_by_role("button", name="Coarser")).to_be_disabled()
    page.get_by_role("link", name="Explore").click()  # the level goes along to the next page
    expect(page.get_by_role("toolbar", name="Explore").get_by_role("button", name="Coarser")).to_be_disabled()


def test_a_run_without_levels_offers_to_compute_them(tab, named):
    server, folder = named
    with Workspace.open(folder) as workspace:
        usual = workspace.runs.current()
        for run in workspace.runs.levels(usual).values():
            if run.id != usual.id:
                workspace.runs.delete(run.id)
    page = tab("explore", server)
    bar = page.get_by_role("toolbar", name="Explore")
    bar.get_by_role("button", name="Finer, coarser").click()
    expect(bar.get_by_role("button", name="Finer", exact=True)).to_be_visible()
    with Workspace.open(folder) as workspace:
        assert next(job.kind for job in JobQueue(workspace).all()) == "levels"


def test_a_second_clustering_is_offered_and_does_not_replace_the_first(tab, named):
    server, folder = named
    page = tab("jobs", server)
    rows = page.get_by_role("region", name="Finished jobs").locator(".tabulator-row")
    rows.first.wait_for()
    before = rows.count()
    page.evaluate("""() => fetch('/api/v1/jobs', {method: 'POST', headers: {'content-type': 'application/json'},
        body: JSON.stringify({kind: 'cluster', parameters: {features: 'colour', name: 'Second', seed: 3}})})""")
    expect(rows).to_have_count(before + 1)
    link = rows.first.get_by_role("link", name="Show the new clustering")
    link.wait_for()
    with Workspace.open(folder) as workspace:
        assert workspace.runs.current().name == "First look"
    link.click()
    bar = page.get_by_role("toolbar", name="Explore")
    expect(bar.get_by_role("combobox", name="Run").locator("option:checked")).to_have_text("Second")
    bar.get_by_role("button", name="Make current").click()
    expect(bar.get_by_role("button", name="Make current")).to_have_count(0)
    with Workspace.open(folder) as workspace:
        assert workspace.runs.current().name == "Second"
