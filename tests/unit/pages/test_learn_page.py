"""Learn without a browser: batches, suggestions accepted and refused, thresholds, plots."""

from itertools import pairwise

import numpy as np
import pytest

from benthoscope.app.data.figures import FigureChoice, figure
from benthoscope.app.pages.learn.content import content
from benthoscope.app.pages.learn.model import BATCH, SORTED, Learn
from benthoscope.app.pages.learn.page import LearnPage
from benthoscope.app.pages.learn.queues import QUEUE_NAMES
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.accuracy.stream import draw_for_page, drawn_images
from benthoscope.engine.labelling.agreement import conflicts
from benthoscope.engine.labelling.audits.bulk_audit import audit_frame, next_page, store_page
from benthoscope.engine.labelling.suggestions import ModelAge, SuggestionStore, model_age
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewRun
from benthoscope.engine.workspace.labels.events import standing
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.plots import data_table
from tests.reef_workspace import KINDS, copied


@pytest.fixture
def reef(tmp_path, request, reef_templates):
    """With eighty labels by Ann and a trained model if the test works on `learn`, without labels otherwise."""
    template = reef_templates(80 if "learn" in request.fixturenames else 0)
    with copied(template, tmp_path) as workspace:
        yield workspace, template.ids, template.truth, template.terms


@pytest.fixture
def learn(reef):
    return Learn(Session(AppState(reef[0]), "learn", person="Ann"))


def right(learn, reef, images):
    """How many of these images have their true label."""
    made, ids, truth, terms = reef
    image_ids, terms_of_images = made.labels.current_terms()
    chosen = np.isin(image_ids, images)
    return (terms_of_images[chosen] == terms[truth[np.searchsorted(ids, image_ids[chosen])]]).mean()


def work_through(learn, reef, pages):
    """Pages answered by somebody who knows the truth, the model trained after each."""
    made, ids, truth, terms = reef
    for _ in range(pages):
        shown = content(learn)["images"]
        true = {image["id"]: int(terms[truth[np.searchsorted(ids, image["id"])]]) for image in shown}
        learn.accept({image["id"]: true[image["id"]] for image in shown if image["options"][0][0] != true[image["id"]]})
        run_now(made, "learn")
        learn.session.changed("labels")


def send(page, message):
    """As the browser tells it."""
    page.layout._handle_msg({**message, "nth": page.layout.heard + 1})


def test_before_anything_is_learnt_the_page_says_what_to_do(reef):
    learn = Learn(Session(AppState(reef[0]), "learn", person="Ann"))
    assert content(learn)["learnt"] is False
    with pytest.raises(BadInput, match="there is no model yet"):
        learn.accept({})


@pytest.mark.parametrize("queue", list(QUEUE_NAMES))
def test_every_queue_has_a_batch_without_repeats(learn, queue):
    learn.queue = queue
    rows = learn.table().rows
    is_member = np.isin(learn.table().ids, list(learn.table().drawn))
    labelled = np.isin(learn.require_suggestions().image_ids[rows[~is_member]], learn.current()[0])
    assert len(set(rows.tolist())) == len(rows) <= (SORTED if queue == "sort" else BATCH)
    assert labelled.all() if queue == "doubted" else not labelled.any()
    if queue == "topics":
        assert not len(rows)  # there is no run of topics
        return
    assert len(rows) or queue in ("doubted", "final", "typical")  # typical images are chosen by a job
    if queue == "check":
        assert is_member.all()
    if queue not in ("doubted", "groups", "final", "typical"):
        assert len(rows) == (SORTED if queue == "sort" else BATCH)


def visible_queues(learn):
    return [name for name, queue in content(learn)["queues"].items() if queue["first"]]


def test_four_queues_are_visible_before_the_first_training(reef):
    learn = Learn(Session(AppState(reef[0]), "learn", person="Ann"))
    assert visible_queues(learn) == ["typical", "sort", "groups", "random"]


def test_four_queues_are_visible_after_the_first_training(learn):
    assert visible_queues(learn) == ["sure", "sort", "groups", "random"]


