"""How many of a bulk act are wrong at most: exact bounds, held to enumeration and to chance itself."""

from math import comb

import numpy as np
import pytest

from engine.labelling.audit import audit_size, audited, audits, bound_within, drawn, record_audit, upper_bound
from engine.problems import BadInput
from engine.workspace.events import standing
from engine.workspace.vocabularies import NewTerm


def chance_of_at_most(wrong, checked, share):
    return sum(comb(checked, k) * share**k * (1 - share) ** (checked - k) for k in range(wrong + 1))


@pytest.mark.parametrize("checked, wrong", [(60, 1), (59, 0), (5, 4), (100, 10)])
def test_at_the_bound_so_few_wrong_ones_are_just_too_rare(checked, wrong):
    bound = upper_bound(checked, wrong)
    assert chance_of_at_most(wrong, checked, bound) == pytest.approx(0.05, abs=1e-9)


def test_known_figures():
    assert upper_bound(59, 0) == pytest.approx(0.0495, abs=1e-4)  # the rule of three: 3 / 59
    assert upper_bound(7, 7) == 1.0
    assert str(audited(60, 1, 10**9)) == "checked 60, wrong 1, at most 7.7 % wrong at 95 %"


def test_of_a_finite_act_the_bound_follows_from_counting():
    """By enumeration: the greatest number of wrong images that leaves the finding above 5 %."""
    of, checked, wrong = 30, 12, 1
    ways = [sum(comb(bad, k) * comb(of - bad, checked - k) for k in range(wrong + 1)) / comb(of, checked)
            for bad in range(of + 1)]
    greatest = max(bad for bad in range(of + 1) if ways[bad] > 0.05)
    assert bound_within(of, checked, wrong) == pytest.approx(greatest / of)


def test_an_act_seen_in_full_is_known_exactly():
    assert bound_within(20, 20, 3) == pytest.approx(3 / 20)
    assert bound_within(20, 0, 0) == 1.0


def test_the_size_of_a_check_is_the_least_that_can_prove_the_bound():
    for of in (10, 100, 5000, 10**6):
        for wanted in (0.01, 0.05, 0.2):
            size = audit_size(of, wanted)
            assert bound_within(of, size, 0) <= wanted
            assert size == 0 or bound_within(of, size - 1, 0) > wanted
    assert audit_size(10**6, 0.05) == 59


def test_the_bound_holds_as_often_as_it_says():
    rng, missed = np.random.default_rng(1), 0
    for _ in range(4000):
        truly = rng.integers(0, 60)
        wrong = rng.hypergeometric(truly, 300 - truly, 50)
        missed += bound_within(300, 50, int(wrong)) < truly / 300
    assert missed / 4000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


def test_a_check_is_drawn_from_all_images_of_the_act():
    images = np.arange(1000)
    counts = np.zeros(1000)
    for seed in range(300):
        chosen = drawn(images, images[:500], 50, np.random.default_rng(seed))
        assert len(np.unique(chosen)) == 50
        assert (np.diff((chosen < 500).astype(int)) >= 0).all()  # those seen before come last
        counts[chosen] += 1
    assert counts[:500].mean() == pytest.approx(counts[500:].mean(), rel=0.1)


def test_the_finding_is_stored_with_the_act_and_goes_when_it_is_undone(workspace):
    ann = workspace.people.named("Ann").id
    sand = workspace.vocabularies.terms(workspace.vocabularies.add("own", [NewTerm(("sand",))]).id)[0].id
    bulk = workspace.labels.label(ann, np.arange(1, 401), sand, why="review")
    found = record_audit(workspace.labels, ann, bulk, np.arange(1, 61), 1)
    assert found.of == 400 and found.at_most < 0.077
    events = workspace.labels.events()
    assert audits(events) == {bulk: found} and workspace.labels.current()[0].size == 400
    workspace.labels.undo_last(ann)
    assert audits(standing(workspace.labels.events())) == {}


def test_impossible_counts_are_refused():
    with pytest.raises(BadInput, match="2 wrong of 1"):
        audited(1, 2, 10)
