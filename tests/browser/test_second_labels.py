"""Second labels in a real browser: given without seeing the first, compared in Agreement, decided in Training."""

import numpy as np
import pytest

from benthoscope.engine.labelling.agreement import conflicts
from benthoscope.engine.labelling.people.disagreements import comparison
from benthoscope.engine.labelling.people.double_labels import answer, ask_for, next_page
from benthoscope.engine.workspace import Workspace
from tests.browser.conftest import LARGE, WORDS, add_terms, copied, start_server

LABELLED = 60  # by Ann, one by one
SECOND = 40  # by Ben


def two_people(workspace: Workspace) -> None:
    """Ann has labelled images by their cluster. Ben has given second labels, and calls every kelp sand."""
    add_terms(workspace)
    terms = {term.name: term.id for term in workspace.vocabularies.all_terms() if term.name in WORDS}
    run = workspace.runs.current()
    by_image = dict(zip(run.array("image_ids").tolist(), run.array("labels").tolist(), strict=True))
    order = [terms[word] for word in WORDS]
    ann, ben = workspace.people.named("Ann").id, workspace.people.named("Ben").id
    for image in np.random.default_rng(0).permutation(sorted(by_image))[:LABELLED].tolist():
        workspace.labels.label(ann, [image], order[by_image[image] % len(order)])
    ask_for(workspace, ben, SECOND)
    confused = {terms["kelp"]: terms["sand"]}
    images, given = workspace.labels.current_terms()
    term_of = dict(zip(images.tolist(), given.tolist(), strict=True))
    drawn = [draw.image_id for draw in next_page(workspace, ben, SECOND)]
    answer(workspace, ben, {image: confused.get(term_of[image], term_of[image]) for image in drawn})
    examples = [image for image in images.tolist() if term_of[image] == terms["kelp"]][:3]
    workspace.vocabularies.change(terms["kelp"], notes="Brown, with long blades", examples=examples)


@pytest.fixture
def people(prepared, tmp_path, contexts):
    folder = copied(prepared(two_people), tmp_path)
    server = start_server(folder)
    yield server, folder
    while contexts:
        contexts.pop().close()
    server.stop()


def sweep_all(page, key):
    """Give the label of a key to every open tile of the page."""
    page.locator(".tile:not(.done)").first.hover()
    page.keyboard.down(key)
    for tile in page.locator(".tile:not(.done)").all():
        tile.hover()
    page.keyboard.up(key)
    page.get_by_role("button", name="Next page", exact=False).and_(page.locator(".main")).wait_for()


def test_second_labels_lead_to_agreement_and_training(tab, people, screenshot):
    server, folder = people
    page = tab("labels?part=training", server, person="Cara")
    page.get_by_role("heading", name="No other person has labelled your images yet").wait_for()
    page.get_by_role("link", name="Give second labels").click()
    page.get_by_role("button", name="Label 25 images").click()
    page.locator(".tile").first.wait_for()
    assert page.locator(".tile").count() == 24 and page.locator(".tile .label").count() == 0
    screenshot(page, "second-labels")
    page.keyboard.press("l")
    page.get_by_role("combobox", name="Label").fill("sand")
    page.locator(".hits li").first.wait_for()
    page.keyboard.press("Enter")
    page.locator(".chosen .chip.on").wait_for()
    sweep_all(page, "e")
    page.keyboard.press("Enter")
    page.locator(".tile").nth(1).wait_for(state="detached")
    sweep_all(page, "e")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="All 25 images are answered").wait_for()
    with Workspace.open(folder) as workspace:
        cara = workspace.people.named("Cara").id
        expected = comparison(workspace.labels.effective()[0], cara)
        assert len(workspace.labels.current()[0]) == LABELLED and expected.shared == 25 and len(expected.listed) > 3
    page.get_by_role("link", name="Show where you differ").click()
    page.locator(".difference").first.wait_for()
    assert page.locator(".difference").count() == len(expected.listed)
    assert "of 2 other people" in page.locator(".difference").first.inner_text()
    screenshot(page, "training")
    page.set_viewport_size(LARGE)
    screenshot(page, "training-large")
    first = page.locator(".difference.on").get_attribute("data-image")
    page.keyboard.press("a")
    page.locator(f".difference[data-image='{first}']").wait_for(state="detached")
    page.keyboard.press("ArrowRight")
    confirmed = page.locator(".difference.on").get_attribute("data-image")
    page.keyboard.press("k")
    page.locator(f".difference[data-image='{confirmed}']").wait_for(state="detached")
    page.keyboard.press("Control+z")
    page.locator(f".difference[data-image='{confirmed}']").wait_for()
    with Workspace.open(folder) as workspace:
        result = comparison(workspace.labels.effective()[0], cara)
        assert (result.same, result.confirmed, len(result.listed)) == (expected.same + 1, 0, len(expected.listed) - 1)
    page.locator("[data-key=people]").click()
    page.get_by_role("heading", name="40 random images with second labels, given without seeing the first").wait_for()
    screenshot(page, "agreement")
    page.set_viewport_size(LARGE)
    screenshot(page, "agreement-large")


def test_a_conflict_is_resolved_and_an_answer_is_undone(tab, people):
    server, folder = people
    page = tab("labels?part=people", server, person="Ann")
    page.locator(".conflict").first.wait_for()
    with Workspace.open(folder) as workspace:
        before = len(conflicts(workspace.labels.effective()[0]))
    assert page.locator(".conflict").count() == before > 0
    image = page.locator(".conflict").first.get_attribute("data-image")
    page.locator(".conflict .chip").first.click()
    page.locator(f".conflict[data-image='{image}']").wait_for(state="detached")
    page.keyboard.press("Control+z")
    page.locator(f".conflict[data-image='{image}']").wait_for()
