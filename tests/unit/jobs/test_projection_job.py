"""Laying images out in two dimensions, as a job and at once."""

import threading

import numpy as np
import pytest

from benthoscope.engine.analysis import principal_plane
from benthoscope.engine.jobs import JobQueue, run_now
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.describe.projection import projection
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.features import ProjectionStore


@pytest.fixture
def reef(tmp_path):
    """150 images whose features lie in three far groups."""
    rng = np.random.default_rng(0)
    with Workspace.create(tmp_path / "reef") as made:
        group = made.library.group(made.library.collection("c").id, "dive")
        root = made.library.register_root(tmp_path)
        made.library.store_images([NewImage(root.id, f"{n}.jpg", group.id, 1, 1, "a" * 64, 8, 8) for n in range(150)])
        ids = made.library.columns("id")["id"]
        with made.features.writer("deep", width=60, extractor={}) as features:
            features.append(ids, 20 * np.eye(60)[np.arange(150) % 3] + rng.standard_normal((150, 60)))
        yield made


def test_neighbours_stay_neighbours_in_the_layout(reef):
    job = run_now(reef, "projection", {"features": "deep"})
    assert job.state == "done", job.error
    xy = ProjectionStore(reef.folder / "projections").get(reef.features.open("deep"), "umap").xy
    group = np.arange(150) % 3
    far = np.linalg.norm(xy[:, None] - xy[None], axis=2)
    np.fill_diagonal(far, np.inf)
    assert (group[far.argmin(1)] == group).mean() > 0.98


def test_a_layout_is_that_of_one_content_only(reef):
    features, store = reef.features.open("deep"), ProjectionStore(reef.folder / "projections")
    store.put(features, "umap", np.zeros((150, 2)))
    with reef.features.appending("deep") as appended:
        appended.append([10_000], np.zeros((1, 60)))
    assert store.has(features, "umap") and not store.has(reef.features.open("deep"), "umap")


def test_shares_of_the_variance_are_stored_and_missing_in_older_projections(reef):
    features, store = reef.features.open("deep"), ProjectionStore(reef.folder / "projections")
    assert store.put(features, "pca", np.zeros((150, 2)), (0.25, 0.125)).shares == (0.25, 0.125)
    assert store.get(features, "pca").shares == (0.25, 0.125)
    next(store._folder.glob("*.pca.json")).unlink()  # earlier releases wrote no such file
    older = store.get(features, "pca")
    assert older.shares is None and len(older.xy) == 150


def test_a_layout_can_be_stopped(reef, tmp_path):
    job = JobContext(JobQueue(reef).add("projection", {"features": "deep"}), tmp_path)
    threading.Timer(0.2, job.cancel).start()
    with pytest.raises(Cancelled):
        for _ in range(40):
            projection(job, reef, features="deep")


def test_too_few_images_or_segments_are_rejected(reef):
    with reef.features.writer("few", width=3, extractor={}) as features:
        features.append([1, 2], np.zeros((2, 3)))
    assert "only 2 images" in run_now(reef, "projection", {"features": "few"}).error


def test_one_feature_still_gives_a_plane():
    assert principal_plane(np.arange(5, dtype=np.float32)[:, None]).shape == (5, 2)


def test_an_unknown_feature_set_gives_a_clear_error(reef, tmp_path):
    with pytest.raises(BadInput, match="deep"):
        projection(JobContext(JobQueue(reef).add("projection", {}), tmp_path), reef, features="dep")
