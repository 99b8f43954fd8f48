"""Second labels in Learn, and the training in Labels that follows from them."""

import numpy as np
import pytest

from benthoscope.app.pages.labels.content import content as labels_content
from benthoscope.app.pages.labels.model import Labels
from benthoscope.app.pages.learn import page as learn_page
from benthoscope.app.pages.learn.blind_model import PAGE, content
from benthoscope.app.pages.learn.double_model import SecondLabels
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.problems import BadInput
from tests.reef_workspace import KINDS, copied


@pytest.fixture
def reef(tmp_path, reef_templates):
    """Ann has labelled eighty images one by one."""
    template = reef_templates(80)
    with copied(template, tmp_path) as workspace:
        yield workspace, template


@pytest.fixture
def app(reef):
    return AppState(reef[0])


def page_of(app, person):
    return SecondLabels(Session(app, "learn", person=person))


def training_of(app, person):
    labels = Labels(Session(app, "labels", person=person))
    labels.part = "training"
    return labels


def true_terms(reef, images):
    template = reef[1]
    return template.terms[template.truth[np.searchsorted(template.ids, images)]]


def label_page(page, reef, *, wrong=0):
    """Label the images of a page, the first `wrong` of them with another term. Returns the images."""
    images = [image["id"] for image in content(page)["images"]]
    terms = true_terms(reef, images).tolist()
    order = reef[1].terms.tolist()
    for at, (image, term) in enumerate(zip(images, terms, strict=True)):
        page.choose_term(order[(order.index(term) + 1) % KINDS] if at < wrong else term)
        page.give_term([image])
    return images


def test_a_page_shows_neither_labels_nor_suggestions(app, reef):
    page = page_of(app, "Ben")
    page.ask(50)
    shown = content(page)
    assert len(shown["images"]) == PAGE and shown["remaining"] == 50
    assert all(image == {"id": image["id"], "answered": False, "label": "", "colour": ""} for image in shown["images"])


def test_answers_go_on_page_by_page_and_end_with_the_training(app, reef):
    page = page_of(app, "Ben")
    page.ask(25)
    first = label_page(page, reef)
    assert all(image["answered"] for image in content(page)["images"])
    page.next()
    second = label_page(page, reef)
    page.next()
    assert len({*first, *second}) == 25 and content(page)["images"] == []
    assert content(page)["texts"]["done"] and content(page)["texts"]["link"][0] == "/labels?part=training"
    assert [job.kind for job in app.queue.unfinished()] == ["learn"]
    assert content(page)["progress"] == [("Drawn", 25), ("Answered", 25), ("Left", 0)]


def test_an_answer_is_undone_and_changed_on_the_page(app, reef):
    page = page_of(app, "Ben")
    page.ask(25)
    image = content(page)["images"][0]["id"]
    page.choose_term(int(reef[1].terms[0]))
    page.give_term([image])
    page.choose_term(int(reef[1].terms[1]))
    page.give_term([image])
    assert content(page)["images"][0]["label"] == "habitat 1"
    page.undo()
    assert not content(page)["images"][0]["answered"]
    page.cannot_tell([image])
    assert content(page)["images"][0]["label"] == "cannot tell"


def test_only_one_person_or_no_name_is_explained(app):
    assert content(page_of(app, "Ann"))["texts"]["asking_title"] == "No other person has labelled images"
    nobody = content(page_of(app, ""))
    assert nobody["texts"]["asking_title"] == "Enter your name first" and not nobody["texts"]["sizes"]
    with pytest.raises(BadInput, match="no other person"):
        page_of(app, "Ann").ask(25)


def test_the_address_of_the_queue_opens_the_page_and_draws_once(app):
    session = Session(app, "learn", person="Ben")
    session.address.query = {"queue": "double", "count": "10"}
    board = learn_page.view(session)
    assert len(board.content["images"]) == 10 and "count" not in session.address.query


def test_training_lists_the_disagreements_by_confusion(app, reef):
    page = page_of(app, "Ben")
    page.ask(25)
    wrong = label_page(page, reef, wrong=5)[:5]
    labels = training_of(app, "Ben")
    shown = labels_content(labels)
    assert shown["empty"] is None and shown["summary"].startswith("You and the others gave the same label to 19 of 24")
    assert {each["image"] for each in shown["disagreements"]} == set(wrong)
    assert {each["people"] for each in shown["disagreements"]} == {"1 other person"}
    first = shown["confusions"][0]
    labels.confusion = first["ids"]
    assert len(labels_content(labels)["disagreements"]) == first["images"]


def test_the_consensus_is_adopted_or_the_own_label_kept_and_both_are_undone(app, reef):
    page = page_of(app, "Ben")
    page.ask(25)
    first, second = label_page(page, reef, wrong=2)[:2]
    labels = training_of(app, "Ben")
    labels.adopt(first)
    labels.keep(second)
    assert labels_content(labels)["disagreements"] == []
    assert "on 1 you kept your label" in labels_content(labels)["summary"]
    for left in (1, 2):
        reef[0].labels.undo_last(labels.person_id())
        app.changed("labels")
        assert len(labels_content(labels)["disagreements"]) == left


def test_training_without_anything_to_compare_says_what_to_do(app):
    assert labels_content(training_of(app, ""))["empty"]["title"] == "Enter your name first"
    assert labels_content(training_of(app, "Ann"))["empty"]["link"][0] == "/learn"
    assert labels_content(training_of(app, "Ben"))["empty"]["link"][0] == "/learn?queue=double"


def test_agreement_shows_the_second_labels(app, reef):
    labels = training_of(app, "Ann")
    labels.part = "people"
    assert labels_content(labels)["blind"]["images"] == 0
    page = page_of(app, "Ben")
    page.ask(25)
    label_page(page, reef, wrong=3)
    blind = labels_content(labels)["blind"]
    assert blind["images"] == 24 and blind["pairs"][0]["same"] == 21
    assert {person["person"]: person["same"] for person in blind["people"]} == {"Ann": 21, "Ben": 21}
    assert all(person["used"] for person in blind["people"]) and blind["blame_is_shared"]
