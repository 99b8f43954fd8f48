"""Suggestions outside Learn: to colour, group and sort by in Explore, told of one image, accepted for a selection."""

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.pages.explore_acts import ACTS
from app.server import ServerSettings, create_app
from app.state.app_state import AppState
from app.state.colouring import UNKNOWN, colour_choices, colouring
from app.state.explore import Explore
from app.state.ordering import order_choices, ordered
from app.state.selection_acts import accept_suggestions
from app.state.session import Session
from app.state.suggested import suggested, suggestion_of
from engine.jobs import run_now
from engine.problems import BadInput
from engine.workspace import Workspace
from tests.unit.test_learning_commands import filled

FIRST = 60


@pytest.fixture
def reef(tmp_path):
    """Four hundred images; sixty of them named, and learnt from."""
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "reef") as made:
        ids, truth, terms = filled(made, tmp_path / "images")
        ann = made.people.named("Ann").id
        for place in np.random.default_rng(1).permutation(len(ids))[:FIRST]:
            made.labels.label(ann, [ids[place]], terms[truth[place]])
        assert run_now(made, "learn").state == "done"
        yield made, ids, truth, terms


@pytest.fixture
def explore(reef):
    return Explore(Session(AppState(reef[0]), "explore", person="Ann"))


def test_only_images_without_a_label_have_a_suggestion(explore, reef):
    found, labelled = suggested(explore.app), reef[0].labels.current()[0]
    columns = explore.app.columns
    assert (found.term[columns.positions(labelled)] == -1).all()
    open_ = np.setdiff1d(reef[1], labelled)
    assert (found.term[columns.positions(open_)] >= 0).all() and np.isfinite(found.sure[columns.positions(open_)]).all()


def test_tiles_are_coloured_grouped_and_sorted_by_suggestions_once_there_are_any(explore, reef):
    app, atlas = explore.app, explore.atlas
    made = colouring(app, atlas, "suggestion")
    assert (made.codes == UNKNOWN).sum() == FIRST and all(name.endswith("?") for name in made.names)
    assert {"suggestion", "confidence"} <= set(colour_choices(app, atlas)) and "confidence" in order_choices(app, atlas)
    order = ordered(app, atlas, "confidence", descending=True, group_by="suggestion")
    sure = suggested(app).sure[order]
    known = sure[np.isfinite(sure)]
    assert (np.diff(known) > 0).sum() < len(made.names)  # falls within every group


def test_before_anything_is_learnt_suggestions_are_not_offered(tmp_path):
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "reef") as made:
        filled(made, tmp_path / "images")
        explore = Explore(Session(AppState(made), "explore", person="Ann"))
        assert not {"suggestion", "confidence"} & set(colour_choices(explore.app, explore.atlas))
        with pytest.raises(BadInput, match="nothing was learnt yet"):
            accept_suggestions(explore, [1])


def test_accepting_labels_what_is_open_and_is_taken_back_as_one(explore, reef):
    before = reef[0].labels.current()[0]
    chosen = reef[1][:100]
    accept_suggestions(explore, chosen.tolist())
    now, terms = reef[0].labels.current_terms()
    assert set(chosen.tolist()) <= set(now.tolist()) and len(now) == len(np.union1d(before, chosen))
    right = terms[np.isin(now, chosen)] == np.array(reef[3])[reef[2][np.isin(reef[1], chosen)]]
    assert right.mean() > 0.85
    explore.session.undo()
    assert reef[0].labels.current()[0].tolist() == before.tolist()
    with pytest.raises(BadInput, match="none of these images waits"):
        accept_suggestions(explore, before.tolist())


def test_one_image_is_told_with_its_suggestion_and_accepted_in_the_viewer(explore, reef):
    image = int(np.setdiff1d(reef[1], reef[0].labels.current()[0])[0])
    told = suggestion_of(explore.app, image)
    api = create_app(reef[0], ServerSettings(token="", run_jobs=False))
    with TestClient(api, base_url="http://127.0.0.1") as client:
        assert client.get(f"/api/v1/images/{image}/around").json()["suggestion"] == told

    class Page:
        def __init__(self):
            self.explore = explore

    ACTS["accept"](Page(), {"id": image})
    now, terms = reef[0].labels.current_terms()
    assert terms[now == image].tolist() == [told["term"]] and suggestion_of(explore.app, image) is None
