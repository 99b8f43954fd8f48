"""Review in a real browser: a campaign named by the keyboard, undone after a restart, by two people at once."""

import shutil

import pytest

from engine.labelling.vocabulary_file import add_catami
from engine.workspace import Workspace
from engine.workspace.vocabularies import NewTerm
from tests.browser.conftest import start_server

WORDS = ("sand", "kelp", "reef", "rubble")


@pytest.fixture
def named(clustered, tmp_path):
    """A server on a copy of the clustered workspace that has a vocabulary, and the workspace's folder."""
    shutil.copytree(clustered.parent, tmp_path / "copy")
    folder = tmp_path / "copy" / clustered.name
    with Workspace.open(folder) as workspace:
        workspace.vocabularies.add("own", [NewTerm((word,)) for word in WORDS])
        add_catami(workspace)
    started = start_server(folder)
    yield started, folder
    started.stop()


def review(tab, server, person="Ann"):
    page = tab("review", server)
    page.set_default_timeout(60_000)
    page.context.add_cookies([{"name": "bentho-person", "value": person, "url": server.base}])
    page.reload()
    page.locator(".tile img").first.wait_for()
    return page


def choose(page, word):
    """Types the first letters of a term."""
    page.keyboard.press("l")
    page.keyboard.type(word, delay=10)
    page.locator(".hits li").filter(has_text=word).first.wait_for()
    page.keyboard.press("Enter")
    page.locator(".chosen .chip.on").filter(has_text=word).first.wait_for()


def mode(page, wanted):
    page.locator(f".tiles[data-mode={wanted}]").wait_for()


def labelled(page):
    return int(page.locator("[data-told=labelled]").inner_text().replace(",", ""))


def terms(folder):
    """{term name: images}, as the log has it."""
    with Workspace.open(folder) as workspace:
        names = {term.id: term.name for term in workspace.vocabularies.all_terms()}
        found = [names[number] for number in workspace.labels.current_terms()[1].tolist()]
    return {name: found.count(name) for name in set(found)}


def test_a_cluster_is_named_checked_and_taken_back_without_the_mouse(named, tab, screenshot):
    server, folder = named
    page = review(tab, server)
    screenshot(page, "review")
    choose(page, "sand")
    page.keyboard.press("Enter")
    mode(page, "check")
    first = labelled(page)
    assert first > 10
    page.keyboard.press("Enter")
    page.get_by_text("at 95 %").wait_for()
    mode(page, "cluster")
    choose(page, "kelp")
    page.keyboard.press("Enter")
    mode(page, "check")
    page.keyboard.press("z")
    mode(page, "cluster")
    page.locator("[data-told=labelled]").filter(has_text=str(first)).wait_for()
    assert terms(folder) == {"sand": first}


def test_what_is_clicked_is_left_out_and_named_at_once(named, tab):
    server, folder = named
    page = review(tab, server)
    choose(page, "reef")
    tiles = page.locator(".tile")
    tiles.nth(0).click()
    tiles.nth(2).click(modifiers=["Shift"])
    assert page.locator(".tile.marked").count() == 3
    page.keyboard.press("e")
    page.locator("[data-told=labelled]").filter(has_text="3").wait_for()
    choose(page, "rubble")
    page.keyboard.press("Enter")
    mode(page, "check")
    found = terms(folder)
    assert found["reef"] == 3 and found["rubble"] > 5


def test_a_list_is_extended_with_f_and_j(named, tab, screenshot):
    server, folder = named
    page = review(tab, server)
    choose(page, "sand")
    page.keyboard.press("x")
    mode(page, "grow")
    page.locator("figure.curve").wait_for()
    screenshot(page, "review-grow")
    for key in "fjf":
        before = page.locator("figure.curve circle").count()
        page.keyboard.press(key)
        page.locator("figure.curve circle").nth(before).wait_for(state="attached")
    page.keyboard.press("Enter")
    mode(page, "check")
    assert terms(folder)["sand"] >= 50


def test_undo_reaches_back_beyond_a_restart(named, tab):
    server, folder = named
    page = review(tab, server)
    choose(page, "sand")
    page.keyboard.press("Enter")
    mode(page, "check")
    assert terms(folder)
    page.close()
    server.stop()
    again = start_server(folder)
    try:
        other = review(tab, again)
        assert labelled(other) > 0
        other.keyboard.press("z")
        other.locator("[data-told=labelled]").filter(has_text="0").wait_for()
        assert terms(folder) == {}
        other.close()
    finally:
        again.stop()


def test_two_browsers_label_at_once_and_nothing_is_lost(named, tab):
    server, folder = named
    ann, bob = review(tab, server, "Ann"), review(tab, server, "Bob")
    bob.keyboard.press("n")
    bob.locator(".row.on").nth(0).wait_for()
    for page, word in ((ann, "sand"), (bob, "kelp")):
        choose(page, word)
    ann.keyboard.press("Enter")
    bob.keyboard.press("Enter")
    mode(ann, "check")
    mode(bob, "check")
    found = terms(folder)
    assert set(found) == {"sand", "kelp"}
    total = str(sum(found.values()))
    for page in (ann, bob):
        page.locator("[data-told=labelled]").filter(has_text=total).wait_for()
