"""Review without a browser: a cluster named by one key, exceptions, growing, the check, undo."""

import threading

import numpy as np
import pytest
from bokeh.document import Document

from app.components.in_order import TellingInOrder
from app.lanes import Lanes
from app.pages.review import ACTS, ReviewPage
from app.state import rearranging
from app.state.app_state import AppState
from app.state.review import Review
from app.state.review_views import content, found_terms, suggested
from app.state.session import Session
from engine.jobs import run_now
from engine.labelling.agreement import conflicts
from engine.labelling.audit import audits
from engine.problems import BadInput
from engine.workspace import NewImage, NewRun, Workspace
from engine.workspace.events import standing
from engine.workspace.vocabularies import NewTerm

SIZES = (300, 150, 50)


@pytest.fixture
def reef(tmp_path):
    """500 images in three clusters; the second holds twenty images of the third's kind."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        group = made.library.group(made.library.collection("Reef").id, "dive").id
        root = made.library.register_root(tmp_path).id
        ids = np.array(made.library.store_images([
            NewImage(root, f"{n}.jpg", group, 1, 1, f"{n:064x}", 8, 8) for n in range(sum(SIZES))]))
        kinds = np.repeat(np.arange(3), SIZES)
        kinds[300:320] = 2
        with made.features.writer("deep", width=6, extractor={}) as features:
            features.append(ids, 9 * np.eye(6)[kinds] + rng.standard_normal((len(ids), 6)))
        made.runs.add(NewRun("first", "gmc", "deep", {}, {}, {"clusters": 3}),
                      {"image_ids": ids, "labels": np.repeat(np.arange(3), SIZES).astype(np.int32)})
        made.vocabularies.add("own", [NewTerm((name,)) for name in ("sand", "kelp", "sponges")])
        yield made, ids, kinds


@pytest.fixture
def review(reef):
    session = Session(AppState(reef[0]), "review", person="Ann")
    return Review(session)


def term(review, name):
    return next(found.id for found in review.terms() if found.name == name)


def current(review):
    """{term name: images}"""
    held = review.labelled()
    names = {found.id: found.name for found in review.terms()}
    return {names[int(number)]: int((held["terms"] == number).sum()) for number in np.unique(held["terms"])}


def told(page, message):
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


def test_one_key_names_a_cluster_and_a_check_states_how_wrong_it_may_be(review):
    review.term = term(review, "sand")
    review.name_cluster()
    assert current(review) == {"sand": 300} and review.mode == "check"
    assert 45 <= len(review.checking.images) <= 60  # enough for 5 %
    review.finish_check()
    found = next(iter(audits(standing(review.app.workspace.labels.events())).values()))
    assert found.wrong == 0 and found.at_most <= 0.05 and found.of == 300
    assert "at most" in review.session.message.text
    assert review.mode == "cluster" and review.current_cluster() == 1


def test_exceptions_stay_open_or_get_another_name(review, reef):
    review.param.update(cluster=1, term=term(review, "kelp"))
    odd = reef[1][300:320].tolist()
    review.term = term(review, "sponges")
    review.name_images(odd[:5])
    review.term = term(review, "kelp")
    review.name_cluster(odd[5:])
    assert current(review) == {"sponges": 5, "kelp": 130}
    assert review.open_share()[1] == pytest.approx(0.1)


def test_what_a_check_finds_wrong_loses_its_label(review):
    review.param.update(cluster=1, term=term(review, "kelp"))
    review.name_cluster()
    review.finish_check(review.checking.images[:3].tolist())
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
    log, ann = review.app.workspace.labels, review.who()
    for name, kind in (("sand", 0), ("kelp", 1), ("sponges", 2)):
        for image in reef[1][reef[2] == kind][:12]:
            log.label(ann, [image], term(review, name))
    run_now(review.app.workspace, "learn")
    review.session.changed(images=False)
    review.term = term(review, "sponges")
    review.begin_growing()
    kinds = dict(zip(reef[1].tolist(), reef[2].tolist(), strict=True))
    assert np.mean([kinds[int(image)] == 2 for image in review.growing.ranking[:50]]) > 0.9
    assert review.growing.probability[0] > 0.8 and (np.diff(review.growing.probability) <= 0).all()


def test_labels_of_two_terms_start_the_learning(review):
    for name in ("sand", "kelp"):
        review.term = term(review, name)
        review.name_cluster()
        review.finish_check()
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
    assert [one["key"] for one in content(review)["favourites"]] == ["3"]


def test_what_is_missing_is_told(review):
    with pytest.raises(BadInput, match="no term is chosen"):
        review.name_cluster()
    with pytest.raises(BadInput, match="no list is being grown"):
        review.answer(True)
    with pytest.raises(BadInput, match="nothing is being checked"):
        review.finish_check()
    review.session.person = ""
    with pytest.raises(BadInput, match="nobody has said"):
        review.who()


def test_the_board_shows_what_there_is(review):
    shown = content(review)
    assert shown["size"] == 300 and shown["pages"] == 5 and len(shown["ahead"]) == 60
    assert [found["number"] for found in shown["clusters"]] == [0, 1, 2]
    assert shown["pace"]["left"] == 500 and shown["suggested"] is None
    review.term = term(review, "sand")
    review.name_cluster()
    assert content(review)["check"]["of"] == 300 and content(review)["images"][0]["label"] == "sand"
    assert suggested(review, 0)["name"] == "sand" and found_terms(review.session, "kel")[0]["name"] == "kelp"
    review.leave()
    review.begin_growing()
    grow = content(review)["grow"]
    assert grow["pages"] == 4 and len(grow["curve"]) == 4 and len(content(review)["images"]) == 50


def test_the_page_does_what_the_keys_say_and_mistakes_become_a_message(review):
    page = ReviewPage(review)
    told(page, {"act": "name"})
    assert review.session.message.kind == "error"
    told(page, {"act": "find", "text": "san"})
    assert page.layout.hits["terms"][0]["name"] == "sand"
    told(page, {"act": "choose", "term": page.layout.hits["terms"][0]["id"]})
    told(page, {"act": "name", "exceptions": []})
    assert page.layout.content["mode"] == "check" and current(review) == {"sand": 300}
    told(page, {"act": "check", "wrong": []})
    told(page, {"act": "page", "by": 1})
    assert page.layout.content["cluster"] == 1 and page.layout.content["page"] == 1
    told(page, {"act": "open", "cluster": 2})
    assert page.layout.content["cluster"] == 2
    assert set(ACTS) >= {"name", "images", "split", "merge", "next", "grow", "answer", "undo", "redo", "press"}


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
    told(page, {"act": "open", "cluster": 2})
    told(page, {"act": "duplicate", "into": 1})
    assert review.arrangement().sizes() == {0: 300, 1: 200} and page.layout.content["cluster"] == 1
    assert review.app.workspace.labels.events()[-1].rule["act"] == "duplicate"
    told(page, {"act": "undo"})
    told(page, {"act": "open", "cluster": 1})
    told(page, {"act": "move", "into": 2, "images": reef[1][300:320].tolist()})
    assert review.arrangement().sizes() == {0: 300, 1: 130, 2: 70} and page.layout.content["cluster"] == 1
    told(page, {"act": "merge", "into": 1})
    assert review.session.message.kind == "error" and "is the cluster on the table" in review.session.message.text


def test_a_cluster_grows_from_one_image_and_that_is_taken_back(review, reef):
    page = ReviewPage(review)
    told(page, {"act": "found", "image": int(reef[1][-1])})
    assert review.mode == "grow" and page.layout.content["grow"]["into"] == 3
    first = set(reef[1][450:].tolist())
    assert set(review.growing.ranking[:49].tolist()) <= first | set(reef[1][300:320].tolist())
    told(page, {"act": "answer", "belongs": True})
    told(page, {"act": "cut", "pages": 1})
    told(page, {"act": "accept"})
    assert review.arrangement().sizes()[3] == 51 and current(review) == {}
    told(page, {"act": "undo"})
    told(page, {"act": "undo"})
    assert review.arrangement().sizes() == {0: 300, 1: 150, 2: 50}


def test_the_model_splits_a_mixed_cluster_as_it_was_mixed(review, reef):
    told(ReviewPage(review), {"act": "open", "cluster": 1})
    rearranging.split_by_model(review)
    job = run_now(review.app.workspace, "split cluster", {"run": review.atlas.run.id, "cluster": 1, "person": "Ann"})
    assert job.state == "done", job.error
    review.session.changed(images=False)
    of = dict(zip(review.arrangement().images.tolist(), review.arrangement().clusters.tolist(), strict=True))
    odd = {of[int(image)] for image in reef[1][300:320]}
    assert odd.isdisjoint(of[int(image)] for image in reef[1][320:450])
    review.undo()


def test_a_split_cluster_that_is_one_is_told(review):
    job = run_now(review.app.workspace, "split cluster", {"run": review.atlas.run.id, "cluster": 77, "person": "Ann"})
    assert job.state == "failed" and "has 0 images" in job.error


def test_a_lasso_is_drawn_on_the_two_widest_directions(review, reef):
    page = ReviewPage(review)
    told(page, {"act": "open", "cluster": 1})
    told(page, {"act": "lasso", "on": True})
    shown = page.layout.content["plane"]
    at = dict(zip(shown["ids"], np.array(shown["xy"]), strict=True))
    odd, others = (np.array([at[int(image)] for image in ids]) for ids in (reef[1][300:320], reef[1][320:450]))
    assert np.linalg.norm(odd.mean(0) - others.mean(0)) > 3 * odd.std(0).max()
    assert (np.array(shown["xy"]) >= 0).all() and (np.array(shown["xy"]) <= 1).all()


def test_a_second_person_confirms_denies_and_names_otherwise(reef):
    app = AppState(reef[0])
    ann, bob = (Review(Session(app, "review", person=name)) for name in ("Ann", "Bob"))
    ann.param.update(cluster=2, term=term(ann, "sand"))
    ann.name_cluster()
    page = ReviewPage(bob)
    told(page, {"act": "verify"})
    shown = [image["id"] for image in page.layout.content["images"]]
    assert sorted(shown) == reef[1][450:].tolist() and page.layout.content["verify"]["term"]["name"] == "sand"
    bob.term = term(bob, "kelp")
    told(page, {"act": "otherwise", "images": shown[:3]})
    told(page, {"act": "confirm", "wrong": shown[3:5]})
    events = standing(app.workspace.labels.events())
    assert [event.kind for event in events[-3:]] == ["label", "label", "refuse"] and bob.mode == "cluster"
    assert {event.why for event in events[-3:-1]} == {"verification"}
    assert len(conflicts(events)) == 3
    assert current(bob) == {"sand": 47, "kelp": 3}
    told(page, {"act": "verify"})
    assert "have not seen" in bob.session.message.text


def test_whoever_names_what_others_named_meanwhile_is_told(reef):
    app = AppState(reef[0])
    ann, bob = (Review(Session(app, "review", person=name)) for name in ("Ann", "Bob"))
    ann.term, bob.term = term(ann, "sand"), term(bob, "kelp")
    ids = reef[1][:5].tolist()
    ann.name_images(ids)
    bob.name_images(ids)
    assert "Ann named some of them meanwhile" in bob.session.message.text
    assert len(conflicts(standing(app.workspace.labels.events()))) == 5


def test_images_are_named_one_by_one_each_an_act_of_its_own(review, reef):
    page = ReviewPage(review)
    told(page, {"act": "open", "cluster": 2})
    told(page, {"act": "single"})
    single = page.layout.content["single"]
    assert single["total"] == 500 and len(single["images"]) == 400
    handed = [image for image, *_ in single["images"]]
    assert set(handed[:50]) == set(reef[1][450:].tolist())
    sand, kelp = term(review, "sand"), term(review, "kelp")
    told(page, {"act": "said", "pairs": [[handed[0], sand], [handed[1], kelp], [handed[2], sand]]})
    told(page, {"act": "more"})
    assert len(page.layout.content["single"]["images"]) == 500 and current(review) == {"sand": 2, "kelp": 1}
    told(page, {"act": "undo"})
    assert current(review) == {"sand": 1, "kelp": 1} and review.mode == "single"


class Keys(TellingInOrder):
    _module = "review"


def test_messages_are_done_in_the_order_they_were_sent_one_at_a_time():
    board, document, done, inside = Keys(), Document(), [], []

    def act(told):
        assert not inside, "two at once"
        inside.append(told)
        threading.Event().wait(0.001)
        done.append(told["act"])
        inside.clear()

    board.on_told = act
    with Lanes(4) as lanes:
        sent = [lanes.submit(lambda doc, nth: board._handle_msg({"act": nth, "nth": nth}), document, nth)
                for nth in range(1, 101)]
        for future in sent:
            future.result(30)
    assert done == list(range(1, 101)) and board.heard == 100


def test_a_message_that_cannot_be_done_is_heard_all_the_same():
    board = Keys()
    board.on_told = lambda told: 1 / 0
    with pytest.raises(ZeroDivisionError):
        board._handle_msg({"act": "name", "nth": 7})
    assert board.heard == 7

