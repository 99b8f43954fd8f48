"""Blind double labels: who is shown what, what is stored, and the disagreements that follow from them."""

import numpy as np
import pytest

from benthoscope.engine.jobs import run_now
from benthoscope.engine.labelling.agreement import cohen_kappa, conflicts, shared
from benthoscope.engine.labelling.people.disagreements import adopt, comparison, keep
from benthoscope.engine.labelling.people.double_labels import answer, ask_for, blind_labels, next_page, progress
from benthoscope.engine.labelling.people.known_reliability import label_likelihoods, reliability_of
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.labelling.training_data import labelled_rows, material
from benthoscope.engine.problems import BadInput
from tests.reef_workspace import KINDS, copied

LABELLED = 80  # by Ann, one by one


@pytest.fixture
def reef(tmp_path, reef_templates):
    template = reef_templates(LABELLED)
    with copied(template, tmp_path) as workspace:
        yield workspace, template


@pytest.fixture
def people(reef):
    return [reef[0].people.named(name).id for name in ("Ann", "Ben", "Cara")]


def true_term(reef, image):
    template = reef[1]
    return int(template.terms[template.truth[np.searchsorted(template.ids, image)]])


def other_term(reef, image):
    template = reef[1]
    return int(template.terms[(template.truth[np.searchsorted(template.ids, image)] + 1) % KINDS])


def label_all(reef, person, count, wrong=0):
    """Answer `count` double labels, the first `wrong` of them with another term. Returns the images in their order."""
    ask_for(reef[0], person, count)
    images = [draw.image_id for draw in next_page(reef[0], person, count)]
    terms = {
        image: other_term(reef, image) if at < wrong else true_term(reef, image) for at, image in enumerate(images)
    }
    answer(reef[0], person, terms)
    return images


def effective(workspace):
    return workspace.labels.effective()[0]


def test_labels_of_others_are_shown_and_never_own_ones(reef, people):
    workspace, (ann, ben, _) = reef[0], people
    with pytest.raises(BadInput, match="no other person has given labels"):
        ask_for(workspace, ann, 10)
    ask_for(workspace, ben, 10)
    images = [draw.image_id for draw in next_page(workspace, ben, 24)]
    assert len(images) == 10 and np.isin(images, workspace.labels.current()[0]).all()
    label_all(reef, ben, 10)
    with pytest.raises(BadInput, match="no other person"):
        ask_for(workspace, ann, 10)  # second looks are no labels to look at again


def test_all_people_are_shown_the_same_random_images_first(reef, people):
    workspace, (_, ben, cara) = reef[0], people
    assert set(label_all(reef, ben, 20)) == set(label_all(reef, cara, 20))
    labels = blind_labels(workspace)
    assert len(labels.images) == 60 and len(np.unique(labels.images)) == 20


def test_every_labelled_image_is_drawn_equally_often(reef, people, monkeypatch):
    """Each of 80 labels is drawn with a probability of 1/4, whatever its term."""
    workspace, drawn = reef[0], []
    for person in range(60):
        monkeypatch.setattr(
            "benthoscope.engine.labelling.people.double_labels._common_seed", lambda _, seed=person: 1000 + seed
        )
        number = workspace.people.named(f"Person {person}").id
        ask_for(workspace, number, 20)
        drawn += [draw.image_id for draw in next_page(workspace, number, 20)]
    counts = np.bincount(np.searchsorted(workspace.labels.current()[0], drawn), minlength=LABELLED)
    assert len(drawn) == 1200 and counts.min() >= 3 and counts.max() <= 30
    assert counts.var() < 2 * 60 * 0.25 * 0.75


def test_bulk_labels_and_labels_after_seeing_the_first_are_not_shown(reef, people):
    workspace, (ann, ben, cara) = reef[0], people
    free = np.setdiff1d(reef[1].ids, workspace.labels.current()[0])
    workspace.labels.label(ann, free[:50], int(reef[1].terms[0]), why="bulk")
    workspace.labels.label(ann, [free[60]], int(reef[1].terms[0]), why="resolved")
    workspace.labels.label(ann, [free[61]], int(reef[1].terms[0]), why="import")
    workspace.labels.label(ben, [free[62]], int(reef[1].terms[0]))
    assert progress(workspace, cara).available == LABELLED + 1 and progress(workspace, cara).labelled_by == 2
    assert progress(workspace, ben).available == LABELLED


