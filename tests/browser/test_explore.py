"""Explore and the view of a dive, in a real browser."""

import csv
import io
import math
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LAPTOP, LARGE

TOLD = ".explorebar .told"


def opened(tab, slug="explore", at=None, **settings):
    """The page once tiles, points and cards are drawn."""
    page = tab(slug, at, **settings)
    page.locator(".tile img").first.wait_for()
    if slug.startswith("explore"):
        page.locator(".pane.embedding .plane[data-drawn]").wait_for()
        page.locator(".cards .card").first.wait_for()
    return page


def number(page, selector=TOLD):
    return int(re.sub(r"\D", "", page.locator(selector).inner_text().split("of")[0]) or 0)


def wait_told(page, text):
    page.locator(TOLD).filter(has_text=text).wait_for()


def circle(page, pane, radius=0.45, keys=()):
    """Draws a lasso around the middle of a pane; `radius` is a share of its smaller side."""
    box = page.locator(f".pane.{pane} .stage").first.bounding_box()
    x, y, far = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, radius * min(box["width"], box["height"])
    for key in keys:
        page.keyboard.down(key)
    page.mouse.move(x + far, y)
    page.mouse.down()
    for step in range(25):
        page.mouse.move(x + far * math.cos(step / 12 * math.pi), y + far * math.sin(step / 12 * math.pi))
    page.mouse.up()
    for key in keys:
        page.keyboard.up(key)


def until(page, ask, true, seconds=10):
    """Wait until `ask` returns a true value and return it."""
    for _ in range(20 * seconds):
        if true(response := ask()):
            return response
        page.wait_for_timeout(50)
    raise AssertionError(f"still {ask()} after {seconds} s")


def be(page, name="Ada"):
    page.get_by_role("button", name="Enter your name").click()
    page.get_by_role("textbox", name="Your name").fill(name)
    page.keyboard.press("Enter")
    page.get_by_role("button", name=f"Person: {name}").wait_for()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [LAPTOP, LARGE], ids=["laptop", "large"])
def test_explore_looks_as_it_should(tab, screenshot, size, dark):
    page = opened(tab, size=size, dark=dark)
    page.wait_for_load_state("networkidle")
    screenshot(page, f"explore-{size['width']}-{'dark' if dark else 'light'}")
    for pane in ("Clusters", "Embedding", "Map", "Gallery"):
        box = page.get_by_role("region", name=pane).bounding_box()
        assert box["width"] > 150 and box["height"] > 100
        assert box["x"] + box["width"] <= size["width"] and box["y"] + box["height"] <= size["height"] + 1


def test_a_lasso_selects_and_a_second_one_takes_away(tab):
    page = opened(tab)
    page.locator(".pane.embedding .stage").focus()
    page.keyboard.press("l")
    circle(page, "embedding")
    wait_told(page, "selected")
    selected_count = number(page)
    assert selected_count > 5
    page.locator(f".gallery[data-length='{selected_count}']").wait_for()
    circle(page, "embedding", 0.2, keys=["Control"])
    page.locator(f".gallery[data-length]:not([data-length='{selected_count}'])").wait_for()
    page.locator(TOLD).filter(has_not_text=re.compile(rf"\b{selected_count} selected")).wait_for()
    assert 0 < number(page) < selected_count


def test_escape_clears_the_selection_and_shows_all_again(tab):
    page = opened(tab)
    total = number(page)
    page.locator(".card").first.get_by_role("button", name="Select").click()
    wait_told(page, "selected")
    page.locator(".scroller").focus()
    page.keyboard.press("Escape")
    wait_told(page, "images")
    assert number(page) == total
    page.locator(f".gallery[data-length='{total}']").wait_for()


