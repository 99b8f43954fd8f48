"""Review without a browser: a cluster named by one key, exceptions, growing, the check, undo."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from bokeh.document import Document

from benthoscope.app.components.base import OrderedCommandComponent
from benthoscope.app.pages.review import auditing
from benthoscope.app.pages.review import cluster_edits as rearranging
from benthoscope.app.pages.review.content import content, suggested
from benthoscope.app.pages.review.model import Review
from benthoscope.app.pages.review.page import COMMANDS, ReviewPage, view
from benthoscope.app.server.session_executor import Lanes
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.session import NameNeeded, Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.agreement import conflicts
from benthoscope.engine.labelling.audits.bulk_audit import pooled_statement
from benthoscope.engine.labelling.audits.sample import audits
from benthoscope.engine.labelling.audits.sequential_bound import sequential_plan
from benthoscope.engine.labelling.speed import pace
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewImage, NewRun, Workspace
from benthoscope.engine.workspace.labels import events as events_module
from benthoscope.engine.workspace.labels import log as log_module
from benthoscope.engine.workspace.labels.events import standing
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

SIZES = (300, 150, 50)


@pytest.fixture
def reef(tmp_path):
    """500 images in three clusters; the second holds twenty images of the third's kind."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        group = made.library.group(made.library.collection("Reef").id, "dive").id
        root = made.library.register_root(tmp_path).id
        ids = np.array(
            made.library.store_images(
                [NewImage(root, f"{n}.jpg", group, 1, 1, f"{n:064x}", 8, 8) for n in range(sum(SIZES))]
            )
        )
        kinds = np.repeat(np.arange(3), SIZES)
        kinds[300:320] = 2
        with made.features.writer("deep", width=6, extractor={}) as features:
            features.append(ids, 9 * np.eye(6)[kinds] + rng.standard_normal((len(ids), 6)))
        made.runs.add(
            NewRun("first", "gmc", "deep", {}, {}, {"clusters": 3}),
            {"image_ids": ids, "labels": np.repeat(np.arange(3), SIZES).astype(np.int32)},
        )
        made.vocabularies.add("own", [NewTerm((name,)) for name in ("sand", "kelp", "sponges")])
        yield made, ids, kinds


