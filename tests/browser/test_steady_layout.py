"""Toolbars, hover cards, figures and the page of an import stay in their position and are completely visible."""

import pytest

from benthoscope.engine.jobs import JobQueue
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.sample_data import make_albums
from tests.browser.conftest import LAPTOP, start_server
from tests.browser.test_crowd_studio import asked  # noqa: F401
from tests.browser.test_review import choose

LONG = "Sponges of a massive form with several openings"


def top(page, selector):
    return page.locator(selector).first.bounding_box()["y"]


def test_choosing_a_label_and_clicking_images_moves_nothing_in_review(named, tab):
    server, folder = named
    with Workspace.open(folder) as workspace:
        workspace.vocabularies.add("own", [NewTerm((LONG,))])
    page = tab("review", server, person="Ann")
    page.locator(".tile img").first.wait_for()

    def positions():
        return {selector: top(page, selector) for selector in (".tiles", ".head .verbs", ".more", ".finder .find")}

    before = positions()
    choose(page, LONG[:12])
    assert positions() == before
    page.locator(".tile").nth(1).click()
    page.locator(".tile.marked").wait_for()
    assert positions() == before
    across = page.locator(".more").bounding_box()["x"]
    page.keyboard.press("Escape")
    assert page.locator(".more").bounding_box()["x"] == across


@pytest.mark.parametrize("place", [".pane.embedding .plane .stage", ".strip .stage"], ids=["embedding", "strip"])
def test_a_hover_card_lies_within_the_window_wherever_the_pointer_is(tab, place):
    page = tab("explore", size={"width": 1280, "height": 620})
    page.locator(".pane.embedding .plane[data-drawn]").wait_for()
    page.wait_for_timeout(800)
    stage = page.locator(place).bounding_box()
    boxes = []
    for across in range(1, 40):
        for down in (0.06, 0.5, 0.94):
            page.mouse.move(stage["x"] + stage["width"] * across / 40, stage["y"] + stage["height"] * down)
            box = page.evaluate("""() => {
              const all = (root) => [...root.querySelectorAll("*")].flatMap((node) => [
                node, ...(node.shadowRoot ? all(node.shadowRoot) : [])])
              const card = all(document).find((node) => node.matches(".tip:popover-open"))
              return card ? card.getBoundingClientRect().toJSON() : null
            }""")
            if box:
                boxes.append(box)
    assert boxes, "no image lay under the pointer"
    for box in boxes:
        assert box["left"] >= 0 and box["top"] >= 0 and box["right"] <= 1280 and box["bottom"] <= 620, box


def test_all_eight_figures_of_a_crowd_campaign_are_in_the_window(asked, tab):  # noqa: F811
    page = tab("crowd", asked[0], person="Ann")
    figures = page.locator("[aria-label='Progress'] .stats > div")
    figures.first.wait_for()
    for size in ({"width": 1280, "height": 720}, LAPTOP):
        page.set_viewport_size(size)
        page.wait_for_timeout(250)
        boxes = [figure.bounding_box() for figure in figures.all()]
        assert len(boxes) == 8 and max(box["x"] + box["width"] for box in boxes) <= size["width"]


def test_the_library_says_that_an_import_is_under_way(tmp_path, tab, contexts, screenshot):
    with Workspace.create(tmp_path / "new.benthos") as workspace:
        JobQueue(workspace).add("import", {"folder": str(tmp_path)}, title="Import the survey")
    server = start_server(tmp_path / "new.benthos", "--no-jobs")
    page = tab("library", server)
    page.get_by_role("heading", name="Images are being imported").wait_for()
    page.get_by_label("Imports", exact=True).get_by_text("Import the survey").wait_for()
    screenshot(page, "library-importing")
    assert page.get_by_text("No images yet").count() == 0
    while contexts:
        contexts.pop().close()
    server.stop()


def test_explore_without_positions_folds_the_map_away(tmp_path, tab, contexts, screenshot):
    from PIL import Image

    from benthoscope.engine.jobs import run_now

    make_albums(tmp_path / "images", albums=2, images=8, size=(96, 72), seed=0)
    for path in (tmp_path / "images").rglob("*.jpg"):  # saved again without its metadata, and so without a position
        with Image.open(path) as image:
            plain = image.convert("RGB")
        plain.save(path)
    for path in (tmp_path / "images").rglob("*.csv"):
        path.unlink()
    with Workspace.create(tmp_path / "new.benthos") as workspace:
        for kind, parameters in (
            ("import", {"folder": str(tmp_path / "images"), "collection": "Holidays"}),
            ("features", {"kinds": ["colour"]}),
            ("cluster", {"features": "colour"}),
        ):
            job = run_now(workspace, kind, parameters)
            assert job.state == "done", job.error
    server = start_server(tmp_path / "new.benthos")
    page = tab("explore", server)
    page.get_by_role("heading", name="Sequence", exact=True).wait_for()
    page.wait_for_load_state("networkidle")
    screenshot(page, "explore-no-positions")
    assert page.locator(".pane.map").bounding_box()["height"] < 60
    assert page.locator(".pane.embedding").bounding_box()["height"] > 550
    page.get_by_role("button", name="Unfold sequence").click()
    page.get_by_role("button", name="Fold sequence").wait_for()
    assert 100 < page.locator(".pane.map").bounding_box()["height"] < 200
    page.reload()
    page.get_by_role("button", name="Fold sequence").wait_for()
    assert page.get_by_text("no positions").count() == 0 or not page.get_by_text("no positions").first.is_visible()
    page.goto(f"{server.base}/library")
    page.locator(".overview.wide").wait_for()
    screenshot(page, "library-no-positions")
    while contexts:
        contexts.pop().close()
    server.stop()
