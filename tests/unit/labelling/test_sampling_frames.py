"""Stored random draws: their order never depends on the process, and only their answers are evidence."""

import numpy as np
import pytest
from alembic import command
from alembic.config import Config

from benthoscope.engine.labelling.audits.bulk_audit import audit_frame, next_page, store_page, unfinished_checks
from benthoscope.engine.labelling.cover.report import NOT_RANDOM, cover_of
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.database.catalogue import MIGRATIONS
from benthoscope.engine.workspace.database.connections import postgres_engines, sqlite_engines
from benthoscope.engine.workspace.labels.sampling import Guess, Parent
from benthoscope.engine.workspace.labels.sampling_keys import draw_uniform, draw_weighted, uniform_keys
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

pytestmark = pytest.mark.thorough

IMAGES = np.arange(1, 201)


@pytest.fixture
def ann(workspace):
    return workspace.people.named("Ann").id


@pytest.fixture
def terms(workspace):
    words = workspace.vocabularies.add("habitats", [NewTerm(("sand",)), NewTerm(("coral",))])
    return {term.name: term.id for term in workspace.vocabularies.terms(words.id)}


@pytest.fixture
def frame(workspace, ann):
    return workspace.sampling.open_frame("cover", Parent("workspace"), IMAGES, ann, seed=7)


def answer(workspace, draw, term, person, **extra):
    event = workspace.labels.label(person, [draw.image_id], term)
    return workspace.sampling.record_answer(draw, term, person, event=event, **extra)


def images_of(draws):
    return [draw.image_id for draw in draws]


# --- keys


def test_keys_depend_on_seed_and_image_alone_and_are_uniform():
    keys = uniform_keys(3, np.arange(100_000))
    assert np.array_equal(keys[50:60], uniform_keys(3, np.arange(50, 60)))
    assert not np.array_equal(keys[:10], uniform_keys(4, np.arange(10)))
    counts = np.histogram(keys, 100, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 149  # chi-square with 99 degrees of freedom, 99.9 %
    assert abs(np.corrcoef(keys[1:], keys[:-1])[0, 1]) < 0.015


def test_all_images_are_drawn_equally_often():
    hits = np.zeros(20)
    for seed in range(4000):
        hits[draw_uniform(seed, np.arange(20), 5)[0]] += 1
    assert abs(hits - 1000).max() < 4.5 * np.sqrt(4000 * 0.25 * 0.75)


def test_weighted_draws_come_in_proportion_to_their_weights():
    weights, first = np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4)
    for seed in range(8000):
        first[draw_weighted(seed, np.arange(4), weights, 1, 1)[0]] += 1
    assert abs(first / 8000 - weights / 10).max() < 0.02
    where, probability = draw_weighted(1, np.arange(4), weights, 4, 1)
    remaining_weight = 10 - np.concatenate([[0], np.cumsum(weights[where])[:-1]])
    assert np.allclose(probability, weights[where] / remaining_weight)


# --- drawing


def test_draws_are_the_same_after_the_workspace_was_closed(tmp_path, database):
    with Workspace.create(tmp_path / "w", database=database) as first:
        ann = first.people.named("Ann").id
        frame = first.sampling.open_frame("cover", Parent(), IMAGES, ann, seed=11)
        shown = first.sampling.draw(frame, 10, person_id=ann)
    with Workspace.open(tmp_path / "w") as again:
        frame = again.sampling.latest_frame("cover", Parent(), IMAGES)
        assert images_of(again.sampling.draw(frame, 10, person_id=ann)) == images_of(shown)
        longer = again.sampling.draw(frame, 25, person_id=ann)
        assert images_of(longer)[:10] == images_of(shown)
        expected = IMAGES[np.argsort(uniform_keys(11, IMAGES))][:25]
        assert images_of(longer) == expected.tolist()