def test_a_sure_batch_is_of_one_term_and_accepting_labels_it(learn, reef):
    shown = content(learn)["images"]
    images = [image for image in shown if image["id"] not in learn.table().draws]
    assert len({image["term"] for image in images}) == 1
    ids, wrong = [image["id"] for image in shown], [images[0]["id"]]
    learn.accept(dict.fromkeys(wrong))
    image_ids = learn.current()[0]
    assert np.isin(np.setdiff1d(ids, wrong), image_ids).all() and wrong[0] not in image_ids
    assert learn.session.message.text == f"Accepted {BATCH - 1} suggestions, corrected 1"
    assert right(learn, reef, ids) > 0.9
    assert [event.kind for event in reef[0].labels.events()[-2:]] == ["label", "refuse"]
    assert learn.batch == 1 and learn.learning()


def test_a_refused_suggestion_is_not_made_again_once_learnt(learn, reef):
    image = content(learn)["images"][0]
    learn.accept({image["id"]: None})
    run_now(reef[0], "learn")
    learn.session.changed("labels")
    suggestions = learn.require_suggestions()
    best = suggestions.best()[0][np.flatnonzero(suggestions.image_ids == image["id"])[0]]
    assert learn.terms()[int(best)].name != image["term"]


def test_clicked_images_get_the_chosen_term_and_undo_takes_it_back(learn, reef):
    learn.queue = "varied"
    image = content(learn)["images"][0]["id"]
    with pytest.raises(BadInput, match="no label is chosen"):
        learn.give_term([image])
    learn.choose_term(int(reef[3][2]))
    learn.give_term([image])
    assert image in learn.current()[0] and reef[0].labels.events()[-1].rule["queue"] == "varied"
    learn.undo()
    assert image not in learn.current()[0]


def test_before_thirty_random_images_no_per_cent_is_shown(learn):
    shown = content(learn)
    assert shown["measured"]["accuracy"] is None and shown["measured"]["at_least"] is None
    assert shown["measured"]["missing"] == "not measurable yet: 0 of 30 random images answered"
    assert shown["trainings"] == 0 and shown["expected"] is None
    for name in ("accuracy", "calibration", "learning-curve"):
        with pytest.raises(BadInput, match="answer random images in Learn"):
            figure(learn.app, name, FigureChoice())
    assert shown["sets"] == {"possible": None, "answered": 0, "needed": 19}
    assert shown["accept"]["ready"] == 0 and "more random images first; 0 of" in shown["accept"]["need"]


@pytest.mark.parametrize("queue, tiles, draws", [("sure", 24, 4), ("varied", 24, 4), ("sort", 60, 10)])
def test_one_tile_in_six_is_a_random_draw_with_its_guess_frozen(learn, queue, tiles, draws):
    learn.queue = queue
    table = learn.table()
    assert len(table.ids) == tiles and len(table.draws) == draws
    best = dict(zip(table.suggestions.image_ids.tolist(), table.suggestions.best()[0].tolist(), strict=True))
    assert all(draw.guess.term_id == best[image] and draw.is_open for image, draw in table.draws.items())
    unique_entries = [set(image) for image in content(learn)["images"]]
    assert all(keys == unique_entries[0] for keys in unique_entries)  # nothing tells a draw from the others


def test_draws_lie_in_random_places(learn):
    positions = []
    for queue in ("sure", "varied", "margin", "outliers"):
        learn.queue = queue
        positions.append(np.flatnonzero(np.isin(learn.table().ids, list(learn.table().draws))).tolist())
    assert len({tuple(where) for where in positions}) > 1


def test_accepting_a_page_answers_its_draws_by_labels_of_their_own(learn, reef):
    draws = learn.table().draws
    work_through(learn, reef, 1)
    stored = [draw for draw in reef[0].sampling.draws("stop") if draw.image_id in draws]
    assert len(stored) == 4 and all(draw.state == "answered" and not draw.answers[0].blind for draw in stored)
    looked = reef[0].labels.given_by_looking()
    assert np.isin(list(draws), looked.images).all()
    assert len(learn.answered()) == 4


def test_a_page_left_alone_keeps_its_draws_for_the_next_one(learn):
    before = sorted(learn.table().draws)
    learn.skip()
    assert sorted(learn.table().draws) == before
    learn.queue = "sort"
    assert set(before) <= set(learn.table().draws)


