"""One call, three places to run it, one result."""

import operator
import pickle
import threading

import numpy as np
import pytest

from benthoscope.engine import compute
from benthoscope.engine.compute import InOrder, LocalThreads, compute_on, rows
from benthoscope.engine.compute.backends import combine_pairwise
from benthoscope.engine.problems import BadInput


@pytest.fixture
def numbers():
    return np.random.default_rng(0).standard_normal((1003, 3)).astype(np.float32)


def total(chunk, scale=1.0):
    return scale * chunk.read().sum(0)


def pair(remaining, right):
    return f"({remaining}{right})"


@pytest.mark.parametrize("size", [1, 7, 100, 1003, 5000])
def test_chunks_cover_every_row_once_and_in_order(numbers, size):
    np.testing.assert_array_equal(np.concatenate([chunk.read() for chunk in rows(numbers, size)]), numbers)


def test_a_file_and_the_array_in_it_give_the_same_rows(numbers, tmp_path):
    np.save(tmp_path / "x.npy", numbers)
    for in_file, in_memory in zip(rows(tmp_path / "x.npy", 100), rows(numbers, 100), strict=True):
        np.testing.assert_array_equal(in_file.read(), in_memory.read())


def test_a_file_that_was_replaced_is_read_again(numbers, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, numbers)
    chunk = rows(path, 10)[0]
    chunk.read()
    np.save(path, numbers[::-1])
    np.testing.assert_array_equal(chunk.read(), numbers[::-1][:10])


def test_a_chunk_is_sent_with_its_rows_only(numbers):
    chunk = rows(numbers, 100)[3]
    packed = pickle.dumps(chunk)
    assert len(packed) < 100 * 3 * 4 + 1000
    arrived = pickle.loads(packed)
    assert (arrived.start, arrived.stop) == (300, 400)
    np.testing.assert_array_equal(arrived.read(), chunk.read())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(arrived)).read(), chunk.read())


def test_a_chunk_of_a_file_is_sent_without_rows(numbers, tmp_path):
    np.save(tmp_path / "x.npy", numbers)
    assert len(pickle.dumps(rows(tmp_path / "x.npy", 1000)[0])) < 500


def test_neighbours_combine_first_whatever_the_number_of_parts():
    assert combine_pairwise("abcde", pair) == "(((ab)(cd))e)"
    assert combine_pairwise("abcdefg", pair) == "(((ab)(cd))((ef)g))"
    assert combine_pairwise("a", pair) == "a"


@pytest.mark.parametrize("backend", [InOrder(), LocalThreads(1), LocalThreads(3)])
def test_every_backend_gives_the_same_bits(numbers, backend):
    expected = InOrder().map_reduce(rows(numbers, 10), total, operator.add, 0.3)
    np.testing.assert_array_equal(backend.map_reduce(rows(numbers, 10), total, operator.add, 0.3), expected)


def test_results_of_map_come_in_the_order_of_the_chunks(numbers):
    starts = list(LocalThreads(4).map(rows(numbers, 10), lambda chunk: chunk.start))
    assert starts == list(range(0, 1003, 10))


def test_an_error_in_one_chunk_reaches_the_caller_and_ends_the_work(numbers):
    starts = []

    def fragile(chunk):
        starts.append(chunk.start)
        if chunk.start == 20:
            raise ArithmeticError("of chunk 20")
        return 0

    with pytest.raises(ArithmeticError, match="chunk 20"):
        LocalThreads(2).map_reduce(rows(numbers, 10), fragile, operator.add)
    assert len(starts) < 50


def test_the_caller_can_stop_after_any_chunk_and_in_its_own_thread(numbers):
    chunk_numbers = []

    def stop_at_the_third():
        chunk_numbers.append(threading.current_thread())
        if len(chunk_numbers) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        LocalThreads(2).map_reduce(rows(numbers, 10), total, operator.add, after_each=stop_at_the_third)
    assert set(chunk_numbers) == {threading.current_thread()}


def test_no_rows_give_a_clear_error():
    with pytest.raises(BadInput, match="give at least one row"):
        LocalThreads().map_reduce(rows(np.empty((0, 2))), total, operator.add)


def test_a_missing_file_gives_a_clear_error(tmp_path):
    with pytest.raises(BadInput, match=r"gone\.npy: no such file"):
        rows(tmp_path / "gone.npy")


def test_an_unreachable_scheduler_gives_a_clear_error():
    from benthoscope.engine.compute import DaskCluster

    with pytest.raises(BadInput, match="no Dask scheduler answers"):
        DaskCluster("tcp://127.0.0.1:9", patience=0.5)


def test_the_connection_to_a_scheduler_is_closed_even_after_an_error(monkeypatch):
    class Cluster:
        def __init__(self, address):
            self.is_open = True

        def close(self):
            self.is_open = False

    monkeypatch.setattr(compute, "DaskCluster", Cluster)
    with pytest.raises(ZeroDivisionError), compute.computing_on("tcp://127.0.0.1:8786") as cluster:
        assert cluster.is_open
        raise ZeroDivisionError
    assert not cluster.is_open


def test_without_a_scheduler_the_work_stays_here():
    assert isinstance(compute_on(None, 2), LocalThreads)
