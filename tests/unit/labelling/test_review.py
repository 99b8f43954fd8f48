"""The logic of Review: orders that show mixed clusters, cuts from noisy answers, edited clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benthoscope.engine.labelling.bisection import begun_from, new_bisection, page_of
from benthoscope.engine.labelling.cluster_edits import (
    arrangement,
    mark_duplicate,
    merge,
    move,
    nearest_to,
    seed,
    split,
    split_in,
)
from benthoscope.engine.labelling.page_choice.page_layout import ROW, extremes_first, from_both_ends, surest_first
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewRun
from benthoscope.engine.workspace.labels.events import standing


@given(st.integers(1, 40), st.integers(0, 10))
@settings(deadline=None, max_examples=40)
def test_every_member_is_shown_once(count, seed):
    rows = np.random.default_rng(seed).integers(0, 3, (count, 2)).astype(float)  # many similar images
    assert sorted(extremes_first(rows).tolist()) == list(range(count))


def test_a_mixed_cluster_shows_in_the_first_row():
    """Three per cent of strangers, in two kinds: both kinds are in the first row, in every draw."""
    for draw in range(20):
        rng = np.random.default_rng(draw)
        rows = rng.standard_normal((500, 10))
        rows[:8, 0] += 9
        rows[8:16, 1] += 9
        first = extremes_first(rows)[:ROW]
        assert (first < 8).any() and ((first >= 8) & (first < 16)).any()


def test_the_ends_alternate():
    assert from_both_ends(np.arange(5)).tolist() == [0, 4, 1, 3, 2]
    assert surest_first(np.array([0.5, 1, 1, 0.9]), np.array([0, -2, -1, 0])).tolist() == [2, 1, 3, 0]


def replayed(state, cut, slip=0.0, rng=None, most=60):
    """(final state, answers): somebody answers truly for this cut, now and then by mistake."""
    while not state.done and len(state.answers) < most:
        page = state.page_to_ask()
        mistaken = slip and rng.random() < slip
        state = state.answered(page, (page < cut) != mistaken)
    return state, len(state.answers)


@pytest.mark.parametrize("cut, theirs", [(5, 7), (20, 10), (100, 15), (500, 18), (1000, 19), (2000, 12)])
def test_bisection_needs_no_more_answers_than_galloping(cut, theirs):
    """Of 2,000 pages; `theirs` are the answers of the galloping search that takes every answer for certain."""
    state, answers = replayed(new_bisection(2000), cut)
    assert abs(state.cut - cut) <= 1
    assert answers <= theirs + 2  # the price of not taking one answer for certain


def test_mistakes_have_little_effect():
    rng = np.random.default_rng(0)
    off = []
    for _ in range(200):
        cut = int(rng.integers(0, 400))
        state, _ = replayed(new_bisection(400), cut, slip=0.03, rng=rng)
        off.append(abs(state.cut - cut))
    assert np.mean(np.array(off) <= 1) >= 0.93


def test_model_probabilities_save_questions():
    rng = np.random.default_rng(0)
    with_model, without = [], []
    for _ in range(30):
        cut = int(rng.integers(5, 200))
        probability = 1 / (1 + np.exp((np.arange(300 * 50) / 50 - cut) / 8))
        with_model.append(replayed(begun_from(probability, 50), cut)[1])
        without.append(replayed(new_bisection(300), cut)[1])
    assert np.mean(with_model) < np.mean(without) - 1


def test_a_model_that_is_wrong_is_overruled():
    sure = np.full(300 * 50, 0.999)
    state, answers = replayed(begun_from(sure, 50), 40)
    assert abs(state.cut - 40) <= 1 and answers < 25


def test_the_next_page_was_predicted():
    state = new_bisection(100)
    for _ in range(5):
        yes, no = state.pages_ahead()
        page = state.page_to_ask()
        assert state.answered(page, True).page_to_ask() == yes
        assert state.answered(page, False).page_to_ask() == no
        state = state.answered(page, False)


def test_accepted_images_end_at_the_cut_without_removed_ones():
    ranking = np.arange(1000, 1100)
    state, _ = replayed(new_bisection(10), 3)
    accepted = state.without([1002, 1050]).accepted(ranking, 10)
    assert accepted.tolist() == [image for image in range(1000, 1000 + 10 * state.cut) if image != 1002]
    assert len(state.accepted(ranking, 10, cut=10)) == 100
    assert state.to_dict()["cut"] == state.cut and len(state.to_dict()["answers"]) == len(state.answers)


def test_a_page_is_shuffled_but_complete():
    ranking = np.arange(95)
    page = page_of(ranking, 1, 50, np.random.default_rng(0))
    assert sorted(page.tolist()) == list(range(50, 95)) and page.tolist() != sorted(page.tolist())


@pytest.fixture
def clusters(workspace):
    """(log, person, what gives the arrangement as it now is) for nine images in three clusters of a run."""
    run = workspace.runs.add(NewRun("r", "gmc", "deep", {}, {}, {}), {"labels": np.zeros(1)})
    ann = workspace.people.named("Ann").id
    images = np.arange(9, 0, -1)

    def moment():
        return arrangement(run.id, images, np.repeat([2, 1, 0], 3), standing(workspace.labels.events()))

    return workspace.labels, ann, moment


def test_clusters_are_split_merged_moved_and_seeded(clusters):
    log, ann, moment = clusters
    new = split(log, ann, moment(), np.array([1, 2]))
    assert new == 3 and moment().members(3).tolist() == [1, 2] and moment().members(0).tolist() == [3]
    merge(log, ann, moment(), 1, 2)
    assert moment().sizes() == {0: 1, 2: 6, 3: 2}
    move(log, ann, moment(), np.array([9]), 0)
    assert moment().members(0).tolist() == [3, 9]
    grown = seed(log, ann, moment(), 8)
    assert moment().members(grown).tolist() == [8]
    mark_duplicate(log, ann, moment(), 3, 0)
    assert moment().members(0).tolist() == [1, 2, 3, 9]
    assert len(log.current()[0]) == 0  # nothing of it labels anything


def test_every_change_of_clusters_is_undone_like_a_label(clusters):
    log, ann, moment = clusters
    before = moment().clusters.tolist()
    halves = split_in(log, ann, moment(), 0, np.array([0, 1, 2]), "k-means")
    assert len(halves) == 2 and moment().sizes() == {0: 1, 1: 3, 2: 3, halves[0]: 1, halves[1]: 1}
    log.undo_last(ann)
    log.undo_last(ann)
    assert moment().clusters.tolist() == before


def test_edits_of_other_runs_change_nothing(clusters, workspace):
    log, ann, moment = clusters
    other = workspace.runs.add(NewRun("s", "gmc", "deep", {}, {}, {}), {"labels": np.zeros(1)})
    log.append("arrange", ann, [1], why="arrange", run_id=other.id, rule={"act": "move", "into": 2})
    assert moment().members(2).tolist() == [7, 8, 9]


def test_unknown_images_and_clusters_are_rejected(clusters):
    log, ann, moment = clusters
    with pytest.raises(BadInput, match="image 77 is not in run"):
        split(log, ann, moment(), np.array([1, 77]))
    with pytest.raises(BadInput, match="clusters"):
        merge(log, ann, moment(), 0, 12)


def test_a_seed_is_extended_by_near_images():
    rows = np.array([[0.0], [5.0], [1.0], [0.5]])
    assert nearest_to(rows, 0).tolist() == [0, 3, 2, 1]
