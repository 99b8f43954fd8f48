"""The predicted column on the page of a dive."""

from dataclasses import replace

import numpy as np
import pytest

from benthoscope import plots
from benthoscope.app.data.figures import FigureChoice, figure
from benthoscope.app.data.jobs import next_step
from benthoscope.app.pages.dive.page import COMMANDS, DivePage
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.workspace.predictions import PredictionStore
from tests.sample_workspace import IMAGES_PER_DIVE
from tests.unit.pages.golden_content import copy_of

ENDS = ("Low end of the band", "High end of the band")


@pytest.fixture
def page(sample_workspace, tmp_path):
    with copy_of(sample_workspace, tmp_path / "copy") as workspace:
        state = AppState(workspace)
        yield DivePage(Session(state))
        state.close()


def predict(page, **parameters):
    """Run the job and return the number of the prediction."""
    job = run_now(page.dive.app.workspace, "predict column", {"active": 20, "blocks": 2, **parameters})
    assert job.state == "done", job.error
    assert next_step(page.dive.app, job)["href"] == f"/dive?prediction={job.result['id']}"
    page.dive.session.changed()
    return job.result["id"]


def shown(page):
    return page.plots.prediction["shown"]


def drawn(page, number):
    """The values of the plot: predicted, the ends of the band, and measured."""
    table = plots.data_table(figure(page.dive.app, "prediction", FigureChoice(**shown(page)["query"])))
    assert shown(page)["query"]["prediction"] == number
    return table[[f"{name} (m)" for name in ("Predicted depth", *ENDS, "Measured depth")]].to_numpy().T


def test_without_a_prediction_the_page_offers_one(page):
    assert page.plots.prediction["chosen"] is None and page.plots.prediction["choices"] == []
    COMMANDS.run({"act": "predict"}, page)
    fields = {field["name"]: field for field in page.form.shown["fields"]}
    assert ("depth", "Depth: 48 images have a value") in [tuple(choice) for choice in fields["column"]["choices"]]
    assert page.form.start({**page.form.shown["values"], "column": "depth"})
    [job] = [job for job in page.dive.app.queue.all() if job.kind == "predict column"]
    assert job.parameters["column"] == "depth" and "dive" not in job.parameters
    assert not page.form.start({**page.form.shown.get("values", {}), "column": "depth"})  # it is closed


def test_the_plot_has_the_values_of_the_dive_in_the_order_taken(page):
    number = predict(page, column="depth")
    assert page.plots.prediction["chosen"] == number and page.plots.prediction["choices"] == [[number, "Depth"]]
    mean, low, high, measured = drawn(page, number)
    track = page.dive.atlas.track(page.dive.index)
    np.testing.assert_allclose(measured, page.dive.app.columns.depth[track], rtol=1e-6)
    stored = PredictionStore(page.dive.app.workspace.folder).get(number)
    at = np.searchsorted(stored.image_ids, page.dive.app.columns.ids[track])
    np.testing.assert_allclose(mean, stored.mean[at], rtol=1e-6)
    assert (low < high).all()
    assert shown(page)["sentence"].startswith("Tested on 2 blocks of this dive that the model did not see (8 ")
    assert shown(page)["images"] == IMAGES_PER_DIVE


def test_the_map_is_coloured_by_the_prediction_of_this_dive(page):
    number = predict(page, column="depth")
    by_cluster = page.map.code_url
    assert page.plots.prediction["legend"] == {}
    COMMANDS.run({"act": "map_by", "by": "mean"}, page)
    assert page.map.code_url != by_cluster and page.gallery.code_url == by_cluster
    codes = np.frombuffer(page.dive.app.arrays.get(page.map.code_url.rpartition("/")[2]), "<u2")
    track = page.dive.atlas.track(page.dive.index)
    assert (codes[track] < 200).all() and (np.delete(codes, track) == 65535).all()
    mean = drawn(page, number)[0]
    assert codes[track][mean.argmin()] == codes[track].min()
    assert page.plots.prediction["legend"]["ends"][0].endswith(" m")
    COMMANDS.run({"act": "map_by", "by": "cluster"}, page)
    assert page.map.code_url == by_cluster


def test_a_prediction_without_values_for_the_dive_is_not_offered(page):
    number = predict(page, column="depth")
    store = PredictionStore(page.dive.app.workspace.folder)
    stored = store.get(number)
    other = ~np.isin(stored.image_ids, page.dive.app.columns.ids[page.dive.atlas.track(page.dive.index)])
    arrays = {name: np.array(value)[other] for name, value in vars(stored).items() if isinstance(value, np.ndarray)}
    store.put(replace(stored, **arrays, facts={**stored.facts, "dive": "another dive"}))
    page.dive.session.changed()
    assert len(store.all()) == 2 and [each[0] for each in page.plots.prediction["choices"]] == [number]


def test_a_change_of_labels_is_mentioned_for_cover_only(page):
    workspace = page.dive.app.workspace
    depth, cover = predict(page, column="depth"), predict(page, column="cover:sand")
    assert page.plots.prediction["chosen"] == cover  # the newest
    COMMANDS.run({"act": "prediction", "id": depth}, page)
    assert shown(page)["title"] == "Depth"
    COMMANDS.run({"act": "prediction", "id": cover}, page)
    assert shown(page)["title"] == "Cover of sand" and shown(page)["note"] == ""
    term = next(term for term in workspace.vocabularies.all_terms() if term.name == "sand")
    workspace.labels.label(workspace.people.named("Ann").id, workspace.library.columns("id")["id"][-1:], term.id)
    page.dive.session.changed()
    assert "predict again" in shown(page)["note"]
    page.dive.prediction = depth
    assert shown(page)["note"] == ""
