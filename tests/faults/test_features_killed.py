"""The features job under kill -9 at random times, and on a Dask cluster."""

import random

import numpy as np
import pytest
from PIL import Image

from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.records import NewImage
from tests.faults.victims import killed_at_a_random_moment

pytestmark = pytest.mark.slow
KILLS, IMAGES = 5, 120  # a queue gives a job up that dies ten times without a step forward
ASKED = {"kinds": ["colour", "segments"], "learn_from": 24, "workers": 1}


def filled(folder, images):
    """Create a workspace of small images."""
    with Workspace.create(folder) as made:
        root = made.library.register_root(images)
        group = made.library.group(made.library.collection("campaign").id, "dive")
        made.library.store_images(
            [NewImage(root.id, path.name, group.id, 1, 1, path.name, 64, 48) for path in sorted(images.iterdir())]
        )
    return folder.with_suffix(".benthos")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    for number in range(IMAGES):
        coarse = rng.integers(256, size=(6, 8, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((128, 96)).save(folder / f"{number:04d}.png")
    (folder / "broken.png").write_bytes(b"broken")
    return folder


@pytest.fixture(scope="module")
def undisturbed(images, tmp_path_factory):
    """Return the rows of a job that is not killed."""
    folder = filled(tmp_path_factory.mktemp("quiet") / "reef", images)
    with Workspace.open(folder) as workspace:
        assert run_now(workspace, "features", ASKED).state == "done"
        return {name: np.array(workspace.features.open(name).X) for name in ASKED["kinds"]}


def go_on(folder, job_id):
    with Workspace.open(folder) as workspace:
        run_now(workspace, "features", resume=job_id)


def test_a_killed_job_resumes_and_gives_the_rows_of_an_uninterrupted_one(images, undisturbed, tmp_path):
    folder, draw = filled(tmp_path / "reef", images), random.Random(0)
    with Workspace.open(folder) as workspace:
        job = JobQueue(workspace).add("features", ASKED)
    for _ in range(KILLS):
        killed_at_a_random_moment(go_on, folder, job.id, within=5.0, draw=draw)
        with Workspace.open(folder) as workspace:
            JobQueue(workspace).requeue_orphans()
            for name in workspace.features.names():  # published wholly or not at all
                assert len(workspace.features.open(name).image_ids) == IMAGES
                assert workspace.features.open(name).damaged_blocks() == []
            if JobQueue(workspace).get(job.id).state == "done":
                break
    with Workspace.open(folder) as workspace:
        if not JobQueue(workspace).get(job.id).finished:
            run_now(workspace, "features", resume=job.id)
        assert JobQueue(workspace).get(job.id).state == "done"
        for name, rows in undisturbed.items():
            assert np.abs(workspace.features.open(name).X - rows).max() < 1e-4
        assert len(workspace.library.problems("features colour")) == 1


def test_a_dask_cluster_gives_the_same_rows(images, undisturbed, tmp_path):
    distributed = pytest.importorskip("distributed")
    folder = filled(tmp_path / "reef", images)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Workspace.open(folder) as workspace:
        job = run_now(workspace, "features", {**ASKED, "scheduler": cluster.scheduler_address})
        assert job.state == "done", job.traceback
        for name, rows in undisturbed.items():
            assert np.abs(workspace.features.open(name).X - rows).max() < 1e-4
        assert job.result["skipped"] == 1
