"""The first hour with photographs of fish whose true species are known: typical images, pages to sort, and the measured
accuracy compared with the truth."""

import csv
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import expect

from benthoscope.engine.features.networks.efficientnet import installed
from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.workspace import Workspace
from tests.browser.conftest import start_server
from tests.browser.test_first_use import create, enter_name
from tests.browser.test_learn import middle

FISH = Path(__file__).parents[2].parent / "shared" / "data" / "fish4knowledge"
KINDS, EACH = 4, 60
PAGES = 6  # to sort at most; each has ten random images


@pytest.fixture
def reef(tmp_path):
    """A server on a new workspace of 240 photographs without labels, and {image: species}."""
    if not (FISH / "labels.csv").exists():
        pytest.skip("the photographs of fish are not here")
    if not installed():
        pytest.skip("the weight package is not installed")
    species = copied_photographs(tmp_path / "fish")
    with Workspace.create(tmp_path / "fish.benthos", name="Fish") as workspace:
        for kind, parameters in (
            ("import", {"folder": str(tmp_path / "fish"), "collection": "Fish"}),
            ("features", {"kinds": ["deep"]}),
            ("cluster", {"features": "deep"}),
        ):
            job = run_now(workspace, kind, parameters)
            assert job.state == "done", job.error
        ids = workspace.library.columns("id")["id"]
        truth = {image.id: species[Path(image.path).name] for image in workspace.library.images(ids)}
    server = start_server(tmp_path / "fish.benthos")
    yield server, tmp_path / "fish.benthos", truth
    server.stop()


def copied_photographs(folder):
    """Copy photographs of the most frequent species; return {file name: species}."""
    with (FISH / "labels.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    common = [word for word, _ in Counter(row["label"] for row in rows).most_common(KINDS)]
    chosen = [row for word in common for row in [row for row in rows if row["label"] == word][::3][:EACH]]
    folder.mkdir()
    for row in chosen:
        shutil.copy(FISH / "images" / row["file"], folder)
    return {row["file"]: row["label"].replace("_", " ") for row in chosen}


def correct(page, truth, keys):
    """Give each tile with a wrong name, or without one, its species by its key. Return how many there were."""
    shown = {
        int(tile.get_attribute("data-id")): " ".join(tile.locator(".labelname").all_inner_texts()).strip()
        for tile in page.locator(".tiles.small .tile").all()
    }
    wrong = [image for image, name in shown.items() if name != truth[image]]
    for image in wrong:
        tile = page.locator(f".tile[data-id='{image}']")
        tile.scroll_into_view_if_needed()
        page.mouse.move(*middle(tile))
        page.keyboard.press(keys[truth[image]])
        page.locator(f".tile.done[data-id='{image}']").wait_for()
    return len(wrong)


def right_share(folder, truth):
    """Return which share of all images has the right label, or the right suggestion where there is no label."""
    with Workspace.open(folder) as workspace:
        suggestions = SuggestionStore(folder).get()
        terms = {term.id: term.name for term in workspace.vocabularies.all_terms()}
        final = dict(zip(suggestions.image_ids.tolist(), suggestions.best()[0].tolist(), strict=True))
        images, labels = workspace.labels.current_terms()
        final |= dict(zip(images.tolist(), labels.tolist(), strict=True))
    return sum(terms[final[image]] == species for image, species in truth.items()) / len(truth)


def test_a_new_campaign_is_labelled_within_the_first_hour(reef, tab, screenshot):
    server, folder, truth = reef
    page = tab("", server)
    page.locator("ol a[href='/learn']").click()
    page.locator(".tiles.small[data-batch=typical-0] .tile").first.wait_for()
    keys = {}
    for number, word in enumerate(sorted(set(truth.values())), 1):
        page.keyboard.press("l")
        create(page, word)
        page.locator(".chosen .chip.on").filter(has_text=word).wait_for()
        page.keyboard.press(str(number))
        if number == 1:
            enter_name(page)
        page.locator(".favourites .chip").filter(has_text=word).wait_for()
        keys[word] = str(number)
    assert correct(page, truth, keys) == page.locator(".tiles.small .tile").count()
    screenshot(page, "first-hour-typical")
    page.keyboard.press("Enter")
    for number in range(PAGES):
        page.locator(f".tiles.small[data-batch=sort-{number}] .tile .labelname").first.wait_for()
        expect(page.locator("[data-told=age]")).not_to_contain_text("updating")  # the page stays the same from now on
        assert correct(page, truth, keys) < page.locator(".tiles.small .tile").count() / 2
        if number == 1:
            screenshot(page, "first-hour-sort")
        page.keyboard.press("Enter")
        page.get_by_text("Accepted").first.wait_for()
        if not page.get_by_text("not measurable yet").count():
            break
    expect(page.locator(".pace")).to_contain_text("at least")
    screenshot(page, "first-hour-measured")
    low = float(re.search(r"at least ([\d.]+) %", page.locator(".pace").inner_text()).group(1))
    assert low / 100 <= right_share(folder, truth)
