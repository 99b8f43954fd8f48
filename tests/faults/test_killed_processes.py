"""kill -9 at any moment: what was acknowledged is there, the workspace opens, the job goes on where it was."""

import random
import shutil

import pytest

from engine.jobs import JobQueue, run_now
from engine.workspace import Workspace
from engine.workspace.vocabularies import NewTerm
from tests.faults.victims import append_for_ever, go_on, killed_at_a_random_moment, label_for_ever

pytestmark = pytest.mark.slow
KILLS = 50
STEPS = 400


@pytest.fixture
def folder(tmp_path):
    with Workspace.create(tmp_path / "reef") as made:
        made.vocabularies.add("habitats", [NewTerm(("sand",))])
    return tmp_path / "reef.benthos"


def test_a_job_killed_fifty_times_ends_with_the_right_result(folder, tmp_path):
    draw, numbers = random.Random(0), tmp_path / "numbers.txt"
    with Workspace.open(folder) as workspace:
        job = JobQueue(workspace).add("count", {"steps": STEPS, "pause": 0.01, "path": str(numbers)})
    furthest = 0
    for _ in range(KILLS):
        killed_at_a_random_moment(go_on, folder, job.id, within=0.3, draw=draw)
        with Workspace.open(folder) as workspace:
            queue = JobQueue(workspace)
            queue.requeue_orphans()
            assert queue.get(job.id).state in ("queued", "done")
            checkpoint = queue.folder(job.id) / "checkpoint.json"
            assert checkpoint.exists() or not furthest or queue.get(job.id).state == "done"
            furthest = max(furthest, len(set(numbers.read_text().split())) if numbers.exists() else 0)
    assert furthest > 5, "the job never got going between the kills"
    with Workspace.open(folder) as workspace:
        if JobQueue(workspace).get(job.id).state != "done":
            run_now(workspace, "count", resume=job.id)
        assert JobQueue(workspace).get(job.id).result == {"total": sum(range(STEPS))}
    assert {int(line) for line in numbers.read_text().split()} == set(range(STEPS))
    assert len(numbers.read_text().split()) <= STEPS + KILLS  # at most one step was done again for each kill


def test_no_acknowledged_label_is_lost_in_fifty_kills(folder, tmp_path):
    draw, acknowledged = random.Random(1), tmp_path / "acknowledged.txt"
    for _ in range(KILLS):
        killed_at_a_random_moment(label_for_ever, folder, acknowledged, within=0.25, draw=draw)
        with Workspace.open(folder) as workspace:
            kept = {event.number for event in workspace.labels.events()}
        told = {int(line) for line in acknowledged.read_text().split()} if acknowledged.exists() else set()
        assert told <= kept
        assert len(kept) - len(told) <= KILLS  # a label may have been stored and not yet acknowledged
    assert len(told) > 20, "nothing was labelled between the kills"


def test_no_published_feature_row_is_lost_or_torn_in_fifty_kills(folder, tmp_path):
    draw, acknowledged = random.Random(2), tmp_path / "acknowledged.txt"
    with Workspace.open(folder) as workspace, workspace.features.writer("f", width=8, extractor={}):
        pass
    for _ in range(KILLS):
        killed_at_a_random_moment(append_for_ever, folder, acknowledged, within=0.3, draw=draw)
        with Workspace.open(folder) as workspace:
            found = workspace.features.open("f")
            told = {int(line) for line in acknowledged.read_text().split()} if acknowledged.exists() else set()
            assert told <= set(found.image_ids.tolist())
            assert (found.image_ids[:, None] == found.X).all()
    assert found.damaged_blocks() == []
    assert len(told) > 20, "nothing was appended between the kills"


def test_a_workspace_copied_while_its_process_was_killed_opens(folder, tmp_path):
    killed_at_a_random_moment(label_for_ever, folder, tmp_path / "a.txt", within=1.0, draw=random.Random(3))
    shutil.copytree(folder, tmp_path / "copy.benthos")
    with Workspace.open(tmp_path / "copy") as copy, Workspace.open(folder) as original:
        assert len(copy.labels.events()) == len(original.labels.events())
