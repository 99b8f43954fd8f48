"""Learn without a browser: batches, suggestions accepted and refused, thresholds, plots."""

from itertools import pairwise

import numpy as np
import pytest

from app.pages.learn import LearnPage
from app.state.app_state import AppState
from app.state.learn import BATCH, SORTED, WHY, Learn
from app.state.learn_views import content
from app.state.session import Session
from engine.jobs import run_now
from engine.labelling.agreement import conflicts
from engine.labelling.cover_report import evidence
from engine.labelling.material import said
from engine.problems import BadInput
from engine.workspace import Workspace
from engine.workspace.events import standing
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


def told(page, message):
    """As the browser tells it."""
    page.layout._handle_msg({**message, "nth": page.layout.heard + 1})


def test_before_anything_is_learnt_the_page_says_what_to_do(reef):
    learn = Learn(Session(AppState(reef[0]), "learn", person="Ann"))
    assert content(learn)["learnt"] is False
    with pytest.raises(BadInput, match="nothing was learnt yet"):
        learn.accept({})


@pytest.mark.parametrize("queue", list(WHY))
def test_every_queue_has_a_batch_without_repeats(learn, queue):
    learn.queue = queue
    places = learn.table().places
    labelled = np.isin(learn.found().image_ids[places], learn.current()[0])
    assert len(set(places.tolist())) == len(places) <= (SORTED if queue == "sort" else BATCH)
    assert labelled.all() if queue == "doubted" else not labelled.any()
    assert len(places) or queue == "doubted"
    if queue not in ("doubted", "groups"):
        assert len(places) == (SORTED if queue == "sort" else BATCH)


def test_a_sure_batch_is_of_one_term_and_accepting_labels_it(learn, reef):
    shown = content(learn)["images"]
    assert len({image["term"] for image in shown}) == 1
    ids, wrong = [image["id"] for image in shown], [shown[0]["id"]]
    learn.accept(dict.fromkeys(wrong))
    now = learn.current()[0]
    assert np.isin(ids[1:], now).all() and ids[0] not in now
    assert right(learn, reef, ids) > 0.9
    assert [event.kind for event in reef[0].labels.events()[-2:]] == ["label", "refuse"]
    assert learn.batch == 1 and learn.learning()


def test_a_refused_suggestion_is_not_made_again_once_learnt(learn, reef):
    image = content(learn)["images"][0]
    learn.accept({image["id"]: None})
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
    told(page, {"act": "queue", "name": "varied"})
    assert page.layout.content["queue"] == "varied" and len(page.layout.content["images"]) == BATCH
    told(page, {"act": "find", "text": "habitat 1"})
    told(page, {"act": "choose", "term": page.layout.hits["terms"][0]["id"]})
    assert page.layout.content["term"]["name"] == "habitat 1"
    told(page, {"act": "name", "images": []})
    assert learn.session.message.kind == "error"
    told(page, {"act": "wanted", "share": 0.9})
    told(page, {"act": "next"})
    assert page.layout.content["batch"] == 1 and learn.wanted == 0.9
    assert len(reef[3]) == KINDS


def test_images_called_otherwise_get_that_term_and_the_others_their_suggestion(learn, reef):
    shown = content(learn)["images"]
    other, refused = shown[0], shown[1]
    second = other["options"][1][0]
    assert len(other["options"]) == 3 and other["options"][0][1] == other["term"]
    told(LearnPage(learn), {"act": "accept", "otherwise": [[other["id"], second], [refused["id"], None]]})
    now, terms = learn.current()
    assert terms[now == other["id"]].tolist() == [second] and refused["id"] not in now
    assert [event.kind for event in reef[0].labels.events()[-3:]] == ["label", "label", "refuse"]
    assert [event.why for event in reef[0].labels.events()[-3:]] == ["suggestion", "manual", "suggestion"]


