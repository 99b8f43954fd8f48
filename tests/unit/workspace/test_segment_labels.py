"""Labels of segments are events of the same log, with a reference to their masks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benthoscope.engine.exchange.labels.coco import mask_of
from benthoscope.engine.jobs.labels.export_collect import Wanted, gathered
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.labels.parts import (
    count_of,
    segment_act,
    segments_of,
    standing_parts,
    standing_segments,
)
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.segmented_reef import HEIGHT, WIDTH, made


@pytest.fixture
def reef(tmp_path):
    made_reef = made(tmp_path)
    yield made_reef
    made_reef.workspace.close()


@pytest.fixture
def ann(reef):
    return reef.workspace.people.named("Ann").id


@pytest.fixture
def terms(reef):
    words = reef.workspace.vocabularies.add("things", [NewTerm(("sand",)), NewTerm(("sponge",))])
    return [term.id for term in reef.workspace.vocabularies.terms(words.id)]


@given(st.sets(st.tuples(st.integers(1, 2**40), st.integers(0, 2**16 - 1)), min_size=1, max_size=200))
def test_what_is_packed_comes_out_again_in_order(segments):
    class Stored:
        rule = segment_act(1, "cut", *map(list, zip(*segments, strict=True)), why="bulk").rule

    assert list(zip(*(each.tolist() for each in segments_of(Stored)), strict=True)) == sorted(segments)
    image = min(segments)[0]
    assert count_of(Stored, image) == sum(each == image for each, _ in segments)


def test_a_quarter_of_a_million_segments_fit_into_half_a_megabyte():
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(5_000_000, 250_000, replace=False))
    event = segment_act(1, "cut", rows // 50, rows % 50, why="bulk")
    assert event.rule["segments"] == 250_000 and len(event.rule["parts"]) < 500_000


@pytest.mark.parametrize(("images", "numbers"), [([], []), ([1, 2], [0]), ([1], [-1]), ([1], [2**16])])
def test_segments_that_cannot_be_are_rejected(images, numbers):
    with pytest.raises(BadInput, match="segments"):
        segment_act(1, "cut", images, numbers, why="bulk")


def test_the_later_act_comes_last_and_an_undo_takes_an_act_out(reef, ann, terms):
    log, image = reef.workspace.labels, int(reef.ids[0])
    first, second = (
        log.append_events(ann, [segment_act(term, "cut", [image], [0], why="manual")])[0] for term in terms
    )
    log.append_events(ann, [segment_act(terms[0], "another cut", [image], [0], why="manual")])
    assert [event.number for event, *_ in standing_segments(log.events(), "cut")] == [first, second]
    log.undo(ann, second)
    assert [event.number for event, *_ in standing_segments(log.events(), "cut")] == [first]
    assert [
        (standing_part.image, standing_part.shape, standing_part.numbers)
        for standing_part in standing_parts(log.events())
    ] == [(image, "segment", (0,)), (image, "segment", (0,))]


def test_named_segments_go_out_as_masks_of_the_size_of_their_image(reef, ann, terms):
    image = int(reef.ids[0])
    cut = reef.workspace.features.open("segments").folder.name
    reef.workspace.labels.append_events(
        ann,
        [
            segment_act(terms[1], cut, [image, image], [1, 2], why="manual"),
            segment_act(terms[1], "a cut that is gone", [image], [0], why="manual"),
        ],
    )
    [picture] = [exported for exported in gathered(reef.workspace, Wanted(reef.ids)).pictures if exported.annotations]
    assert [(annotation.shape, annotation.label.term.id) for annotation in picture.annotations] == [
        ("mask", terms[1])
    ] * 2
    upper_right = mask_of(picture.annotations[0].numbers)
    assert upper_right.shape == (HEIGHT, WIDTH)
    assert upper_right[: HEIGHT // 2, WIDTH // 2 :].all() and upper_right.sum() == HEIGHT * WIDTH // 4
