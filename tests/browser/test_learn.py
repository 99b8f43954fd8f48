"""Learn in a real browser: name some images, see suggestions, accept, learn again, export."""

import shutil
from collections import Counter

import pytest

from engine.jobs import run_now
from engine.workspace import Workspace
from engine.workspace.vocabularies import NewTerm
from sample_data import campaign_path, read_truth
from tests.browser.conftest import start_server

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


def test_suggestions_are_seen_accepted_and_learnt_from_again(labelled, tab, screenshot):
    server, folder = labelled
    page = tab("learn", server)
    page.set_default_timeout(60_000)
    page.context.add_cookies([{"name": "bentho-person", "value": "Ann", "url": server.base}])
    page.reload()
    page.locator(".tile img").first.wait_for()
    screenshot(page, "learn")
    assert count(page) == FIRST
    batch = page.locator(".tile").count()
    page.locator(".tile").first.click()
    page.keyboard.press("Enter")
    page.locator(".tiles[data-batch=sure-1]").wait_for()
    page.locator("[data-told=labelled]").filter(has_text=str(FIRST + batch - 1)).wait_for()
    page.keyboard.press("2")
    page.locator(".tiles[data-batch=varied-0]").wait_for()
    page.keyboard.press("r")
    page.locator("h1").filter(has_text="Learn").first.wait_for()
    with Workspace.open(folder) as workspace:
        kinds = [event.kind for event in workspace.labels.events()]
        assert kinds.count("refuse") == 1 and kinds[-2:] == ["label", "refuse"]
        assert len(workspace.labels.current()[0]) == FIRST + batch - 1
