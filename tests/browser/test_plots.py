"""Plots on pages: drawn after the page, with values under the pointer, zoom, files and data."""

import re

FRAME = ".plot-frame[data-plot='{}']"
STATE = """(name) => {
    const models = Bokeh.documents.flatMap((document) => [...document._all_models.values()])
    const part = models.find((model) => model.type === "GlyphRenderer" && model.name === name)
    return [part.muted, part.visible]
}"""
NEVER_IDLE = "window.requestIdleCallback = (act, options) => options?.timeout && setTimeout(act, options.timeout)"
RANGES = """(frame) => {
    const id = Bokeh.documents.flatMap((document) => document.roots()).map((root) => root)
        .find((root) => root.title?.text === "Cluster sizes")
    return [id.y_range.start, id.y_range.end]
}"""


def frame_of(page, name):
    frame = page.locator(FRAME.format(name))
    frame.scroll_into_view_if_needed()
    frame.locator(".stage[data-drawn]").wait_for()
    return frame


def drag(page, stage, start, end):
    """Press, move and release; places are shares of the stage."""
    box = stage.bounding_box()
    first, last = ((box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end))
    page.mouse.move(*first)
    page.mouse.down()
    page.mouse.move((first[0] + last[0]) / 2, (first[1] + last[1]) / 2, steps=3)
    page.mouse.move(*last, steps=3)
    page.mouse.up()


def selected(page):
    """The number of images in the offer of a plot."""
    offer = page.locator(".chosen").filter(has_text="selected").first
    offer.wait_for()
    return int(offer.inner_text().split()[0].replace(",", ""))


def test_a_plot_shows_values_zooms_and_leads_to_the_cluster(tab):
    page = tab("runs")
    stage = frame_of(page, "cluster-sizes").locator(".stage")
    box = stage.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.6 * box["height"])
    page.get_by_text("Share of all images").wait_for()
    before = page.evaluate(RANGES)
    page.mouse.wheel(0, -300)
    assert page.evaluate(RANGES) == before, "without Ctrl the wheel scrolls the page"
    frame_of(page, "cluster-sizes")
    box = stage.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.6 * box["height"])
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_function(f"(before) => ({RANGES})()[1] < before", arg=before[1])
    page.mouse.click(box["x"] + 0.2 * box["width"], box["y"] + 0.6 * box["height"])
    count = selected(page)
    page.get_by_role("link", name="Open in Explore").click()
    page.wait_for_url(re.compile(r"/explore\?sent=\w+&run=\d+&cluster=\d+"))
    page.locator(".explorebar .told").filter(has_text=f"{count} selected").wait_for()


def test_a_box_on_the_profile_of_a_dive_selects_images_everywhere_on_the_page(tab):
    page = tab("dive")
    stage = frame_of(page, "profile").locator(".stage")
    drag(page, stage, (0.15, 0.14), (0.5, 0.4))
    count = selected(page)
    assert count > 1
    page.locator(".gallery .tile[aria-selected=true], .gallery .tile.selected").first.wait_for()
    page.get_by_role("button", name="Clear", exact=True).click()
    page.locator(".chosen").filter(has_text="selected").wait_for(state="detached")
    drag(page, stage, (0.15, 0.14), (0.5, 0.4))
    assert selected(page) == count
    page.get_by_role("link", name="Open in Explore").click()
    page.locator(".explorebar .told").filter(has_text=f"{count} selected").wait_for()


def test_a_click_on_the_legend_mutes_a_part_and_with_shift_hides_it(tab):
    page = tab("dive")
    entry = frame_of(page, "profile").get_by_text(re.compile("^Cluster [0-9]+$")).first
    name = entry.inner_text()
    for modifiers, state in ((), [True, True]), ((), [False, True]), (("Shift",), [True, False]), ((), [False, True]):
        entry.click(modifiers=list(modifiers))
        page.wait_for_function(
            f"([name, state]) => String(({STATE})(name)) === String(state)", arg=[name, state]
        )  # times out otherwise


def test_a_click_on_the_profile_shows_the_image_taken_there(tab):
    page = tab("dive")
    stage = frame_of(page, "profile").locator(".stage")
    box = stage.bounding_box()
    first = page.locator(".gallery .tile.focused")
    before = first.get_attribute("data-id") if first.count() else None
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.3 * box["height"])
    page.locator(f".gallery .tile.focused:not([data-id='{before}'])").wait_for()
    assert page.locator(".chosen").filter(has_text="selected").count() == 0, "a click looks, a box selects"


def test_the_tracks_of_the_library_follow_the_table(tab):
    page = tab("library")
    frame_of(page, "map")
    colours = page.evaluate(
        """() => [...Bokeh.documents].flatMap((one) => one.roots())
        .find((root) => root.title?.text === "Tracks of the dives").renderers
        .filter((one) => one.glyph.type === "Line").map((one) => one.glyph.line_color.value)"""
    )
    marks = page.locator(".name .mark").evaluate_all("all => all.map((one) => one.getAttribute('style'))")
    assert len(colours) == len(marks) and all(colour in mark for colour, mark in zip(colours, marks, strict=True))
    page.locator(".name a").nth(1).hover()
    page.wait_for_function(
        """() => [...Bokeh.documents].flatMap((one) => one.roots())
        .find((root) => root.title?.text === "Tracks of the dives").renderers.some((one) => one.muted)"""
    )


def test_a_plot_is_saved_as_svg_and_png_and_its_data_copied(tab):
    page = tab("runs")
    frame = frame_of(page, "lower-bound")
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            frame.get_by_role("button", name=f"Save as {kind}").click()
        assert download.value.suggested_filename == f"lower-bound.{kind.lower()}"
        assert start in download.value.path().read_bytes()[:200]
    frame.get_by_role("button", name="Copy data").click()
    frame.get_by_text("Copied").wait_for()


def test_plots_follow_the_theme_and_leave_nothing_behind(tab):
    page = tab("runs")
    frame_of(page, "cluster-sizes")

    def all_drawn(theme):
        for frame in page.locator(".plot-frame").all():
            frame.scroll_into_view_if_needed()
            frame.locator(f".stage[data-drawn={theme}]").wait_for()

    all_drawn("light")
    count = page.evaluate("Bokeh.documents.length")
    page.get_by_role("button", name=re.compile("dark", re.IGNORECASE)).first.click()
    all_drawn("dark")
    page.wait_for_function("(count) => Bokeh.documents.length <= count", arg=count)


def test_plots_come_although_the_browser_is_never_idle(tab):
    """On a busy computer, Chromium calls back only those who said how long they wait."""
    page = tab("runs", fresh=True)
    page.add_init_script(NEVER_IDLE)
    page.reload()
    frame_of(page, "cluster-sizes")
