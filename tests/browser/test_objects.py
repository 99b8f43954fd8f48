"""Objects in a real browser: crops, names, company, truth of points, objects of one image and of clusters, the form."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from benthoscope.engine.workspace.labels.parts import part_act
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.browser.conftest import Server, start_server
from tests.browser.test_screens import CHECKS
from tests.segmented_reef import Reef, made

PARTS = ("cards", "together", "dives", "scenes", "points")
EVIL = "<b &amp; sponge"


@pytest.fixture(scope="module")
def reef(tmp_path_factory) -> Iterator[Reef]:
    """Object 0 is in all 24 images, 1 in those of scenes 0 and 1, 2 in the eight of scene 2; some sand has points."""
    made_reef = made(tmp_path_factory.mktemp("objects"))
    words = made_reef.workspace.vocabularies.add("points", [NewTerm(("Sand",))])
    sand = made_reef.workspace.vocabularies.terms(words.id)[0].id
    points = [(int(image), (3, 3)) for image in made_reef.ids[:5]]
    person_id = made_reef.workspace.people.named("Ann").id
    made_reef.workspace.labels.append_events(person_id, [part_act(sand, "point", points, why="import")])
    yield made_reef
    made_reef.workspace.close()


@pytest.fixture(scope="module")
def server(reef: Reef) -> Iterator[Server]:
    running = start_server(reef.workspace.folder, "--no-jobs")
    yield running
    running.stop()


@pytest.fixture
def opened(tab, server):
    """A page once it shows what is wanted; with `person`, hers."""

    def at(slug, expected, person="", **settings):
        page = tab(slug, server, person=person, **settings)
        page.locator(expected).first.wait_for()
        return page

    return at


def card(page, number):
    return page.locator(f".object[data-number='{number}']")


def segments_named(page):
    """A click on the middle of a quarter of the picture, given as -1 or 1 across and down."""
    box = page.locator(".viewer .stage").bounding_box()
    side = min(box["width"] / 64, box["height"] / 48)
    return lambda across, down: (box["width"] / 2 + across * 16 * side, box["height"] / 2 + down * 12 * side)


def test_an_object_is_found_named_by_key_and_the_name_taken_back(opened, reef):
    page = opened("objects", ".object .near img", person="Ann")
    assert [page.locator(".object").nth(at).get_attribute("data-number") for at in range(3)] == ["0", "1", "2"]
    page.keyboard.press("f")
    page.keyboard.type("2")
    page.wait_for_function("() => window.location.search.includes('word=2')")
    card(page, 1).wait_for(state="detached")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    card(page, 1).wait_for()
    card(page, 2).get_by_label("Label for object 2").focus()
    page.keyboard.type(EVIL)
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text=f'Labelled 16 segments of object 2 "{EVIL}"').wait_for()
    card(page, 2).get_by_role("heading", name=f"{EVIL} (2)", exact=True).wait_for()  # as text, never as markup
    card(page, 2).get_by_text("100 % of its segments labelled").wait_for()
    page.get_by_role("button", name="Undo", exact=True).click()
    card(page, 2).get_by_role("heading", name="Object 2", exact=True).wait_for()
    assert [event.kind for event in reef.workspace.labels.events()][-2:] == ["part", "undo"]


def test_borderline_and_random_segments_are_other_crops_and_have_an_address(opened):
    page = opened("objects", ".object .near img")

    def crops():
        return card(page, 0).locator("img").evaluate_all("all => all.map(one => one.getAttribute('src')).join()")

    typical = crops()
    page.get_by_label("Which segments are shown").select_option("borderline")
    page.locator(".objectcards[data-kind=borderline]").wait_for()
    page.wait_for_url("**kind=borderline**")
    assert crops() != typical


def plotted(page, name):
    """The stage of a plot, once it is drawn."""
    stage = page.locator(f"[data-plot='{name}'] .stage")
    stage.scroll_into_view_if_needed()
    page.locator(f"[data-plot='{name}'] .stage[data-drawn]").wait_for()
    page.wait_for_timeout(300)  # BokehJS draws after it was embedded
    return stage


SNAKE = ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft", "ArrowDown", "ArrowRight", "ArrowRight")


def walked(page, name, wanted):
    """Walk with the arrow keys through a plot of three by three cells until the values read aloud are right."""
    stage = plotted(page, name)
    stage.focus()
    note = page.locator(f"[data-plot='{name}'] figcaption [role=status]").nth(1)
    texts = []
    for key in ("ArrowRight", "ArrowUp", "ArrowUp", "ArrowLeft", "ArrowLeft", *SNAKE):
        if texts and wanted(texts[-1]):
            return texts[-1]
        page.keyboard.press(key)
        texts.append(note.inner_text())
    assert wanted(texts[-1]), texts
    return texts[-1]


def test_cells_of_company_lead_to_the_images_that_show_both(opened):
    page = opened("objects?part=together", "[data-plot=cooccurrence]")
    both = {"Object Object 0", "Object Object 2"}
    text = walked(page, "cooccurrence", lambda text: both <= set(text.split(", ")))
    assert "Images with both 8" in text
    page.keyboard.press("Enter")
    chosen = page.locator(".chosen").filter(has_text="8 images selected")
    chosen.wait_for()
    chosen.get_by_role("link", name="Open in Explore").click()
    page.locator(".explorebar .told").filter(has_text="8 selected").wait_for()
    chips = page.locator(".explorebar .chips").inner_text()
    assert "Object 0" in chips and "Object 2" in chips
    page.get_by_role("button", name="Object 2").first.click()
    page.wait_for_url(lambda url: not re.search(r"object=\d(,|%2C)\d", url))


def test_dives_scenes_and_points_say_what_they_should(opened):
    page = opened("objects?part=dives", "[data-plot='objects-by-dive']")
    walked(page, "objects-by-dive", lambda text: "dive b" in text and "Object 1" in text and "65.6" in text)
    page.get_by_role("tab", name="In image clusters").click()
    plotted(page, "objects-by-cluster")
    page.get_by_role("tab", name="Labelled points").click()
    page.get_by_text("5 points on segments of this run").wait_for()
    page.get_by_role("cell", name="Sand, 100 %").wait_for()
    page.keyboard.press("1")
    card(page, 0).wait_for()


def test_the_pointer_names_objects_and_a_segment_gets_a_name_of_its_own(opened, reef):
    image = int(reef.ids[reef.scene == 2][0])
    page = opened("objects", ".object .near img", person="Ann")
    card(page, 2).get_by_role("button", name=f"Open image {image}").first.click()
    page.locator(".viewer .segmentcard:not([hidden])").wait_for()
    at = segments_named(page)
    page.locator(".viewer .stage").hover(position=dict(zip("xy", at(-1, -1), strict=True)))
    page.locator(".objecttip").filter(has_text="Object 0").wait_for()
    page.locator(".viewer .stage").hover(position=dict(zip("xy", at(1, 1), strict=True)))
    page.locator(".objecttip").filter(has_text="Object 2").wait_for()
    page.locator(".viewer .stage").click(position=dict(zip("xy", at(1, -1), strict=True)))
    page.locator(".segmentcard[data-segment='1']").wait_for()
    page.get_by_label("Label of segment 1").fill("Shell grit")
    page.get_by_label("Label of segment 1").press("Enter")
    page.locator(".segmentcard b").filter(has_text="Shell grit").wait_for()
    page.locator(".viewer .past").get_by_text("labelled 1 segment Shell grit").wait_for()
    page.locator(".viewer .stage").hover(position=dict(zip("xy", at(0.9, -0.9), strict=True)))
    page.locator(".objecttip").filter(has_text="Shell grit").wait_for()
    page.get_by_role("link", name="All images with Object 2").click()
    page.locator(".explorebar .told").filter(has_text="8 of 24 images").wait_for()
    page.wait_for_url("**object=2**")


def test_the_list_beside_the_image_is_walked_by_keys(opened):
    page = opened("objects", ".object .near img")
    card(page, 2).locator(".near").first.click()
    page.locator(".viewer .segmentcard:not([hidden])").wait_for()
    first = page.locator(".segmentcard").get_attribute("data-segment")
    page.locator(".inimage li button").filter(has_text="Object 2").focus()
    page.keyboard.press("Enter")
    page.locator(f".segmentcard:not([data-segment='{first}'])").wait_for()
    assert {first, page.locator(".segmentcard").get_attribute("data-segment")} == {"2", "3"}


def test_a_card_of_explore_shows_its_objects_and_finds_their_images(opened):
    page = opened("explore", ".madeof .crops img")
    mixed = page.locator(".cards .card[data-cluster='2'] .madeof")
    assert "Object 0: 50.0 %" in mixed.get_by_role("img").first.get_attribute("aria-label")
    mixed.get_by_role("button", name="Images with Object 2").click()
    page.locator(".explorebar .told").filter(has_text="8 of 24 images").wait_for()
    page.wait_for_url("**object=2**")


def test_without_objects_the_page_leads_to_the_form_that_explains_the_questions(tab, own_server):
    page = tab("objects", own_server)
    page.get_by_role("link", name="Cluster objects and scenes").click()
    form = page.get_by_role("dialog", name="Cluster images")
    form.locator("input[value=mcm]").wait_for()
    expect(form.locator("input[value=mcm]")).to_be_checked()
    form.get_by_text("segments features are computed first").wait_for()
    form.locator("input[value=gmc]").check()
    form.get_by_text("segments features are computed first").wait_for(state="hidden")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_part_reads_well_and_names_its_controls(opened, dark):
    page = opened("objects", ".object .near img", dark=dark)
    for number, piece in enumerate(PARTS, 1):
        page.keyboard.press(str(number))
        page.locator(f".objectspage[data-part='{piece}']").wait_for()
        assert page.evaluate(f"{CHECKS}.contrast()") == [], piece
        assert page.evaluate(f"{CHECKS}.unnamed()") == [], piece
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), piece
