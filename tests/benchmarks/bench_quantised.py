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
from benthoscope.engine.features.networks.deep_descriptor import CALIBRATED_ON, LITE, EfficientNetEightBits
from benthoscope.engine.features.networks.efficientnet import graph_file
from benthoscope.engine.features.networks.onnx_network import OnnxNetwork
from benthoscope.engine.features.scspm import unit
from benthoscope.engine.imaging import read_image
from tests.benchmarks.bench_descriptors import accuracy, labelled_sets
from tests.benchmarks.measure import Table

TIMED, TURNS = 60, 5
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
    few = EfficientNetEightBits(folder).fit(sample)
    network_by_title = {"float32": exact, "int8": few.network}
    milliseconds = _timed(list(network_by_title.values()), sample[:TIMED])
    rows, base = [], (0.0, 0.0)
    for (title, network), cost in zip(network_by_title.items(), milliseconds, strict=True):
        vectors = np.stack([unit(np.sqrt(network(image))) for image in images])
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
