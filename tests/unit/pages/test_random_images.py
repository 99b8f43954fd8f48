"""Random images on the page Learn: asked for, named without suggestions, asked again, undone."""

import numpy as np
import pytest

from benthoscope.app.data.labels import term_colours
from benthoscope.app.pages.learn import page as learn_page
from benthoscope.app.pages.learn.blind_model import PAGE, content
from benthoscope.app.pages.learn.blind_page import BlindPage
from benthoscope.app.pages.learn.random_model import SECOND_LOOK, RandomImages
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.labelling.cover.report import cover_of
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.labels.vocabularies import NewTerm


@pytest.fixture
def reef(tmp_path):
    """60 images without features, labels or model."""
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "reef") as made:
        root, dives = made.library.register_root(tmp_path / "images"), made.library.collection("PS1").id
        group = made.library.group(dives, "one").id
        made.library.store_images([NewImage(root.id, f"{n}.jpg", group, 1, 1, f"{n:064}", 320, 240) for n in range(60)])
        made.vocabularies.add("own", [NewTerm(("sand",)), NewTerm(("coral",))])
        yield made


@pytest.fixture
def session(reef):
    return Session(AppState(reef), "learn", person="Ann")


@pytest.fixture
def random(session):
    return RandomImages(session)


def terms_of(reef):
    return {term.name: term.id for term in reef.vocabularies.all_terms()}


def ids_of(random):
    return [image["id"] for image in content(random)["images"]]


def answer_all(random, reef):
    random.choose_term(terms_of(reef)["sand"])
    while ids := [image["id"] for image in content(random)["images"] if not image["answered"]]:
        random.give_term(ids)
        random.next()


def test_the_queue_random_needs_no_model_and_no_features(session):
    session.address.query = {"queue": "random"}
    board = learn_page.view(session)
    assert board.content["images"] == [] and list(board.content["texts"]["sizes"]) == [50]  # of 60 images


def test_the_button_of_cover_draws_images_once(session, reef):
    session.address.query = {"queue": "cover", "count": "50"}
    board = learn_page.view(session)
    assert len(board.content["images"]) == PAGE and ["Drawn", 50] in [list(fact) for fact in board.content["progress"]]
    assert "count" not in session.address.query
    session.address.query = {"queue": "cover", "count": "50"}  # pressed again: what waits comes first
    again = learn_page.view(session)
    assert [image["id"] for image in again.content["images"]] == [image["id"] for image in board.content["images"]]
    assert len(reef.sampling.waves(reef.sampling.frames("cover")[0].id)) == 1


def test_without_a_name_nothing_is_drawn(reef):
    random = RandomImages(Session(AppState(reef), "learn"))
    page = BlindPage(random)
    page.run_command({"act": "ask", "count": 50})
    assert random.session.asks_name and content(random)["images"] == []
    assert reef.sampling.frames("cover") == []


def test_pages_lead_from_a_question_to_an_estimate(random, reef):
    random.ask(50)
    assert all(row.share.estimate is None for row in cover_of(reef).rows)
    answer_all(random, reef)
    progress = random.progress()
    assert (progress.budget, progress.answered, progress.remaining, progress.again) == (50, 50, 0, 0)
    shares = {row.term_id: row.share for row in cover_of(reef).rows if row.group_id == 0}
    assert shares[terms_of(reef)["sand"]].estimate > 0.95
    assert all(len(draw.answers) >= 1 for draw in reef.sampling.answered_draws("cover"))


def test_tiles_show_no_suggestion_and_answers_are_blind(random, reef):
    random.ask(50)
    assert set(content(random)["images"][0]) == {"id", "answered", "label", "colour"}
    random.choose_term(terms_of(reef)["coral"])
    image = ids_of(random)[0]
    random.give_term([image], seconds=3.0)
    [draw] = reef.sampling.answered_draws("cover")
    assert (draw.image_id, draw.answers[0].blind, draw.answers[0].seconds) == (image, True, 3.0)
    colour = term_colours(random.app)[terms_of(reef)["coral"]]  # as in plots
    assert content(random)["images"][0] == {"id": image, "answered": True, "label": "coral", "colour": colour}


def test_images_left_open_come_first_on_the_next_page_and_after_a_restart(random, reef, session):
    random.ask(50)
    first = ids_of(random)
    random.choose_term(terms_of(reef)["sand"])
    random.give_term(first[:10])
    random.next()
    assert ids_of(random)[:14] == first[10:]
    again = RandomImages(Session(AppState(reef), "learn", person="Ann"))
    assert ids_of(again) == ids_of(random)


def test_undo_opens_the_draws_of_the_last_answer(random, reef):
    random.ask(50)
    first = ids_of(random)
    random.choose_term(terms_of(reef)["sand"])
    random.give_term(first[:3])
    random.undo()
    assert not any(image["answered"] for image in content(random)["images"])


def test_a_slip_is_put_right_on_the_same_page(random, reef):
    random.ask(50)
    sand, coral = terms_of(reef)["sand"], terms_of(reef)["coral"]
    image = ids_of(random)[0]
    random.choose_term(sand)
    random.give_term([image])
    random.choose_term(coral)
    random.give_term([image])
    random.cannot_tell([ids_of(random)[1]])
    draw_by_image_id = {draw.image_id: draw for draw in reef.sampling.answered_draws("cover")}
    assert draw_by_image_id[image].term_id == coral and len(draw_by_image_id[image].answers) == 1
    assert draw_by_image_id[ids_of(random)[1]].state == "cannot tell"
    random.cannot_tell([image])
    assert {draw.image_id: draw.state for draw in reef.sampling.answered_draws("cover")}[image] == "cannot tell"
    assert image not in reef.labels.current()[0]


def test_rare_terms_get_a_blind_second_look(random, reef):
    random.ask(50)
    rare = ids_of(random)[0]
    random.choose_term(terms_of(reef)["coral"])
    random.give_term([rare])
    random.choose_term(terms_of(reef)["sand"])
    while content(random)["texts"]["question"] != SECOND_LOOK:
        random.give_term([image["id"] for image in content(random)["images"] if not image["answered"]])
        random.next()
    assert ids_of(random) == [rare] and not content(random)["images"][0]["answered"]
    random.choose_term(terms_of(reef)["coral"])
    random.give_term([rare])
    assert content(random)["images"][0]["answered"]
    random.next()
    assert ids_of(random) == [] and "0 answers differed" in str(cover_of(reef).slips)


def test_images_of_another_page_are_refused(random, reef):
    random.ask(50)
    random.choose_term(terms_of(reef)["sand"])
    stranger = np.setdiff1d(reef.library.columns("id")["id"], ids_of(random))[0]
    with pytest.raises(Exception, match="no image is chosen"):
        random.give_term([int(stranger)])
    assert not len(reef.labels.events())