def test_after_a_restart_the_open_draws_come_first_in_the_same_order(learn, reef):
    first = learn.table().draws
    again = Learn(Session(AppState(reef[0]), "learn", person="Ann"), queue="sort").table().draws
    stored = [draw.image_id for draw in reef[0].sampling.draws("stop")]
    assert list(again) == stored and stored[:4] == list(first) and len(stored) == 10


def test_draws_of_the_page_on_screen_do_not_hide_the_figures(learn, reef):
    learn.queue = "varied"
    work_through(learn, reef, 9)
    learn.queue = "sort"
    assert len(learn.table().draws) == 10 and content(learn)["measured"]["missing"] == ""


def test_draws_that_were_avoided_have_to_be_answered_first(learn, reef):
    made, ids, truth, terms = reef
    learn.queue = "varied"
    work_through(learn, reef, 8)
    avoided = list(learn.table().draws.values())
    for draw in draw_for_page(made, learn.person_id(), learn.require_suggestions(), 12)[4:]:
        term = int(terms[truth[np.searchsorted(ids, draw.image_id)]])
        event = made.labels.label(learn.person_id(), [draw.image_id], term)
        made.sampling.record_answer(draw, term, learn.person_id(), event=event, blind=False)
    learn.session.changed("labels")
    missing = content(learn)["measured"]["missing"]
    assert missing == f"not measurable yet: answer {len(avoided)} open random images first"


def test_draws_of_images_with_a_bulk_label_say_nothing_about_suggestions(learn, reef):
    made, ids, truth, terms = reef
    for kind in range(KINDS):
        remaining = np.setdiff1d(ids[truth == kind], learn.current()[0])
        made.labels.label(learn.person_id(), remaining, int(terms[kind]), why="review")
    run_now(made, "learn")
    learn.session.changed("labels")
    draws = draw_for_page(made, learn.person_id(), learn.require_suggestions(), 40)
    assert len(draws) == 40 and all(draw.earlier_event for draw in draws)
    for draw in draws:
        event = made.labels.label(learn.person_id(), [draw.image_id], draw.earlier_term_id)
        made.sampling.record_answer(draw, draw.earlier_term_id, learn.person_id(), event=event, blind=False)
    learn.session.changed("labels")
    assert len(learn.answered()) == 0 and len(drawn_images(made)) == 40


def test_undo_opens_the_draws_again(learn, reef):
    work_through(learn, reef, 1)
    while learn.answered().right.size:
        learn.undo()
    assert len(reef[0].sampling.open_draws("stop")) == 4


def test_a_draw_whose_suggestions_are_all_refused_counts_as_wrong(learn):
    image = next(iter(learn.table().draws))
    learn.accept({image: None})
    assert learn.answered().right.sum() < len(learn.answered()) == 4


def test_a_draw_swept_up_by_a_bulk_act_stays_open_and_looks_like_the_others(learn, reef):
    image = next(iter(learn.table().draws))
    reef[0].labels.label(learn.person_id(), learn.table().ids, int(reef[3][0]), why="bulk")
    run_now(reef[0], "learn")
    learn.session.changed("labels")
    learn.queue = "varied"
    shown = {image_id["id"]: image_id for image_id in content(learn)["images"]}
    assert image in learn.table().draws and shown[image]["label"] == ""


def test_with_thirty_random_images_the_figures_are_right(learn, reef):
    learn.queue = "varied"
    work_through(learn, reef, 8)
    _, _, truth, terms = reef
    shown, suggestions = content(learn), learn.require_suggestions()
    free = ~np.isin(suggestions.image_ids, learn.current()[0])
    true = (suggestions.best()[0] == terms[truth])[free].mean()
    assert shown["measured"]["answered"] == 32 and shown["measured"]["used"] == 32
    assert shown["measured"]["at_least"] <= true and shown["measured"]["accuracy"] == pytest.approx(true, abs=0.12)
    drawn = {name: data_table(figure(learn.app, name, FigureChoice())) for name in ("calibration", "accuracy")}
    assert drawn["calibration"]["Share of the images (%)"].sum() == pytest.approx(100, abs=1)
    curves = dict(list(drawn["accuracy"].groupby("Accuracy")))
    coverage = curves["Measured"]["Images decided (%)"].tolist()
    assert coverage == sorted(coverage) and coverage[-1] == 100
    measure = "Accuracy of their suggestions (%)"
    assert (curves["At least (95 %)"][measure].to_numpy() <= curves["Measured"][measure].to_numpy()).all()
    last = data_table(figure(learn.app, "learning-curve", FigureChoice())).iloc[-1].tolist()
    assert last == [len(learn.current()[0]), pytest.approx(100 * shown["measured"]["accuracy"], abs=0.1)]
    assert 1 <= shown["sets"]["possible"] <= 4


