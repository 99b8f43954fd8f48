"""A mark of a plot selects the images that it counts, and Explore opens with them."""

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from fastapi.testclient import TestClient

from benthoscope.app.data.clusters.clustered_images import atlas_of
from benthoscope.app.data.figures import FIGURES, FigureChoice, figure
from benthoscope.app.data.live.state import live_state, newest_dive
from benthoscope.app.data.plot_images import MARKED, address_of_marks, images_of_marks
from benthoscope.app.data.topics import topics_of
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import RUNS
from benthoscope.app.session.session import Session
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.plots import files
from tests import segmented_reef


@pytest.fixture(scope="module")
def app(sample_workspace):
    with Workspace.open(sample_workspace) as workspace:
        state = AppState(workspace)
        yield state
        state.close()


@pytest.fixture(scope="module")
def segmented(tmp_path_factory):
    reef = segmented_reef.made(tmp_path_factory.mktemp("segmented"))
    state = AppState(reef.workspace)
    yield state, reef
    state.close()
    reef.workspace.close()


def counted(app, name, column, choice=None):
    """[(mark, number in a column)] of a plot: what its data say about each mark."""
    frames = [layer.dframe() for layer in files._layers(figure(app, name, choice or FigureChoice()))]
    rows = max((frame for frame in frames if set(MARKED[name].columns) <= set(frame)), key=len)
    numbers = rows[list(MARKED[name].columns)].astype(int).to_numpy().tolist()
    return list(zip(map(tuple, numbers), rows[column].tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("cluster-sizes", FigureChoice()),
        ("contingency", FigureChoice(run=1, against=2)),
        ("confusion", FigureChoice()),
    ],
)
def test_a_mark_selects_as_many_images_as_it_counts(app, name, choice):
    marks = counted(app, name, "images", choice)
    assert any(number for _, number in marks)
    for mark, number in marks[:12]:
        assert len(images_of_marks(app, name, choice, [mark])) == number, mark
    together = images_of_marks(app, name, choice, [mark for mark, _ in marks])
    assert len(together) == sum(number for _, number in marks), "each image once"


def test_a_cell_of_a_dive_and_a_cluster_selects_the_images_in_both(app):
    atlas = atlas_of(app, None)
    dive, cluster = atlas.groups[0].group.id, int(atlas.labels[atlas.group == 0].max())
    expected = atlas.columns.ids[(atlas.group == 0) & (atlas.labels == cluster)]
    for name in ("mixtures", "similar-mixtures", "mixture-heatmap"):
        assert (dive, cluster) in [mark for mark, _ in counted(app, name, "share")]
        np.testing.assert_array_equal(images_of_marks(app, name, FigureChoice(), [(dive, cluster)]), expected)


def test_points_are_images_and_dives_are_all_of_their_images(app):
    atlas = atlas_of(app, None)
    points = [mark for mark, _ in counted(app, "profile", "image", FigureChoice(dive=atlas.groups[1].group.id))]
    assert sorted(images_of_marks(app, "profile", FigureChoice(), points)) == sorted(
        atlas.columns.ids[atlas.track(1)].tolist()
    )
    assert len(images_of_marks(app, "profile", FigureChoice(), [(10**9,)])) == 0, "an image that was removed"
    both = images_of_marks(app, "distances", FigureChoice(), [(atlas.groups[0].group.id, atlas.groups[1].group.id)])
    assert len(both) == atlas.groups[0].images + atlas.groups[1].images


def test_a_row_of_cover_selects_the_images_with_its_label(app):
    images, terms = app.workspace.labels.current_terms()
    rows = [mark for mark, _ in counted(app, "cover", "name")]
    selected = [images_of_marks(app, "cover", FigureChoice(), [mark]) for mark in rows]
    expected = {tuple(images[terms == term]) for term in np.unique(terms)}
    assert {tuple(each) for each in selected if len(each)} <= expected and len(expected) >= 1


def test_a_cell_of_two_objects_selects_the_images_with_both(segmented):
    app, reef = segmented
    choice = FigureChoice(run=reef.run.id)
    for (first, other), number in counted(app, "cooccurrence", "both", choice):
        with_both = [(row == first).any() and (row == other).any() for row in reef.objects]
        chosen = images_of_marks(app, "cooccurrence", choice, [(first, other)])
        np.testing.assert_array_equal(chosen, reef.ids[with_both])
        assert len(chosen) == number
    dive, number = counted(app, "objects-by-dive", "share", choice)[0][0]
    in_dive = app.columns.group_ids == dive
    expected = reef.ids[in_dive & np.array([(row == number).any() for row in reef.objects])]
    np.testing.assert_array_equal(images_of_marks(app, "objects-by-dive", choice, [(dive, number)]), expected)
    cluster, number = counted(app, "objects-by-cluster", "share", choice)[0][0]
    chosen = images_of_marks(app, "objects-by-cluster", choice, [(cluster, number)])
    assert set(chosen) <= set(reef.ids[reef.scene == cluster])