def test_a_second_look_leaves_the_current_label_and_lists_a_conflict(reef, people):
    workspace, (ann, ben, _) = reef[0], people
    before = workspace.labels.current_terms()
    images = label_all(reef, ben, 20, wrong=3)
    for now, then in zip(workspace.labels.current_terms(), before, strict=True):
        np.testing.assert_array_equal(now, then)
    assert {conflict.image for conflict in conflicts(effective(workspace))} == set(images[:3])
    a, b = shared(blind_labels(workspace), ann, ben)
    assert (a != b).sum() == 3 and len(a) == 20 and 0.5 < cohen_kappa(a, b) < 1


def test_an_undone_second_look_is_asked_again(reef, people):
    workspace, (_, ben, _) = reef[0], people
    ask_for(workspace, ben, 2)
    first, second = next_page(workspace, ben, 2)
    answer(workspace, ben, {first.image_id: true_term(reef, first.image_id)})
    answer(workspace, ben, {second.image_id: other_term(reef, second.image_id)})
    assert progress(workspace, ben).remaining == 0
    workspace.labels.undo_last(ben)
    assert [draw.image_id for draw in next_page(workspace, ben, 2)] == [second.image_id]
    assert progress(workspace, ben).remaining == 1 and len(blind_labels(workspace).images) == 2
    workspace.labels.redo_last(ben)
    assert not next_page(workspace, ben, 2) and len(blind_labels(workspace).images) == 4


def test_an_answer_can_be_changed_and_nobody_answers_what_was_not_drawn(reef, people):
    workspace, (_, ben, _) = reef[0], people
    ask_for(workspace, ben, 1)
    (draw,) = next_page(workspace, ben, 1)
    answer(workspace, ben, {draw.image_id: other_term(reef, draw.image_id)})
    answer(workspace, ben, {draw.image_id: true_term(reef, draw.image_id)})
    assert len(set(blind_labels(workspace).terms.tolist())) == 1 and not conflicts(effective(workspace))
    not_drawn = next(image for image in reef[1].ids.tolist() if image != draw.image_id)
    with pytest.raises(BadInput, match="was not drawn"):
        answer(workspace, ben, {not_drawn: int(reef[1].terms[0])})
    with pytest.raises(BadInput, match="undo that label first"):
        answer(workspace, ben, {draw.image_id: None})


def test_images_that_cannot_be_identified_are_answered_but_show_no_disagreement(reef, people):
    workspace, (_, ben, _) = reef[0], people
    ask_for(workspace, ben, 5)
    answer(workspace, ben, dict.fromkeys([draw.image_id for draw in next_page(workspace, ben, 5)]))
    assert progress(workspace, ben).answered == 5 and not len(blind_labels(workspace).images)


def test_a_label_that_was_removed_is_not_shown_any_more(reef, people):
    workspace, (ann, ben, _) = reef[0], people
    ask_for(workspace, ben, 10)
    first = next_page(workspace, ben, 10)[0].image_id
    workspace.labels.clear(ann, [first])
    assert first not in [draw.image_id for draw in next_page(workspace, ben, 10)]
    assert progress(workspace, ben).remaining == 9


def test_requests_go_on_after_each_other(reef, people):
    workspace, (_, ben, _) = reef[0], people
    first = label_all(reef, ben, 50)
    second = label_all(reef, ben, 50)
    assert len(second) == LABELLED - 50 and not set(first) & set(second)
    state = progress(workspace, ben)
    assert (state.budget, state.answered, state.remaining, state.available) == (30, 30, 0, 0)