def test_a_draw_stores_the_state_at_its_time(workspace, frame, ann, terms):
    event = workspace.labels.label(ann, IMAGES, terms["sand"], why="bulk")
    guesses = {int(image): Guess(terms["coral"], 0.75, "model 3") for image in IMAGES}
    draws = workspace.sampling.draw(
        frame, 3, guesses=guesses, page=4, person_id=ann, strata={int(image): 1 for image in IMAGES}
    )
    assert [draw.number for draw in draws] == [1, 2, 3]
    assert [draw.eligible for draw in draws] == [200, 199, 198]
    assert [draw.probability for draw in draws] == [1 / 200, 1 / 199, 1 / 198]
    assert all(draw.guess == Guess(terms["coral"], 0.75, "model 3") for draw in draws)
    assert {(draw.earlier_event, draw.earlier_term_id) for draw in draws} == {(event, terms["sand"])}
    assert {(draw.page, draw.person_id, draw.stratum, draw.label_event) for draw in draws} == {(4, ann, 1, event)}


def test_open_draws_come_first_and_are_never_replaced(workspace, frame, ann, terms):
    first = workspace.sampling.draw(frame, 5)
    answer(workspace, first[2], terms["sand"], ann)
    workspace.labels.label(ann, [first[0].image_id], terms["coral"], why="bulk")  # its guess, not its answer
    second = workspace.sampling.draw(frame, 5)
    assert images_of(second)[:4] == images_of(first[:2] + first[3:])
    assert second[4].number == 6


def test_images_on_another_persons_page_are_reserved(workspace, frame, ann, monkeypatch):
    bob = workspace.people.named("Bob").id
    of_ann, of_bob = (workspace.sampling.draw(frame, 4, person_id=person) for person in (ann, bob))
    assert not set(images_of(of_ann)) & set(images_of(of_bob))
    assert images_of(workspace.sampling.draw(frame, 4, person_id=ann)) == images_of(of_ann)
    monkeypatch.setattr("benthoscope.engine.workspace.labels.sampling.LEFT", 0.0)
    assert images_of(workspace.sampling.draw(frame, 8, person_id=bob)) == images_of(of_bob) + images_of(of_ann)


def test_only_images_nobody_looked_at_are_drawn_for_cover(workspace, frame, ann, terms):
    workspace.labels.label(ann, IMAGES[:150], terms["sand"])
    workspace.labels.label(ann, IMAGES[150:190], terms["sand"], why="bulk")
    draws = workspace.sampling.draw(frame, 100)
    assert sorted(images_of(draws)) == IMAGES[150:].tolist()


def test_weighted_draws_store_their_probabilities(workspace, frame):
    weights = np.linspace(1, 3, 200)
    draws = workspace.sampling.draw(frame, 20, eligible=IMAGES, weights=weights)
    by_image, mass = dict(zip(IMAGES.tolist(), weights, strict=True)), weights.sum()
    for draw in draws:
        assert draw.probability == pytest.approx(by_image[draw.image_id] / mass)
        mass -= by_image[draw.image_id]
    with pytest.raises(BadInput, match="weights"):
        workspace.sampling.draw(frame, 21, eligible=IMAGES, weights=weights[:5])


def test_images_outside_the_frame_cannot_be_drawn(workspace, frame):
    with pytest.raises(BadInput, match="not in the frame"):
        workspace.sampling.draw(frame, 2, eligible=np.array([1, 999]))


# --- waves


def test_selective_labels_of_a_tenth_of_the_images_start_a_new_wave(workspace, frame, ann, terms):
    draws = workspace.sampling.draw(frame, 30)
    for draw in draws:
        answer(workspace, draw, terms["sand"], ann)
    remaining = np.setdiff1d(IMAGES, images_of(draws))
    workspace.labels.label(ann, remaining[:20], terms["coral"])
    open_draws = workspace.sampling.draw(frame, 2)  # answers of draws are no hunting
    assert {draw.wave for draw in open_draws} == {1}
    workspace.labels.label(ann, np.setdiff1d(remaining[20:], images_of(open_draws))[:5], terms["coral"])
    assert {draw.wave for draw in workspace.sampling.draw(frame, 10)} == {1, 2}
    assert [len(wave.images) for wave in workspace.sampling.waves(frame.id)] == [200, 200 - 30 - 25 - 2]