def test_a_part_of_a_bar_of_topics_selects_the_images_with_this_main_topic(segmented):
    app, reef = segmented
    choice = FigureChoice(run=segmented_reef.add_topics(reef).id)
    app.changed(RUNS)
    topics = topics_of(app, choice.run)
    for mark, number in counted(app, "topics-along", "main", choice):
        assert len(images_of_marks(app, "topics-along", choice, [mark])) == number, mark
    assert len(images_of_marks(app, "topics-along", choice, [(10**6, 0)])) == 0
    marks = [mark for mark, _ in counted(app, "topic-mixtures", "share", choice)]
    for dive, topic in marks:
        expected = topics.ids[(topics.weights.argmax(1) == topic) & (app.columns.group_ids[topics.positions] == dive)]
        np.testing.assert_array_equal(images_of_marks(app, "topic-mixtures", choice, [(dive, topic)]), expected)


def test_marks_of_a_live_dive_select_its_images(app):
    state = live_state(app, newest_dive(app).id)
    has_cluster = state.clusters.code >= 0
    marks = [mark for mark, _ in counted(app, "live-mixture", "share")]
    images = [images_of_marks(app, "live-mixture", FigureChoice(), [mark]) for mark in marks]
    known = np.intersect1d(state.columns["image_id"][has_cluster], app.columns.ids)
    assert min(map(len, images)) >= 1
    np.testing.assert_array_equal(np.sort(np.concatenate(images)), known, "each image is in one part")


def test_every_plot_with_marks_is_a_plot_and_wrong_marks_are_errors(app):
    assert set(MARKED) <= set(FIGURES)
    with pytest.raises(BadInput, match="plot whose marks are images"):
        images_of_marks(app, "lower-bound", FigureChoice(), [(1,)])
    with pytest.raises(BadInput, match="need 2 numbers"):
        images_of_marks(app, "mixtures", FigureChoice(), [(1,)])
    assert len(images_of_marks(app, "mixtures", FigureChoice(), [])) == 0


def test_explore_opens_with_the_images_of_a_plot_selected(app):
    atlas = atlas_of(app, None)
    dive, cluster = atlas.groups[0].group.id, int(atlas.labels[atlas.group == 0].max())
    images = images_of_marks(app, "mixtures", FigureChoice(), [(dive, cluster)])
    address = urlsplit(address_of_marks(app, "mixtures", FigureChoice(), [(dive, cluster)], images))
    query = {name: values[0] for name, values in parse_qs(address.query).items()}
    assert address.path == "/explore" and (query["dive"], query["cluster"]) == (str(dive), str(cluster))
    session = Session(app, "explore")
    session.address.query = query
    explore = Explore(session)
    np.testing.assert_array_equal(explore.selected_ids(), images)
    assert explore.dive == [dive] and explore.shown().sum() == len(images)
    explore.selection.clear()
    assert explore.sent == "" and "sent" not in session.address.query
    assert address_of_marks(app, "mixtures", FigureChoice(), [(dive, 999)], images[:0]) == "", "nothing to open"


@pytest.mark.parametrize("name", ["cluster-sizes", "cluster-count", "lower-bound"])
def test_a_job_at_a_step_without_a_fit_has_no_plots(app, name):
    job = app.queue.all()[0]  # the import
    with pytest.raises(BadInput, match="has no"):
        figure(app, name, FigureChoice(job=job.id))


def test_the_images_of_marks_and_plots_of_own_values_by_rest(app):
    client = TestClient(
        create_app(app.workspace, ServerSettings(token="", run_jobs=False)), base_url="http://127.0.0.1"
    )
    mark, number = counted(app, "cluster-sizes", "images")[0]
    answer = client.post("/api/v1/plots/cluster-sizes/images", json={"marks": [mark]}).json()
    assert answer["count"] == number and "sent=" in answer["explore"] and f"cluster={mark[0]}" in answer["explore"]
    item = client.get("/api/v1/plots/cluster-sizes").json()
    assert item["marks"] == ["cluster"] and item["doc"]["roots"]
    values = {"share": [0.9, 0.5, 0.1], "low": 0.5, "high": 2, "cut": 1, "answers": [[0, True], [2, False]]}
    for form, start in (("bokeh", b"{"), ("csv", b'"Page of images')):
        reply = client.post(f"/api/v1/plots/extension/values?format={form}&theme=dark", json=values)
        assert reply.status_code == 200 and reply.content.startswith(start)
    members = {"xy": [[0.1, 0.2], [0.5, 0.5]], "images": [7, 8], "labelled": [True, False]}
    assert client.post("/api/v1/plots/members/values", json=members).json()["marks"] == ["image"]
    assert client.post("/api/v1/plots/extension/values", json={**values, "share": [2.0]}).status_code == 422
    wrong = {**members, "images": [7]}
    assert client.post("/api/v1/plots/members/values", json=wrong).status_code == 422
