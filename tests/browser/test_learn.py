"""Learn in a real browser: name some images, see suggestions, accept, learn again, export."""

import contextlib
import csv
from collections import Counter

import pytest
from playwright.sync_api import expect

from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.accuracy.label_errors import suspicious_labels
from benthoscope.engine.labelling.stopping.versions import VersionStore
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.sampling import Parent
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.sample_data import campaign_path, read_truth
from tests.browser.conftest import copied, start_server
from tests.browser.test_review import choose, mode

FIRST = 20


@pytest.fixture
def labelled(prepared, tmp_path):
    """A server on a copy of the clustered workspace in which Ann has named twenty images of three habitats."""
    if not campaign_path().is_dir():
        pytest.skip("the sample campaign is not in this checkout")
    folder = copied(prepared(label_habitats), tmp_path)
    started = start_server(folder)
    yield started, folder
    started.stop()


def label_habitats(workspace):
    truth = read_truth(campaign_path()).labels
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
    return tab(slug, server, person="Ann")


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
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Diverse").click()
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
    expect(page.locator(".tile.marked")).to_have_count(2)
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
    words = page.locator(".tile .label").first.inner_text().strip()  # without a per cent: nothing is measured yet
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
    expect(page.locator(".tile.passed")).to_have_count(2)
    screenshot(page, "learn-sweep")
    page.keyboard.up("1")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + 3)).wait_for()
    expect(page.locator(".tile.done")).to_have_count(3)
    assert "done" not in tiles.nth(5).get_attribute("class")
    # The arrow keys point, too; Escape takes a sweep back.
    page.mouse.move(5, 5)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.down("1")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".tile.passed")).to_have_count(2)
    page.keyboard.press("Escape")
    page.keyboard.up("1")
    expect(page.locator(".tile.passed")).to_have_count(0)
    shown = tiles.count()
    page.keyboard.press("Enter")
    batch_of(page, "sort-1")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + shown)).wait_for()
    assert labels(folder) == FIRST + shown
    with Workspace.open(folder) as workspace:
        assert [
            len(event.images)
            for event in workspace.labels.events()
            if event.why == "manual" and "draws" not in event.rule
        ][-2:] == [1, 2]


def test_the_loop_from_twenty_labels_to_an_export(named, tab, screenshot):
    """Twenty images named one by one, suggestions learnt, seen and accepted, learnt again, and the labels fetched."""
    server, folder = named
    page = open_page(tab, server, "review")
    page.locator(".tile img").first.wait_for()
    put_on_keys(page, "sand", "reef")
    page.keyboard.press("o")
    page.locator(".single:not([hidden]) img.one[src]").wait_for()
    for position in range(FIRST):
        page.keyboard.press("12"[position % 2])
    page.locator(f".single[data-said='{FIRST}']").wait_for()
    page.keyboard.press("Escape")
    mode(page, "cluster")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST)).wait_for()
    page.close()
    page = open_page(tab, server, "learn")
    page.get_by_text("No model yet").wait_for()
    page.keyboard.press("r")
    page.locator(".tile .label").first.wait_for()
    shown = page.locator(".tile").count()
    page.keyboard.press("Enter")
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + shown)).wait_for()
    page.keyboard.press("r")
    page.locator("h1").filter(has_text="Learn").first.wait_for()
    page.get_by_role("link", name="Export labels").click()
    page.locator(".part[data-part=export]").wait_for()
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