def test_a_resolved_conflict_stays_resolved_when_somebody_else_agrees_with_it(reef, people):
    workspace, (ann, ben, cara) = reef[0], people
    image = label_all(reef, ben, 1, wrong=1)[0]
    workspace.labels.label(ann, [image], true_term(reef, image), why="resolved")
    assert not conflicts(effective(workspace))
    workspace.labels.label(cara, [image], true_term(reef, image))
    assert not conflicts(effective(workspace))
    workspace.labels.label(cara, [image], other_term(reef, image))
    assert len(conflicts(effective(workspace))) == 1


def test_a_new_labeller_sees_the_disagreements_with_the_consensus(reef, people):
    workspace, (_, ben, cara) = reef[0], people
    label_all(reef, ben, 20)
    images = label_all(reef, cara, 20, wrong=4)
    result = comparison(effective(workspace), cara)
    assert (result.shared, result.same, result.divided) == (20, 16, 0)
    assert {each.image for each in result.listed} == set(images[:4])
    for each in result.listed:
        assert (each.own_term, each.consensus) == (other_term(reef, each.image), true_term(reef, each.image))
        assert (each.agreeing, each.other_people, each.settled) == (2, 2, False)
    assert not comparison(effective(workspace), ben).listed  # Ann and Cara differ there, so the others are divided
    assert comparison(effective(workspace), ben).divided == 4


def test_a_resolved_conflict_is_the_consensus(reef, people):
    workspace, (ann, ben, cara) = reef[0], people
    label_all(reef, ben, 20)
    image = label_all(reef, cara, 20, wrong=1)[0]
    workspace.labels.label(ann, [image], other_term(reef, image), why="resolved")
    assert not comparison(effective(workspace), cara).listed
    (theirs,) = comparison(effective(workspace), ben).listed
    assert theirs.settled and theirs.consensus == other_term(reef, image)


def test_adopting_the_consensus_and_keeping_the_own_label_can_be_undone(reef, people):
    workspace, (_, _, cara) = reef[0], people
    images = label_all(reef, cara, 10, wrong=2)
    adopt(workspace, cara, images[:1])
    keep(workspace, cara, images[1:2])
    state = comparison(effective(workspace), cara)
    assert (len(state.listed), state.confirmed, state.same) == (0, 1, 9)
    assert {conflict.image for conflict in conflicts(effective(workspace))} == {images[1]}
    workspace.labels.undo_last(cara)
    assert [each.image for each in comparison(effective(workspace), cara).listed] == images[1:2]
    workspace.labels.undo_last(cara)
    assert len(comparison(effective(workspace), cara).listed) == 2
    with pytest.raises(BadInput, match="no disagreement of this person"):
        adopt(workspace, cara, images[5:6])


def test_adopting_changes_the_current_label_where_it_is_the_own_one(reef, people):
    workspace, (ann, ben, cara) = reef[0], people
    label_all(reef, ben, 10, wrong=1)
    image = label_all(reef, cara, 10, wrong=1)[0]  # both differ from Ann
    adopt(workspace, ann, [image])
    images, terms = workspace.labels.current_terms()
    assert terms[np.searchsorted(images, image)] == other_term(reef, image)
    assert len(blind_labels(workspace).images) == 30  # the first label stays evidence of how people label
    assert (reliability_of(workspace).label_counts == 10).all()


def test_the_model_is_trained_with_the_reliability_of_the_people(reef, people):
    workspace, (_, ben, cara) = reef[0], people
    data = material(workspace)

    def likelihoods():
        labels = labelled_rows(workspace.labels.events(), data, workspace.labels.current())
        return label_likelihoods(workspace, labels, data.image_ids), labels

    assert likelihoods()[0] is None
    label_all(reef, ben, 40)
    images = label_all(reef, cara, 40, wrong=12)
    values, labels = likelihoods()
    of_image = dict(zip(data.image_ids[labels.rows].tolist(), values.values, strict=True))
    term = int(np.flatnonzero(values.terms == other_term(reef, images[0]))[0])
    agreed = next(image for image in images[12:] if true_term(reef, image) == true_term(reef, images[0]))
    assert of_image[images[0]].argmax() != term and of_image[images[0]][term] > of_image[agreed][term] > 0
    assert run_now(workspace, "learn").state == "done"
    assert SuggestionStore(workspace.folder).get().facts["reliable_people"] == 3
