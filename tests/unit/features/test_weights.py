"""Weights are read from a PyTorch file without PyTorch; whatever else a pickle may hold is refused."""

import collections
import io
import os
import pickle
import struct
import tracemalloc

import numpy as np
import pytest

from benthoscope.engine.features.networks.efficientnet import MAGIC, PROTOCOL, read_weights
from benthoscope.engine.problems import BadInput


class Named:
    """Pickles as a bare name of another module."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Writer(pickle._Pickler):  # the Python one: its table of writers can be extended
    """Writes the format of PyTorch before 1.6, and with `Named` any global and with `Call` any call of one."""

    dispatch = pickle._Pickler.dispatch.copy()

    def persistent_id(self, thing):
        return thing.told if isinstance(thing, Reference) else None

    def save_named(self, thing):
        self.write(pickle.GLOBAL + f"{thing.module}\n{thing.name}\n".encode())

    dispatch[Named] = save_named


class Reference:
    def __init__(self, *content):
        self.told = content


class Call:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce_ex__(self, protocol):
        return _Callable(self.function), self.arguments


class _Callable:
    """Stands in for a global where a callable is asked for."""

    def __init__(self, named):
        self.named = named

    def __call__(self):
        raise AssertionError("never called, only written")


Writer.dispatch[_Callable] = lambda self, thing: self.save_named(thing.named)
REBUILD = Named("torch._utils", "_rebuild_tensor_v2")
FLOATS = Named("torch", "FloatStorage")


def pickled(thing):
    out = io.BytesIO()
    Writer(out, 2).dump(thing)
    return out.getvalue()


def tensor(key, length, offset=0, shape=(2, 3), strides=(3, 1), storage=FLOATS):
    return Call(REBUILD, Reference("storage", storage, key, "cpu", length, None), offset, shape, strides)


def file_of(named, storages, keys=None):
    head = b"".join(pickled(piece) for piece in (MAGIC, PROTOCOL, {"little_endian": True}, named))
    keys = list(storages) if keys is None else keys
    raw = b"".join(struct.pack("<q", len(values)) + np.asarray(values, "<f4").tobytes() for values in storages.values())
    return head + pickled(keys) + raw


def read(tmp_path, data):
    path = tmp_path / "weights.pth"
    path.write_bytes(data)
    return read_weights(path)


def test_tensors_are_read_with_their_shapes_and_strides(tmp_path):
    turned, small_tensor = tensor("a", 6, 0, (3, 2), (1, 3)), tensor("b", 9, 4, (2,), (2,))
    named = collections.OrderedDict(plain=tensor("a", 6), turned=turned, part=small_tensor)
    table = read(tmp_path, file_of(named, {"a": range(6), "b": range(9)}))
    assert table["plain"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert table["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert table["part"].tolist() == [4, 6]


MARK = "benthoscope_test_was_here"
HOSTILE = {
    "os.system": Call(Named("os", "system"), f"touch {MARK}"),
    "posix.system": Call(Named("posix", "system"), f"touch {MARK}"),
    "eval": Call(Named("builtins", "eval"), f"open({MARK!r}, 'w')"),
    "builtins of Python 2": Call(Named("__builtin__", "exec"), f"open({MARK!r}, 'w')"),
    "subprocess": Call(Named("subprocess", "Popen"), ["touch", MARK]),
    "getattr": Call(Named("builtins", "getattr"), "x", "upper"),
    "numpy's own loader": Call(Named("numpy", "load"), MARK),
    "another torch name": Call(Named("torch", "load"), MARK),
    "a dotted name": Named("collections", "OrderedDict.fromkeys"),
    "a module of ours": Named("benthoscope.engine.features.networks.efficientnet", "read_weights"),
    "a storage that is called": Call(FLOATS, 10),
    "a tensor without a storage": Call(REBUILD, "storage", 0, (1,), (1,)),
    "a list where tensors belong": [1, 2, 3],
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("wrapped", [True, False])
def test_a_pickle_that_names_anything_but_tensors_is_rejected_and_runs_nothing(tmp_path, monkeypatch, name, wrapped):
    monkeypatch.chdir(tmp_path)
    named = collections.OrderedDict(weight=HOSTILE[name]) if wrapped else HOSTILE[name]
    with pytest.raises(BadInput, match=r"not a file of network weights|asks for"):
        read(tmp_path, file_of(named, {}))
    assert not os.path.exists(MARK)  # noqa: PTH110


def test_a_file_cannot_modify_the_types_it_references(tmp_path):
    """The BUILD instruction sets attributes: on a shared name it would change the next file's reading."""
    build = pickle.GLOBAL + b"torch\nFloatStorage\n" + b"N}X\x05\x00\x00\x00dtypeK\x01s\x86b."
    head = b"".join(pickled(piece) for piece in (MAGIC, PROTOCOL, {}))
    with pytest.raises(BadInput, match="may not modify"):
        read(tmp_path, head + pickle.PROTO + b"\x02" + build)