def test_an_opened_cluster_has_an_address_that_reloads_and_goes_back(tab):
    page = opened(tab)
    card = page.locator(".card").first
    cluster = card.get_attribute("data-cluster")
    card.get_by_role("button", name="Show only").click()
    page.wait_for_url(f"**cluster={cluster}**")
    page.locator(".chip", has_text=f"Cluster {cluster}").first.wait_for()
    shown = number(page)
    page.reload()
    page.locator(f".gallery[data-length='{shown}']").wait_for()
    page.locator(".chip", has_text=f"Cluster {cluster}").first.wait_for()
    page.locator(".card.open").get_by_role("button", name="Show all").click()
    page.wait_for_url(lambda url: "cluster" not in url)
    page.go_back()
    page.locator(f".gallery[data-length='{shown}']").wait_for()


def test_tiles_are_walked_selected_and_opened_by_keys(tab):
    page = opened(tab)
    page.locator(".scroller").focus()
    for key in ("ArrowRight", "ArrowRight", " ", "ArrowDown", " "):
        page.keyboard.press(key)
    wait_told(page, "2 selected")
    page.locator(".tile[aria-selected=true]").nth(1).wait_for()
    expect(page.locator(".tile[aria-selected=true]")).to_have_count(2)
    page.keyboard.press("Enter")
    viewer = page.get_by_role("dialog", name="Image")
    viewer.get_by_text("Dive").first.wait_for()
    first = viewer.locator("h2").inner_text()
    page.keyboard.press("ArrowRight")
    viewer.locator("h2").filter(has_not_text=first).wait_for()
    assert viewer.get_by_role("group", name="Neighbours in the order taken").locator("img").count() > 1
    page.keyboard.press("Escape")
    viewer.wait_for(state="hidden")


def test_shift_selects_a_range_and_a_rubber_band_what_it_touches(tab):
    page = opened(tab)
    tiles = page.locator(".tile")
    page.locator("#tile-0").click()
    page.locator("#tile-4").click(modifiers=["Shift"])
    wait_told(page, "5 selected")
    first, other = page.locator("#tile-0").bounding_box(), page.locator("#tile-1").bounding_box()
    page.mouse.move(first["x"] + 20, first["y"] + 20)
    page.mouse.down()
    page.mouse.move(other["x"] + 30, other["y"] + 40, steps=5)
    page.mouse.up()
    wait_told(page, "2 selected")
    assert tiles.count() > 2


def test_the_viewer_zooms_into_the_original(tab):
    page = opened(tab)
    page.locator("#tile-0").dblclick()
    viewer = page.get_by_role("dialog", name="Image")
    page.keyboard.press("+")
    page.keyboard.press("+")
    viewer.locator(".stage img[src*='/file']").wait_for()
    viewer.locator(".stage img:not(.segments)[style*='scale(2.56']").wait_for()
    page.keyboard.press("0")
    viewer.locator(".stage img:not(.segments)[style*='scale(1)']").wait_for()


def test_colours_follow_any_number_with_a_legend(tab):
    page = opened(tab)
    page.get_by_label("Colour by").select_option("depth")
    page.locator(".legend .ramp").wait_for()
    page.wait_for_url("**colour=depth**")
    page.locator(".legend", has_text=" m").wait_for()


def test_tiles_can_be_grouped_by_dive(tab):
    page = opened(tab)
    page.get_by_label("Group by").select_option("dive")
    page.locator(".heading").first.wait_for()
    page.wait_for_url("**group=dive**")


def test_one_pane_fills_the_page_by_its_number(tab):
    page = opened(tab)
    page.locator("body").click(position={"x": 5, "y": 400})
    page.keyboard.press("4")
    page.get_by_role("region", name="Clusters").wait_for(state="hidden")
    assert page.get_by_role("region", name="Gallery").bounding_box()["width"] > 1000
    page.wait_for_url("**pane=gallery**")
    page.keyboard.press("4")
    page.get_by_role("region", name="Clusters").wait_for()


def test_borders_between_panes_move_by_mouse_and_by_keys(tab):
    page = opened(tab)
    pane = page.get_by_role("region", name="Clusters")
    border = page.get_by_role("separator", name="Width of the clusters")
    before, box = pane.bounding_box()["width"], border.bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 200, steps=4)
    page.mouse.up()
    wider = until(page, lambda: pane.bounding_box()["width"], lambda width: width > before + 80)
    border.focus()
    page.keyboard.press("ArrowLeft")
    until(page, lambda: pane.bounding_box()["width"], lambda width: width < wider)