def test_nothing_is_accepted_unseen_until_random_images_prove_it(learn, reef):
    learn.precision = 0.9
    page = LearnPage(learn)
    ready = page.layout.content["accept"]
    assert ready["ready"] == 0 and ready["draw_more"] and ready["unchecked"] == []
    missing = learn.acceptable().need.missing_draws
    assert ready["need"] == f"Answer at least {missing} more random images first; 0 of {missing} are answered."
    before = len(learn.current()[0])
    send(page, {"act": "sure"})
    assert (
        len(learn.current()[0]) == before
        and "No suggestion was accepted. Answer at least" in learn.session.message.text
    )
    send(page, {"act": "queue", "name": "check"})
    assert len(learn.table().draws) == BATCH == len(page.layout.content["images"])
    work_through(learn, reef, 4)
    ready = content(learn)["accept"]
    assert ready["ready"] > 100 and ready["need"] == "" and not ready["draw_more"]
    before = learn.current()[0]
    learn.accept_sure()
    accepted = np.setdiff1d(learn.current()[0], before)
    assert len(accepted) == ready["ready"] and right(learn, reef, accepted) >= 0.9
    assert content(learn)["accept"]["unchecked"] == []
    assert "at least 90 % are right" in learn.session.message.text


def test_what_a_former_version_accepted_without_proof_leads_to_a_check(learn, reef):
    free = np.setdiff1d(reef[1], learn.current()[0])[:100]
    old = reef[0].labels.label(learn.person_id(), free, int(reef[3][0]), why="suggestion", rule={"proven": False})
    learn.session.changed("labels")
    assert content(learn)["accept"]["unchecked"] == [old]
    frame = audit_frame(reef[0], [old], learn.person_id())
    page = next_page(reef[0], frame, 0.05)
    store_page(reef[0], frame, learn.person_id(), page, [], [0.5] * len(page), 0.05)
    learn.session.changed("labels")
    assert content(learn)["accept"]["unchecked"] == []


def test_random_images_alone_need_a_name_and_come_back_until_they_are_answered(learn):
    nameless = Learn(Session(learn.app, "learn"))
    with pytest.raises(BadInput):
        nameless.choose_queue("check")
    learn.choose_queue("check")
    first = set(learn.table().draws)
    learn.skip()
    assert set(learn.table().draws) == first and len(first) == BATCH


def test_repeated_answers_are_shown(learn, reef):
    learn.choose_queue("check")
    work_through(learn, reef, 2)
    shown = content(learn)["measured"]
    assert shown["waiting"] == 8 and shown["repeated"] == 0 and shown["without_guess"] == 0


def test_the_page_does_what_the_keys_say(learn, reef):
    page = LearnPage(learn)
    send(page, {"act": "queue", "name": "varied"})
    assert page.layout.content["queue"] == "varied" and len(page.layout.content["images"]) == BATCH
    chosen = next(number for number, term in learn.terms().items() if term.name == "habitat 1")
    send(page, {"act": "choose", "term": chosen})
    assert page.layout.content["term"]["name"] == "habitat 1"
    send(page, {"act": "name", "images": []})
    assert learn.session.message.kind == "error"
    send(page, {"act": "wanted", "share": 0.9})
    send(page, {"act": "next"})
    assert page.layout.content["batch"] == 1 and learn.precision == 0.9
    assert len(reef[3]) == KINDS


