"""What holds now is computed from what was ever said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.problems import BadInput
from engine.workspace.labels import pack_ids, unpack_ids
from engine.workspace.vocabularies import NewTerm


@pytest.fixture
def ann(workspace):
    return workspace.people.named("Ann").id


@pytest.fixture
def terms(workspace):
    words = workspace.vocabularies.add("habitats", [NewTerm(("sand",)), NewTerm(("kelp",))])
    return {term.name: term.id for term in workspace.vocabularies.terms(words.id)}


def holding(workspace, until=None):
    """{image: term id}"""
    ids, numbers = workspace.labels.current(until)
    terms = {event.number: event.term_id for event in workspace.labels.events()}
    return {int(image): terms[int(number)] for image, number in zip(ids, numbers, strict=True)}


def test_the_newest_label_of_an_image_holds(workspace, ann, terms):
    workspace.labels.label(ann, [1, 2, 3], terms["sand"], why="bulk")
    workspace.labels.label(ann, [2], terms["kelp"])
    assert holding(workspace) == {1: terms["sand"], 2: terms["kelp"], 3: terms["sand"]}


def test_undoing_a_bulk_act_brings_back_what_held_before(workspace, ann, terms):
    workspace.labels.label(ann, [1], terms["sand"])
    bulk = workspace.labels.label(ann, [1, 2], terms["kelp"])
    workspace.labels.undo(ann, bulk)
    assert holding(workspace) == {1: terms["sand"]}


def test_undoing_an_undo_brings_the_label_back(workspace, ann, terms):
    number = workspace.labels.label(ann, [5], terms["sand"])
    undo = workspace.labels.undo(ann, number)
    workspace.labels.undo(ann, undo)
    assert holding(workspace) == {5: terms["sand"]}


def test_any_earlier_state_can_be_looked_at(workspace, ann, terms):
    first = workspace.labels.label(ann, [1], terms["sand"])
    workspace.labels.label(ann, [1], terms["kelp"])
    assert holding(workspace, until=first) == {1: terms["sand"]}


def test_nothing_chosen_and_unknown_reasons_are_refused(workspace, ann, terms):
    with pytest.raises(BadInput, match="no images chosen"):
        workspace.labels.label(ann, [], terms["sand"])
    with pytest.raises(BadInput, match="did you mean 'manual'"):
        workspace.labels.label(ann, [1], terms["sand"], why="manuel")


def test_a_term_added_again_keeps_its_id(workspace, terms):
    words = workspace.vocabularies.add("habitats", [NewTerm(("sand",)), NewTerm(("sand", "rippled"))])
    found = {term.path: term for term in workspace.vocabularies.terms(words.id)}
    assert found["sand",].id == terms["sand"]
    assert found["sand", "rippled"].parent_id == terms["sand"]


def test_a_term_without_its_parent_is_refused_and_nothing_of_it_kept(workspace, terms):
    with pytest.raises(BadInput, match="its parent is not in the vocabulary"):
        workspace.vocabularies.add("habitats", [NewTerm(("mud",)), NewTerm(("rock", "bare"))])
    assert len(workspace.vocabularies.terms(workspace.vocabularies.named("habitats").id)) == 2


def test_a_name_with_stray_blanks_is_the_same_person(workspace, ann):
    assert workspace.people.named("  Ann ").id == ann


@given(st.sets(st.integers(0, 2**62)))
@settings(deadline=None)
def test_packed_ids_come_back(ids):
    wanted = np.array(sorted(ids), np.int64)
    np.testing.assert_array_equal(unpack_ids(pack_ids(wanted)), wanted)


def test_a_million_neighbours_take_little_room():
    assert len(pack_ids(np.arange(1, 1_000_001))) < 50_000
