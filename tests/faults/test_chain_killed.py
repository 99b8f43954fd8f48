"""The job from a folder to clusters under kill -9 at random times: it finishes and repeats nothing."""

import random
import time

import numpy as np
import pytest
from PIL import Image

from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.workspace import Workspace
from tests.faults.victims import running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
KILLS, IMAGES = 6, 60  # a queue gives a job up that dies ten times without a step forward


def resume(folder, job_id):
    with Workspace.open(folder) as workspace:
        run_now(workspace, "start", resume=job_id)


def kill_in_a_step(folder, job_id, draw):
    """Run the job in a process, kill it soon after a step has started, and queue it again. Returns the message of the
    step."""
    with Workspace.open(folder) as workspace, running(resume, folder, job_id) as victim:
        queue = JobQueue(workspace)
        while victim.is_alive() and not (queue.get(job_id).state == "running" and queue.get(job_id).message):
            time.sleep(0.02)
        time.sleep(draw.uniform(0, 0.8))
        step = queue.get(job_id).message
        victim.kill()
        victim.join()
        queue.requeue_orphans()
        return step


def test_a_killed_chain_resumes_and_stores_one_clustering_with_its_levels(tmp_path):
    rng, draw = np.random.default_rng(0), random.Random(0)
    (tmp_path / "images").mkdir()
    for number in range(IMAGES):
        coarse = rng.integers(256, size=(6, 8, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((320, 240)).save(tmp_path / "images" / f"{number:03}.jpg")
    Workspace.create(tmp_path / "reef").close()
    folder = tmp_path / "reef.benthos"
    with Workspace.open(folder) as workspace:
        job = JobQueue(workspace).add("start", {"folder": str(tmp_path / "images")})
    steps = [kill_in_a_step(folder, job.id, draw) for _ in range(KILLS)]
    with Workspace.open(folder) as workspace:
        if not JobQueue(workspace).get(job.id).finished:
            run_now(workspace, "start", resume=job.id)
        ended = JobQueue(workspace).get(job.id)
        assert ended.state == "done", ended.error
        assert any(step.startswith("Step") for step in steps), "no kill hit the chain"
        assert workspace.library.count_images() == IMAGES
        [run] = workspace.runs.all()
        assert run.id == ended.result["run"] and len(workspace.runs.levels(run)) == 3