def test_a_selection_is_labelled_and_the_label_taken_back(own_server, tab):
    page = opened(tab, at=own_server)
    be(page)
    page.locator(".card").first.get_by_role("button", name="Select").click()
    wait_told(page, "selected")
    count = number(page)
    page.get_by_label("Label for the selected images").fill("Kelp")
    page.keyboard.press("Enter")
    page.get_by_text(f'Labelled {count} images "Kelp"').wait_for()
    page.locator(".card header b", has_text="Kelp").first.wait_for()
    page.get_by_role("button", name="Undo", exact=True).click()
    page.locator(".card header b", has_text="Kelp").wait_for(state="detached")


def test_a_selection_is_saved_exported_and_split_off(own_server, tab):
    page = opened(tab, at=own_server)
    be(page)
    page.locator(".card").first.get_by_role("button", name="Select").click()
    wait_told(page, "selected")
    count, clusters = number(page), page.locator(".card").count()
    page.get_by_role("button", name="More commands on the selection").click()
    page.get_by_label("Name of the selection").fill("edge")
    page.keyboard.press("Enter")
    page.wait_for_url("**saved=1**")
    page.get_by_role("button", name="More commands on the selection").click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Export as CSV").click()
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text())))
    assert len(rows) == count and {"path", "cluster", "depth", "label"} <= set(rows[0])
    page.reload()
    wait_told(page, f"{count} selected")
    page.get_by_role("button", name="More commands on the selection").click()
    page.get_by_text("Split off as a cluster").click()
    page.get_by_text(f"as cluster {clusters}").wait_for()


def test_the_first_label_asks_for_the_name_and_is_stored_under_it(own_server, tab):
    page = opened(tab, at=own_server)
    page.locator(".card").first.get_by_role("button", name="Select").click()
    wait_told(page, "selected")
    page.get_by_label("Label for the selected images").fill("Kelp")
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Name needed").wait_for()
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")
    page.get_by_text('images "Kelp"').wait_for()
    page.get_by_role("button", name="Person: Ada").wait_for()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_dive_shows_its_track_its_sequence_and_its_like(tab, screenshot, dark):
    page = opened(tab, "dive?dive=2", dark=dark)
    page.locator(".plane[data-drawn]").wait_for()
    page.wait_for_load_state("networkidle")
    screenshot(page, f"dive-{'dark' if dark else 'light'}")
    before = page.locator(".gallery[data-length]").get_attribute("data-length")
    stage = page.locator("[data-plot='similar-mixtures'] .stage")
    stage.scroll_into_view_if_needed()
    page.locator("[data-plot='similar-mixtures'] .stage[data-drawn]").wait_for()
    stage.focus()
    for _ in range(page.locator(".tile").count()):  # along the bar of this dive, to a cluster that it has
        page.keyboard.press("ArrowRight")
        if (
            float(
                re.search(r"Share ([\d.]+) %", page.locator("[data-plot='similar-mixtures'] figcaption").inner_text())[
                    1
                ]
            )
            > 5
        ):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**cluster=**")
    page.locator(f".gallery[data-length]:not([data-length='{before}'])").wait_for()
    page.locator(".chosen", has_text="selected").first.wait_for()


def test_an_empty_workspace_says_the_next_step(blank, tab, screenshot):
    page = tab("explore", blank)
    page.get_by_role("link", name="Go to Library").wait_for()
    screenshot(page, "explore-empty")


def test_a_right_click_and_shift_f10_open_the_menu_of_an_image(tab):
    page = opened(tab)
    total = number(page)
    page.locator(".gallery .tile").first.click(button="right")
    page.get_by_role("menuitem", name="Show only its cluster").click()
    page.locator(".chip", has_text="Cluster").first.wait_for()
    shown = until(page, lambda: number(page), lambda shown: 0 < shown < total)
    page.locator(f".gallery[data-length='{shown}']").wait_for()
    page.locator(".scroller").focus()
    page.keyboard.press("Shift+F10")
    page.get_by_role("menuitem", name="Open", exact=True).wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait_told(page, "1 selected")
    expect(page.locator(".scroller")).to_be_focused()


