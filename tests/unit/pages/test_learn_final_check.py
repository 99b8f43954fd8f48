"""The final check on the page Learn, without a browser."""

import numpy as np
import pytest

from benthoscope.app.pages.learn.content import content
from benthoscope.app.pages.learn.final_check import latest_version
from benthoscope.app.pages.learn.model import Learn
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.labelling.stopping.final_check import PAGE
from benthoscope.engine.problems import BadInput
from tests.reef_workspace import copied


@pytest.fixture
def reef(tmp_path, reef_templates):
    template = reef_templates(80)
    with copied(template, tmp_path) as workspace:
        yield workspace, template.ids, template.truth, template.terms


@pytest.fixture
def learn(reef):
    return Learn(Session(AppState(reef[0]), "learn", person="Ann"))


def true_terms(reef, images):
    return reef[3][reef[2][np.searchsorted(reef[1], images)]]


def answer_truly(learn, reef):
    table = learn.table()
    truth = dict(zip(table.ids.tolist(), true_terms(reef, table.ids).tolist(), strict=True))
    learn.accept({image: term for image, term in truth.items() if term != table.best_terms()[image]})


def test_the_page_offers_a_check_with_a_forecast(learn):
    shown = content(learn)["final"]
    assert "a forecast, not checked" in shown["forecast"] and shown["possible"]
    assert shown["result"] == "" and not shown["proven"] and shown["remaining"] == 0
    learn.queue = "final"
    assert content(learn)["images"] == []
    with pytest.raises(BadInput, match="none was started"):
        learn.deliver()


def test_frozen_labels_come_first_on_the_tiles_of_the_check(learn):
    learn.start_check()
    table, shown = learn.table(), content(learn)["images"]
    assert learn.queue == "final" and len(shown) == PAGE
    assert {image["id"]: image["options"][0][0] for image in shown} == dict(table.frozen)
    assert all(image["label"] == "" for image in shown)


def test_the_check_leads_to_a_proof_and_the_remaining_labels(learn, reef):
    workspace, ids, _, _ = reef
    learn.start_check()
    for _ in range(12):
        if not content(learn)["images"]:
            break
        answer_truly(learn, reef)
    shown = content(learn)["final"]
    assert shown["proven"] and "at most 5 %" in shown["result"] and shown["remaining"] > 100
    learn.deliver()
    image_ids, terms = workspace.labels.current_terms()
    assert len(image_ids) == len(ids) and (terms != true_terms(reef, image_ids)).mean() <= 0.05
    assert content(learn)["final"]["remaining"] == 0


def test_an_image_labelled_by_key_is_answered_once(learn, reef):
    workspace = reef[0]
    learn.start_check()
    image = int(learn.table().ids[0])
    learn.choose_term(int(true_terms(reef, np.array([image]))[0]))
    learn.give_term([image])
    answer_truly(learn, reef)
    draws = workspace.sampling.draws_of_images([image], "stop")[image]
    assert [len(draw.answers) for draw in draws] == [1]


def test_undo_reopens_the_images_of_the_page(learn, reef):
    learn.start_check()
    images = set(learn.table().ids.tolist())
    answer_truly(learn, reef)
    for _ in range(len(set(true_terms(reef, np.array(sorted(images)))))):
        learn.undo()
    learn.next_batch()
    assert set(learn.table().ids.tolist()) == images


def test_a_new_check_is_offered_when_half_of_the_wrong_labels_are_gone(learn, reef):
    learn.start_check()
    assert not content(learn)["final"]["possible"]
    version = latest_version(learn.app)
    images = version.image_ids[np.argsort(-version.forecast)[:80]]
    terms = true_terms(reef, images)
    for term in np.unique(terms):
        learn.choose_term(int(term))
        learn.give_term(images[terms == term].tolist())
    assert content(learn)["final"]["possible"]
