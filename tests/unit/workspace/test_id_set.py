"""The set of image ids, compared with a Python set."""

import numpy as np
import pytest

from benthoscope.engine.workspace.storage import id_set
from benthoscope.engine.workspace.storage.id_set import IdSet


@pytest.mark.parametrize("recent", [1, 7, 10_000])
def test_the_set_has_exactly_the_ids_that_were_added(monkeypatch, recent):
    monkeypatch.setattr(id_set, "RECENT", recent)
    ids = np.random.default_rng(0).permutation(600)
    members = IdSet(ids[:100])
    for part in np.array_split(ids[100:300], 40):
        members.add(part)
    expected = set(ids[:300].tolist())
    questions = np.arange(-5, 610)
    assert members.contains(questions).tolist() == [number in expected for number in questions.tolist()]
    assert len(members) == 300 and int(ids[0]) in members and int(ids[-1]) not in members


def test_an_empty_set_has_no_ids():
    assert not IdSet().contains(np.array([0, 1])).any() and len(IdSet(range(3))) == 3
