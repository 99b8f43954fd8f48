"""Laying images out in two dimensions, as a job and at once."""

import threading

import numpy as np
import pytest

from app.state.projections import LAST, NOWHERE, principal, quantised
from engine.jobs import JobQueue, run_now
from engine.jobs.context import JobContext
from engine.jobs.projection import projection
from engine.problems import BadInput
from engine.progress import Cancelled
from engine.workspace import NewImage, Workspace
from engine.workspace.projections import Projection, ProjectionStore


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
    with reef.features.appending("deep") as more:
        more.append([10_000], np.zeros((1, 60)))
    assert store.has(features, "umap") and not store.has(reef.features.open("deep"), "umap")


def test_a_layout_can_be_stopped(reef, tmp_path):
    job = JobContext(JobQueue(reef).add("projection", {"features": "deep"}), tmp_path)
    threading.Timer(0.2, job.cancel).start()
    with pytest.raises(Cancelled):
        for _ in range(40):
            projection(job, reef, features="deep")


def test_too_few_images_or_segments_are_refused(reef):
    with reef.features.writer("few", width=3, extractor={}) as features:
        features.append([1, 2], np.zeros((2, 3)))
    assert "only 2 images" in run_now(reef, "projection", {"features": "few"}).error


def test_principal_axes_are_those_of_a_singular_value_decomposition():
    X = np.random.default_rng(0).standard_normal((300, 6)) * [5, 1, 3, 1, 1, 1]
    _, _, directions = np.linalg.svd(X - X.mean(0), full_matrices=False)
    np.testing.assert_allclose(np.abs(principal(X.astype(np.float32))), np.abs((X - X.mean(0)) @ directions[:2].T),
                               atol=1e-3)


def test_one_feature_still_gives_a_plane():
    assert principal(np.arange(5, dtype=np.float32)[:, None]).shape == (5, 2)


def test_steps_keep_shapes_and_images_without_features_are_nowhere():
    class Columns:
        ids = np.arange(10)
        positions = staticmethod(lambda ids: np.asarray(ids))

        def __len__(self):
            return 10

    class Atlas:
        columns = Columns()

        def __len__(self):
            return 10

    xy = np.column_stack([np.linspace(-3, 3, 8), np.linspace(0, 1, 8)]).astype(np.float32)
    steps = quantised(Projection(np.arange(8), xy), Atlas())
    assert (steps[8:] == NOWHERE).all() and steps[:8].max() <= LAST
    wide, high = np.ptp(steps[:8].astype(int), axis=0)
    assert wide / high == pytest.approx(6, rel=0.02)


def test_an_unknown_feature_set_is_told(reef, tmp_path):
    with pytest.raises(BadInput, match="deep"):
        projection(JobContext(JobQueue(reef).add("projection", {}), tmp_path), reef, features="dep")