@pytest.fixture
def review(reef):
    session = Session(AppState(reef[0]), "review", person="Ann")
    return Review(session)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The moment that audits read; tests move it on."""
    moment = SimpleNamespace(now=100.0)
    monkeypatch.setattr(auditing, "clock", lambda: moment.now)
    return moment


def look_at_all(review, clock, seconds=0.7):
    """Looks at every image of the check for so long; the seconds of each, as the browser reports them."""
    clock.now += seconds * len(review.checking.images)
    return dict.fromkeys(review.checking.images.tolist(), seconds)


def check(review, clock, wrong=(), seconds=0.7):
    auditing.finish(review, wrong, look_at_all(review, clock, seconds))


def newest_audit(review):
    return list(audits(standing(review.app.workspace.labels.events())).values())[-1]


def term(review, name):
    return next(candidate.id for candidate in review.terms() if candidate.name == name)


def current(review):
    """{term name: images}"""
    labels = review.labelled()
    names = {candidate.id: candidate.name for candidate in review.terms()}
    return {names[int(number)]: int((labels["terms"] == number).sum()) for number in np.unique(labels["terms"])}


def send(page, message):
    """As the browser tells it."""
    page.layout._handle_msg({**message, "nth": page.layout.heard + 1})


def test_the_largest_cluster_lies_on_the_table_first(review):
    assert review.current_cluster() == 0 and len(review.members()) == 300 and len(review.table()) == 60
    review.next_cluster()
    assert review.current_cluster() == 1


def test_a_mixed_cluster_shows_both_kinds_in_its_first_row(review, reef):
    review.cluster = 1
    kinds = dict(zip(reef[1].tolist(), reef[2].tolist(), strict=True))
    assert {kinds[int(image)] for image in review.members()[:12]} == {1, 2}
    assert sorted(review.members().tolist()) == reef[1][300:450].tolist()


def test_one_key_names_a_cluster_and_a_check_states_how_wrong_it_may_be(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    assert current(review) == {"sand": 300} and review.mode == "check"
    assert len(review.checking.images) == sequential_plan(300, 0.05)  # enough for 5 %
    check(review, clock)
    audit = newest_audit(review)
    assert audit.wrong == 0 and audit.at_most <= 0.05 and audit.of == 300 and audit.method == "sequential"
    assert f"({audit.checked} seen, {0.7 * audit.checked:.0f} s)" in review.session.message.text
    assert review.mode == "cluster" and review.current_cluster() == 1


def test_a_second_enter_after_a_second_and_a_half_stores_nothing(review, clock):
    """Whatever the browser claims to have shown."""
    page = ReviewPage(review)
    send(page, {"act": "choose", "term": term(review, "sand")})
    send(page, {"act": "name", "exceptions": []})
    images, events = review.checking.images.tolist(), len(review.app.workspace.labels.events())
    for passed, seconds in ((0.1, []), (1.5, []), (1.5, [[image, 9.0] for image in images])):
        clock.now += passed
        send(page, {"act": "check", "wrong": [], "seconds": seconds})
        assert review.session.message.kind == "error" and review.mode == "check"
    assert len(review.app.workspace.labels.events()) == events
    assert review.app.workspace.sampling.answered_draws("audit") == []


def test_one_image_out_of_view_keeps_the_page_open(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    seconds = look_at_all(review, clock)
    del seconds[int(review.checking.images[-1])]
    with pytest.raises(BadInput, match="not visible long enough"):
        auditing.finish(review, (), seconds)
    auditing.finish(review, (), {int(review.checking.images[-1]): 0.3})  # the others were counted already
    assert newest_audit(review).checked == sequential_plan(300, 0.05)


def test_how_long_counts_as_seen_is_a_setting(reef, clock):
    review = Review(Session(AppState(reef[0], audit_seconds=2.0), "review", person="Ann"))
    review.term = term(review, "sand")
    review.name_cluster()
    with pytest.raises(BadInput, match="not visible long enough"):
        check(review, clock, seconds=1.0)


def test_a_fast_check_is_said_to_be_fast(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    check(review, clock, seconds=0.26)
    assert "very fast" in review.session.message.text and "very fast" in str(newest_audit(review))


def test_the_bound_shows_after_twenty_images_and_follows_every_one(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    images, bounds = review.checking.images.tolist(), []
    for number, image in enumerate(images, 1):
        clock.now += 0.5
        auditing.record_viewing(review, {image: 0.5})
        shown = content(review)["check"]
        assert shown["checked"] == number and bool(shown["bound"]) == (number >= 20)
        bounds.append(review.checking.so_far().at_most)
    assert bounds == sorted(bounds, reverse=True) and content(review)["check"]["advice"] == "enough"
    auditing.record_viewing(review, {}, images[:1])
    assert content(review)["check"]["wrong"] == 1 and content(review)["check"]["advice"] == "more"


def test_a_wrong_label_brings_more_images_until_the_target_is_reached(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    first = set(review.checking.images.tolist())
    check(review, clock, review.checking.images[:1].tolist())
    assert review.mode == "check" and first.isdisjoint(review.checking.images.tolist())
    assert "check a few more" in review.session.message.text
    check(review, clock)
    audit = newest_audit(review)
    assert (audit.wrong, audit.of, review.mode) == (1, 300, "cluster") and audit.at_most <= 0.05
    assert audit.checked == sequential_plan(300, 0.05, wrong=1) and audit.seconds == pytest.approx(0.7 * audit.checked)


def test_an_act_with_many_wrong_labels_is_to_be_corrected(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    check(review, clock, review.checking.images[:8].tolist())
    assert "correct these labels instead" in review.session.message.text and review.mode == "cluster"


def test_a_check_that_is_left_shows_the_same_images_again(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    last_event, images = review.app.workspace.labels.last_number(), review.checking.images.tolist()
    review.leave()
    other = Review(Session(AppState(review.app.workspace), "review", person="Ann"))
    auditing.begin(other, [last_event])
    assert other.checking.images.tolist() == images


def test_a_withdrawn_check_shows_the_same_images_and_forgets_what_it_found(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    images = review.checking.images.tolist()
    check(review, clock, images[:8])
    assert current(review) == {"sand": 292}
    review.session.message.undo()
    assert review.mode == "check" and review.checking.images.tolist() == images
    assert audits(standing(review.app.workspace.labels.events())) == {} and current(review) == {"sand": 300}
    assert review.app.workspace.sampling.answered_draws("audit") == []
    check(review, clock)
    assert newest_audit(review).wrong == 0


def test_two_people_on_one_page_do_not_count_its_images_twice(reef, clock):
    app = AppState(reef[0])
    ann, bob = (Review(Session(app, "review", person=name)) for name in ("Ann", "Bob"))
    ann.term = term(ann, "sand")
    ann.name_cluster()
    auditing.begin(bob, ann.checking.event_numbers)
    assert bob.checking.images.tolist() == ann.checking.images.tolist()
    seconds = look_at_all(ann, clock)
    auditing.finish(ann, (), seconds)
    with pytest.raises(BadInput, match="somebody else has just checked"):
        auditing.finish(bob, (), seconds)
    assert newest_audit(ann).checked == sequential_plan(300, 0.05)


def test_labels_that_are_undone_are_not_checked(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    last_event = review.app.workspace.labels.last_number()
    review.undo()
    with pytest.raises(BadInput, match="they are undone"):
        auditing.begin(review, [last_event])


def test_undo_of_the_audit_alone_opens_its_draws_too(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    images = review.checking.images.tolist()
    check(review, clock)
    review.undo()
    assert [draw.image_id for draw in review.app.workspace.sampling.open_draws("audit")] == images
    review.redo()
    assert review.app.workspace.sampling.open_draws("audit") == [] and newest_audit(review).wrong == 0


def test_all_bulk_labels_are_checked_together_in_proportion_to_their_acts(review, clock):
    for name in ("sand", "kelp", "sponges"):
        review.term = term(review, name)
        review.name_cluster()
        review.leave()
        review.next_cluster()
    auditing.begin_pooled(review)
    images = review.checking.images
    assert review.checking.of == 500 and len(images) == sequential_plan(500, 0.05) == 63
    of_acts = np.bincount(np.searchsorted([300, 450], np.searchsorted(np.arange(1, 501), images), side="right"))
    assert of_acts[0] > of_acts[1] > 0
    check(review, clock)
    statement = pooled_statement(review.app.workspace)
    assert statement.audit is not None and (statement.labels, statement.upper, statement.checked) == (500, 25, 63)
    assert statement.text == (
        "All 500 bulk labels of 3 events: checked 63, wrong 0, at most 5 % wrong at 95 % (63 seen, 44 s)"
    )
    assert audits(standing(review.app.workspace.labels.events())) == {}  # single acts were not audited


def test_audits_of_single_acts_give_a_pooled_bound_that_counts_unchecked_acts_as_wrong(review, clock):
    for name in ("sand", "kelp"):
        review.term = term(review, name)
        review.name_cluster()
        check(review, clock)
    both = pooled_statement(review.app.workspace)
    assert both.audit is None and both.upper / 450 < 0.06 and "2 of them checked in 2 checks" in both.text
    review.term = term(review, "sponges")
    review.name_cluster()
    review.leave()
    assert pooled_statement(review.app.workspace).upper >= 50


def test_the_address_asks_for_a_check(review, clock):
    review.term = term(review, "sand")
    review.name_cluster()
    images = review.checking.images.tolist()
    session = Session(AppState(review.app.workspace), "review", person="Ann")
    session.address.query = {"audit": str(review.app.workspace.labels.last_number())}
    board = view(session)
    content = {**board.content, **board.changes["values"]}  # as the script puts them together
    assert content["mode"] == "check" and [image["id"] for image in content["images"]] == images


def test_exceptions_stay_open_or_get_another_name(review, reef):
    review.param.update(cluster=1, term=term(review, "kelp"))
    odd = reef[1][300:320].tolist()
    review.term = term(review, "sponges")
    review.name_images(odd[:5])
    review.term = term(review, "kelp")
    review.name_cluster(odd[5:])
    assert current(review) == {"sponges": 5, "kelp": 130}
    assert review.open_share()[1] == pytest.approx(0.1)


def test_what_a_check_finds_wrong_loses_its_label(review, clock):
    review.param.update(cluster=1, term=term(review, "kelp"))
    review.name_cluster()
    check(review, clock, review.checking.images[:3].tolist())
    assert current(review) == {"kelp": 147}
    assert "wrong 3" in review.session.message.text


def test_undo_takes_a_whole_act_back_and_redo_brings_it_again(review):
    review.term = term(review, "sand")
    review.name_cluster()
    review.undo()
    assert current(review) == {} and review.mode == "cluster" and review.checking is None
    review.redo()
    assert current(review) == {"sand": 300}
    review.session.undo()  # the message line's own
    assert current(review) == {"sand": 300}


def test_a_list_is_grown_by_yes_and_no(review, reef):
    """By likeness to an image of the third kind: its seventy come first, two pages, one of them in part."""
    kinds = dict(zip(reef[1].tolist(), reef[2].tolist(), strict=True))
    review.term = term(review, "sponges")
    review.begin_growing(seed=int(reef[1][-1]))
    assert {kinds[int(image)] for image in review.growing.ranking[:70]} == {2}
    for _ in range(30):
        if review.growing.search.done:
            break
        shown = review.growing.images()
        review.answer(all(kinds[int(image)] == 2 for image in shown))
    assert review.growing.pages_taken == 1
    review.move_cut(2)
    review.accept_grown()
    assert current(review) == {"sponges": 100} and review.mode == "check"
    event = review.app.workspace.labels.events()[-1]
    assert event.rule["cut"] == 2 and event.rule["moved"] and event.rule["answers"]


def test_images_clicked_away_are_not_taken_and_an_answer_is_taken_back(review):
    review.term = term(review, "sand")
    review.begin_growing()
    page, out = review.growing.page, review.growing.images()[:2].tolist()
    review.answer(True, out)
    review.answer(False)
    review.take_back_answer()
    assert len(review.growing.search.answers) == 1
    review.take_back_answer()
    assert review.growing.page == page and not review.growing.search.answers
    review.answer(True, out)
    review.move_cut(review.growing.search.pages)
    review.accept_grown()
    assert current(review) == {"sand": 498}


def test_the_model_ranks_once_it_has_learnt(review, reef):
    log, ann = review.app.workspace.labels, review.person_id()
    for name, kind in (("sand", 0), ("kelp", 1), ("sponges", 2)):
        for image in reef[1][reef[2] == kind][:12]:
            log.label(ann, [image], term(review, name))
    run_now(review.app.workspace, "learn")
    review.session.changed("labels")
    review.term = term(review, "sponges")
    review.begin_growing()
    kinds = dict(zip(reef[1].tolist(), reef[2].tolist(), strict=True))
    assert np.mean([kinds[int(image)] == 2 for image in review.growing.ranking[:50]]) > 0.9
    assert review.growing.probability[0] > 0.8 and (np.diff(review.growing.probability) <= 0).all()


def test_labels_of_two_terms_start_the_learning(review, clock):
    for name in ("sand", "kelp"):
        review.term = term(review, name)
        review.name_cluster()
        check(review, clock)
    assert [job.kind for job in review.app.queue.unfinished()] == ["learn"]


def test_clusters_are_split_merged_and_that_is_undone(review, reef):
    review.cluster = 1
    rearranging.split_cluster(review)
    assert sorted(review.arrangement().sizes().values()) == [20, 50, 130, 300]
    review.undo()
    assert sorted(review.arrangement().sizes().values()) == [50, 150, 300]
    rearranging.split_cluster(review, reef[1][300:320].tolist())
    review.cluster = 3
    rearranging.merge_cluster(review, 2)
    assert review.arrangement().sizes() == {0: 300, 1: 130, 2: 70}


def test_digits_choose_favourites_and_a_free_one_takes_the_term(review):
    review.term = term(review, "kelp")
    review.press("3")
    review.term = term(review, "sand")
    review.press("3")
    assert review.chosen_term().name == "kelp"
    assert [favourite["key"] for favourite in content(review)["favourites"]] == ["3"]


def test_what_is_missing_is_told(review):
    with pytest.raises(BadInput, match="no label is chosen"):
        review.name_cluster()
    with pytest.raises(BadInput, match="no label is being extended"):
        review.answer(True)
    with pytest.raises(BadInput, match="no check is open"):
        auditing.finish(review)
    review.session.person = ""
    with pytest.raises(NameNeeded, match="enter your name first"):
        review.person_id()


def test_the_board_shows_what_there_is(review):
    shown = content(review)
    assert shown["size"] == 300 and shown["pages"] == 5 and len(shown["ahead"]) == 60
    assert [cluster["number"] for cluster in shown["clusters"]] == [0, 1, 2]
    assert shown["pace"]["left"] == 500 and shown["suggested"] is None
    review.term = term(review, "sand")
    review.name_cluster()
    assert content(review)["check"]["of"] == 300 and content(review)["images"][0]["label"] == "sand"
    assert suggested(review, 0)["name"] == "sand"
    review.leave()
    review.begin_growing()
    grow = content(review)["grow"]
    assert grow["pages"] == 4 and len(grow["curve"]) == 4 and len(content(review)["images"]) == 50


def test_the_list_shows_the_label_the_progress_and_an_example_of_every_cluster(review, reef):
    workspace, ids, _ = reef
    terms = {term.name: term.id for term in workspace.vocabularies.all_terms()}
    for images, name in ((ids[:30], "kelp"), (ids[30:50], "sand"), (ids[300:303], "sponges")):
        workspace.labels.label(review.person_id(), images, terms[name], why="manual")
    review.session.changed(LABELS)
    rows = {row["number"]: row for row in content(review)["clusters"]}
    assert [(rows[number]["label"], rows[number]["done"]) for number in (0, 1, 2)] == [
        ("kelp", round(50 / 300, 3)),
        ("sponges", 0.02),
        ("", 0.0),
    ]
    for number, (first, last) in enumerate(((0, 300), (300, 450), (450, 500))):
        assert rows[number]["image"] in ids[first:last]
    example = rows[2]["image"]
    rearranging.move_images(_opened(review, 2), [example], 0)
    assert {row["number"]: row["image"] for row in content(review)["clusters"]}[2] != example


def _opened(review, cluster):
    review.cluster = cluster
    return review


def test_the_place_in_review_survives_a_reload(review, reef):
    review.turn_page(1)
    query = review.session.address.query
    assert query == {"cluster": "0", "page": "1"}
    again = Session(review.app, "review", person="Ann")
    again.address.query = query
    reloaded = Review(again)
    assert (reloaded.current_cluster(), reloaded.table().tolist()) == (0, review.table().tolist())
    again.address.query = {"cluster": "2", "page": "9"}  # an address older than the cluster shows its last page
    assert (reloaded.current_cluster(), content(reloaded)["page"], len(reloaded.table())) == (2, 0, 50)


def test_the_page_does_what_the_keys_say_and_mistakes_become_a_message(review, clock):
    page = ReviewPage(review)
    send(page, {"act": "name"})
    assert review.session.message.kind == "error"
    send(page, {"act": "choose", "term": term(review, "sand")})
    send(page, {"act": "name", "exceptions": []})
    assert page.shown["mode"] == "check" and current(review) == {"sand": 300}
    send(page, {"act": "check", "wrong": [], "seconds": list(look_at_all(review, clock).items())})
    send(page, {"act": "page", "by": 1})
    assert page.shown["cluster"] == 1 and page.shown["page"] == 1
    send(page, {"act": "open", "cluster": 2})
    assert page.shown["cluster"] == 2
    assert set(COMMANDS) >= {"name", "images", "split", "merge", "next", "grow", "answer", "undo", "redo", "press"}


def test_two_people_label_at_once_and_both_see_it(reef):
    app = AppState(reef[0])
    ann, bob = (Review(Session(app, "review", person=name)) for name in ("Ann", "Bob"))
    ann.param.update(cluster=0, term=term(ann, "sand"))
    bob.param.update(cluster=1, term=term(bob, "kelp"))
    ann.name_cluster()
    bob.name_cluster()
    assert current(ann) == current(bob) == {"sand": 300, "kelp": 150}
    ann.undo()
    assert current(bob) == {"kelp": 150}


def test_a_cluster_is_marked_a_duplicate_and_images_are_moved(review, reef):
    page = ReviewPage(review)
    send(page, {"act": "open", "cluster": 2})
    send(page, {"act": "duplicate", "into": 1})
    assert review.arrangement().sizes() == {0: 300, 1: 200} and page.shown["cluster"] == 1
    assert review.app.workspace.labels.events()[-1].rule["act"] == "duplicate"
    send(page, {"act": "undo"})
    send(page, {"act": "open", "cluster": 1})
    send(page, {"act": "move", "into": 2, "images": reef[1][300:320].tolist()})
    assert review.arrangement().sizes() == {0: 300, 1: 130, 2: 70} and page.shown["cluster"] == 1
    send(page, {"act": "merge", "into": 1})
    assert review.session.message.kind == "error" and "is the one shown" in review.session.message.text


def test_a_cluster_grows_from_one_image_and_that_is_taken_back(review, reef):
    page = ReviewPage(review)
    send(page, {"act": "found", "image": int(reef[1][-1])})
    assert review.mode == "grow" and page.shown["grow"]["into"] == 3
    first = set(reef[1][450:].tolist())
    assert set(review.growing.ranking[:49].tolist()) <= first | set(reef[1][300:320].tolist())
    send(page, {"act": "answer", "belongs": True})
    send(page, {"act": "cut", "pages": 1})
    send(page, {"act": "accept"})
    assert review.arrangement().sizes()[3] == 51 and current(review) == {}
    send(page, {"act": "undo"})
    send(page, {"act": "undo"})
    assert review.arrangement().sizes() == {0: 300, 1: 150, 2: 50}


def test_the_model_splits_a_mixed_cluster_as_it_was_mixed(review, reef):
    send(ReviewPage(review), {"act": "open", "cluster": 1})
    rearranging.split_by_model(review)
    job = run_now(review.app.workspace, "split cluster", {"run": review.atlas.run.id, "cluster": 1, "person": "Ann"})
    assert job.state == "done", job.error
    review.session.changed("labels")
    of = dict(zip(review.arrangement().images.tolist(), review.arrangement().clusters.tolist(), strict=True))
    odd = {of[int(image)] for image in reef[1][300:320]}
    assert odd.isdisjoint(of[int(image)] for image in reef[1][320:450])
    review.undo()


def test_a_split_cluster_that_is_one_is_told(review):
    with pytest.raises(BadInput, match="has only 0 images"):
        run_now(review.app.workspace, "split cluster", {"run": review.atlas.run.id, "cluster": 77, "person": "Ann"})


def test_a_lasso_is_drawn_on_the_two_widest_directions(review, reef):
    page = ReviewPage(review)
    send(page, {"act": "open", "cluster": 1})
    send(page, {"act": "lasso", "on": True})
    shown = page.shown["plane"]
    at = dict(zip(shown["ids"], np.array(shown["xy"]), strict=True))
    odd, unmarked_points = (np.array([at[int(image)] for image in ids]) for ids in (reef[1][300:320], reef[1][320:450]))
    assert np.linalg.norm(odd.mean(0) - unmarked_points.mean(0)) > 3 * odd.std(0).max()
    assert (np.array(shown["xy"]) >= 0).all() and (np.array(shown["xy"]) <= 1).all()


def test_a_second_person_confirms_denies_and_names_otherwise(reef):
    app = AppState(reef[0])
    ann, bob = (Review(Session(app, "review", person=name)) for name in ("Ann", "Bob"))
    ann.param.update(cluster=2, term=term(ann, "sand"))
    ann.name_cluster()
    page = ReviewPage(bob)
    send(page, {"act": "verify"})
    shown = [image["id"] for image in page.shown["images"]]
    assert sorted(shown) == reef[1][450:].tolist() and page.shown["verify"]["term"]["name"] == "sand"
    bob.term = term(bob, "kelp")
    send(page, {"act": "otherwise", "images": shown[:3]})
    send(page, {"act": "confirm", "wrong": shown[3:5]})
    events = standing(app.workspace.labels.events())
    assert [event.kind for event in events[-3:]] == ["label", "label", "refuse"] and bob.mode == "cluster"
    assert {event.why for event in events[-3:-1]} == {"verification"}
    assert len(conflicts(events)) == 3
    assert current(bob) == {"sand": 47, "kelp": 3}
    send(page, {"act": "verify"})
    assert "have not verified" in bob.session.message.text


def test_whoever_names_what_others_named_meanwhile_is_told(reef):
    app = AppState(reef[0])
    ann, bob = (Review(Session(app, "review", person=name)) for name in ("Ann", "Bob"))
    ann.term, bob.term = term(ann, "sand"), term(bob, "kelp")
    ids = reef[1][:5].tolist()
    ann.name_images(ids)
    bob.name_images(ids)
    assert "Ann also labelled some of them" in bob.session.message.text
    assert len(conflicts(standing(app.workspace.labels.events()))) == 5


def test_images_are_named_one_by_one_each_an_act_of_its_own(review, reef):
    page = ReviewPage(review)
    send(page, {"act": "open", "cluster": 2})
    send(page, {"act": "single"})
    single = page.shown["single"]
    assert single["total"] == 500 and len(single["images"]) == 400
    handed = [image for image, *_ in single["images"]]
    assert set(handed[:50]) == set(reef[1][450:].tolist())
    sand, kelp = term(review, "sand"), term(review, "kelp")
    send(page, {"act": "said", "pairs": [[handed[0], sand], [handed[1], kelp], [handed[2], sand]]})
    send(page, {"act": "more"})
    assert len(page.shown["single"]["images"]) == 500 and current(review) == {"sand": 2, "kelp": 1}
    send(page, {"act": "undo"})
    assert current(review) == {"sand": 1, "kelp": 1} and review.mode == "single"


class Keys(OrderedCommandComponent):
    _module = "pages/review/page"


def test_messages_are_done_in_the_order_they_were_sent_one_at_a_time():
    board, document, done, inside = Keys(), Document(), [], []

    def event(shown_content):
        assert not inside, "two at once"
        inside.append(shown_content)
        threading.Event().wait(0.001)
        done.append(shown_content["act"])
        inside.clear()

    board.on_message = event
    with Lanes(4) as lanes:
        sent = [
            lanes.submit(lambda doc, nth: board._handle_msg({"act": nth, "nth": nth}), document, nth)
            for nth in range(1, 101)
        ]
        for future in sent:
            future.result(30)
    assert done == list(range(1, 101)) and board.heard == 100


def test_a_message_that_cannot_be_done_is_heard_all_the_same():
    board = Keys()
    board.on_message = lambda message: 1 / 0
    with pytest.raises(ZeroDivisionError):
        board._handle_msg({"act": "name", "nth": 7})
    assert board.heard == 7


# --- what a key costs


def test_a_key_sends_only_what_changed(review, reef):
    page = ReviewPage(review)
    whole = dict(page.shown)
    send(page, {"act": "choose", "term": term(review, "kelp")})
    assert page.board.changes["number"] == 1
    assert set(page.board.changes["values"]) == {"term"}
    assert page.board.content == whole
    send(page, {"act": "page", "by": 1})
    assert page.board.changes["number"] == 2
    assert set(page.board.changes["values"]) == {"page", "images", "ahead"}
    assert {**whole, **page.board.changes["values"], "term": page.shown["term"]} == page.shown


def test_a_script_that_missed_a_change_gets_everything_again(review):
    page = ReviewPage(review)
    send(page, {"act": "choose", "term": term(review, "kelp")})
    send(page, {"act": "refresh"})
    assert page.board.changes == {"number": 2, "values": page.shown}


def test_a_label_does_not_fold_the_whole_log_again(review, reef, monkeypatch):
    page = ReviewPage(review)
    send(page, {"act": "choose", "term": term(review, "kelp")})
    send(page, {"act": "images", "images": reef[1][:1].tolist()})
    folds = []
    for module in (log_module, events_module):
        monkeypatch.setattr(module, "standing", lambda history: (folds.append(len(history)), standing(history))[1])
    send(page, {"act": "images", "images": reef[1][1:3].tolist()})
    assert page.shown["pace"]["labelled"] == 3
    assert max(folds, default=0) <= 1  # of the new event alone
    send(page, {"act": "undo"})
    assert page.shown["pace"]["labelled"] == 1
    assert max(folds) > 1


def test_the_counted_pace_is_that_of_the_whole_log(review, reef):
    log, ann, kelp = review.app.workspace.labels, review.person_id(), term(review, "kelp")
    for at in range(4):
        log.label(ann, reef[1][at : at + 2], kelp)
        assert review.pace(ann) == pace(standing(log.events()), ann)
    log.undo_last(ann)
    assert review.pace(ann) == pace(standing(log.events()), ann)
    assert log.effective()[0] == standing(log.events())
