"""A real cluster of two worker processes, one of which is killed while it works."""

import operator
import os
import signal
import time

import numpy as np
import pytest

from benthoscope.engine.compute import DaskCluster, LocalThreads, rows

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
pytestmark = pytest.mark.slow

NUMBERS = np.random.default_rng(1).standard_normal((2000, 4))


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as running:
        yield running


@pytest.fixture
def dask(cluster):
    with DaskCluster(cluster.scheduler_address) as compute:
        yield compute


def moments(chunk, scale):
    block = chunk.read() * scale
    return block.T @ block


def slow_moments(chunk, scale):
    time.sleep(0.05)
    return moments(chunk, scale)


def one_worker(cluster):
    return next(worker for worker in cluster.workers.values() if worker.process and worker.process.pid).process.pid


def source_of(where, folder):
    if where == "memory":
        return NUMBERS
    np.save(folder / "numbers.npy", NUMBERS)
    return folder / "numbers.npy"


@pytest.mark.parametrize("where", ["memory", "file"])
def test_the_cluster_gives_the_same_bits_as_threads(dask, tmp_path, where):
    total = LocalThreads(2).map_reduce(rows(NUMBERS, 130), moments, operator.add, 0.5)
    chunks = rows(source_of(where, tmp_path), 130)
    for _ in range(2):  # the second time the chunks are already on the workers
        np.testing.assert_array_equal(dask.map_reduce(chunks, moments, operator.add, 0.5), total)


@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_worker_killed_in_the_middle_changes_nothing(cluster, dask, tmp_path, where):
    total = LocalThreads(2).map_reduce(rows(NUMBERS, 20), moments, operator.add, 2.0)
    chunks = rows(source_of(where, tmp_path), 20)
    dask.map_reduce(chunks, moments, operator.add, 2.0)  # both workers now have chunks that no other worker has
    killed = []

    def kill_once():
        if not killed:
            killed.append(one_worker(cluster))
            os.kill(killed[0], signal.SIGKILL)

    there = dask.map_reduce(chunks, slow_moments, operator.add, 2.0, after_each=kill_once)
    assert killed
    np.testing.assert_allclose(there, total, rtol=1e-6)


def test_map_keeps_the_order_of_the_chunks(dask):
    assert list(dask.map(rows(NUMBERS, 150), start_of)) == list(range(0, 2000, 150))


def start_of(chunk):
    return chunk.start


def test_stopping_half_way_leaves_the_cluster_usable(dask):
    def stop():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        dask.map_reduce(rows(NUMBERS, 20), slow_moments, operator.add, 1.0, after_each=stop)
    assert dask.map_reduce(rows(NUMBERS, 500), moments, operator.add, 1.0).shape == (4, 4)


def test_a_task_that_the_cluster_lost_is_repeated(cluster, monkeypatch):
    """A task for a worker that never comes stands for a lost one: nobody works on it, and it never ends."""
    with DaskCluster(cluster.scheduler_address, patience=1) as dask:
        submit, lost = dask._client.submit, []

        def losing(function, *arguments, **options):
            if not lost and function is operator.add:
                lost.append(True)
                options |= {"workers": ["tcp://127.0.0.1:1"]}
            return submit(function, *arguments, **options)

        monkeypatch.setattr(dask._client, "submit", losing)
        there = dask.map_reduce(rows(NUMBERS, 130), moments, operator.add, 0.5)
    assert lost
    np.testing.assert_array_equal(there, LocalThreads(2).map_reduce(rows(NUMBERS, 130), moments, operator.add, 0.5))


def test_a_long_task_is_waited_for(cluster):
    with DaskCluster(cluster.scheduler_address, patience=0.3) as dask:
        assert list(dask.map([1, 2], slow_double)) == [2, 4]


def slow_double(number):
    time.sleep(2)
    return 2 * number