def test_a_wave_represents_the_images_eligible_at_its_start(workspace, frame, ann, terms):
    workspace.labels.label(ann, IMAGES[:50], terms["sand"])
    wave = workspace.sampling.open_wave(frame, budget=100)
    assert wave.images.tolist() == IMAGES[50:].tolist() and wave.budget == 100
    assert {draw.wave for draw in workspace.sampling.draw(frame, 5)} == {wave.number}
    later = workspace.sampling.open_wave(frame, budget=50)
    assert len(later.images) == 145 and later.number == wave.number + 1  # an open draw stays with its wave


# --- answers


def test_only_answers_to_draws_are_evidence(workspace, frame, ann, terms):
    draws = workspace.sampling.draw(frame, 6)
    workspace.labels.label(ann, IMAGES, terms["coral"])  # by hand, all of them: no draw is answered by that
    assert workspace.sampling.answered_draws("cover") == []
    answer(workspace, draws[1], terms["sand"], ann, seconds=2.5, blind=False)
    answered = workspace.sampling.answered_draws("cover", Parent())
    assert [(draw.image_id, draw.state, draw.term_id) for draw in answered] == [
        (draws[1].image_id, "answered", terms["sand"])
    ]
    assert (answered[0].answers[0].seconds, answered[0].answers[0].blind) == (2.5, False)
    assert workspace.sampling.answered_draws("audit") == []
    assert workspace.sampling.answered_draws("cover", Parent("dive", 3)) == []


def test_undoing_the_label_reopens_the_draw_and_redoing_answers_it(workspace, frame, ann, terms):
    draw = workspace.sampling.draw(frame, 1)[0]
    answer(workspace, draw, terms["sand"], ann)
    workspace.labels.undo_last(ann)
    assert images_of(workspace.sampling.open_draws("cover")) == [draw.image_id]
    assert images_of(workspace.sampling.draw(frame, 1)) == [draw.image_id]
    workspace.labels.redo_last(ann)
    assert workspace.sampling.open_draws("cover") == []


def test_clearing_or_reverting_the_label_opens_the_draw_again(workspace, frame, ann, terms):
    for draw in workspace.sampling.draw(frame, 2):
        answer(workspace, draw, terms["sand"], ann)
    first, second = workspace.sampling.answered_draws("cover")
    workspace.labels.clear(ann, [first.image_id])
    workspace.labels.revert(ann, 0, [second.image_id])
    assert len(workspace.sampling.open_draws("cover")) == 2


def test_cannot_tell_is_an_answer(workspace, frame, ann, terms):
    draw = workspace.sampling.draw(frame, 1)[0]
    answered = workspace.sampling.record_answer(draw, None, ann, cannot_tell=True)
    assert (answered.state, answered.term_id, answered.is_open) == ("cannot tell", None, False)
    assert workspace.sampling.open_draws("cover") == []
    assert draw.image_id in workspace.sampling.looked_at()
    with pytest.raises(BadInput, match="give one of the two"):
        workspace.sampling.record_answer(draw, terms["sand"], ann, cannot_tell=True)


def test_a_third_answer_settles_two_that_differ(workspace, frame, ann, terms):
    draw = workspace.sampling.draw(frame, 1)[0]
    draw_answer = answer(workspace, draw, terms["sand"], ann)
    assert draw_answer.settled and draw_answer.term_id == terms["sand"]
    two = answer(workspace, draw, terms["coral"], ann)
    assert not two.settled
    three = answer(workspace, draw, terms["coral"], ann)
    assert three.settled and three.term_id == terms["coral"] and len(three.answers) == 3


def test_a_later_correction_by_looking_replaces_the_answer(workspace, frame, ann, terms):
    draw = workspace.sampling.draw(frame, 1)[0]
    answer(workspace, draw, terms["sand"], ann)
    workspace.labels.label(ann, IMAGES, terms["coral"], why="bulk")
    assert workspace.sampling.answered_draws("cover")[0].term_id == terms["sand"]
    workspace.labels.label(ann, [draw.image_id], terms["coral"], why="verification")
    assert workspace.sampling.answered_draws("cover")[0].term_id == terms["coral"]


