"""Topic weights of stored images: a process reads their descriptors from a file in blocks."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benthoscope.engine.topics import InfiniteWordTopicModel
from tests.benchmarks.grouped_rows import PEAK, PROJECT
from tests.benchmarks.measure import Table, measure
from tests.benchmarks.topics_full_size import drawn_corpus

IMAGES = int(os.environ.get("STORED_IMAGES", 1_000_000))
EACH, WIDTH, TOPICS, CLUSTERS = 50, 24, 20, 300
TRAINING = 1_000  # images
AT_ONCE = 20_000  # images that are written together
WEIGHTS = f"""
import json, resource, sys
from pathlib import Path
import numpy as np
from benthoscope.engine.compute import LocalThreads
from benthoscope.engine.topics import InfiniteWordTopicModel
{PEAK}
with np.load(sys.argv[1]) as file:
    model = InfiniteWordTopicModel.from_arrays(dict(file), json.loads(sys.argv[2]))
before, images = peak(), np.repeat(np.arange(int(sys.argv[4]), dtype=np.int32), int(sys.argv[5]))
weights = model.transform(sys.argv[3], images, compute=LocalThreads(2))
print(json.dumps({{"shape": weights.shape, "sum": float(weights.sum()), "before": before, "peak": peak()}}))
"""


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name:
        rows, model, metadata = Path(name) / "rows.npy", Path(name) / "model.npz", _model(Path(name) / "model.npz")
        _written(rows)
        words = [str(model), json.dumps(metadata), str(rows), str(IMAGES), str(EACH)]
        command = [sys.executable, "-c", WEIGHTS, *words]
        output, cost = measure(lambda: subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True))
    result = json.loads(output.stdout)
    assert result["shape"] == [IMAGES, TOPICS]
    yield Table(
        f"Topic weights of {IMAGES:,} stored images of {EACH} descriptors of {WIDTH} columns, whole process, 2 threads",
        ["CPU s", "wall s", "peak MB", "MB above the imported package"],
        [[cost.cpu, cost.wall, f"{result['peak']:.0f}", f"{result['peak'] - result['before']:.0f}"]],
        [f"Model of {TOPICS} topics and at most {CLUSTERS} clusters. The sum of all weights is {result['sum']:,.3f}."],
    )


def _model(path: Path) -> dict:
    X, image = drawn_corpus(TRAINING, EACH, WIDTH, 200)
    model = InfiniteWordTopicModel(TOPICS, inference="svi", n_clusters=CLUSTERS, max_iter=10, n_init=1, random_state=0)
    arrays, metadata = model.fit(X, image).to_arrays()
    np.savez(path, **arrays)
    return metadata


def _written(path: Path) -> None:
    """Write half-precision descriptors: those of new images of the same clusters, with new noise in each part."""
    X, _ = drawn_corpus(AT_ONCE, EACH, WIDTH, 200)
    rng = np.random.default_rng(1)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=(IMAGES * EACH, WIDTH))
    for at in range(0, len(rows), len(X)):
        part = X[: len(rows) - at]
        rows[at : at + len(part)] = part + 0.1 * rng.standard_normal(part.shape, dtype=np.float32)
    rows.flush()
