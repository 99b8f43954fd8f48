"""The deep descriptor with 8-bit numbers: how much faster, and what a classifier loses.

The network is quantised on a part of the images that are described, as a campaign would do it.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.features.deep_descriptor import LITE
from benthoscope.engine.features.efficientnet import graph_file
from benthoscope.engine.features.onnx_network import OnnxNetwork
from benthoscope.engine.features.scspm import unit
from benthoscope.engine.imaging import read_image
from tests.benchmarks.bench_descriptors import accuracy, labelled_sets
from tests.benchmarks.measure import Table

CALIBRATED_ON, TIMED, TURNS = 200, 60, 5
COLUMNS = ["numbers", "CPU ms an image", "times faster", "accuracy of a linear classifier, %", "points lost"]


def tables(*names: str) -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder, blas_threads(1):
        for known in labelled_sets(Path(folder)):
            if names and known.name not in names:
                continue
            yield _table(known, Path(folder))


def _table(known: Any, folder: Path) -> Table:
    images = [read_image(path, longest=320) for path in known.paths]
    exact = OnnxNetwork(graph_file(folder), normalisation=LITE)
    sample = [images[at] for at in np.random.default_rng(0).permutation(len(images))[:CALIBRATED_ON]]
    network_by_title = {"float32": exact}
    for title, whole in (("int8", True), ("int8, but depthwise layers in float32", False)):
        path = _quantised(exact, sample, folder / f"{known.name}-{whole}.onnx", whole)
        network_by_title[title] = OnnxNetwork(path, normalisation=LITE)
    milliseconds = _timed(list(network_by_title.values()), sample[:TIMED])
    rows, base = [], (0.0, 0.0)
    for (title, network), cost in zip(network_by_title.items(), milliseconds, strict=True):
        vectors = np.stack([unit(np.sqrt(np.maximum(network(image), 0))) for image in images])
        right = 100 * accuracy(known, vectors)
        base = base if rows else (cost, right)
        rows.append([title, cost, base[0] / cost, right, base[1] - right])
    title = f"Deep descriptor with 8-bit numbers. {known.name}: {len(images)} images"
    note = f"Quantised on {len(sample)} of the images. Milliseconds: the network alone, one thread, median of {TURNS}."
    return Table(title, COLUMNS, rows, [note])


def _timed(networks: Sequence[OnnxNetwork], images: Sequence[np.ndarray]) -> list[float]:
    """Return the CPU milliseconds an image of each network. They take turns, so that all meet the same load."""
    measured = []
    for _ in range(TURNS):
        turn = []
        for network in networks:
            start = time.process_time()
            for image in images:
                network(image)
            turn.append(1e3 * (time.process_time() - start) / len(images))
        measured.append(turn)
    return [median(values) for values in zip(*measured, strict=True)]


def _quantised(network: OnnxNetwork, images: Sequence[np.ndarray], path: Path, whole: bool) -> Path:
    """Write the network with 8-bit weights and activations. Without `whole`, the depthwise layers keep 32 bits."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Images(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = iter(images)

        def get_next(self) -> dict[str, np.ndarray] | None:
            image = next(self.left, None)
            return None if image is None else {network.form.name: network.form.array(image, network.normalisation)}

    graph = onnx.load(str(network.path)).graph
    shapes = {constant.name: constant.dims for constant in graph.initializer}
    depthwise = [
        node.name
        for node in graph.node
        if node.op_type == "Conv" and node.name and shapes[node.input[1]][1] == 1
    ]
    quantize_static(
        str(network.path),
        str(path),
        Images(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=[] if whole else depthwise,
    )
    return path
