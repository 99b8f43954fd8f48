"""Network weights out of a PyTorch file (the format before 1.6) without PyTorch, and without trusting the file: of all
that a pickle can name, only tensors, their storages and the ordered dictionary that holds them exist here."""

import io
import pickle
import struct
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from engine.problems import fail

MAGIC = 0x1950A86A20F9469CFC6C  # first pickle of the format
PROTOCOL = 1001                 # second
DTYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """Every named tensor of the file. Raises BadInput where the file is cut, foreign or holds anything but tensors."""
    try:
        return _read(io.BytesIO(Path(path).read_bytes()))
    except (pickle.UnpicklingError, struct.error, EOFError, ValueError, TypeError, LookupError, AttributeError,
            AssertionError, OverflowError, MemoryError, RecursionError) as error:  # all that a broken pickle raises
        told = f"not a file of network weights ({error})"
        raise fail(Path(path).name, told, "install the weight package again") from error


def _read(file: io.BytesIO) -> dict[str, np.ndarray]:
    if [TensorsOnly(file).load() for _ in range(2)] != [MAGIC, PROTOCOL]:
        raise ValueError("it does not begin as one")
    TensorsOnly(file).load()  # sizes of C types on the machine that wrote it
    named = TensorsOnly(file).load()
    storages = _read_storages(file, TensorsOnly(file).load(), _storages_of(named))
    return {name: tensor.of(storages) for name, tensor in named.items()}


@dataclass(frozen=True, slots=True)
class _Storage:
    """A run of numbers that follows the pickles, told by its key."""

    key: str
    dtype: np.dtype
    length: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A view of a storage; strides count numbers, not bytes."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __post_init__(self):
        whole = (self.offset, *self.shape, *self.strides)
        if not all(isinstance(n, int) and n >= 0 for n in whole) or len(self.shape) != len(self.strides):
            raise ValueError(f"a tensor of shape {self.shape} with strides {self.strides}")

    def of(self, storages: dict[str, np.ndarray]) -> np.ndarray:
        values = storages[self.storage.key]
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        if min(self.shape, default=1) == 0 or last >= len(values):  # a view beyond it would read foreign memory
            raise ValueError(f"a tensor of shape {self.shape} beyond its storage of {len(values)}")
        steps = [step * values.itemsize for step in self.strides]
        return np.lib.stride_tricks.as_strided(values[self.offset:], self.shape, steps).copy()


class _StorageType:
    """Stands for torch.FloatStorage and its like; it can only be named."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: np.dtype):
        object.__setattr__(self, "dtype", dtype)

    def __setattr__(self, name, value):
        raise pickle.UnpicklingError("a pickle may not change what it names")


class _Rebuild:
    """Stands for torch._utils._rebuild_tensor_v2."""

    __slots__ = ()

    def __call__(self, storage, offset, shape, strides, requires_gradient=False, hooks=None, metadata=None) -> _Tensor:
        if not isinstance(storage, _Storage):
            raise pickle.UnpicklingError("a tensor without a storage")
        return _Tensor(storage, offset, tuple(shape), tuple(strides))


NAMED = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _Rebuild(),
    **{("torch", name): _StorageType(dtype) for name, dtype in DTYPES.items()},
}


INSTRUCTIONS = tuple(getattr(pickle, name) for name in (
    "PROTO", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE",
    "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_DICT", "SETITEM",
    "SETITEMS", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "GLOBAL", "REDUCE", "BUILD", "BINPERSID"))


class _Known(dict):
    """Instructions by their code; any other is refused."""

    def __missing__(self, code: int):
        raise pickle.UnpicklingError(f"it holds instruction {code}, which no tensor needs")


class TensorsOnly(pickle._Unpickler):
    """An unpickler that knows the names in NAMED and the INSTRUCTIONS such files are written with, and no others, so
    loading runs no code of the file's choosing. It is the one written in Python: the one in C makes room for as many
    values as a file claims to have, and a few bytes could ask for all of the machine's memory."""

    dispatch: ClassVar[dict] = _Known((code[0], pickle._Unpickler.dispatch[code[0]]) for code in INSTRUCTIONS)

    def find_class(self, module: str, name: str):
        if (module, name) not in NAMED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no tensor needs")
        return NAMED[module, name]

    def persistent_load(self, told) -> _Storage:
        kind, storage, key, _, length, *_ = told
        if kind != "storage" or not isinstance(storage, _StorageType) or not isinstance(length, int):
            raise pickle.UnpicklingError("a reference to something that is no storage")
        return _Storage(str(key), storage.dtype, length)


def _storages_of(named) -> dict[str, _Storage]:
    if not isinstance(named, OrderedDict) or not all(isinstance(tensor, _Tensor) for tensor in named.values()):
        raise ValueError("it holds something else than named tensors")
    return {tensor.storage.key: tensor.storage for tensor in named.values()}


def _read_storages(file: io.BytesIO, order: list[str], known: dict[str, _Storage]) -> dict[str, np.ndarray]:
    """After the pickles: for every key in order its length, 8 bytes, then its numbers, little-endian."""
    found = {}
    for key in order:
        storage = known[key]
        length = int.from_bytes(file.read(8), "little", signed=True)
        data = file.read(max(0, length) * storage.dtype.itemsize)
        if length != storage.length or len(data) != length * storage.dtype.itemsize:
            raise ValueError(f"storage {key} is cut short")
        found[key] = np.frombuffer(data, dtype=storage.dtype)
    return found
