"""The first page of Learn: typical images, labelled without suggestions before there is a model."""

import numpy as np
import pytest

from benthoscope.app.pages.home import HomeView
from benthoscope.app.pages.learn.content import content
from benthoscope.app.pages.learn.model import FEWEST, Learn
from benthoscope.app.pages.learn.page import view
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.training_data import LOOKED_AT
from benthoscope.engine.problems import BadInput
from tests.reef_workspace import KINDS, copied, label


@pytest.fixture
def reef(tmp_path, reef_templates):
    template = reef_templates(0)
    with copied(template, tmp_path) as workspace:
        yield workspace, template.ids, template.truth, template.terms


def opened(reef, *, chosen=True, **values):
    """The page of a tab, after the typical images were chosen."""
    if chosen:
        run_now(reef[0], "typical images")
    return Learn(Session(AppState(reef[0]), "learn", person="Ann"), **values)


def kinds_of(reef, images):
    return reef[2][np.searchsorted(reef[1], images)]


def label_all(learn, reef, images):
    for kind in range(KINDS):
        chosen = [image for image in images if kinds_of(reef, [image])[0] == kind]
        learn.choose_term(int(reef[3][kind]))
        if chosen:
            learn.give_term(chosen)


def train(learn, reef):
    run_now(reef[0], "learn")
    learn.session.changed("labels")


def test_without_labels_typical_images_are_the_first_offer(reef):
    learn = opened(reef)
    shown = content(learn)
    assert learn.queue == "typical" and not shown["learnt"] and not shown["choosing"]
    assert len(shown["images"]) == 50 and learn.session.address.query == {"queue": "typical"}
    assert all(not image["options"] and not image["label"] for image in shown["images"])
    assert len(set(kinds_of(reef, learn.table().ids))) == KINDS and not learn.table().draws


def test_opening_the_page_queues_the_choice_once(reef):
    session = Session(AppState(reef[0]), "learn", person="Ann")
    view(session)
    view(session)
    assert [job.kind for job in session.app.queue.unfinished()] == ["typical images"]
    shown = content(Learn(Session(session.app, "learn")))
    assert shown["choosing"] and not shown["images"]


def test_enough_labels_ask_for_a_training_instead(reef):
    label(reef[0], *reef[1:], FEWEST)
    learn = opened(reef)
    assert learn.queue == "sure" and content(learn)["trainable"] and not content(learn)["images"]


def test_similar_images_are_side_by_side_in_any_number_of_columns(reef):
    learn = opened(reef)
    for columns in (5, 10):
        learn.arrange(columns)
        grid = kinds_of(reef, learn.table().ids).reshape(-1, columns)
        alike = np.mean([(grid[:, 1:] == grid[:, :-1]).mean(), (grid[1:] == grid[:-1]).mean()])
        assert alike > 0.7


def test_labels_of_the_page_count_fully_and_the_sorting_of_doubtful_images_follows(reef):
    learn = opened(reef)
    images = learn.table().ids.tolist()
    label_all(learn, reef, images[:40])
    assert learn.table().ids.tolist() == images  # the page stays as it is
    assert sum(bool(image["label"]) for image in content(learn)["images"]) == 40
    learn.accept({}, learn.table().number)
    assert learn.queue == "sort" and learn.learning() and not content(learn)["images"]
    assert {event.why for event in reef[0].labels.events()} <= set(LOOKED_AT)
    train(learn, reef)
    assert len(content(learn)["images"]) == 60 and len(learn.table().draws) == 10


def test_a_page_of_one_label_says_what_is_missing(reef):
    learn = opened(reef)
    learn.choose_term(int(reef[3][0]))
    learn.give_term(learn.table().ids[:3].tolist())
    with pytest.raises(BadInput, match="two different labels"):
        learn.accept({})
    assert learn.queue == "typical"


def test_a_skipped_page_is_replaced_by_other_typical_images(reef):
    learn = opened(reef)
    first = set(learn.table().ids.tolist())
    learn.skip()
    assert [job.kind for job in learn.app.queue.unfinished()] == ["typical images"]
    assert content(learn)["choosing"] and not content(learn)["images"]
    run_now(reef[0], "typical images", {"seed": learn.batch})
    learn.session.changed("labels")
    assert learn.table().ids.tolist() and not first & set(learn.table().ids.tolist())


def test_a_page_that_was_started_stays_while_a_model_is_trained(reef):
    learn = opened(reef)
    images = learn.table().ids.tolist()
    label_all(learn, reef, images[:40])
    train(learn, reef)
    assert learn.table().ids.tolist() == images and learn.table().without_model


def test_with_a_model_typical_images_have_suggestions_and_random_images_among_them(reef):
    label(reef[0], *reef[1:], 40)
    run_now(reef[0], "learn")
    learn = opened(reef, queue="typical")
    shown = content(learn)
    assert shown["learnt"] and all(image["options"] for image in shown["images"])
    assert len(learn.table().draws) == round(len(shown["images"]) / 6)
    labelled = np.isin(learn.table().ids, learn.current()[0])
    assert not labelled[~np.isin(learn.table().ids, list(learn.table().drawn))].any()
    learn.accept({})
    assert "typical images" in [job.kind for job in learn.app.queue.unfinished()]


def test_home_leads_to_the_first_page(reef):
    steps = {step["title"]: step for step in HomeView(Session(AppState(reef[0]), "")).content()["steps"]}
    assert steps["Label"]["href"] == "/learn"
