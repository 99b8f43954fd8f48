"""Upper bounds for wrong bulk labels, checked by enumeration and simulation."""

from math import comb

import numpy as np
import pytest

from benthoscope.engine.labelling.audits.bulk_audit import pooled_statement, withdraw_audit
from benthoscope.engine.labelling.audits.sample import audit_size, audited, audits, bound_within, upper_bound
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace.labels.events import standing
from benthoscope.engine.workspace.labels.vocabularies import NewTerm


def chance_of_at_most(wrong, checked, share):
    return sum(comb(checked, k) * share**k * (1 - share) ** (checked - k) for k in range(wrong + 1))


@pytest.mark.parametrize("checked, wrong", [(60, 1), (59, 0), (5, 4), (100, 10)])
def test_at_the_bound_so_few_wrong_ones_are_just_too_rare(checked, wrong):
    bound = upper_bound(checked, wrong)
    assert chance_of_at_most(wrong, checked, bound) == pytest.approx(0.05, abs=1e-9)


def test_known_figures():
    assert upper_bound(59, 0) == pytest.approx(0.0495, abs=1e-4)  # the rule of three: 3 / 59
    assert upper_bound(7, 7) == 1.0
    assert str(audited(60, 1, 10**9)) == "checked 60, wrong 1, at most 7.7 % wrong at 95 % (viewing time not recorded)"


def test_the_bound_of_a_finite_set_follows_from_enumeration():
    """By enumeration: the greatest number of wrong images that leaves the finding above 5 %."""
    of, checked, wrong = 30, 12, 1
    probabilities = [
        sum(comb(bad, k) * comb(of - bad, checked - k) for k in range(wrong + 1)) / comb(of, checked)
        for bad in range(of + 1)
    ]
    greatest = max(bad for bad in range(of + 1) if probabilities[bad] > 0.05)
    assert bound_within(of, checked, wrong) == pytest.approx(greatest / of)


def test_a_complete_check_gives_the_exact_number():
    assert bound_within(20, 20, 3) == pytest.approx(3 / 20)
    assert bound_within(20, 0, 0) == 1.0


def test_the_size_of_a_check_is_the_least_that_can_prove_the_bound():
    for of in (10, 100, 5000, 10**6):
        for number in (0.01, 0.05, 0.2):
            size = audit_size(of, number)
            assert bound_within(of, size, 0) <= number
            assert size == 0 or bound_within(of, size - 1, 0) > number
    assert audit_size(10**6, 0.05) == 59


def test_the_bound_has_its_stated_coverage():
    rng, missed = np.random.default_rng(1), 0
    for _ in range(4000):
        truly = rng.integers(0, 60)
        wrong = rng.hypergeometric(truly, 300 - truly, 50)
        missed += bound_within(300, 50, int(wrong)) < truly / 300
    assert missed / 4000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


def test_impossible_counts_are_rejected():
    with pytest.raises(BadInput, match="2 wrong, 1 checked"):
        audited(1, 2, 10)


def test_audits_of_a_former_version_are_read_with_unknown_times(workspace):
    ann = workspace.people.named("Ann").id
    sand = workspace.vocabularies.terms(workspace.vocabularies.add("own", [NewTerm(("sand",))]).id)[0].id
    bulk = workspace.labels.label(ann, np.arange(1, 401), sand, why="review")
    workspace.labels.append(
        "audit",
        ann,
        np.arange(1, 61),
        why="audit",
        rule={"about": bulk, "checked": 60, "wrong": 1, "of": 400, "at_most": 0.0725, "confidence": 0.95},
    )
    audit_events = audits(standing(workspace.labels.events()))[bulk]
    assert (audit_events.checked, audit_events.method, audit_events.seconds) == (60, "fixed size", None)
    assert str(audit_events) == "checked 60, wrong 1, at most 7.2 % wrong at 95 % (viewing time not recorded)"
    assert pooled_statement(workspace).text.startswith("All 400 bulk labels of 1 event: checked 60, wrong 1")
    number = workspace.labels.last_number()
    assert withdraw_audit(workspace, ann, number) == (bulk,) and audits(standing(workspace.labels.events())) == {}