def test_pages_to_be_sorted_have_alike_images_side_by_side(learn, reef):
    learn.queue = "sort"
    truth = dict(zip(reef[1].tolist(), reef[2].tolist(), strict=True))
    kinds = [truth[int(image)] for image in learn.table().ids]
    runs = 1 + sum(a != b for a, b in pairwise(kinds))
    mixed = np.random.default_rng(0).permutation(kinds)
    assert runs < 0.8 * (1 + sum(a != b for a, b in pairwise(mixed.tolist())))


def test_another_number_of_columns_lays_the_same_images_anew(learn):
    page = LearnPage(learn)
    told(page, {"act": "queue", "name": "sort"})
    before = [image["id"] for image in page.layout.content["images"]]
    number = page.layout.content["table"]
    told(page, {"act": "columns", "count": 7})
    after = [image["id"] for image in page.layout.content["images"]]
    assert page.layout.content["columns"] == 7 and page.layout.content["table"] == number
    assert sorted(after) == sorted(before) and after != before


def test_what_is_named_while_it_lies_there_stays_and_is_not_accepted_otherwise(learn, reef):
    learn.queue = "sort"
    page = LearnPage(learn)
    images = [image["id"] for image in page.layout.content["images"]]
    term = next(int(term) for term in reef[3] if int(term) != page.layout.content["images"][0]["options"][0][0])
    learn.choose_term(term)
    told(page, {"act": "name", "images": images[:3]})
    shown = page.layout.content["images"]
    assert [image["id"] for image in shown] == images
    assert [bool(image["named"]) for image in shown[:4]] == [True, True, True, False]
    assert shown[0]["label"] == learn.terms()[term].name
    told(page, {"act": "accept", "otherwise": [], "table": page.layout.content["table"]})
    now, terms = learn.current()
    assert set(terms[np.isin(now, images[:3])].tolist()) == {term} and np.isin(images, now).all()


def learn_forty_more(learn, reef):
    """Elsewhere forty images are named one by one, and the model learns from them."""
    made, ids, truth, terms = reef
    free = np.setdiff1d(ids, learn.current()[0])[-40:]
    for image in free:
        made.labels.label(learn.who(), [image], terms[truth[np.searchsorted(ids, image)]])
    run_now(made, "learn")
    learn.session.changed(images=False)


def test_a_table_somebody_has_begun_outlasts_what_is_learnt_meanwhile(learn, reef):
    learn.queue = "varied"
    page = LearnPage(learn)
    before, number = [image["id"] for image in page.layout.content["images"]], page.layout.content["table"]
    told(page, {"act": "hold"})
    learn_forty_more(learn, reef)
    assert [image["id"] for image in content(learn)["images"]] == before
    told(page, {"act": "next"})
    assert content(learn)["table"] == number + 1


def test_what_nobody_looked_at_is_not_accepted(learn, reef):
    learn.queue = "margin"
    page = LearnPage(learn)
    number = page.layout.content["table"]
    learn_forty_more(learn, reef)
    count = len(learn.current()[0])
    assert content(learn)["table"] == number + 1
    told(page, {"act": "accept", "otherwise": [], "table": number})
    assert "other images are shown now" in learn.session.message.text and len(learn.current()[0]) == count
    told(page, {"act": "accept", "otherwise": [], "table": number + 1})
    assert len(learn.current()[0]) > count


def test_what_people_call_differently_is_settled_in_the_queue_of_disputes(learn, reef):
    made, terms = reef[0], reef[3]
    labelled = learn.current()[0][:3]
    made.labels.label(made.people.named("Bob").id, labelled, terms[3])
    learn.session.changed(images=False)
    learn.queue = "disputed"
    page = LearnPage(learn)
    disputed = {conflict.image for conflict in conflicts(standing(made.labels.events()))}
    assert disputed and {image["id"] for image in page.layout.content["images"]} == disputed
    told(page, {"act": "accept", "otherwise": [[min(disputed), int(terms[0])]]})
    assert conflicts(standing(made.labels.events())) == []
    now, held = learn.current()
    assert held[now == min(disputed)].tolist() == [terms[0]]


