"""The page of runs: choosing, comparing, deleting and bringing back."""

import numpy as np
import pytest

from benthoscope.app.data.figures import FigureChoice, figure
from benthoscope.app.pages.explore.content import cards
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.pages.runs.page import RunsView
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.workspace import NewCluster, NewRun, Workspace
from benthoscope.plots import data_table

LABELS = {"first": [0, 0, 0, 1, 1, 1], "second": [1, 1, 0, 0, 2, 2], "elsewhere": [0, 1, 0, 1, 0, 1]}


@pytest.fixture
def view(tmp_path):
    with Workspace.create(tmp_path / "reef") as workspace:
        for number, (name, labels) in enumerate(LABELS.items()):
            ids = np.arange(6) + (100 if name == "elsewhere" else 1)
            arrays = {"image_ids": ids, "labels": np.array(labels, np.int32), "probability": np.ones(6, np.float32)}
            count = max(labels) + 1
            workspace.runs.add(
                NewRun(
                    name,
                    "gmc",
                    "deep",
                    {"width": 0.05 * (number + 1)},
                    {"trace": [[1, -3.0, 1], [2, -2.0, count]]},
                    {"clusters": count, "images": 6, "held_out": -1.0},
                ),
                arrays,
                [NewCluster(k, labels.count(k)) for k in range(count)],
            )
        app = AppState(workspace)
        yield RunsView(Session(app))
        app.close()


def ids(view):
    return {run["name"]: run["id"] for run in view.rows()}


def rename(view, number, name):
    view.rename(number)
    view.form.start({"name": name})


def test_the_newest_run_is_first_and_the_current_one_shown(view):
    content = view.content()
    assert [run["name"] for run in view.rows()] == ["elsewhere", "second", "first"]
    assert content["shown"]["name"] == "first" and content["shown"]["has_trace"]


def test_a_limit_that_the_fit_reached_is_shown(view):
    workspace = view.session.workspace
    run = workspace.runs.get(ids(view)["second"])
    limited = workspace.runs.add(
        NewRun(
            "limited",
            "gmc",
            "deep",
            {},
            {"parameters": {"max_clusters": 3}},
            {"clusters": 3, "images": 6, "limits": ["max_clusters"]},
        ),
        run.arrays(),
        [],
    )
    assert view.content()["shown"]["limits"] == []
    view.select(limited.id)
    assert view.content()["shown"]["limits"] == [
        "The fit reached the limit of 3 clusters; raise it with Maximum clusters."
    ]
    explore = Explore(view.session, run=limited.id)
    assert cards(explore)["cards"]["limits"] == view.content()["shown"]["limits"]
    explore.run = run.id
    assert cards(explore)["cards"]["limits"] == []


def test_two_runs_compared_count_the_images_they_share(view):
    view.select(ids(view)["first"])
    view.compare(ids(view)["second"])
    comparison = view.content()["comparison"]
    assert comparison["images"] == 6 and comparison["left_out"] == 0
    assert {piece["cluster"] for piece in comparison["splits"]["one"]} == {0, 1}
    choice = FigureChoice(run=ids(view)["first"], against=ids(view)["second"])
    table = data_table(figure(view.session.app, "contingency", choice))
    assert table["Images"].sum() == 6 and table["Images"].max() == 2
    assert view.session.address.query == {"run": "1", "against": "2"}


def test_runs_of_different_images_are_told_not_to_compare(view):
    view.select(ids(view)["first"])
    view.compare(ids(view)["elsewhere"])
    assert view.content()["comparison"] is None and "no image in common" in view.session.message.text


def test_a_deleted_run_comes_back_by_undo(view):
    number = ids(view)["second"]
    view.select(number)
    view.delete(number)
    assert "second" not in ids(view) and [run["name"] for run in view.content()["deleted"]] == ["second"]
    view.session.undo()
    assert "second" in ids(view)


def test_a_run_is_renamed_and_chosen_and_other_tabs_hear_of_it(view):
    before, number = view.session.app.version, ids(view)["first"]
    rename(view, number, "kelp or not")
    view.choose(number)
    assert view.session.app.version == before + 2 and view.session.app.run().name == "kelp or not"
    rename(view, number, "  ")
    assert view.session.message.kind == "error" and "kelp or not" in ids(view)


def test_widths_of_one_model_are_drawn_against_each_other(view):
    sweep = view.content()["sweeps"][0]
    assert [point[:2] for point in sweep["points"]] == [[0.05, 2], [0.1, 3], [pytest.approx(0.15), 2]]


def test_a_link_to_a_run_that_is_gone_shows_the_current_one(view):
    view.session.address.query = {"run": "77", "against": "78"}
    content = view.content()
    assert content["shown"]["name"] == "first" and content["comparison"] is None


def test_a_clustering_is_listed_once_with_its_levels_and_its_star(view):
    runs = view.session.workspace.runs
    arrays = {"image_ids": np.arange(1, 7), "labels": np.arange(6, dtype=np.int32)}
    finer = runs.add_level(
        runs.named("second"),
        "finer",
        NewRun("second (finer)", "gmc", "deep", {"width": 0.02}, {}, {"clusters": 6, "images": 6}),
        arrays,
    )
    runs.choose(finer.id)
    view.session.changed()
    content = view.content()
    assert {run["name"]: run["current"] for run in view.rows()} == {
        "elsewhere": False,
        "second": True,
        "first": False,
    }
    assert content["shown"]["name"] == "second (finer)"
    assert content["shown"]["levels"] == [["usual", 2, 3], ["finer", finer.id, 6]]
