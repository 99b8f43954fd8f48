"""The page of runs: choosing, comparing, deleting and bringing back."""

import numpy as np
import pytest

from app.state.app_state import AppState
from app.state.runs import RunsView
from app.state.session import Session
from engine.workspace import NewCluster, NewRun, Workspace

LABELS = {"first": [0, 0, 0, 1, 1, 1], "second": [1, 1, 0, 0, 2, 2], "elsewhere": [0, 1, 0, 1, 0, 1]}


@pytest.fixture
def view(tmp_path):
    with Workspace.create(tmp_path / "reef") as workspace:
        for number, (name, labels) in enumerate(LABELS.items()):
            ids = np.arange(6) + (100 if name == "elsewhere" else 1)
            parts = {"image_ids": ids, "labels": np.array(labels, np.int32), "probability": np.ones(6, np.float32)}
            count = max(labels) + 1
            workspace.runs.add(
                NewRun(name, "gmc", "deep", {"width": 0.05 * (number + 1)}, {"trace": [[1, -3.0, 1], [2, -2.0, count]]},
                       {"clusters": count, "images": 6, "held_out": -1.0}), parts,
                [NewCluster(k, labels.count(k)) for k in range(count)])
        app = AppState(workspace)
        yield RunsView(Session(app))
        app.close()


def ids(view):
    return {run["name"]: run["id"] for run in view.content()["runs"]}


def test_the_newest_run_is_first_and_the_current_one_shown(view):
    found = view.content()
    assert [run["name"] for run in found["runs"]] == ["elsewhere", "second", "first"]
    assert found["shown"]["name"] == "elsewhere" and found["shown"]["sizes"] == [[0, 3], [1, 3]]


def test_two_runs_compared_count_the_images_they_share(view):
    view.select(ids(view)["first"])
    view.compare(ids(view)["second"])
    found = view.content()["comparison"]
    assert found["images"] == 6 and sum(map(sum, found["table"])) == 6
    assert {piece["cluster"] for piece in found["splits"]["one"]} == {0, 1}
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
    view.rename(number, "kelp or not")
    view.choose(number)
    assert view.session.app.version == before + 2 and view.session.app.run().name == "kelp or not"
    view.rename(number, "  ")
    assert view.session.message.kind == "error" and "kelp or not" in ids(view)


def test_widths_of_one_model_are_drawn_against_each_other(view):
    sweep = view.content()["sweeps"][0]
    assert [point[:2] for point in sweep["points"]] == [[0.05, 2], [0.1, 3], [pytest.approx(0.15), 2]]


def test_a_link_to_a_run_that_is_gone_shows_the_current_one(view):
    view.session.address.query = {"run": "77", "against": "78"}
    found = view.content()
    assert found["shown"]["name"] == "elsewhere" and found["comparison"] is None
