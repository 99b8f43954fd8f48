"""The Live page on a simulated dive: from the form to the run, with alarms, plots and edits of clusters."""

import re

import pytest
from playwright.sync_api import expect

from benthoscope.engine.jobs.live.simulation import images_of_folder, replay

IMAGES = 110  # the first round needs a hundred
pytestmark = pytest.mark.timeout(400)


def test_an_empty_page_says_how_to_begin_and_refuses_a_wrong_folder(tab, blank):
    page = tab("live", blank, person="Ann")
    page.get_by_text("benthoscope simulate-dive FOLDER").wait_for()
    page.keyboard.press("s")
    page.get_by_label("Folder").fill("/nowhere/at/all")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("is not a folder").first.wait_for()


def test_a_simulated_dive_from_the_form_to_the_run(tab, blank, campaign, tmp_path, screenshot):
    folder = tmp_path / "vehicle"
    folder.mkdir()
    page = tab("live", blank, person="Ann")
    page.get_by_role("button", name="Start a watch").click()
    page.get_by_label("Folder").fill(str(folder))
    page.get_by_label("Features").select_option("colour")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("Waiting for the first image.").wait_for()

    replay(images_of_folder(campaign), folder, rate=50, count=IMAGES)
    page.get_by_role("heading", name="Clusters now").wait_for(timeout=180_000)
    rows = page.locator("tbody tr")
    page.locator('[data-plot="live-mixture"]').scroll_into_view_if_needed()
    page.locator('[data-plot="live-mixture"] .stage[data-drawn]').wait_for(timeout=120_000)
    page.locator('[data-plot="live-path"]').scroll_into_view_if_needed()
    page.locator('[data-plot="live-path"] .stage[data-drawn]').wait_for(timeout=120_000)
    screenshot(page, "live-dive")

    page.get_by_role("button", name=re.compile("^Name: ")).first.click()
    page.get_by_label("Name", exact=True).fill("sand waves")
    page.get_by_role("dialog").get_by_role("button", name="Name", exact=True).click()
    rows.filter(has_text="sand waves").wait_for()

    page.get_by_role("button", name="Split in two: sand waves").click()
    page.get_by_text(re.compile(r"Cluster \d+ split \(Ann\)")).wait_for()
    page.get_by_role("button", name=re.compile("^Undo: Cluster .* split")).click()
    rows.filter(has_text="sand waves").wait_for()

    page.get_by_role("button", name="Finish dive").click()
    page.get_by_role("button", name="Really finish?").click()
    page.get_by_text("The dive is finished.").wait_for(timeout=180_000)
    assert page.get_by_role("link", name="Open the run").get_attribute("href").startswith("/explore?run=")
    expect(page.get_by_text(f"{IMAGES}", exact=True).first).to_be_visible()
