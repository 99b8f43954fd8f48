"""Current labels are computed from all events."""

import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.database.catalogue import migrate, open_catalogue
from benthoscope.engine.workspace.database.connections import sqlite_engines
from benthoscope.engine.workspace.labels.events import Event, current_labels
from benthoscope.engine.workspace.labels.log import LabelLog
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from benthoscope.engine.workspace.storage.id_packing import holds, pack_ids, unpack_ids


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


def test_nothing_chosen_and_unknown_reasons_are_rejected(workspace, ann, terms):
    with pytest.raises(BadInput, match="no images are selected"):
        workspace.labels.label(ann, [], terms["sand"])
    with pytest.raises(BadInput, match="did you mean 'manual'"):
        workspace.labels.label(ann, [1], terms["sand"], why="manuel")


def test_a_term_added_again_keeps_its_id(workspace, terms):
    words = workspace.vocabularies.add("habitats", [NewTerm(("sand",)), NewTerm(("sand", "rippled"))])
    term_by_path = {term.path: term for term in workspace.vocabularies.terms(words.id)}
    assert term_by_path["sand",].id == terms["sand"]
    assert term_by_path["sand", "rippled"].parent_id == terms["sand"]


def test_a_term_without_its_parent_is_rejected_and_nothing_of_it_kept(workspace, terms):
    with pytest.raises(BadInput, match="its parent is not in the vocabulary"):
        workspace.vocabularies.add("habitats", [NewTerm(("mud",)), NewTerm(("rock", "bare"))])
    assert len(workspace.vocabularies.terms(workspace.vocabularies.named("habitats").id)) == 2


def test_a_name_with_stray_blanks_is_the_same_person(workspace, ann):
    assert workspace.people.named("  Ann ").id == ann


def test_undo_and_redo_walk_through_a_persons_own_acts(workspace, ann, terms):
    bob = workspace.people.named("Bob").id
    labels = workspace.labels
    first, second = labels.label(ann, [1, 2], terms["sand"], why="bulk"), labels.label(ann, [2], terms["kelp"])
    labels.label(bob, [9], terms["kelp"])
    assert [labels.undo_last(ann), labels.undo_last(ann), labels.undo_last(ann)] == [second, first, None]
    assert holding(workspace) == {9: terms["kelp"]}
    assert [labels.redo_last(ann), labels.redo_last(ann), labels.redo_last(ann)] == [first, second, None]
    assert holding(workspace) == {1: terms["sand"], 2: terms["kelp"], 9: terms["kelp"]}
    assert labels.undo_last(ann) == second


def test_after_a_new_act_nothing_is_left_to_redo(workspace, ann, terms):
    workspace.labels.label(ann, [1], terms["sand"])
    workspace.labels.undo_last(ann)
    workspace.labels.label(ann, [3], terms["sand"])
    assert workspace.labels.redo_last(ann) is None


def test_undo_reaches_back_beyond_the_session(tmp_path):
    with Workspace.create(tmp_path / "reef") as made:
        ann = made.people.named("Ann").id
        words = made.vocabularies.add("habitats", [NewTerm(("sand",))])
        made.labels.label(ann, [1, 2], made.vocabularies.terms(words.id)[0].id)
    with Workspace.open(tmp_path / "reef") as again:
        again.labels.undo_last(ann)
        assert len(again.labels.current()[0]) == 0
    with Workspace.open(tmp_path / "reef") as again:
        again.labels.redo_last(ann)
        assert again.labels.current()[0].tolist() == [1, 2]


def test_labels_go_back_to_any_moment_and_the_way_back_can_be_undone(workspace, ann, terms):
    labels = workspace.labels
    moment = labels.label(ann, [1, 2], terms["sand"])
    labels.label(ann, [2, 3], terms["kelp"])
    reverted = labels.revert(ann, moment)
    assert holding(workspace) == {1: terms["sand"], 2: terms["sand"]}
    labels.undo(ann, reverted)
    assert holding(workspace) == {1: terms["sand"], 2: terms["kelp"], 3: terms["kelp"]}
    labels.revert(ann, 0, [1, 3])
    assert holding(workspace) == {2: terms["kelp"]}


