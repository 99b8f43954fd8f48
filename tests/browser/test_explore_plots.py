"""The plots of Explore: legend, card of a point, axes, pies, tracks, files, and selections that other pages send."""

import csv
import re
from pathlib import Path

import httpx
from PIL import Image as Picture
from playwright.sync_api import expect

from tests.browser.conftest import LAPTOP, LARGE
from tests.browser.test_explore import TOLD, number, opened, until, wait_told

CHECKS = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")


def shown(page):
    return number(page, ".pane.gallery .told")


def test_the_legend_shows_only_the_clusters_that_a_person_chooses(tab):
    page = opened(tab, size=LARGE)
    legend = page.get_by_role("group", name="Legend of Embedding: Cluster")
    entries = legend.locator("button.entry")
    sizes = [int(re.sub(r"\D", "", entry.inner_text().splitlines()[-1])) for entry in entries.all()]
    total = number(page)
    assert sum(sizes) == total
    entries.nth(1).click()
    page.wait_for_url("**cluster=1**")
    assert until(page, lambda: shown(page), lambda found: found == sizes[1])
    entries.nth(0).focus()
    page.keyboard.press("Shift+Enter")
    assert until(page, lambda: shown(page), lambda found: found == sizes[0] + sizes[1])
    expect(entries.nth(0)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("End")
    assert entries.last.evaluate("(entry) => entry === entry.getRootNode().activeElement")
    legend.get_by_role("button", name="All").click()
    assert until(page, lambda: shown(page), lambda found: found == total)


def test_the_legend_of_a_laptop_opens_beside_the_points_and_stays_open(tab):
    page = opened(tab, size=LAPTOP)
    stage, legend = page.locator(".pane.embedding .plane .stage"), page.locator(".pane.embedding .plotlegend")
    expect(legend).to_be_hidden()
    page.locator(".pane.embedding [data-choice=legend]").click()
    points, beside = stage.bounding_box(), legend.bounding_box()
    assert points["x"] + points["width"] <= beside["x"] and points["width"] > 150
    page.reload()
    legend.wait_for()


def test_keys_walk_from_point_to_point_with_a_card_that_is_read_out(tab):
    page = opened(tab)
    page.locator(".pane.embedding .plane .stage").focus()
    page.keyboard.press("n")
    card, status = page.locator(".pane.embedding .tip.facts:popover-open"), page.locator(".pane.embedding .spoken")
    for fact in ("Dive", "Depth", "probability", "Label"):
        card.get_by_text(fact).wait_for()
    first = until(page, status.inner_text, bool)
    page.keyboard.press("n")
    assert until(page, status.inner_text, lambda text: text != first).endswith("Label none")
    page.keyboard.press("Escape")
    card.wait_for(state="hidden")
    page.locator(".pane.embedding .walked").wait_for(state="detached")


def test_axes_name_the_shares_and_pies_state_their_values(tab):
    page = opened(tab)
    names = page.locator(".pane.embedding .axisname").all_text_contents()
    assert [re.sub(r"\d+ %", "N %", name) for name in names] == ["PC 1, N %", "PC 2, N %"]
    assert page.locator(".pane.embedding .tick").count() >= 5
    pie = page.locator(".pane.map .pie").first
    values = [int(value) for value in re.findall(r"(\d+) %", pie.get_attribute("aria-label"))]
    assert 95 <= sum(values) <= 105
    pie.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**dive=**")


def test_tracks_join_the_images_of_a_dive_until_they_are_switched_off(tab):
    page = opened(tab)
    drawn = """() => { const canvas = window.tracks
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
      let count = 0
      for (let at = 3; at < pixels.length; at += 4) if (pixels[at]) count++
      return count }"""
    page.locator(".pane.map .stage canvas").first.evaluate("(canvas) => { window.tracks = canvas }")
    assert until(page, lambda: page.evaluate(drawn), lambda count: count > 10)
    toggle = page.get_by_role("button", name="Join the images of a dive in order of time")
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "false")
    until(page, lambda: page.evaluate(drawn), lambda count: count == 0)


def test_a_plot_is_saved_as_a_picture_and_copied_as_a_table(tab):
    page = opened(tab)
    page.context.grant_permissions(["clipboard-read"])
    pane = page.locator(".pane.embedding")
    with page.expect_download() as waiting:
        pane.get_by_role("button", name="Save as PNG: Embedding").click()
    assert waiting.value.suggested_filename == "embedding.png"
    with Picture.open(waiting.value.path()) as picture:
        colours = picture.convert("RGB").getcolors(1 << 24)
        assert picture.format == "PNG" and max(colours)[1] == (255, 255, 255) and len(colours) > 100
    pane.get_by_role("button", name="Copy data as CSV: Embedding").click()
    pane.get_by_text("Copied").wait_for()
    rows = list(csv.reader(page.evaluate("navigator.clipboard.readText()").splitlines()))
    assert rows[0] == ["image_id", "PC 1", "PC 2", "Cluster"] and len(rows) == number(page) + 1
    assert all(re.fullmatch(r"Cluster \d+", row[3]) for row in rows[1:])


def test_a_selection_sent_by_another_page_opens_with_a_way_back(tab, server):
    wish = {"images": [1, 2, 3], "text": "Three images", "back": "/labels?part=cover"}
    answer = httpx.post(f"{server.base}/api/v1/explore/selections", json=wish, cookies={server.cookie: server.token})
    assert answer.status_code == 201, answer.text
    page = opened(tab, answer.json()["href"].removeprefix("/"), at=server)
    wait_told(page, "3 selected")
    page.locator(".gallery[data-length='3']").wait_for()
    page.get_by_role("button", name="3 selected: Three images").click()
    page.locator(TOLD).filter(has_text="images").wait_for()
    expect(page.get_by_role("link", name="Back to Labels")).to_have_count(0)
    page.go_back()
    page.get_by_role("link", name="Back to Labels").click()
    page.wait_for_url("**/labels?part=cover")


def test_explore_reads_well_with_its_legends_open_in_both_themes(tab):
    for dark in (False, True):
        page = opened(tab, size=LARGE, dark=dark)
        page.locator(".pane.map [data-choice=legend]").click()
        page.locator(".pane.map .plotlegend .entry").first.wait_for()
        page.locator(".pane.embedding .entry").nth(1).click()
        page.locator(".pane.embedding .entry.off").first.wait_for()
        assert page.evaluate(f"{CHECKS}.contrast()") == [] and page.evaluate(f"{CHECKS}.unnamed()") == []
