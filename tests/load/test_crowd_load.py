"""200 people at once on one laptop: no answer is lost and none is stored twice, on any machine.

`python -m tests.benchmarks crowd_load` measures the speed, which depends on the machine and is not tested.
"""

import pytest

from tests.load.people import EACH, asked, everybody
from tests.loops import outcome

PEOPLE = 200

pytestmark = pytest.mark.slow


def test_two_hundred_people_answer_at_once_and_none_is_lost(tmp_path):
    with asked(tmp_path) as (workspace, campaign, server):
        load = outcome(everybody(PEOPLE, campaign, server))
        assert not load.troubles, load.troubles[:5]
        pairs = [(answer.worker, answer.task) for answer in workspace.crowd.answers(campaign.id)]
    print(load)
    assert set(pairs) == load.acknowledged, "an answer that was acknowledged is not there, or the other way round"
    assert len(pairs) == len(set(pairs)) == PEOPLE * EACH, "one was stored twice, or somebody was not asked"
