"""The allowance of type errors falls and never grows."""

from tests.checks.mypy_allowance import counted, judged, lowered

OUTPUT = """benthoscope/engine/jobs/queue.py:3: error: Incompatible types  [assignment]
benthoscope/engine/jobs/queue.py:3: note: See the documentation
benthoscope/engine/jobs/cluster/levels.py:3: error: Incompatible types  [assignment]
benthoscope/app/cli.py:1: error: No type  [misc]
"""


def test_errors_are_counted_by_room_and_notes_are_not():
    assert counted(OUTPUT) == {"engine/jobs": 2, "app": 1}


def test_more_errors_than_allowed_are_refused_and_so_are_fewer():
    assert judged({"a": 2}, {"a": 2}) == []
    assert judged({"a": 3}, {"a": 2}) == ["a: 3 type errors, 2 allowed; fix the new ones"]
    assert judged({}, {"a": 2}) == ["a: 0 type errors, 2 allowed; run this command with --lower"]
    assert judged({"b": 1}, {}) == ["b: 1 type errors, 0 allowed; fix the new ones"]


def test_lowering_never_raises_a_limit():
    assert lowered({"a": 1, "b": 9, "c": 4}, {"a": 2, "b": 3, "gone": 5}) == {"a": 1, "b": 3}