def test_images_called_otherwise_get_that_term_and_the_others_their_suggestion(learn, reef):
    shown = [image for image in content(learn)["images"] if image["id"] not in learn.table().draws]
    other, refused = shown[0], shown[1]
    second = other["options"][1][0]
    assert len(other["options"]) == 3 and other["options"][0][1] == other["term"]
    send(LearnPage(learn), {"act": "accept", "otherwise": [[other["id"], second], [refused["id"], None]]})
    moment, terms = learn.current()
    assert terms[moment == other["id"]].tolist() == [second] and refused["id"] not in moment
    added = reef[0].labels.events()[80:]
    assert [(event.kind, event.why) for event in added if "draws" not in event.rule] == [
        ("label", "suggestion"),
        ("label", "manual"),
        ("refuse", "suggestion"),
    ]


def test_pages_to_be_sorted_have_alike_images_side_by_side(learn, reef):
    learn.queue = "sort"
    truth = dict(zip(reef[1].tolist(), reef[2].tolist(), strict=True))
    kinds = [truth[int(image)] for image in learn.table().ids]
    runs = 1 + sum(a != b for a, b in pairwise(kinds))
    mixed = np.random.default_rng(0).permutation(kinds)
    assert runs < 0.8 * (1 + sum(a != b for a, b in pairwise(mixed.tolist())))


def test_another_number_of_columns_lays_the_same_images_anew(learn):
    page = LearnPage(learn)
    send(page, {"act": "queue", "name": "sort"})
    before = [image["id"] for image in page.layout.content["images"]]
    number = page.layout.content["table"]
    send(page, {"act": "columns", "count": 7})
    after = [image["id"] for image in page.layout.content["images"]]
    assert page.layout.content["columns"] == 7 and page.layout.content["table"] == number
    assert sorted(after) == sorted(before) and after != before


def test_what_is_named_while_it_lies_there_stays_and_is_not_accepted_otherwise(learn, reef):
    learn.queue = "sort"
    page = LearnPage(learn)
    images = [image["id"] for image in page.layout.content["images"]]
    term = next(int(term) for term in reef[3] if int(term) != page.layout.content["images"][0]["options"][0][0])
    learn.choose_term(term)
    send(page, {"act": "name", "images": images[:3]})
    shown = page.layout.content["images"]
    assert [image["id"] for image in shown] == images
    assert [bool(image["named"]) for image in shown[:4]] == [True, True, True, False]
    assert shown[0]["label"] == learn.terms()[term].name
    send(page, {"act": "accept", "otherwise": [], "table": page.layout.content["table"]})
    moment, terms = learn.current()
    assert set(terms[np.isin(moment, images[:3])].tolist()) == {term} and np.isin(images, moment).all()


def learn_forty_more(learn, reef):
    """Elsewhere forty images are named one by one, and the model learns from them."""
    made, ids, truth, terms = reef
    free = np.setdiff1d(ids, learn.current()[0])[-40:]
    for image in free:
        made.labels.label(learn.person_id(), [image], terms[truth[np.searchsorted(ids, image)]])
    run_now(made, "learn")
    learn.session.changed("labels")


def test_a_table_somebody_has_begun_outlasts_what_is_learnt_meanwhile(learn, reef):
    learn.queue = "varied"
    page = LearnPage(learn)
    before, number = [image["id"] for image in page.layout.content["images"]], page.layout.content["table"]
    send(page, {"act": "hold"})
    learn_forty_more(learn, reef)
    assert [image["id"] for image in content(learn)["images"]] == before
    send(page, {"act": "next"})
    assert content(learn)["table"] == number + 1


def test_who_accepts_before_entering_a_name_accepts_the_images_that_were_seen(learn, reef):
    session = Session(learn.app, "learn")
    nameless = Learn(session)
    table = nameless.table()
    session.perform(lambda: nameless.accept({}, table.number))
    assert session.asks_name and nameless.table() is table
    session.person = "Bob"
    assert "Accepted" in session.message.text and table.draws == {}
    [event] = [event for event in reef[0].labels.events() if event.person_id == session.current_person().id]
    assert event.count == len(table.ids)
    assert nameless.table().draws  # the next page has random images again


def test_a_name_entered_before_anything_is_answered_brings_random_images(learn):
    session = Session(learn.app, "learn")
    nameless = Learn(session)
    assert nameless.table().draws == {}
    session.person = "Bob"
    assert nameless.table().draws


