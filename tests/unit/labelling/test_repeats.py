"""Repeats: own labels shown again, third looks, and the slip record."""

import json

import numpy as np
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.engine.labelling.accuracy.repeats import (
    OLDER,
    SlipRecord,
    repeats_due,
    repeats_for_page,
    slip_record,
)
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.sampling import DrawAnswer
from tests.reef_workspace import copied


@pytest.fixture
def reef(tmp_path, reef_templates):
    """(workspace, ids, Ann, terms): Ann labelled eighty images one by one, then the model was trained."""
    template = reef_templates(80)
    with copied(template, tmp_path) as workspace:
        yield workspace, template.ids, workspace.people.named("Ann").id, template.terms


def repeats(reef, count=100, **options):
    workspace, _, ann, _ = reef
    return repeats_for_page(workspace, ann, SuggestionStore(workspace.folder).get(), count, **options)


def give(reef, draw, term):
    """Answer a repeat as Learn does: a label event and the answer that refers to it."""
    workspace, _, ann, _ = reef
    (number,) = workspace.labels.append_events(ann, [Act("label", np.array([draw.image_id]), "manual", int(term))])
    workspace.sampling.record_answers([DrawAnswer(draw.id, "answered", int(term), ann, None, False, number, 0.0)])


def label_more(reef, count):
    """Label images without a label, so that earlier labels grow older."""
    workspace, ids, ann, terms = reef
    free = np.setdiff1d(ids, workspace.labels.current()[0])[:count]
    for image in free:
        workspace.labels.label(ann, [image], terms[0])


def other_term(reef, draw):
    return next(int(term) for term in reef[3] if term != draw.earlier_term_id)


def test_one_tile_in_thirty_is_a_repeat_on_pages_of_any_size():
    for tiles in (24, 60, 120):
        counts = [repeats_due(tiles, page) for page in range(1, 31)]
        assert sum(counts) == tiles and max(counts) - min(counts) <= 1


def test_only_own_old_labels_by_looking_are_repeated(reef):
    workspace = reef[0]
    order = [event.images[0] for event in workspace.labels.events()]
    images = {draw.image_id for draw in repeats(reef)}
    assert images and images <= {int(image) for image in order[: len(order) - OLDER]}
    bea = workspace.people.named("Bea").id
    assert repeats_for_page(workspace, bea, SuggestionStore(workspace.folder).get(), 5) == []


def test_a_label_that_a_bulk_label_replaced_is_not_repeated(reef):
    workspace, _, ann, terms = reef
    oldest = [int(event.images[0]) for event in workspace.labels.events()[:2]]
    workspace.labels.label(ann, oldest, int(terms[0]), why="bulk")
    images = {draw.image_id for draw in repeats(reef)}
    assert images and images.isdisjoint(oldest)


def test_repeats_of_the_page_are_left_out(reef):
    draws = repeats(reef)
    assert repeats(reef, without=[draw.image_id for draw in draws]) == []


def test_a_confirmed_label_is_no_slip(reef):
    draw = repeats(reef, 1)[0]
    give(reef, draw, draw.earlier_term_id)
    assert slip_record(reef[0], reef[2]) == SlipRecord(1, 0, 0)


def test_a_different_answer_waits_for_a_third_look_some_tiles_later(reef):
    draw = repeats(reef, 1)[0]
    give(reef, draw, other_term(reef, draw))
    assert slip_record(reef[0], reef[2]) == SlipRecord(0, 0, 1)
    assert draw.image_id not in {again.image_id for again in repeats(reef)}
    label_more(reef, OLDER)
    assert repeats(reef, 1)[0].id == draw.id


@pytest.mark.parametrize(("third", "slips"), [("first label", 0), ("second answer", 1), ("another", 1)])
def test_the_third_look_decides(reef, third, slips):
    draw = repeats(reef, 1)[0]
    second = other_term(reef, draw)
    another = next(int(term) for term in reef[3] if term not in (draw.earlier_term_id, second))
    give(reef, draw, second)
    give(reef, draw, {"first label": draw.earlier_term_id, "second answer": second, "another": another}[third])
    assert slip_record(reef[0], reef[2]) == SlipRecord(1, slips, 0)


def test_an_undone_answer_does_not_count(reef):
    workspace, _, ann, _ = reef
    draw = repeats(reef, 1)[0]
    give(reef, draw, other_term(reef, draw))
    workspace.labels.undo_last(ann)
    assert slip_record(workspace, ann) == SlipRecord(0, 0, 0)
    assert repeats(reef, 1)[0].id == draw.id


def test_limits_are_exact_and_the_text_says_what_they_rest_on():
    low, high = SlipRecord(300, 6, 0).interval()
    assert binom.sf(5, 300, low) == pytest.approx(0.025) and binom.cdf(6, 300, high) == pytest.approx(0.025)
    assert str(SlipRecord(300, 6, 0)) == (
        "Slips: 0.7 to 4.3 % (95 % confidence); 300 labels of yours were repeated, 6 not confirmed"
    )
    assert "not known yet" in str(SlipRecord(0, 0, 0)) and SlipRecord(0, 0, 0).rate is None


def test_the_command_prints_the_record(reef):
    workspace = reef[0]
    draw = repeats(reef, 1)[0]
    give(reef, draw, draw.earlier_term_id)
    outcome = CliRunner().invoke(
        app, ["labels", "slips", "--person", "Ann", "--workspace", str(workspace.folder), "--json"]
    )
    facts = json.loads(outcome.stdout)
    assert (facts["repeats"], facts["slips"], facts["rate"]) == (1, 0, 0.0)
    assert facts["low"] == 0 and 0.9 < facts["high"] < 1
