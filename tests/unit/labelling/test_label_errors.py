"""Labels that are probably wrong: their order, what the answers say about the rest, and repair on the page of Learn."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.data.labels import open_conflicts
from benthoscope.app.pages.learn.content import content
from benthoscope.app.pages.learn.model import Learn
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.accuracy.label_errors import SlipShare, suspicious_labels, suspicious_rows
from benthoscope.engine.labelling.accuracy.stream import answered_stream, draw_for_page, drawn_images
from benthoscope.engine.labelling.people.double_labels import answer, ask_for, next_page
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.labelling.training_data import labelled_rows, material
from tests.reef_workspace import KINDS, copied

WRONG = 8  # labels with a slip


@pytest.fixture
def reef(tmp_path, reef_templates):
    """With eighty labels by Ann, eight of them changed to a wrong term, and a trained model."""
    template = reef_templates(80)
    with copied(template, tmp_path) as workspace:
        ann, images = workspace.people.named("Ann").id, workspace.labels.current()[0]
        slips = images[:: len(images) // WRONG][:WRONG]
        for image in slips:
            kind = template.truth[np.searchsorted(template.ids, image)]
            workspace.labels.label(ann, [image], int(template.terms[(kind + 1) % KINDS]))
        assert run_now(workspace, "learn").state == "done"
        yield workspace, template, slips


@pytest.fixture
def learn(reef):
    learn = Learn(Session(AppState(reef[0]), "learn", person="Ann"))
    learn.queue = "doubted"
    return learn


def true_term(reef, image):
    return int(reef[1].terms[reef[1].truth[np.searchsorted(reef[1].ids, image)]])


def test_the_least_believed_labels_are_the_slips(reef):
    workspace, _, slips = reef
    suggestions = SuggestionStore(workspace.folder).get()
    rows = suspicious_rows(suggestions, *workspace.labels.current_terms(), workspace.labels.effective()[0])
    first = suggestions.image_ids[rows[:WRONG]]
    assert len(np.intersect1d(first, slips)) >= WRONG - 1
    P = suggestions.unseen_rows(rows)
    term_of_image = dict(zip(*(array.tolist() for array in workspace.labels.current_terms()), strict=True))
    given = np.array([term_of_image[image] for image in suggestions.image_ids[rows].tolist()])
    believed = P[np.arange(len(rows)), np.searchsorted(suggestions.terms, given)]
    assert (np.diff(believed) >= 0).all() and (suggestions.terms[P.argmax(1)] != given).all()


def test_a_label_changed_since_the_training_is_not_listed(reef):
    workspace, _, slips = reef
    suggestions = SuggestionStore(workspace.folder).get()
    ann = workspace.people.named("Ann").id
    workspace.labels.label(ann, [slips[0]], true_term(reef, slips[0]))
    rows = suspicious_rows(suggestions, *workspace.labels.current_terms(), workspace.labels.effective()[0])
    assert slips[0] not in suggestions.image_ids[rows]


def test_enter_confirms_labels_and_a_click_corrects_them(reef, learn):
    workspace = reef[0]
    tiles = [tile for tile in content(learn)["images"] if tile["id"] not in learn.table().drawn]
    before = dict(zip(*(array.tolist() for array in learn.current()), strict=True))
    assert all(tile["options"][0][0] == before[tile["id"]] for tile in tiles)  # the present label comes first
    truth = {tile["id"]: true_term(reef, tile["id"]) for tile in tiles}
    wrong = {image: term for image, term in truth.items() if before[image] != term}
    learn.accept(wrong)
    after = dict(zip(*(array.tolist() for array in workspace.labels.current_terms()), strict=True))
    assert all(after[image] == term for image, term in truth.items())
    share = learn.slip_share()
    assert (share.answered, share.wrong) == (len(tiles), len(wrong)) and len(wrong) >= WRONG - 1
    assert not set(learn.suggestions().image_ids[learn.suspicious()].tolist()) & {tile["id"] for tile in tiles}


def test_none_of_these_removes_a_suspicious_label(reef, learn):
    image = next(tile["id"] for tile in content(learn)["images"] if tile["id"] not in learn.table().drawn)
    learn.accept({image: None})
    assert image not in learn.current()[0] and learn.slip_share().wrong == 1


def test_a_key_corrects_and_undo_withdraws_the_answer(reef, learn):
    image = next(tile["id"] for tile in content(learn)["images"] if tile["id"] not in learn.table().drawn)
    learn.choose_term(true_term(reef, image))
    learn.give_term([image])
    assert learn.slip_share().answered == 1
    learn.undo()
    assert learn.slip_share().answered == 0 and image in learn.suggestions().image_ids[learn.suspicious()]


def test_conflicts_between_people_come_first_and_are_settled_there(reef, learn):
    workspace, template, _ = reef
    image = int(learn.current()[0][1])
    other = int(template.terms[(np.flatnonzero(template.terms == true_term(reef, image))[0] + 2) % KINDS])
    workspace.labels.label(workspace.people.named("Bo").id, [image], other)
    learn.session.changed("labels")
    learn.skip()
    tile = next(tile for tile in content(learn)["images"] if tile["id"] == image)
    assert {term for term, *_ in tile["options"][:2]} >= {other}
    answered = learn.slip_share().answered
    learn.accept({image: true_term(reef, image)})
    assert [event.why for event in workspace.labels.events() if image in event.images][-1] == "resolved"
    assert image not in [conflict.image for conflict in open_conflicts(learn.app)]
    assert learn.slip_share().answered >= answered


def test_a_second_label_that_differs_is_settled_there_too(reef, learn):
    """The blind second label does not change the label, but lists the image with both terms."""
    workspace = reef[0]
    bo = workspace.people.named("Bo").id
    ask_for(workspace, bo, 1)
    image = next_page(workspace, bo, 1)[0].image_id
    kept_term = learn.labels_of(np.array([image]))[image]
    other = next(int(term) for term in reef[1].terms if term != kept_term)
    answer(workspace, bo, {image: other})
    learn.session.changed("labels")
    learn.skip()
    tile = content(learn)["images"][0]
    assert tile["id"] == image and [term for term, *_ in tile["options"][:2]] == [kept_term, other]
    learn.accept({image: other})
    assert learn.labels_of(np.array([image])) == {image: other} and not open_conflicts(learn.app)
    (resolving,) = [event for event in workspace.labels.events() if event.why == "resolved"]
    workspace.labels.undo(learn.person_id(), resolving.number)
    learn.session.changed("labels")
    assert [conflict.image for conflict in open_conflicts(learn.app)] == [image]


def test_the_share_of_real_slips_is_stated_after_twenty_answers():
    assert "known after 20 answers; 19 are given" in str(SlipShare(19, 9, 50))
    assert str(SlipShare(20, 9, 50)) == "About 9 of 20 will be real slips"
    assert str(SlipShare(40, 9, 50)) == "About 4 of 20 will be real slips"
    assert SlipShare(19, 0, 50).offered and SlipShare(20, 9, 50).offered


def test_the_page_is_not_offered_when_few_can_be_slips():
    shares = [SlipShare(answered, 0, 500 - answered) for answered in range(20, 61)]
    assert shares[0].offered and not shares[-1].offered
    assert shares[-1].upper < 0.1 and "hardly worth the time" in str(shares[-1])


def test_the_bound_holds_however_often_it_is_looked_at():
    rng, missed = np.random.default_rng(0), 0
    for _ in range(200):
        wrong = rng.permutation(np.arange(200) < 24)
        seen = np.cumsum(wrong)
        missed += any(SlipShare(n, int(seen[n - 1]), 200 - n).upper < 0.12 for n in range(20, 61))
    assert missed <= 0.05 * 200 + 7  # two standard errors


def test_a_corrected_label_never_counts_as_drawn(reef, learn):
    workspace = reef[0]
    ann, suggestions = workspace.people.named("Ann").id, SuggestionStore(workspace.folder).get()
    (draw,) = draw_for_page(workspace, ann, suggestions, 1)
    wrong = next(int(term) for term in reef[1].terms if term != true_term(reef, draw.image_id))
    event = workspace.labels.label(ann, [draw.image_id], wrong)
    workspace.sampling.record_answer(draw, wrong, ann, event=event, blind=False)
    evidence = len(answered_stream(workspace))
    assert drawn_labels(workspace) == 1
    rule = {"queue": "doubted", "corrected": True}
    workspace.labels.label(ann, [draw.image_id], true_term(reef, draw.image_id), rule=rule)
    assert drawn_labels(workspace) == 0 and len(answered_stream(workspace)) == evidence


def drawn_labels(workspace):
    """How many labels count as answers to random draws."""
    log = workspace.labels
    return labelled_rows(log.events(), material(workspace), log.current(), drawn_images(workspace)).is_drawn.sum()


def test_the_command_lists_suspicious_labels(reef):
    workspace, _, slips = reef
    answer = CliRunner().invoke(app, ["labels", "suspicious", "--workspace", str(workspace.folder), "--json"])
    listed = json.loads(answer.output)["labels"]
    assert listed == suspicious_labels(workspace)["labels"]
    assert np.isin([label["image"] for label in listed[:WRONG]], slips).mean() > 0.8


def test_before_a_model_there_are_no_suspicious_labels(tmp_path, reef_templates):
    with copied(reef_templates(0), tmp_path) as workspace:
        assert suspicious_labels(workspace)["text"] == "No model is trained yet"


def test_a_label_given_meanwhile_stays_as_it_is(reef, learn):
    learn.require_suggestions()
    table = learn.table()
    image = next(iter(table.given))
    bo = reef[0].people.named("Bo").id
    reef[0].labels.label(bo, [image], true_term(reef, image))
    learn.session.changed("labels")
    learn.accept({})
    assert [event.person_id for event in reef[0].labels.events() if image in event.images][-1] == bo