def test_what_nobody_looked_at_is_not_accepted(learn, reef):
    learn.queue = "margin"
    page = LearnPage(learn)
    number = page.layout.content["table"]
    learn_forty_more(learn, reef)
    count = len(learn.current()[0])
    assert content(learn)["table"] == number + 1
    send(page, {"act": "accept", "otherwise": [], "table": number})
    assert "other images are shown" in learn.session.message.text and len(learn.current()[0]) == count
    send(page, {"act": "accept", "otherwise": [], "table": number + 1})
    assert len(learn.current()[0]) > count


def test_what_people_call_differently_is_settled_in_the_queue_of_disputes(learn, reef):
    made, terms = reef[0], reef[3]
    labelled = learn.current()[0][:3]
    made.labels.label(made.people.named("Bob").id, labelled, terms[3])
    learn.session.changed("labels")
    learn.queue = "disputed"
    page = LearnPage(learn)
    disputed = {conflict.image for conflict in conflicts(standing(made.labels.events()))}
    assert disputed and {image["id"] for image in page.layout.content["images"]} - set(learn.table().draws) == disputed
    send(page, {"act": "accept", "otherwise": [[min(disputed), int(terms[0])]]})
    assert conflicts(standing(made.labels.events())) == []
    moment, term_ids = learn.current()
    assert term_ids[moment == min(disputed)].tolist() == [terms[0]]


def test_without_disputes_come_images_the_model_and_their_cluster_call_differently(learn):
    learn.queue = "disputed"
    table, suggestions = learn.table(), learn.require_suggestions()
    images, terms = learn.current()
    assert len(table.rows) == BATCH and not np.isin(table.ids, images).any()
    clusters, rows = np.asarray(suggestions.clusters), table.rows[~np.isin(table.ids, list(table.draws))]
    clusters_of_labels, best = clusters[np.searchsorted(suggestions.image_ids, images)], suggestions.best()[0]
    is_new = np.array([best[row] not in terms[clusters_of_labels == clusters[row]] for row in rows])
    assert is_new.sum() <= 2  # images that the model calls what no label of their cluster says
    assert set(clusters[rows[~is_new]].tolist()) == {2}  # the one that holds two habitats
    kinds, counts = np.unique(terms[clusters_of_labels == 2], return_counts=True)
    assert set(best[rows[~is_new]].tolist()) == {kinds[counts.argmin()]}


@pytest.mark.parametrize("queue", ["sort", "margin", "varied", "outliers", "sure", "disputed"])
def test_next_shows_other_images_until_all_were_seen(learn, queue):
    learn.queue = queue
    remaining = np.setdiff1d(learn.table().ids, list(learn.table().drawn))
    learn.skip()
    assert not np.isin(learn.table().ids, remaining).any()
    for _ in range(40):
        learn.skip()
    assert len(learn.table().ids)


def test_every_image_tells_how_many_terms_it_may_have(learn, reef):
    work_through(learn, reef, 6)  # 24 random images: enough for sets at 95 %, too few for them at 99 %
    learn.precision = 0.6
    few = content(learn)
    learn.precision = 0.95
    shown_content = content(learn)
    assert 1 <= few["sets"]["possible"] <= shown_content["sets"]["possible"] <= 4
    assert all(1 <= a["possible"] <= b["possible"] for a, b in zip(few["images"], shown_content["images"], strict=True))
    learn.precision = 0.99
    assert content(learn)["sets"] == {"possible": None, "answered": 24, "needed": 99}


def test_a_capital_letter_is_a_key_too(learn, reef):
    page = LearnPage(learn)
    image = content(learn)["images"][0]["id"]
    learn.choose_term(int(reef[3][0]))
    send(page, {"act": "press", "key": "Q"})
    learn.choose_term(int(reef[3][1]))
    send(page, {"act": "name", "images": [image], "key": "Q"})
    moment, terms = learn.current()
    assert terms[moment == image].tolist() == [int(reef[3][0])]


def test_a_group_of_alike_images_is_named_at_once(learn, reef):
    learn.queue = "groups"
    page = LearnPage(learn)
    images = [image["id"] for image in page.layout.content["images"]]
    learn.choose_term(int(reef[3][1]))
    send(page, {"act": "name", "images": images[1:]})
    moment, terms = learn.current()
    assert set(terms[np.isin(moment, images[1:])].tolist()) == {int(reef[3][1])} and images[0] not in moment
    assert learn.batch == 1