def test_random_images_come_before_anything_is_accepted_unseen(labelled, tab, screenshot):
    """The button is off and says what is missing; it leads to random images; after them it accepts what they prove."""
    server, folder = labelled
    page = open_page(tab, server, "learn")
    page.locator(".tile img").first.wait_for()
    need = page.locator("[data-told=need]")
    expect(need).to_contain_text("more random images first; 0 of")
    expect(page.locator("[data-key=sure]")).to_be_disabled()
    screenshot(page, "learn-before-draws")
    page.locator("[data-key=wanted]").fill("0.9")
    need.filter(has_text="at least").wait_for()
    page.locator("[data-key=draw]").click()
    batch_of(page, "check-0")
    page.locator(".tile img").first.wait_for()
    screenshot(page, "learn-random-check")
    before, pages = FIRST, 0
    while page.locator("[data-key=sure]").is_disabled() and pages < 4:
        page.locator(".tile img").first.wait_for()  # the tiles are drawn a moment after the page has its number
        tiles, first = page.locator(".tile").count(), page.locator(".tile").first.get_attribute("data-id")
        page.keyboard.press("Enter")
        pages += 1
        batch_of(page, f"check-{pages}")
        page.locator(f".tile[data-id='{first}']").wait_for(state="detached")
        before += tiles
        page.locator("[data-told=labelled]").filter(has_text=str(before)).wait_for()
    page.locator("[data-told=need]").filter(has_text="Random images prove that at least 90 %").wait_for()
    page.locator("[data-told=repeats]").filter(has_text="again without suggestions").wait_for()
    screenshot(page, "learn-after-draws")
    page.locator("[data-key=sure]:not([disabled])").click()
    page.get_by_text("at least 90 % are right").first.wait_for()
    assert labels(folder) > before
    page.get_by_role("link", name="again without suggestions").click()
    page.get_by_text("Second look:").wait_for()
    page.locator(".tile img").first.wait_for()
    screenshot(page, "learn-second-look")


def test_the_history_says_plainly_what_was_undone_on_one_line(labelled, tab, screenshot):
    server, folder = labelled
    with Workspace.open(folder) as workspace:
        workspace.labels.undo_last(workspace.people.named("Ann").id)
    page = open_page(tab, server, "labels?part=history")
    page.locator(".tabulator-row").first.wait_for()
    assert page.locator(".tabulator-row").first.locator("[tabulator-field=what]").inner_text() == f"undid entry {FIRST}"
    lines = page.locator(".tabulator-row [tabulator-field=when]").evaluate_all(
        "cells => cells.map((cell) => cell.getClientRects()[0].height)"
    )
    assert max(lines) < 40
    screenshot(page, "labels-history")


def test_a_final_check_is_started_and_its_first_page_answered_with_enter(labelled, tab, screenshot):
    page = open_page(tab, labelled[0], "learn")
    box = page.locator("[data-told=final]")
    expect(box).to_contain_text("a forecast, not checked")
    box.get_by_role("button", name="Freeze and check").click()
    expect(box).to_contain_text("Not proven yet: 0 images checked")
    expect(page.locator(".tiles .tile")).to_have_count(30)
    screenshot(page, "final-check")
    page.keyboard.press("Enter")
    expect(box).to_contain_text("30 images checked, 0 corrected")
    with Workspace.open(labelled[1]) as workspace:
        assert VersionStore(workspace.folder).numbers() == [1]
        answered = workspace.sampling.draws("stop", Parent("labels", 1))
        assert sum(not draw.is_open for draw in answered) == 30


@contextlib.contextmanager
def served_without_labels(prepared, tmp_path, remember=None):
    """A server on a copy of the clustered workspace, and the copy. Its labels are undone; if `remember` is given, they
    are stored as a memory of that name before."""
    if not campaign_path().is_dir():
        pytest.skip("the sample campaign is not in this checkout")
    folder = copied(prepared(label_habitats), tmp_path)
    with Workspace.open(folder) as workspace:
        if remember:
            assert run_now(workspace, "remember", {"name": remember, "overwrite": True}).state == "done"
        workspace.labels.revert(workspace.people.named("Ann").id, 0)
        SuggestionStore(workspace.folder).remove()
    started = start_server(folder)
    yield started, folder
    started.stop()


@pytest.fixture
def after_a_campaign(prepared, tmp_path):
    """A server on a copy of the clustered workspace without labels, and a memory of twenty labelled images."""
    with served_without_labels(prepared, tmp_path, remember="reef 2019") as served:
        yield served


def test_a_memory_suggests_labels_before_the_first_own_one_and_is_turned_off(after_a_campaign, tab, screenshot):
    page = open_page(tab, after_a_campaign[0], "learn")
    page.get_by_role("button", name='Use "reef 2019"').wait_for()
    screenshot(page, "learn-memory-offered")
    page.get_by_role("button", name='Use "reef 2019"').click()
    page.locator(".tile img").first.wait_for()
    assert count(page) == 0 and labels(after_a_campaign[1]) == 0
    box = page.locator("[data-told=memory]")
    expect(box).to_contain_text("20 labels from Sample campaign")
    box.evaluate("element => element.scrollIntoView()")  # the end of a job may replace it at any moment
    screenshot(page, "learn-memory-used")
    page.locator("[data-key=stop-memory]").click()
    page.get_by_role("button", name='Use "reef 2019"').wait_for()
    page.locator("[data-key=queue-sort]").click()
    page.get_by_role("heading", name="No model yet").wait_for()