def test_withdrawn_answers_reopen_the_same_draws(workspace, frame, ann, terms):
    draws = workspace.sampling.draw(frame, 3)
    for draw in draws:
        answer(workspace, draw, terms["sand"], ann)
    workspace.sampling.withdraw(draws[:2], ann)
    assert [draw.state for draw in workspace.sampling.draws("cover")] == ["withdrawn", "withdrawn", "answered"]
    assert images_of(workspace.sampling.draw(frame, 2)) == images_of(draws[:2])
    answer(workspace, draws[0], terms["coral"], ann)
    assert [draw.state for draw in workspace.sampling.draws("cover")] == ["answered", "withdrawn", "answered"]


def test_an_unfinished_check_is_listed_until_it_is_answered_or_undone(workspace, ann, terms):
    first = workspace.labels.label(ann, IMAGES[:40], terms["sand"], why="review")
    second = workspace.labels.label(ann, IMAGES[40:60], terms["coral"], why="review")
    assert unfinished_checks(workspace) == []
    pages = {event: next_page(workspace, audit_frame(workspace, [event], ann), 0.05) for event in (first, second)}
    assert unfinished_checks(workspace) == [([event], len(page)) for event, page in pages.items()]
    store_page(workspace, audit_frame(workspace, [first], ann), ann, pages[first], [], [1.0] * len(pages[first]), 0.05)
    assert unfinished_checks(workspace) == [([second], len(pages[second]))]
    workspace.labels.undo(ann, second)
    assert unfinished_checks(workspace) == []


def test_an_audit_frame_draws_from_all_its_images(workspace, ann, terms):
    event = workspace.labels.label(ann, IMAGES[:60], terms["sand"], why="bulk")
    workspace.labels.label(ann, IMAGES[:30], terms["coral"])
    audit = workspace.sampling.open_frame("audit", Parent("event", event), IMAGES[:60], ann)
    assert len(workspace.sampling.draw(audit, 100)) == 60
    assert [stored_frame.id for stored_frame in workspace.sampling.frames("audit", Parent("event", event))] == [
        audit.id
    ]


def test_a_new_list_of_images_needs_a_new_frame(workspace, frame, ann):
    assert workspace.sampling.latest_frame("cover", Parent(), IMAGES).id == frame.id
    assert workspace.sampling.latest_frame("cover", Parent(), np.arange(1, 202)) is None
    with pytest.raises(BadInput, match="no images"):
        workspace.sampling.open_frame("cover", Parent(), [], ann)
    with pytest.raises(BadInput, match="purpose"):
        workspace.sampling.open_frame("fun", Parent(), IMAGES, ann)


def test_a_workspace_of_the_released_version_opens_and_its_labels_are_not_random(tmp_path, database):
    (tmp_path / "images").mkdir()
    with Workspace.create(tmp_path / "w", database=database) as made:
        group = made.library.group(made.library.collection("PS1").id, "one").id
        root = made.library.register_root(tmp_path / "images").id
        ids = made.library.store_images([NewImage(root, f"{n}.jpg", group, 1, 1, f"{n:064}", 3, 2) for n in range(20)])
        words = made.vocabularies.add("habitats", [NewTerm(("sand",))])
        sand = made.vocabularies.terms(words.id)[0].id
        for image in ids[:10]:
            made.labels.label(made.people.named("Ann").id, [image], sand, rule={"queue": "random"})
    engines = postgres_engines(database) if database else sqlite_engines(tmp_path / "w.benthos" / "catalogue.sqlite")
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engines.writer.connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        command.downgrade(config, "0005")
    engines.dispose()
    with Workspace.open(tmp_path / "w") as opened:
        assert len(opened.labels.current()[0]) == 10
        [everywhere, _] = [row.share for row in cover_of(opened).rows]
        assert (everywhere.estimate, everywhere.low, everywhere.high) == (None, 0.5, 1.0)
        assert everywhere.method.startswith(NOT_RANDOM)