def test_a_digit_names_what_is_marked_and_a_free_one_takes_the_chosen_term(learn, reef):
    page = LearnPage(learn)
    image = content(learn)["images"][0]["id"]
    send(page, {"act": "press", "key": "7"})
    assert "key 7 has no label" in learn.session.message.text
    learn.choose_term(int(reef[3][0]))
    send(page, {"act": "press", "key": "7"})
    learn.choose_term(int(reef[3][1]))
    send(page, {"act": "name", "images": [image], "key": "7"})
    moment, terms = learn.current()
    assert terms[moment == image].tolist() == [int(reef[3][0])]
    assert [favourite["key"] for favourite in page.layout.content["favourites"]] == ["7"]


def test_time_spent_and_expected_are_told_after_three_measurements(learn, reef):
    assert content(learn)["expected"] is None and content(learn)["spent"] > 0
    learn.queue = "varied"
    work_through(learn, reef, 10)
    expected = content(learn)["expected"]
    assert expected is not None and (expected["labels"] is None or expected["labels"] >= len(learn.current()[0]) * 0.9)


def test_figures_of_former_versions_are_not_shown(learn, reef):
    """They were measured on labels that people chose to give."""
    store = SuggestionStore(reef[0].folder)
    for labels in (20, 40, 60):
        store.note({"labels": labels, "accuracy": 0.39, "at": 1.0})
    learn.session.changed("labels")
    assert content(learn)["trainings"] == 0 and content(learn)["expected"] is None


def test_the_age_of_the_model_is_told_and_stale_suggestions_are_refused(learn, reef):
    made, ids, _, terms = reef
    assert content(learn)["age"] == {
        "text": "trained on all 80 labels",
        "stale": False,
        "current": True,
        "updating": False,
    }
    page = LearnPage(learn)
    send(page, {"act": "hold"})
    swept = np.setdiff1d(ids, learn.current()[0])[:200]
    made.labels.label(made.people.named("Bob").id, swept, int(terms[0]), why="review")
    learn.session.changed("labels")
    age = content(learn)["age"]
    assert (age["text"], age["stale"]) == ("trained on 80 of 280 labels", True)
    before = len(made.labels.events())
    send(page, {"act": "accept", "otherwise": [], "table": page.layout.content["table"]})
    assert "out of date" in learn.session.message.text and len(made.labels.events()) == before
    send(page, {"act": "sure"})
    assert "out of date" in learn.session.message.text and len(made.labels.events()) == before
    assert learn.learning() and content(learn)["age"]["updating"]
    run_now(made, "learn")
    learn.session.changed("labels")
    assert not content(learn)["age"]["stale"]
    send(page, {"act": "accept", "otherwise": [], "table": content(learn)["table"]})
    assert len(made.labels.events()) > before


def test_labels_that_were_undone_again_do_not_make_the_model_older(learn, reef):
    made, ids = reef[0], np.setdiff1d(reef[1], learn.current()[0])
    number = made.labels.label(learn.person_id(), ids[:200], int(reef[3][0]), why="review")
    assert model_age(learn.require_suggestions(), made.labels).changed == 200
    made.labels.undo(learn.person_id(), number)
    assert model_age(learn.require_suggestions(), made.labels).current
    first = made.labels.events()[0]
    made.labels.undo(learn.person_id(), first.number)
    made.labels.clear(learn.person_id(), made.labels.events()[1].images)
    assert model_age(learn.require_suggestions(), made.labels).changed == 2


@pytest.mark.parametrize(
    "counts, words",
    [
        ((80, 80, 0, 0), "trained on all 80 labels"),
        ((1519, 2287, 768, 0), "trained on 1,519 of 2,287 labels"),
        ((80, 80, 3, 0), "trained on 77 of 80 labels"),
        ((80, 85, 0, 0), "trained on 80 of 85 labels"),
        ((300, 10, 290, 0), "trained on 0 of 10 labels"),
    ],
)
def test_the_age_counts_labels_that_changed(counts, words):
    assert str(ModelAge(*counts)) == words