def test_a_suspicious_label_is_confirmed_by_enter_and_corrected_by_a_click(labelled, tab, screenshot):
    server, folder = labelled
    with Workspace.open(folder) as workspace:  # two labels are swapped by mistake
        images, terms = workspace.labels.current_terms()
        swapped = [int(images[0]), int(images[terms != terms[0]][0])]
        for image, term in zip(swapped, (terms[images == swapped[1]][0], terms[0]), strict=True):
            workspace.labels.label(workspace.people.named("Ann").id, [image], int(term))
        assert run_now(workspace, "learn").state == "done"
        before = suspicious_labels(workspace)["labels"]
    assert before
    page = open_page(tab, server, "learn?queue=doubted")
    page.locator(".tile img").first.wait_for()
    tile = page.locator(f".tile[data-id='{before[0]['image']}']")
    expect(tile.locator(".label")).to_contain_text(f"{before[0]['term']}, or {before[0]['guess']}?")
    tile.click()
    page.locator(".tile.other").wait_for()
    screenshot(page, "learn-suspicious")
    page.keyboard.press("Enter")
    page.locator(".tiles[data-batch=doubted-1]").wait_for(state="attached")
    with Workspace.open(folder) as workspace:
        after = suspicious_labels(workspace)
        assert after["answered"] >= len(before) and after["wrong"] == 1


@pytest.fixture
def unlabelled(prepared, tmp_path):
    """A server on a copy of the clustered workspace without labels, but with the terms of three habitats."""
    with served_without_labels(prepared, tmp_path) as served:
        yield served


def test_the_first_hour_starts_with_typical_images_and_goes_on_with_sorting(unlabelled, tab, screenshot):
    """Home leads to Learn. Typical images are labelled by keys without a model; Enter trains one; Sort follows."""
    server, folder = unlabelled
    page = open_page(tab, server, "")
    page.locator("ol a[href='/learn']").click()
    tiles = page.locator(".tiles.small[data-batch=typical-0] .tile")
    tiles.first.wait_for()
    expect(page.locator("[data-told=next-best]")).to_contain_text("teach a first model most")
    page.mouse.move(5, 5)
    screenshot(page, "learn-first-page")
    with Workspace.open(folder) as workspace:
        truth = read_truth(campaign_path()).labels
        ids = workspace.library.columns("id")["id"]
        habitat = {image.id: truth.get(image.path) for image in workspace.library.images(ids)}
        words = sorted(term.name for term in workspace.vocabularies.all_terms())
    put_on_keys(page, *words)
    shown = [int(tile.get_attribute("data-id")) for tile in tiles.all()]
    known = [image for image in shown if habitat[image] in words][:12]
    for image in known:
        page.mouse.move(*middle(page.locator(f".tile[data-id='{image}']")))
        page.keyboard.press(str(words.index(habitat[image]) + 1))
        page.locator(f".tile.done[data-id='{image}']").wait_for()
    assert len({habitat[image] for image in known}) > 1 and labels(folder) == len(known)
    page.get_by_role("button", name=f"Train a model, {len(shown) - len(known)} left open").wait_for()
    screenshot(page, "learn-first-labels")
    page.keyboard.press("Enter")
    page.locator(".tiles.small[data-batch=sort-0] .tile .labelname").first.wait_for()
    expect(page.locator("[data-told=next-best]")).not_to_be_empty()
    screenshot(page, "learn-sort-after-first-page")
    page.get_by_role("button", name="More", exact=True).click()  # Confident takes its place once there is a model
    page.locator("[data-key=queue-typical]").click()
    page.locator(".tiles.small[data-batch=typical-0] .tile .labelname").first.wait_for()
    assert not set(known) & {int(tile.get_attribute("data-id")) for tile in tiles.all()}
