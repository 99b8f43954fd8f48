"""200 people at once on one laptop: no answer is lost, none is stored twice, however slow the machine.

How quick it is stands in `python -m tests.benchmarks crowd_load`: a figure for a quiet machine is no matter of right
or wrong.
"""

import pytest

from tests.load.people import EACH, asked, everybody
from tests.loops import outcome

PEOPLE = 200

pytestmark = pytest.mark.slow


def test_two_hundred_people_answer_at_once_and_none_is_lost(tmp_path):
    with asked(tmp_path) as (workspace, campaign, server):
        seen = outcome(everybody(PEOPLE, campaign, server))
        assert not seen.troubles, seen.troubles[:5]
        given = [(answer.worker, answer.task) for answer in workspace.crowd.answers(campaign.id)]
    print(seen)
    assert set(given) == seen.acknowledged, "an answer that was acknowledged is not there, or the other way round"
    assert len(given) == len(set(given)) == PEOPLE * EACH, "one was stored twice, or somebody was not asked"