def test_a_label_after_a_revert_holds(workspace, ann, terms):
    labels = workspace.labels
    labels.label(ann, [1], terms["sand"])
    labels.revert(ann, 0)
    labels.label(ann, [1], terms["kelp"])
    assert holding(workspace) == {1: terms["kelp"]}
    with pytest.raises(BadInput, match="nothing has changed since"):
        labels.revert(ann, labels.last_number())


def test_a_label_can_be_taken_away_and_comes_back_when_that_is_undone(workspace, ann, terms):
    workspace.labels.label(ann, [1, 2], terms["sand"])
    cleared = workspace.labels.clear(ann, [2])
    assert holding(workspace) == {1: terms["sand"]}
    workspace.labels.undo(ann, cleared)
    assert holding(workspace) == {1: terms["sand"], 2: terms["sand"]}


def test_a_rejected_suggestion_is_kept_but_labels_nothing(workspace, ann, terms):
    workspace.labels.refuse(ann, [4], terms["kelp"])
    assert holding(workspace) == {} and workspace.labels.events()[-1].kind == "refuse"


def test_the_history_of_an_image_tells_everything_ever_said_of_it(workspace, ann, terms):
    labels = workspace.labels
    bulk = labels.label(ann, np.arange(0, 60_000, 3), terms["sand"], why="bulk")
    labels.label(ann, [5], terms["sand"])
    event = labels.label(ann, [30_000], terms["kelp"])
    undo = labels.undo(ann, event)
    assert [event.number for event in labels.history(30_000)] == [bulk, event, undo]
    assert [event.number for event in labels.history(30_003)] == [bulk]
    assert labels.history(30_001) == []


def test_others_acts_on_the_same_images_are_seen_before_labelling(workspace, ann, terms):
    bob, last_event = workspace.people.named("Bob").id, workspace.labels.last_number()
    workspace.labels.label(bob, [1, 2], terms["sand"])
    workspace.labels.label(ann, [3], terms["sand"])
    events = workspace.labels.changed_by_others(ann, last_event, np.array([2, 3]))
    assert [event.person_id for event in events] == [bob]
    assert workspace.labels.changed_by_others(ann, workspace.labels.last_number(), np.array([2])) == []


def test_what_another_process_says_is_seen(tmp_path):
    with Workspace.create(tmp_path / "reef") as workspace, Workspace.open(tmp_path / "reef") as two:
        ann = workspace.people.named("Ann").id
        words = workspace.vocabularies.add("habitats", [NewTerm(("sand",))])
        sand = workspace.vocabularies.terms(words.id)[0].id
        workspace.labels.label(ann, [1], sand)
        assert two.labels.current()[0].tolist() == [1]
        number = two.labels.label(ann, [2], sand)
        assert workspace.labels.current()[0].tolist() == [1, 2]
        two.labels.undo(ann, number)
        assert workspace.labels.current()[0].tolist() == [1]


def test_a_log_filled_from_many_threads_loses_nothing(workspace, ann, terms):
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda image: workspace.labels.label(ann, [image], terms["sand"]), range(1, 201)))
    assert len(set(numbers)) == 200
    assert workspace.labels.current()[0].tolist() == list(range(1, 201))
    assert workspace.labels.current_terms()[1].tolist() == [terms["sand"]] * 200


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["label", "clear", "undo", "revert"]),
            st.sets(st.integers(1, 6), min_size=1),
            st.integers(0, 30),
        ),
        max_size=25,
    )
)
@settings(deadline=None, max_examples=60)
def test_what_holds_equals_a_slow_account_of_the_acts(acts):
    history = [_made(number, kind, images, target) for number, (kind, images, target) in enumerate(acts, 1)]
    labels = current_labels(history)
    assert dict(zip(labels.images.tolist(), labels.numbers.tolist(), strict=True)) == _slowly(history)
    half = len(history) // 2
    if all(event.kind != "undo" for event in history[half:]):
        again = current_labels(history[half:], current_labels(history[:half]), history)
        np.testing.assert_array_equal(again.images, labels.images)
        np.testing.assert_array_equal(again.numbers, labels.numbers)


