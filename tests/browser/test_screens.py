"""Every screen in both themes and at both ends of sizes: pictures are kept, texts stand out, controls have names."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from benthoscope.app.pages.registry import PAGES
from tests.browser.conftest import LAPTOP, LARGE

CHECKS = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")
AXE = Axe()
SLUGS = [page.slug for page in PAGES]
TITLES = {page.slug: page.title for page in PAGES}
FEW = {"width": 1280, "height": 720}


def settled(page):
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(400)  # transitions
    return page


@pytest.mark.parametrize("slug", SLUGS, ids=lambda slug: slug or "home")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_opens_without_error_fits_reads_well_and_names_its_controls(tab, screenshot, slug, dark):
    page = settled(tab(slug, dark=dark, size=LAPTOP))
    assert TITLES[slug] in page.title()
    assert page.get_by_text("cannot be shown").count() == 0
    theme = "dark" if dark else "light"
    for size in (LAPTOP, LARGE, FEW):
        page.set_viewport_size(size)
        page.wait_for_timeout(250)
        screenshot(page, f"{slug or 'home'}-{theme}-{size['width']}")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), size
    assert page.evaluate(f"{CHECKS}.contrast()") == []
    assert page.evaluate(f"{CHECKS}.unnamed()") == []
    assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.lang") == "en"


def axe_violations(page):
    """Elements that break a rule of axe-core. The grids of Tabulator own their rows in a way that axe does not follow,
    and their columns of buttons have no title."""
    rules = {"aria-required-children", "empty-table-header"}
    return [
        f"{rule['id']}: {node['html'][:160]}"
        for rule in AXE.run(page).response["violations"]
        for node in rule["nodes"]
        if not (rule["id"] in rules and "tabulator" in node["html"])
    ]


@pytest.mark.parametrize("slug", SLUGS, ids=lambda slug: slug or "home")
def test_a_page_of_an_empty_workspace_says_the_next_step(tab, empty, screenshot, slug):
    page = settled(tab(slug, empty))
    screenshot(page, f"{slug or 'home'}-empty")
    assert page.get_by_text("cannot be shown").count() == 0


def test_the_keyboard_walks_through_bar_and_page_in_reading_order(tab):
    page = settled(tab("library"))
    page.get_by_label("Search", exact=True).focus()
    focused = []
    for _ in range(30):
        page.keyboard.press("Tab")
        focused.append(page.evaluate(f"{CHECKS}.focused()"))
    words = ("Jobs", "Help on this page", "Library", "Add images")
    orders = [next((at for at, text in enumerate(focused) if word in text), None) for word in words]
    assert None not in orders and orders == sorted(orders), focused


def test_axe_sees_an_image_without_a_text_and_a_heading_without_words(tab):
    page = settled(tab("jobs"))
    page.evaluate("""() => document.body.insertAdjacentHTML("beforeend", "<img src='data:,'><h3></h3>")""")
    assert {"image-alt", "empty-heading"} <= {fault.partition(":")[0] for fault in axe_violations(page)}


def test_the_checks_see_a_pale_text_and_a_nameless_button(tab):
    page = settled(tab("jobs"))
    page.evaluate("""() => document.body.insertAdjacentHTML("beforeend",
        "<p style='position:fixed;top:80px;left:400px;background:#fff;color:#bbb'>pale<button></button></p>")""")
    assert any("pale" in fault for fault in page.evaluate(f"{CHECKS}.contrast()"))
    assert "<button></button>" in page.evaluate(f"{CHECKS}.unnamed()")
