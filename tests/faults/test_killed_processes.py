"""kill -9 at any time: confirmed data exist, the workspace opens, and the job resumes."""

import random
import shutil

import numpy as np
import pytest

from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.backup import Backup
from benthoscope.engine.workspace.labels.vocabularies import NewTerm
from tests.faults.victims import (
    append_for_ever,
    back_up_for_ever,
    go_on,
    killed_at_a_random_moment,
    label_for_ever,
    rewrite_for_ever,
)

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
            numbers = {event.number for event in workspace.labels.events()}
        lines = {int(line) for line in acknowledged.read_text().split()} if acknowledged.exists() else set()
        assert lines <= numbers
        assert len(numbers) - len(lines) <= KILLS  # a label may have been stored and not yet acknowledged
    assert len(lines) > 20, "nothing was labelled between the kills"


def test_no_published_feature_row_is_lost_or_torn_in_fifty_kills(folder, tmp_path):
    draw, acknowledged = random.Random(2), tmp_path / "acknowledged.txt"
    with Workspace.open(folder) as workspace, workspace.features.writer("f", width=8, extractor={}):
        pass
    for _ in range(KILLS):
        killed_at_a_random_moment(append_for_ever, folder, acknowledged, within=0.3, draw=draw)
        with Workspace.open(folder) as workspace:
            feature_set = workspace.features.open("f")
            lines = {int(line) for line in acknowledged.read_text().split()} if acknowledged.exists() else set()
            assert lines <= set(feature_set.image_ids.tolist())
            assert (feature_set.image_ids[:, None] == feature_set.X).all()
    assert feature_set.damaged_blocks() == []
    assert len(lines) > 20, "nothing was appended between the kills"


def test_a_feature_set_killed_while_rows_are_replaced_is_the_old_or_the_new_one(folder, tmp_path):
    draw, acknowledged = random.Random(4), tmp_path / "acknowledged.txt"
    with Workspace.open(folder) as workspace, workspace.features.writer("f", width=8, extractor={}) as features:
        features.append(np.arange(200), np.zeros((200, 8)))
    for _ in range(KILLS):
        killed_at_a_random_moment(rewrite_for_ever, folder, acknowledged, within=1.0, draw=draw)
        with Workspace.open(folder) as workspace:
            feature_set = workspace.features.open("f")
            assert len(feature_set.damaged()) == 0 and feature_set.damaged_blocks() == []
            turns = {int(turn) for turn in acknowledged.read_text().split()} if acknowledged.exists() else {0}
            values = np.unique(feature_set.X[feature_set.image_ids % 2 == 0])
            assert len(values) == 1 and max(turns, default=0) <= values[0] <= max(turns, default=0) + KILLS
            assert (feature_set.X[feature_set.image_ids % 2 == 1] == 0).all() and len(feature_set.X) == 200
    assert len(turns) > 10, "nothing was replaced between the kills"


def test_a_backup_killed_while_it_is_written_stays_whole_and_is_continued(folder, tmp_path):
    draw, target = random.Random(5), tmp_path / "backup"
    for _ in range(KILLS // 2):
        killed_at_a_random_moment(back_up_for_ever, folder, target, within=0.4, draw=draw)
        if (target / "backup.json").exists():
            assert Backup.open(target).check() == []
    with Workspace.open(folder) as workspace:
        Backup.of(workspace, target).take(workspace)
        count = len(workspace.labels.events())
    restored, _ = Backup.open(target).restore(tmp_path / "restored")
    with Workspace.open(restored) as again:
        assert len(again.labels.events()) == count > 0
    assert len(Backup.open(target).snapshots()) > 3, "no backup ended between the kills"


def test_a_workspace_copied_while_its_process_was_killed_opens(folder, tmp_path):
    killed_at_a_random_moment(label_for_ever, folder, tmp_path / "a.txt", within=1.0, draw=random.Random(3))
    shutil.copytree(folder, tmp_path / "copy.benthos")
    with Workspace.open(tmp_path / "copy") as copy, Workspace.open(folder) as original:
        assert len(copy.labels.events()) == len(original.labels.events())
