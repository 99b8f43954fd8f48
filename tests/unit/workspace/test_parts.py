"""Labels on parts of images stand beside the labels of whole images."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.parts import part_act, parts_of, standing_parts
from benthoscope.engine.workspace.labels.vocabularies import NewTerm

PIXELS = st.floats(-1e6, 1e6) | st.integers(0, 20_000)


@pytest.fixture
def ann(workspace):
    return workspace.people.named("Ann").id


@pytest.fixture
def terms(workspace):
    words = workspace.vocabularies.add("habitats", [NewTerm(("sand",)), NewTerm(("kelp",))])
    return {term.name: term.id for term in workspace.vocabularies.terms(words.id)}


def standing(workspace):
    return [
        (standing_part.image, standing_part.shape, standing_part.numbers)
        for standing_part in standing_parts(workspace.labels.events())
    ]


def test_points_do_not_change_what_the_image_is_labelled(workspace, ann, terms):
    workspace.labels.label(ann, [1], terms["sand"])
    workspace.labels.append_events(
        ann, [part_act(terms["kelp"], "point", [(1, (10, 20)), (2, (3.5, 4))], why="import")]
    )
    assert workspace.labels.current_terms()[0].tolist() == [1]
    assert standing(workspace) == [(1, "point", (10, 20)), (2, "point", (3.5, 4))]


def test_an_image_knows_the_points_in_its_history_and_an_undo_takes_them_back(workspace, ann, terms):
    [number] = workspace.labels.append_events(ann, [part_act(terms["kelp"], "box", [(7, (0, 0, 9, 9))], why="manual")])
    assert [event.number for event in workspace.labels.history(7)] == [number]
    workspace.labels.undo(ann, number)
    assert standing(workspace) == []


def test_of_acts_made_together_all_are_stored_or_none(workspace, ann, terms):
    good = Act("label", np.array([1]), "import", terms["sand"])
    with pytest.raises(Exception, match=r"(?i)foreign key|constraint"):
        workspace.labels.append_events(ann, [good, Act("label", np.array([2]), "import", 999_999)])
    assert workspace.labels.events() == []


@pytest.mark.parametrize(("shape", "numbers"), [("point", (1,)), ("box", (1, 2, 3)), ("outline", (1, float("nan")))])
def test_a_shape_with_too_few_or_no_numbers_is_rejected(shape, numbers):
    with pytest.raises(BadInput, match=shape):
        part_act(1, shape, [(1, numbers)], why="import")


@given(st.lists(st.tuples(st.integers(1, 2**40), st.lists(PIXELS, min_size=2, max_size=40)), min_size=1, max_size=30))
def test_what_is_packed_comes_out_again(parts):
    class Stored:
        rule = part_act(1, "outline", parts, why="import").rule

    assert [(piece.image, list(piece.numbers)) for piece in parts_of(Stored)] == [(i, list(n)) for i, n in parts]