def test_without_disputes_come_images_the_model_and_their_cluster_call_differently(learn):
    learn.queue = "disputed"
    table, found = learn.table(), learn.found()
    images, terms = learn.current()
    assert len(table.places) == BATCH and not np.isin(table.ids, images).any()
    clusters = np.asarray(found.clusters)
    assert set(clusters[table.places].tolist()) == {2}  # the one that holds two habitats
    there = terms[clusters[np.searchsorted(found.image_ids, images)] == 2]
    kinds, counts = np.unique(there, return_counts=True)
    assert set(found.best()[0][table.places].tolist()) == {kinds[counts.argmin()]}


@pytest.mark.parametrize("queue", ["sort", "margin", "varied", "outliers", "random", "sure", "disputed"])
def test_next_shows_other_images_until_all_were_seen(learn, queue):
    learn.queue = queue
    seen = learn.table().ids
    learn.skip()
    assert not np.isin(learn.table().ids, seen).any()
    for _ in range(40):
        learn.skip()
    assert len(learn.table().ids)


def test_every_image_tells_how_many_terms_it_may_have(learn):
    learn.wanted = 0.6
    few = content(learn)
    learn.wanted = 0.99
    many = content(learn)
    assert 1 <= few["possible"] <= many["possible"] <= 4
    assert all(1 <= a["possible"] <= b["possible"] for a, b in zip(few["images"], many["images"], strict=True))


def test_a_capital_letter_is_a_key_too(learn, reef):
    page = LearnPage(learn)
    image = content(learn)["images"][0]["id"]
    learn.choose_term(int(reef[3][0]))
    told(page, {"act": "press", "key": "Q"})
    learn.choose_term(int(reef[3][1]))
    told(page, {"act": "name", "images": [image], "key": "Q"})
    now, terms = learn.current()
    assert terms[now == image].tolist() == [int(reef[3][0])]


def test_a_group_of_alike_images_is_named_at_once(learn, reef):
    learn.queue = "groups"
    page = LearnPage(learn)
    images = [image["id"] for image in page.layout.content["images"]]
    learn.choose_term(int(reef[3][1]))
    told(page, {"act": "name", "images": images[1:]})
    now, terms = learn.current()
    assert set(terms[np.isin(now, images[1:])].tolist()) == {int(reef[3][1])} and images[0] not in now
    assert learn.batch == 1


def test_a_digit_names_what_is_marked_and_a_free_one_takes_the_chosen_term(learn, reef):
    page = LearnPage(learn)
    image = content(learn)["images"][0]["id"]
    told(page, {"act": "press", "key": "7"})
    assert "nothing lies on key 7" in learn.session.message.text
    learn.choose_term(int(reef[3][0]))
    told(page, {"act": "press", "key": "7"})
    learn.choose_term(int(reef[3][1]))
    told(page, {"act": "name", "images": [image], "key": "7"})
    now, terms = learn.current()
    assert terms[now == image].tolist() == [int(reef[3][0])]
    assert [one["key"] for one in page.layout.content["favourites"]] == ["7"]


def test_labels_for_cover_count_as_a_sample(learn, reef):
    learn.queue = "cover"
    learn.choose_term(int(reef[3][0]))
    images = [image["id"] for image in content(learn)["images"]]
    learn.give_term(images[:5])
    material, history = learn._material(learn.found()), reef[0].labels.events()
    seen = evidence(history, material, said(history, material, reef[0].labels.current()))
    assert seen.sampled[np.isin(material.image_ids, images[:5])].all()


def test_time_spent_and_expected_are_told_after_three_learnings(learn, reef):
    assert content(learn)["expected"] is None and content(learn)["spent"] > 0
    made, ids, truth, terms = reef
    for count in (20, 60):
        for place in np.random.default_rng(count).permutation(400)[:count]:
            made.labels.label(learn.who(), [ids[place]], terms[truth[place]])
        run_now(made, "learn")
    learn.session.changed(images=False)
    told = content(learn)["expected"]
    assert told is not None and (told["labels"] is None or told["labels"] >= len(learn.current()[0]) * 0.9)


def test_clustering_again_is_queued_once_asked(learn):
    told(LearnPage(learn), {"act": "steer"})
    assert "steer" in [job.kind for job in learn.app.queue.unfinished()]