def test_a_label_the_model_does_not_know_makes_it_stale(learn, reef):
    made = reef[0]
    new = made.vocabularies.terms(made.vocabularies.add("more", [NewTerm(("urchins",))]).id)[0].id
    made.labels.label(learn.person_id(), [reef[1][0]], new)
    learn.session.changed("labels")
    assert content(learn)["age"]["stale"]


def test_new_labels_on_the_page_itself_do_not_make_it_out_of_date(learn, reef):
    """The person saw the other images of the page at the same time; labels elsewhere still count."""
    made = reef[0]
    words = made.vocabularies.add("more", [NewTerm(("urchins",)), NewTerm(("kelp",))])
    urchins, kelp = (term.id for term in made.vocabularies.terms(words.id))
    learn.queue = "sort"
    images = learn.table().ids.tolist()
    learn.choose_term(urchins)
    learn.give_term(images[:3])
    assert learn.age().stale and not content(learn)["age"]["stale"]
    made.labels.label(learn.person_id(), np.setdiff1d(reef[1], images)[:1], kelp)
    learn.session.changed("labels")
    assert content(learn)["age"]["stale"]
    learn.undo()
    learn.accept({}, learn.table().number)
    assert np.isin(images, learn.current()[0]).all() and learn.batch == 1


def test_four_queues_come_first_and_all_have_plain_names_and_hints(learn):
    queues = content(learn)["queues"]
    assert [queue["title"] for queue in queues.values() if queue["first"]] == [
        "Confident",
        "Sort",
        "New groups",
        "Random",
    ]
    assert len(queues) == 13 and queues["random"]["href"] and queues["double"]["href"]
    assert all(queue["title"][0].isupper() and len(queue["hint"]) < 130 for queue in queues.values())


def test_clustering_again_is_queued_once_asked(learn):
    send(LearnPage(learn), {"act": "steer"})
    assert "steer" in [job.kind for job in learn.app.queue.unfinished()]


def test_pages_repeat_own_labels_without_showing_them(learn, reef):
    """One tile in thirty; its suggestion comes from a model that was not trained on the label."""
    made = reef[0]
    learn.queue = "varied"
    shown = {}
    for _ in range(6):
        table = learn.table()
        for image in content(learn)["images"]:
            if image["id"] in table.repeats:
                assert image["label"] == "" and image["named"] == ""
                shown[image["id"]] = dict(zip(table.ids.tolist(), table.probabilities, strict=True))[image["id"]]
        learn.next_batch()
    assert 1 <= len(shown) <= 6 * BATCH / 30 + 1
    suggestions = learn.require_suggestions()
    rows = [int(np.flatnonzero(suggestions.image_ids == image)[0]) for image in shown]
    held_out = [int(np.flatnonzero(np.asarray(suggestions.held_places) == row)[0]) for row in rows]
    assert np.allclose(list(shown.values()), np.asarray(suggestions.held_probabilities)[held_out])
    assert made.labels.last_number() == 80  # looking at a page labels nothing


def test_answers_to_repeats_make_the_slip_record(learn, reef):
    learn.queue = "varied"
    work_through(learn, reef, 6)
    learn.session.changed("labels")
    assert content(learn)["slips"].startswith("Slips: 0.0 to ")
    assert right(learn, reef, reef[0].labels.current()[0]) == 1


def test_the_queue_of_topics_asks_for_images_between_two_labels(learn, reef):
    """Topics are the habitats; a few images are half one and half another."""
    made, ids, truth, _ = reef
    assert "topics" not in content(learn)["queues"]
    weights = 0.9 * np.eye(4)[truth] + 0.025
    free = np.flatnonzero(~np.isin(ids, learn.current()[0]))
    between = free[truth[free] < 2][:5]
    weights[between] = [0.475, 0.475, 0.025, 0.025]
    new = NewRun("topics", "iwtm", "patches", {}, {}, {"clusters": 4, "segment_clusters": 4})
    made.runs.add(new, {"image_ids": ids, "labels": weights.argmax(1).astype(np.int32), "image_weights": weights})
    learn.session.changed("runs")
    assert content(learn)["queues"]["topics"]["title"] == "Topics"
    learn.choose_queue("topics")
    table = learn.table()
    random_images = set(table.drawn)
    assert [image for image in table.ids.tolist() if image not in random_images][:5] == ids[between].tolist()
