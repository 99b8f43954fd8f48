"""kill -9 during a live dive: nothing acknowledged is lost, the learner resumes, and clusters keep their numbers.

LIVE_KILLS=50 kills the watch fifty times; this takes a few minutes.
"""

import os
import random

import numpy as np
import pytest

from benthoscope.engine.jobs.live.clusters import learned_clusters
from benthoscope.engine.jobs.live.learner import LEARNER
from benthoscope.engine.jobs.live.starting import watch_job
from benthoscope.engine.jobs.queue import JobQueue
from benthoscope.engine.streaming import MemoryBoundedVDP
from benthoscope.engine.workspace import Workspace
from tests.faults.victims import killed_at_a_random_moment, watch_live_dive
from tests.live_dives import start, watch_to_the_end, write_images

IMAGES = 60
KILLS = int(os.environ.get("LIVE_KILLS", 5))


def killed_dive(folder, kills: int, within: float, seed: int) -> None:
    """Kill the watch again and again while images arrive; then finish the dive and compare."""
    draw, camera = random.Random(seed), folder / "camera"
    with Workspace.create(folder / "sea") as workspace:
        dive = start(workspace, camera, epoch=10, first_images=10)
        watch_job(JobQueue(workspace), dive)
    acknowledged: dict[int, int] = {}  # image: row
    learned, numbers = 0, set()
    for kill in range(kills):
        missing = min(IMAGES, (kill + 1) * IMAGES // kills + 10) - len(list(camera.glob("*.png")))
        write_images(camera, max(missing, 0), first=len(list(camera.glob("*.png"))), kinds=(0, 1))
        killed_at_a_random_moment(watch_live_dive, folder / "sea.benthos", dive.id, within=within, draw=draw)
        with Workspace.open(folder / "sea") as workspace:
            columns = workspace.live.columns(dive.id)
            rows = dict(zip(columns["image_id"].tolist(), columns["id"].tolist(), strict=True))
            assert acknowledged.items() <= rows.items(), "an acknowledged image is gone"
            acknowledged = rows
            known = {image.id for image in workspace.library.images(rows)}
            assert known == set(rows), "an acknowledged image is not in the library"
            last = workspace.live.last_round(dive.id)
            if last is not None:
                assert last.number >= learned and numbers <= set(last.clusters), "a cluster has lost its number"
                learned, numbers = last.number, set(last.clusters)
                assert (columns["learned_in"] > 0).sum() == last.images
    write_images(camera, IMAGES - len(list(camera.glob("*.png"))), first=len(list(camera.glob("*.png"))), kinds=(0, 1))
    with Workspace.open(folder / "sea") as workspace:
        JobQueue(workspace).requeue_orphans()
        job = watch_to_the_end(workspace, workspace.live.get(dive.id))
        assert job.state == "done", job.error
        assert job.result["images"] == IMAGES == workspace.library.count_images()
        rounds = workspace.live.rounds(dive.id)
        assert [each.number for each in rounds] == list(range(1, len(rounds) + 1))
        model = MemoryBoundedVDP.load(workspace.live.working_folder(dive.id) / LEARNER)
        assert model.n_rows_seen_ == rounds[-1].images == IMAGES
        assert model.cluster_ids_.tolist() == sorted(rounds[-1].clusters)
        assert len(workspace.features.open("colour").image_ids) == IMAGES
        clusters = learned_clusters(workspace, workspace.live.get(dive.id)).clusters
        paths = [image.path for image in workspace.library.images(workspace.live.columns(dive.id)["image_id"])]
        kinds = np.array([int(path[-8:-4]) % 2 for path in paths])
        assert all(len(np.unique(clusters[kinds == kind])) == 1 for kind in (0, 1))
        assert numbers <= set(rounds[-1].clusters)


@pytest.mark.slow
def test_a_live_dive_killed_at_random_moments_loses_nothing(tmp_path):
    killed_dive(tmp_path, kills=KILLS, within=2.5, seed=0)


@pytest.mark.parametrize("lost", ["round", "memory"])
def test_a_crash_between_the_memory_and_the_round_is_repaired(tmp_path, lost):
    """The memory is stored first and the round second; either may be the last one that reached the disk."""
    with Workspace.create(tmp_path / "sea") as workspace:
        dive = start(workspace, tmp_path / "camera", epoch=10, first_images=10)
        write_images(tmp_path / "camera", 10, kinds=(0, 1))
        path = workspace.live.working_folder(dive.id) / LEARNER
        watch_live_dive(workspace.folder, dive.id, rounds=1)
        older = path.read_bytes()
        write_images(tmp_path / "camera", 10, first=10, kinds=(0, 1))
        watch_live_dive(workspace.folder, dive.id, rounds=2)
        if lost == "memory":
            path.write_bytes(older)
        else:
            _take_back_round(workspace, dive.id, 2)
        before = workspace.live.columns(dive.id)
        job = watch_to_the_end(workspace, dive)
        assert job.state == "done", job.error
        rounds = workspace.live.rounds(dive.id)
        assert [(each.number, each.images, sorted(each.clusters)) for each in rounds] == [
            (1, 10, [0, 1]),
            (2, 20, [0, 1]),
        ]
        assert workspace.live.columns(dive.id)["id"].tolist() == before["id"].tolist()
        assert MemoryBoundedVDP.load(path).n_rows_seen_ == 20


def _take_back_round(workspace: Workspace, dive_id: int, number: int) -> None:
    from sqlalchemy import delete, update

    from benthoscope.engine.workspace.database.schema import live_image, live_round

    workspace.catalogue.execute(delete(live_round).where(live_round.c.number == number))
    workspace.catalogue.execute(update(live_image).where(live_image.c.learned_in == number).values(learned_in=None))
