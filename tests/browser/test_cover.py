"""Cover in a real browser: ranges first, then random images named by key, then estimates."""

import re

from playwright.sync_api import expect

from benthoscope.engine.labelling.cover.report import cover_of
from benthoscope.engine.workspace import Workspace


def signed(tab, server, slug, name="Ann"):
    return tab(slug, server, person=name)


def name_page(page, key):
    """Points at the first tile that has no answer, sweeps over all of them with the key held, and goes on."""
    page.locator(".tile:not(.done)").first.hover()
    page.keyboard.down(key)
    for tile in page.locator(".tile:not(.done)").all():
        tile.hover()
    page.keyboard.up(key)
    page.get_by_role("button", name=re.compile("^Next page(?!,)")).wait_for()  # none is left open
    page.keyboard.press("Enter")


def test_random_images_lead_from_a_range_to_an_estimate(tab, named):
    server, folder = named
    page = signed(tab, server, "labels?part=cover")
    page.get_by_role("heading", name="No images were drawn at random").wait_for()
    assert page.locator(".dives .plot-frame").count() == 0
    page.get_by_label("Random images to label").select_option("50")
    page.get_by_role("link", name="Label 50 random images").click()
    page.locator(".tile").first.wait_for()
    assert page.locator(".tile .label").count() == 0  # no suggestions
    page.keyboard.press("l")
    page.get_by_role("combobox", name="Label").fill("sand")
    page.locator(".hits li").first.wait_for()
    page.keyboard.press("Enter")
    page.locator(".chosen .chip.on").wait_for()
    for _ in range(3):
        page.locator(".tile:not(.done)").first.wait_for()
        name_page(page, "e")
    page.get_by_role("heading", name="All 50 random images are answered").wait_for()
    page.get_by_role("link", name="Show cover").click()
    plot = page.locator(".dives .plot-frame").first
    plot.locator(".stage[data-drawn]").wait_for()
    assert re.match(r"Cover of All dives: sand \d+ % \(", plot.get_attribute("aria-label"))
    assert "between" not in plot.get_attribute("aria-label")
    expect(page.locator("[data-told=sheet]")).to_contain_text("Each interval at 95 %")
    with Workspace.open(folder) as workspace:
        share = cover_of(workspace).rows[0].share
    assert share.estimate > 0.9 and share.draws == 50
