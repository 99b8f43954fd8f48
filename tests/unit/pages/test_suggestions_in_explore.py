"""Suggestions outside Learn: colour, group and sort by them in Explore, show them for one image, accept them for a
selection."""

import numpy as np
import pytest
from fastapi.testclient import TestClient

from benthoscope.app.data.colours import UNKNOWN, colour_choices, colouring
from benthoscope.app.data.measures import order_choices, ordered
from benthoscope.app.data.suggestions import suggested, suggestion_of
from benthoscope.app.pages.explore.commands import COMMANDS
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.pages.explore.selection_commands import accept_suggestions
from benthoscope.app.server.application import ServerSettings, create_app
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.problems import BadInput
from tests.reef_workspace import copied

FIRST = 60


@pytest.fixture
def reef(tmp_path, reef_templates):
    """Four hundred images; sixty of them labelled, and a model trained on them."""
    template = reef_templates(FIRST)
    with copied(template, tmp_path) as workspace:
        yield workspace, template.ids, template.truth, template.terms


@pytest.fixture
def explore(reef):
    return Explore(Session(AppState(reef[0]), "explore", person="Ann"))


def test_only_images_without_a_label_have_a_suggestion(explore, reef):
    suggestions, labelled = suggested(explore.app), reef[0].labels.current()[0]
    columns = explore.app.columns
    assert (suggestions.term[columns.positions(labelled)] == -1).all()
    open_ = np.setdiff1d(reef[1], labelled)
    assert (suggestions.term[columns.positions(open_)] >= 0).all() and np.isfinite(
        suggestions.sure[columns.positions(open_)]
    ).all()


def test_tiles_are_coloured_grouped_and_sorted_by_suggestions_once_there_are_any(explore, reef):
    app, atlas = explore.app, explore.atlas
    made = colouring(app, atlas, "suggestion")
    assert (made.codes == UNKNOWN).sum() == FIRST and all(name.endswith("?") for name in made.names)
    assert {"suggestion", "confidence"} <= set(colour_choices(app, atlas)) and "confidence" in order_choices(app, atlas)
    order = ordered(app, atlas, "confidence", descending=True, group_by="suggestion")
    sure = suggested(app).sure[order]
    known = sure[np.isfinite(sure)]
    assert (np.diff(known) > 0).sum() < len(made.names)  # falls within every group


def test_before_anything_is_learnt_suggestions_are_not_offered(tmp_path, reef_templates):
    with copied(reef_templates(0), tmp_path) as made:
        explore = Explore(Session(AppState(made), "explore", person="Ann"))
        assert not {"suggestion", "confidence"} & set(colour_choices(explore.app, explore.atlas))
        with pytest.raises(BadInput, match="there is no model yet"):
            accept_suggestions(explore, [1])


def test_accepting_labels_what_is_open_and_is_taken_back_as_one(explore, reef):
    before = reef[0].labels.current()[0]
    chosen = reef[1][:100]
    accept_suggestions(explore, chosen.tolist())
    image_ids, terms = reef[0].labels.current_terms()
    assert set(chosen.tolist()) <= set(image_ids.tolist()) and len(image_ids) == len(np.union1d(before, chosen))
    right = terms[np.isin(image_ids, chosen)] == np.array(reef[3])[reef[2][np.isin(reef[1], chosen)]]
    assert right.mean() > 0.85
    explore.session.undo()
    assert reef[0].labels.current()[0].tolist() == before.tolist()
    with pytest.raises(BadInput, match="all of these images have a label"):
        accept_suggestions(explore, before.tolist())


def test_out_of_date_suggestions_are_not_accepted(explore, reef):
    made, open_ = reef[0], np.setdiff1d(reef[1], reef[0].labels.current()[0])
    made.labels.label(made.people.named("Bob").id, open_[:200], int(reef[3][0]), why="review")
    explore.session.changed("labels")
    count = len(made.labels.events())
    with pytest.raises(BadInput, match="out of date"):
        accept_suggestions(explore, open_[200:].tolist())
    assert len(made.labels.events()) == count


def test_one_image_is_told_with_its_suggestion_and_accepted_in_the_viewer(explore, reef):
    image = int(np.setdiff1d(reef[1], reef[0].labels.current()[0])[0])
    suggestion = suggestion_of(explore.app, image)
    assert suggestion["measured"] is False  # its confidence is no per cent before random images were answered
    api = create_app(reef[0], ServerSettings(token="", run_jobs=False))
    with TestClient(api, base_url="http://127.0.0.1") as client:
        assert client.get(f"/api/v1/images/{image}/around").json()["suggestion"] == suggestion

    class Page:
        def __init__(self):
            self.explore = explore

    COMMANDS.run({"act": "accept", "id": image}, Page())
    image_ids, terms = reef[0].labels.current_terms()
    assert terms[image_ids == image].tolist() == [suggestion["term"]] and suggestion_of(explore.app, image) is None