def test_control_a_selects_the_gallery_and_shift_shows_what_a_click_would_select(tab):
    page = opened(tab)
    total = number(page)
    page.keyboard.press("Control+a")
    wait_told(page, f"{total} selected")
    page.keyboard.press("Escape")
    page.locator(".gallery .tile").nth(0).click()
    wait_told(page, "1 selected")
    page.keyboard.down("Shift")
    for _ in range(20):  # a busy page may draw the tiles again under a pointer that rests
        page.locator(".gallery .tile").nth(3).hover()
        page.locator(".gallery .tile").nth(4).hover()
        page.wait_for_timeout(300)
        if page.locator(".tile.inrange").count() == 5:
            break
    expect(page.locator(".tile.inrange")).to_have_count(5)
    page.locator(".gallery .tile").nth(4).click()
    page.keyboard.up("Shift")
    wait_told(page, "5 selected")
    expect(page.locator(".tile.inrange")).to_have_count(0)


def test_a_card_beside_the_pointer_tells_about_the_image(tab):
    page = opened(tab)
    page.locator(".gallery .tile").nth(1).hover()
    card = page.locator(".tip.facts:popover-open")
    card.get_by_text("probability").wait_for()
    box = card.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= LAPTOP["width"] and box["y"] + box["height"] <= LAPTOP["height"]
    page.mouse.move(5, 5)
    card.wait_for(state="hidden")


def test_a_view_is_saved_restored_and_deleted(tab, own_server):
    page = opened(tab, at=own_server, person="Ada")
    views = page.get_by_role("button", name="Views")
    page.locator(".card").first.get_by_role("button", name="Show only").click()
    page.wait_for_url("**cluster=**")
    page.get_by_label("Colour by").select_option("depth")
    page.wait_for_url("**colour=depth**")
    address, shown = page.url, number(page)
    views.click()
    page.get_by_role("textbox", name="Name of this view").fill("Deep")
    page.keyboard.press("Enter")
    page.get_by_text("Saved the view Deep").wait_for()
    page.goto(f"{own_server.base}/explore")
    views.click()
    page.get_by_role("button", name="Deep", exact=True).click()
    page.wait_for_url(address)
    page.locator(f".gallery[data-length='{shown}']").wait_for()
    views.click()
    page.get_by_role("button", name="Delete the view Deep").click()
    page.get_by_text("Deleted the view Deep").wait_for()
    page.get_by_role("button", name="Deep", exact=True).wait_for(state="detached")


@pytest.mark.parametrize("width", [1280, 1366])
def test_the_controls_of_explore_have_a_name_and_room_for_it(tab, width):
    page = opened(tab, size={"width": width, "height": 768})
    for name in ("Run", "Colour", "Labels", "Sort by", "Group by", "Projection", "Images", "Order", "Show"):
        expect(page.locator(".caption", has_text=re.compile(f"^{name}$")).first, name).to_be_visible()
    widths = [box.bounding_box()["width"] for box in page.locator("select:visible").all()]
    assert min(widths) >= 76, widths


def test_the_tour_is_walked_by_keys_and_closed_for_ever(tab):
    page = tab("explore", tour=True)
    tour = page.get_by_role("dialog", name="Tour of Explore")
    tour.get_by_text("1 of 5").wait_for()
    page.keyboard.press("ArrowRight")
    tour.get_by_role("heading", name="Embedding").wait_for()
    page.keyboard.press("Escape")
    tour.wait_for(state="hidden")
    page.reload()  # closed for this time only
    tour.get_by_role("button", name="Do not show again").click()
    page.reload()
    page.locator(".cards .card").first.wait_for()
    expect(tour).to_be_hidden()
    page.get_by_role("button", name="More commands on the selection").click()
    page.get_by_role("button", name="Show the tour").click()
    tour.get_by_text("1 of 5").wait_for()