def test_a_few_bytes_cannot_ask_for_all_memory(tmp_path):
    """The file states that its next value has the number two thousand million."""
    head = b"".join(pickled(piece) for piece in (MAGIC, PROTOCOL))
    greedy = pickle.PROTO + b"\x02" + pickle.NONE + pickle.LONG_BINPUT + struct.pack("<I", 2**31 - 1) + pickle.STOP
    tracemalloc.start()
    try:
        with pytest.raises(BadInput):
            read(tmp_path, head + greedy)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_an_instruction_no_tensor_needs_is_rejected(tmp_path):
    head = b"".join(pickled(piece) for piece in (MAGIC, PROTOCOL))
    with pytest.raises(BadInput, match="which tensors do not need"):
        read(tmp_path, head + pickle.PROTO + b"\x05" + pickle.BYTEARRAY8 + struct.pack("<Q", 2**40) + pickle.STOP)


@pytest.mark.parametrize(
    "wrong",
    [
        {"offset": 3},
        {"shape": (2, 4)},
        {"strides": (4, 1)},
        {"offset": -1},
        {"shape": (-2, 3)},
        {"strides": (3, -1)},
        {"shape": (2, 3, 1)},
        {"shape": (10**9, 10**9), "strides": (0, 1)},
        {"shape": (0, 3)},
        {"offset": None},
    ],
)
def test_a_tensor_that_would_reach_beyond_its_storage_is_rejected(tmp_path, wrong):
    named = collections.OrderedDict(weight=tensor("a", 6, **wrong))
    with pytest.raises(BadInput, match="tensor of shape"):
        read(tmp_path, file_of(named, {"a": range(6)}))


def test_every_cut_of_a_good_file_is_rejected(tmp_path):
    data = file_of(collections.OrderedDict(weight=tensor("a", 6)), {"a": range(6)})
    for end in range(0, len(data) - 1, 3):
        with pytest.raises(BadInput):
            read(tmp_path, data[:end])


def test_a_storage_with_a_wrong_length_is_rejected(tmp_path):
    good = file_of(collections.OrderedDict(weight=tensor("a", 6)), {"a": range(6)})
    lied = good[:-32] + struct.pack("<q", 2**60) + good[-24:]
    with pytest.raises(BadInput, match="truncated"):
        read(tmp_path, lied)


def test_random_damage_never_ends_in_anything_but_an_error_or_tensors(tmp_path):
    good = bytearray(file_of(collections.OrderedDict(weight=tensor("a", 6)), {"a": range(6)}))
    rng = np.random.default_rng(0)
    for _ in range(400):
        bad = bytearray(good)
        for offset in rng.integers(len(bad), size=3):
            bad[offset] = rng.integers(256)
        try:
            table = read(tmp_path, bytes(bad))
        except BadInput:
            continue
        assert all(isinstance(value, np.ndarray) for value in table.values())
