"""Learn in a real browser: name some images, see suggestions, accept, learn again, export."""

import csv
import shutil
from collections import Counter

import pytest

from engine.jobs import run_now
from engine.workspace import Workspace
from engine.workspace.vocabularies import NewTerm
from sample_data import campaign_path, read_truth
from tests.browser.conftest import start_server
from tests.browser.test_review import choose, mode

FIRST = 20


@pytest.fixture
def labelled(clustered, tmp_path):
    """A server on a copy of the clustered workspace in which Ann has named twenty images of three habitats."""
    if not campaign_path().is_dir():
        pytest.skip("the sample campaign is not in this checkout")
    shutil.copytree(clustered.parent, tmp_path / "copy")
    folder = tmp_path / "copy" / clustered.name
    with Workspace.open(folder) as workspace:
        _named(workspace, read_truth(campaign_path()).labels)
    started = start_server(folder)
    yield started, folder
    started.stop()


def _named(workspace, truth):
    ids = workspace.library.columns("id")["id"]
    habitat = {image.id: truth.get(image.path) for image in workspace.library.images(ids)}
    common = [word for word, _ in Counter(filter(None, habitat.values())).most_common(3)]
    words = workspace.vocabularies.add("own", [NewTerm((word,)) for word in common])
    terms = {term.name: term.id for term in workspace.vocabularies.terms(words.id)}
    ann = workspace.people.named("Ann").id
    for image in [image for image, word in habitat.items() if word in common][: 3 * FIRST : 3]:
        workspace.labels.label(ann, [image], terms[habitat[image]])
    assert run_now(workspace, "learn").state == "done"


def count(page):
    return int(page.locator("[data-told=labelled]").inner_text().replace(",", ""))


def open_page(tab, server, slug):
    page = tab(slug, server)
    page.set_default_timeout(60_000)
    page.context.add_cookies([{"name": "bentho-person", "value": "Ann", "url": server.base}])
    page.reload()
    return page


def batch_of(page, name):
    page.locator(f".tiles[data-batch={name}]").wait_for()


def labels(folder):
    with Workspace.open(folder) as workspace:
        return len(workspace.labels.current()[0])


def test_suggestions_are_seen_accepted_and_learnt_from_again(labelled, tab, screenshot):
    server, folder = labelled
    page = open_page(tab, server, "learn")
    page.locator(".tile img").first.wait_for()
    screenshot(page, "learn")
    assert count(page) == FIRST
    batch = page.locator(".tile").count()
    page.locator(".tile").first.click(modifiers=["Shift"])
    page.locator(".tile.marked").wait_for()
    page.keyboard.press("Enter")
    batch_of(page, "sure-1")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + batch - 1)).wait_for()
    page.get_by_role("button", name="varied").click()
    batch_of(page, "varied-0")
    page.keyboard.press("r")
    page.locator("h1").filter(has_text="Learn").first.wait_for()
    with Workspace.open(folder) as workspace:
        kinds = [event.kind for event in workspace.labels.events()]
        assert kinds.count("refuse") == 1 and kinds[-2:] == ["label", "refuse"]
        assert len(workspace.labels.current()[0]) == FIRST + batch - 1


def test_a_click_takes_the_next_likely_term_and_a_drag_marks_several(labelled, tab, screenshot):
    server, folder = labelled
    page = open_page(tab, server, "learn")
    page.locator(".tile img").first.wait_for()
    page.keyboard.press("q")
    batch_of(page, "sort-0")
    tiles = page.locator(".tile")
    before = tiles.nth(0).locator(".label").inner_text()
    tiles.nth(0).click()
    page.locator(".tile.other").wait_for()
    assert tiles.nth(0).locator(".label").inner_text() != before
    start, end = tiles.nth(2).bounding_box(), tiles.nth(3).bounding_box()
    page.mouse.move(start["x"] + 20, start["y"] + 20)
    page.mouse.down()
    page.mouse.move(end["x"] + 20, end["y"] + 20, steps=8)
    page.mouse.up()
    page.locator(".tile.marked").nth(1).wait_for()
    assert page.locator(".tile.marked").count() == 2
    screenshot(page, "learn-sort")
    shown = tiles.count()
    page.keyboard.press("Enter")
    batch_of(page, "sort-1")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + shown - 2)).wait_for()
    assert labels(folder) == FIRST + shown - 2


