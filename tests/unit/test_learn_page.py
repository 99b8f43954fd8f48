"""Learn without a browser: batches, suggestions accepted and refused, thresholds, plots."""

import numpy as np
import pytest

from app.pages.learn import LearnPage
from app.state.app_state import AppState
from app.state.learn import BATCH, WHY, Learn, content
from app.state.session import Session
from engine.jobs import run_now
from engine.problems import BadInput
from engine.workspace import Workspace
from tests.unit.test_learning_commands import KINDS, filled


@pytest.fixture
def reef(tmp_path):
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "reef") as made:
        yield made, *filled(made, tmp_path / "images")


@pytest.fixture
def learn(reef):
    """After eighty labels by Ann and a first learning."""
    made, ids, truth, terms = reef
    session = Session(AppState(made), "learn", person="Ann")
    ann = session.who().id
    for place in np.random.default_rng(1).permutation(400)[:80]:
        made.labels.label(ann, [ids[place]], terms[truth[place]])
    run_now(made, "learn")
    session.changed(images=False)
    return Learn(session)


def right(learn, reef, images):
    """How many of these images have their true label."""
    made, ids, truth, terms = reef
    now, held = made.labels.current_terms()
    chosen = np.isin(now, images)
    return (held[chosen] == terms[truth[np.searchsorted(ids, now[chosen])]]).mean()


def test_before_anything_is_learnt_the_page_says_what_to_do(reef):
    learn = Learn(Session(AppState(reef[0]), "learn", person="Ann"))
    assert content(learn)["learnt"] is False
    with pytest.raises(BadInput, match="nothing was learnt yet"):
        learn.accept([])


@pytest.mark.parametrize("queue", list(WHY))
def test_every_queue_has_a_batch_without_repeats(learn, queue):
    learn.queue = queue
    places = learn.places()
    labelled = np.isin(learn.found().image_ids[places], learn.current()[0])
    assert len(set(places.tolist())) == len(places) <= BATCH
    assert labelled.all() if queue == "doubted" else (len(places) == BATCH and not labelled.any())


def test_a_sure_batch_is_of_one_term_and_accepting_labels_it(learn, reef):
    shown = content(learn)["images"]
    assert len({image["term"] for image in shown}) == 1
    ids, wrong = [image["id"] for image in shown], [shown[0]["id"]]
    learn.accept(wrong)
    now = learn.current()[0]
    assert np.isin(ids[1:], now).all() and ids[0] not in now
    assert right(learn, reef, ids) > 0.9
    assert [event.kind for event in reef[0].labels.events()[-2:]] == ["label", "refuse"]
    assert learn.batch == 1 and learn.learning()


def test_a_refused_suggestion_is_not_made_again_once_learnt(learn, reef):
    image = content(learn)["images"][0]
    learn.accept([image["id"]])
    run_now(reef[0], "learn")
    learn.session.changed(images=False)
    found = learn.found()
    best = found.best()[0][np.flatnonzero(found.image_ids == image["id"])[0]]
    assert learn.terms()[int(best)].name != image["term"]


def test_clicked_images_get_the_chosen_term_and_undo_takes_it_back(learn, reef):
    learn.queue = "random"
    image = content(learn)["images"][0]["id"]
    with pytest.raises(BadInput, match="no term is chosen"):
        learn.give_term([image])
    learn.choose_term(int(reef[3][2]))
    learn.give_term([image])
    assert image in learn.current()[0] and reef[0].labels.events()[-1].rule["queue"] == "random"
    learn.undo()
    assert image not in learn.current()[0]


def test_what_is_above_the_threshold_is_accepted_unseen_and_mostly_right(learn, reef):
    learn.wanted = 0.85
    ready = content(learn)["ready"]
    assert ready > 100
    before = len(learn.current()[0])
    learn.accept_sure()
    assert len(learn.current()[0]) == before + ready
    assert right(learn, reef, learn.current()[0]) >= 0.85
    learn.wanted = 0.999
    assert content(learn)["threshold"] is None


def test_the_plots_follow_from_held_out_labels(learn):
    shown = content(learn)
    coverage = [point[0] for point in shown["curve"]]
    assert coverage == sorted(coverage) and coverage[-1] == 1.0
    assert all(low <= share for _, share, low, _ in shown["curve"])
    assert sum(weight for *_, weight in shown["reliability"]) == pytest.approx(1, abs=0.01)
    assert shown["history"] == [[80, pytest.approx(shown["accuracy"], abs=1e-3)]]


def test_the_page_does_what_the_keys_say(learn, reef):
    page = LearnPage(learn)
    page.act({"act": "queue", "name": "varied"})
    assert page.layout.content["queue"] == "varied" and len(page.layout.content["images"]) == BATCH
    page.act({"act": "find", "text": "habitat 1"})
    page.act({"act": "choose", "term": page.layout.hits["terms"][0]["id"]})
    assert page.layout.content["term"]["name"] == "habitat 1"
    page.act({"act": "name", "images": []})
    assert learn.session.message.kind == "error"
    page.act({"act": "wanted", "share": 0.9})
    page.act({"act": "next"})
    assert page.layout.content["batch"] == 1 and learn.wanted == 0.9
    assert len(reef[3]) == KINDS