def _made(number, kind, images, target):
    undoes = target % number or None
    kind = "label" if kind == "undo" and undoes is None else kind
    return Event(number, kind, 1, 0.0, pack_ids(np.array(sorted(images))), len(images), "manual", undoes=undoes)


def _slowly(history):
    """Which event labels which image, image by image and act by act."""
    undone = set()
    for event in reversed(history):
        if event.kind == "undo" and event.number not in undone:
            undone.add(event.undoes)
    labels = {}
    for event in history:
        if event.kind == "undo" or event.number in undone:
            continue
        then = _slowly([old for old in history if old.number <= (event.undoes or 0)]) if event.kind == "revert" else {}
        for image in event.images.tolist():
            labels.pop(image, None)
            number = event.number if event.kind == "label" else then.get(image)
            if number:
                labels[image] = number
    return labels


@given(st.sets(st.integers(0, 2**62)))
@settings(deadline=None)
def test_packed_ids_are_restored(ids):
    expected = np.array(sorted(ids), np.int64)
    np.testing.assert_array_equal(unpack_ids(pack_ids(expected)), expected)


def test_a_million_neighbours_take_little_room():
    assert len(pack_ids(np.arange(1, 1_000_001))) < 15_000


@given(st.sets(st.integers(-(2**40), 2**40), min_size=1), st.integers(-(2**40), 2**40))
@settings(deadline=None)
def test_one_id_is_found_among_packed_ones(ids, other):
    packed = pack_ids(np.array(sorted(ids), np.int64))
    assert all(holds(packed, number) for number in list(ids)[:5])
    assert holds(packed, other) == (other in ids)


def test_an_id_is_found_in_the_right_one_of_many_chunks():
    packed = pack_ids(np.arange(0, 300_000, 3))
    assert [holds(packed, number) for number in (0, 3, 24_573, 24_576, 299_997)] == [True] * 5
    assert not any(holds(packed, number) for number in (-1, 1, 24_574, 299_998, 300_000))


def test_ids_packed_by_the_first_version_are_read(workspace, ann, terms):
    old = zlib.compress(np.diff(np.array([3, 5, 9]), prepend=0).astype("<i8").tobytes(), 1)
    assert unpack_ids(old).tolist() == [3, 5, 9] and holds(old, 5) and not holds(old, 4)


def test_a_log_of_the_first_version_is_brought_up_to_date(tmp_path):
    engines = sqlite_engines(tmp_path / "c.sqlite", create=True)
    migrate(engines.writer, "0002")
    old = zlib.compress(np.array([3, 2, 4]).astype("<i8").tobytes(), 1)
    with engines.writer.begin() as connection:
        connection.exec_driver_sql("insert into person (id, name, created_at) values (1, 'Ann', 0)")
        for kind, undoes in (("label", None), ("undo", 1), ("undo", 2)):
            connection.exec_driver_sql(
                "insert into label_event (kind, person_id, at, undoes, count, images, why, "
                "rule) values (?, 1, 0, ?, 3, ?, 'manual', '{}')",
                (kind, undoes, old),
            )
    engines.dispose()
    catalogue = open_catalogue(tmp_path / "c.sqlite")
    log = LabelLog(catalogue)
    assert [(event.number, event.undoes) for event in log.history(9)] == [(1, None), (2, 1), (3, 2)]
    assert log.current()[0].tolist() == [3, 5, 9]
    assert log.undo_last(1) == 1 and len(log.current()[0]) == 0
    catalogue.close()