def put_on_keys(page, *words):
    """Each term on a digit, from 1."""
    for key, word in enumerate(words, 1):
        choose(page, word)
        page.keyboard.press(str(key))
        page.locator(".favourites .chip").filter(has_text=word).wait_for()


def middle(tile):
    box = tile.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_key_names_what_is_pointed_at_and_held_all_it_sweeps_over(labelled, tab, screenshot):
    server, folder = labelled
    page = open_page(tab, server, "learn")
    page.locator(".tile img").first.wait_for()
    page.mouse.move(5, 5)
    words = page.locator(".tile .label").first.inner_text().rsplit(" ", 2)[0]
    put_on_keys(page, words)
    page.keyboard.press("q")
    batch_of(page, "sort-0")
    tiles = page.locator(".tiles.small .tile")
    tiles.nth(40).wait_for()
    page.mouse.move(*middle(tiles.nth(2)))
    page.locator(".large img").wait_for()
    page.keyboard.press("1")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + 1)).wait_for()
    assert tiles.nth(2).locator(".label").inner_text() == words
    # Held, over the middles of two tiles, and between them along the edge of the tile that lies there.
    x, y = middle(tiles.nth(4))
    end, _ = middle(tiles.nth(6))
    edge = tiles.nth(5).bounding_box()["y"] + 4
    page.mouse.move(x, y)
    page.keyboard.down("1")
    page.mouse.move(x, edge, steps=4)
    page.mouse.move(end, edge, steps=8)
    page.mouse.move(end, y, steps=4)
    assert page.locator(".tile.passed").count() == 2
    screenshot(page, "learn-sweep")
    page.keyboard.up("1")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + 3)).wait_for()
    assert page.locator(".tile.done").count() == 3 and "done" not in tiles.nth(5).get_attribute("class")
    # The arrow keys point, too; Escape takes a sweep back.
    page.mouse.move(5, 5)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.down("1")
    page.keyboard.press("ArrowRight")
    assert page.locator(".tile.passed").count() == 2
    page.keyboard.press("Escape")
    page.keyboard.up("1")
    assert page.locator(".tile.passed").count() == 0
    shown = tiles.count()
    page.keyboard.press("Enter")
    batch_of(page, "sort-1")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + shown)).wait_for()
    assert labels(folder) == FIRST + shown
    with Workspace.open(folder) as workspace:
        assert [len(event.images) for event in workspace.labels.events() if event.why == "manual"][-2:] == [1, 2]


def test_the_loop_from_twenty_labels_to_an_export(named, tab, screenshot):
    """Twenty images named one by one, suggestions learnt, seen and accepted, learnt again, and the labels fetched."""
    server, folder = named
    page = open_page(tab, server, "review")
    page.locator(".tile img").first.wait_for()
    put_on_keys(page, "sand", "reef")
    page.keyboard.press("o")
    page.locator(".single:not([hidden]) img.one[src]").wait_for()
    for place in range(FIRST):
        page.keyboard.press("12"[place % 2])
    page.locator(f".single[data-said='{FIRST}']").wait_for()
    page.keyboard.press("Escape")
    mode(page, "cluster")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST)).wait_for()
    page.close()
    page = open_page(tab, server, "learn")
    page.get_by_text("Nothing was learnt yet").wait_for()
    page.keyboard.press("r")
    page.locator(".tile .label").first.wait_for()
    shown = page.locator(".tile").count()
    page.keyboard.press("Enter")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + shown)).wait_for()
    page.keyboard.press("r")
    page.locator("h1").filter(has_text="Learn").first.wait_for()
    page.get_by_role("link", name="Export labels").click()
    page.locator(".part[data-part=files]").wait_for()
    page.keyboard.press("x")
    dialog = page.get_by_role("dialog", name="Export labels")
    dialog.get_by_text(f"{FIRST + shown} labels of").wait_for()
    screenshot(page, "export")
    dialog.get_by_role("button", name="Export", exact=True).click()
    page.locator("[data-export]").wait_for()
    with page.expect_download() as fetched:
        page.get_by_role("link", name="Download").click()
    rows = list(csv.DictReader(fetched.value.path().open(encoding="utf-8-sig")))
    assert sum(bool(row["label"]) for row in rows) == FIRST + shown == labels(folder)
