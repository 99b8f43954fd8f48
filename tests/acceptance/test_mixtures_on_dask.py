"""The same fit on this machine's threads and on a Dask cluster of two worker processes."""

import operator

import numpy as np
import pytest

from benthoscope.engine.compute import DaskCluster, InOrder
from benthoscope.engine.compute.backends import combine_pairwise
from benthoscope.engine.compute.chunks import RowChunk
from benthoscope.engine.mixtures import GMC, MCM, VDP
from benthoscope.engine.topics import InfiniteWordTopicModel
from tests.acceptance.object_scenes import sample_scenes
from tests.topic_corpora import scattered

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")


@pytest.fixture(scope="module")
def cluster():
    workers = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with workers as started, DaskCluster(started.scheduler_address) as joined:
        yield joined


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(5), 12_000)
    kind = (rng.integers(0, 3, 60_000) + groups) % 7
    return 3 * rng.standard_normal((7, 6))[kind] + rng.standard_normal((60_000, 6)), groups


@pytest.mark.parametrize("kind", [GMC, VDP])
@pytest.mark.parametrize("from_file", [False, True], ids=["array", "file"])
def test_a_dask_cluster_gives_the_result_of_this_machine(kind, from_file, cluster, rows, tmp_path):
    X, groups = rows
    source = X
    if from_file:
        source = tmp_path / "rows.npy"
        np.save(source, X)
    model = kind(search_rows=4000, random_state=0).fit(source, groups=groups, compute=InOrder())
    there = kind(search_rows=4000, random_state=0).fit(source, groups=groups, compute=cluster)
    assert there.n_clusters_ == model.n_clusters_ == 7
    assert there.lower_bound_ == pytest.approx(model.lower_bound_, rel=1e-6)
    assert (there.labels_ == model.labels_).mean() > 0.9999
    assert there.weights_ == pytest.approx(model.weights_, abs=1e-6)
    assert (there.predict(source, groups, compute=cluster) == there.labels_).all()


class Counted(RowChunk):
    """A chunk that counts how often it is sent."""

    sent = 0

    def __reduce__(self):
        Counted.sent += 1
        return super().__reduce__()


def test_the_chunks_of_a_file_are_sent_once(cluster, tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(12.0).reshape(6, 2))
    chunks = [Counted(tmp_path / "rows.npy", start, start + 3) for start in (0, 3)]
    for _ in range(3):
        assert cluster.map_reduce(chunks, len, operator.add) == 6
    assert Counted.sent == len(chunks)


@pytest.mark.parametrize("count", [7, 33, 150])
def test_results_of_chunks_are_combined_in_the_same_order_as_one_by_one(cluster, count):
    chunks = [RowChunk(np.zeros((count, 1)), at, at + 1) for at in range(count)]
    calls = []
    together = cluster.map_reduce(chunks, start_of, nested, after_each=lambda: calls.append(1))
    assert together == combine_pairwise(map(start_of, chunks), nested)
    assert list(cluster.map(chunks, start_of)) == [str(at) for at in range(count)]
    assert len(calls) == count


def start_of(chunk):
    return str(chunk.start)


def nested(left, right):
    return f"({left} {right})"


def test_a_dask_cluster_finds_the_same_objects_and_scenes(cluster, tmp_path):
    data = sample_scenes(3, images=1200, segments=30, apart=5.0, looks_apart=5.0)
    np.save(tmp_path / "rows.npy", data.X)
    for source in (data.X, tmp_path / "rows.npy"):
        current, there = (
            MCM(search_rows=4000, random_state=0).fit(
                source,
                image_of_segment=data.image,
                group_of_image=data.scenes % 2,
                image_features=data.W,
                compute=machine,
            )
            for machine in (InOrder(), cluster)
        )
        assert there.lower_bound_ == pytest.approx(current.lower_bound_, rel=1e-6)
        assert (there.labels_ == current.labels_).mean() > 0.9999
        assert (there.image_labels_ == current.image_labels_).mean() > 0.999
        prediction = there.explain(source, data.image, data.scenes % 2, image_features=data.W, compute=cluster)
        assert (prediction.image_labels == there.image_labels_).mean() > 0.99


@pytest.mark.parametrize("nearest", [None, 6])
def test_a_dask_cluster_fits_the_same_topics(nearest, cluster):
    corpus = scattered(40, 2.0, 0, size=40)
    settings = {"inference": "svi", "n_clusters": 60, "n_nearest": nearest, "max_iter": 3, "n_init": 1}
    here, there = (
        InfiniteWordTopicModel(8, **settings, random_state=0).fit(corpus.X, corpus.image, compute=compute)
        for compute in (InOrder(), cluster)
    )
    assert there.lower_bound_ == pytest.approx(here.lower_bound_, rel=1e-9)
    np.testing.assert_allclose(there.topic_weights_, here.topic_weights_, atol=1e-6)
