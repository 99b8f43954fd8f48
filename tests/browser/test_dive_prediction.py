"""The predicted column of a dive, in a real browser."""

import csv

import pytest

from benthoscope.engine.jobs import run_now
from tests.browser.conftest import LAPTOP, LARGE, copied, start_server


@pytest.fixture(scope="module")
def predicted(prepared, tmp_path_factory):
    """A server whose workspace has a predicted column; the tests change nothing there."""
    running = start_server(copied(prepared(predict_altitude), tmp_path_factory.mktemp("predicted")))
    yield running
    running.stop()


def predict_altitude(workspace):
    job = run_now(workspace, "predict column", {"column": "altitude", "features": "colour", "active": 60})
    assert job.state == "done", job.error


@pytest.mark.parametrize(("size", "dark"), [(LAPTOP, False), (LARGE, True)], ids=["laptop-light", "large-dark"])
def test_a_dive_shows_its_predicted_column_and_how_good_it_is(predicted, tab, screenshot, size, dark, tmp_path):
    page = tab("dive?dive=2", predicted, size=size, dark=dark)
    page.locator(".predicted .stage").scroll_into_view_if_needed()
    page.locator(".predicted .stage[data-drawn]").wait_for()
    sentence = page.locator(".predicted .quality").inner_text()
    assert sentence.startswith("Tested on 10 blocks of this dive that the model did not see")
    assert "the mean of the dive" in sentence
    page.get_by_label("Colour of the map").select_option("mean")
    page.locator(".predicted .ramp").wait_for()
    page.wait_for_url("**map=mean**")
    page.locator(".predicted").scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    screenshot(page, f"dive-predicted-{size['width']}-{'dark' if dark else 'light'}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    download.value.save_as(tmp_path / "column.csv")
    rows = list(csv.DictReader((tmp_path / "column.csv").open(encoding="utf-8")))
    label = page.locator(".predicted .stage").get_attribute("aria-label")
    assert f"predicted for {len(rows)} images" in label
    assert all(float(row["low_90"]) < float(row["predicted"]) < float(row["high_90"]) for row in rows)


def test_the_plot_of_a_prediction_selects_images(predicted, tab):
    page = tab("dive?dive=2", predicted)
    stage = page.locator(".predicted .stage")
    stage.scroll_into_view_if_needed()
    page.locator(".predicted .stage[data-drawn]").wait_for()
    box = stage.bounding_box()
    page.mouse.move(box["x"] + 0.15 * box["width"], box["y"] + 0.12 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.7 * box["height"], steps=4)
    page.mouse.up()
    page.locator(".chosen", has_text="images selected").first.wait_for()
    page.locator(".gallery .tile[aria-selected=true]").first.wait_for()


def test_a_column_is_predicted_from_the_page(own_server, tab):
    page = tab("dive?dive=1", own_server)
    page.get_by_text("No column is predicted for this dive yet").wait_for()
    page.get_by_role("button", name="Predict a column…").click()
    dialog = page.get_by_role("dialog", name="Predict a column")
    dialog.get_by_label("Column", exact=True).select_option("altitude")
    dialog.get_by_label("Images", exact=True).select_option("one")
    dialog.get_by_role("button", name="Predict", exact=True).click()
    page.locator(".predicted .stage").scroll_into_view_if_needed()
    page.locator(".predicted .stage[data-drawn]").wait_for(timeout=60_000)
    page.get_by_label("Predicted column").filter(has_text="Altitude").wait_for()
