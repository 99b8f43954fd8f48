"""Streams in bounded memory: quality, cost and memory against fits to all rows and other streaming algorithms.

MNIST_DATA=.../mnist.npz python -m tests.benchmarks streaming, or one of the PARTS below, such as streaming:digits
STREAM_ROWS=1000000 python -m tests.benchmarks streaming:file

The digits are in a file with `x_train`, `y_train`, `x_test` and `y_test`; without it, their table says so. River is
compared after `make peers`. STREAM_ROWS sets the number of rows of the largest file, by default ten million, and
MNIST_MEMORIES=3000 leaves out the larger memory.
"""

import json
import os
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from sklearn.cluster import Birch, MiniBatchKMeans
from sklearn.decomposition import PCA

from benthoscope.engine.metrics import v_measure
from benthoscope.engine.streaming import BudgetWarning, MemoryBoundedTopicModel, MemoryBoundedVDP
from benthoscope.engine.streaming.gathering import parts_of
from tests.benchmarks.batch_of_stream import BatchFit, from_search, from_stream, on_all_rows
from tests.benchmarks.grouped_rows import PEAK, PROJECT, Files, fitted, written
from tests.benchmarks.measure import Cost, Table, measure
from tests.benchmarks.particle_filter import filtered, predicted
from tests.benchmarks.peer_environment import MISSING, is_available, peer_result
from tests.streams import gaussian_stream, growing_stream, orders_of

ROWS = int(os.environ.get("STREAM_ROWS", 10_000_000))
DIVE_IMAGES, DIVE_WIDTH, DIVE_BATCH = 86_400, 32, 2  # 12 hours at two images a second
FRAMES, PIXELS = 435, 32_000
MEMORIES = "3000,6000"  # rows
ALL_ROWS = "all rows, from the clusters of the last stream"
MOST_NAMED = 100  # clusters that a person names, as in the source
FROM_FILE = """
import json, resource, sys
from pathlib import Path
import numpy as np
from benthoscope.engine.streaming import MemoryBoundedVDP
before = peak()
model = MemoryBoundedVDP(lineage=False)
model.fit(sys.argv[1])
print(json.dumps({"K": model.n_clusters_, "bound": model.lower_bound_, "before": before, "peak": peak()}))
np.save(sys.argv[2], model.labels_)
"""


def tables(*parts: str) -> Iterator[Table]:
    warnings.simplefilter("ignore", BudgetWarning)
    _warm()
    for part in parts or PARTS:
        yield PARTS[part]()


def _warm() -> None:
    """Compile the kernels, so that no table counts it."""
    rows = np.random.default_rng(0).normal(size=(600, 3))
    MemoryBoundedVDP(memory=50, epoch=100).partial_fit(rows).clusters_of()
    parts_of(rows, np.zeros(len(rows), np.int64), 1, 32)
    MemoryBoundedTopicModel(memory=50, epoch=100).partial_fit(rows, groups=np.arange(600) // 50)


def streamed(rows: np.ndarray, memory: int, epoch: int, **settings: Any) -> MemoryBoundedVDP:
    model = MemoryBoundedVDP(memory=memory, epoch=epoch, horizon=len(rows), lineage=False, **settings)
    return model.partial_fit(rows)


def _against_all_rows() -> Table:
    rows = []
    for seed, separation, count in ((0, 1.6, 50_000), (2, 1.3, 50_000), (3, 1.6, 20_000)):
        X, _, held_out, clusters = gaussian_stream(seed, separation, count)
        batch, cost = measure(lambda X=X: streamed(X, 10 * len(X), len(X)))
        rows.append(_quality(f"seed {seed}, separation {separation}, all rows", batch, batch, cost, held_out, clusters))
        for memory in (200, 500, 1000):
            model, cost = measure(lambda X=X, memory=memory: streamed(X, memory, memory))
            rows.append(_quality(f"memory {memory}, rounds of {memory}", model, batch, cost, held_out, clusters))
    columns = ["fit", "K", "bound ratio", "gap, nats a row", "held-out loss, nats a row", "V-measure", "CPU s"]
    return Table("Streams of 20 clusters in 10 dimensions against the fit of all rows", columns, rows)


def _quality(
    name: str,
    model: MemoryBoundedVDP,
    batch: MemoryBoundedVDP,
    cost: Cost,
    held_out: np.ndarray,
    clusters: np.ndarray,
) -> list:
    gap = batch.lower_bound_ - model.lower_bound_
    loss = batch.score(held_out) - model.score(held_out)
    ratio = 1 - gap / abs(batch.lower_bound_)
    agreement = v_measure(clusters, model.predict(held_out))
    seen = model.n_rows_seen_
    return [name, model.n_clusters_, f"{ratio:.4f}", f"{gap / seen:.4f}", f"{loss:.4f}", f"{agreement:.4f}", cost.cpu]


def _orders() -> Table:
    X, clusters, held_out, held_out_clusters = gaussian_stream(3, 1.6, 20_000)
    rows = []
    for name, order in orders_of(clusters).items():
        model = streamed(X[order], 500, 500)
        agreement = v_measure(held_out_clusters, model.predict(held_out))
        rows.append([name, model.n_clusters_, f"{agreement:.4f}", f"{model.lower_bound_ / len(X):.4f}"])
    return Table("Order of the rows", ["order", "K", "V-measure", "bound a row"], rows)


def _peers() -> Table:
    """Compare with algorithms that need the number of clusters or a threshold, which they are given."""
    X, _, held_out, clusters = gaussian_stream(0, 1.6, 50_000)
    fits: dict[str, Callable[[], np.ndarray]] = {
        "MemoryBoundedVDP, memory 500": lambda: streamed(X, 500, 500).predict(held_out),
        "MiniBatchKMeans, K = 20": lambda: MiniBatchKMeans(20, random_state=0).fit(X).predict(held_out),
        "particle filter, 100 particles": lambda: predicted(held_out, *filtered(X, 100)),
        "Birch, K = 20": lambda: Birch(n_clusters=20, threshold=2.0).fit(X).predict(held_out),
    }
    rows = []
    for name, fit in fits.items():
        labels, cost = measure(fit)
        rows.append([name, len(np.unique(labels)), f"{v_measure(clusters, labels):.4f}", cost.cpu])
    for name in ("DBSTREAM", "CluStream") if is_available() else ():
        result = peer_result("stream_peers.py", name, X=X, held_out=held_out)
        agreement = v_measure(clusters, np.array(result["labels"]))
        rows.append([f"river {name}", len(set(result["labels"])), f"{agreement:.4f}", result["cpu"]])
    notes = [] if is_available() else [MISSING]
    return Table("50,000 rows in one pass, other algorithms", ["algorithm", "K", "V-measure", "CPU s"], rows, notes)


def _from_file(files: Files) -> Table:
    labels_path = files.rows.parent / "stream.npy"
    command = [sys.executable, "-c", FROM_FILE.replace("before =", f"{PEAK}\nbefore =", 1)]
    command += [str(files.rows), str(labels_path)]
    output, cost = measure(lambda: subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True))
    result = json.loads(output.stdout)
    batch = fitted("vdp", files)
    agreements = [v_measure(files.truth, labels) for labels in (np.load(labels_path), batch.labels)]
    more = result["peak"] - result["before"]
    rows = [
        ["mbvdp", result["K"], f"{agreements[0]:.4f}", cost.cpu, f"{result['peak']:.0f}", f"{more:.0f}"],
        ["vdp on all rows", batch.K, f"{agreements[1]:.4f}", batch.cpu, f"{batch.peak:.0f}", "-"],
    ]
    columns = ["model", "K", "V-measure", "CPU s", "peak MB", "MB above the imported package"]
    return Table(f"{len(files.truth):,} x 20 from a file, whole process with imports and labels", columns, rows)


def _live_dive() -> Table:
    """Replay a dive of twelve hours: every batch is scored and assigned, and rounds run in between."""
    rng = np.random.default_rng(0)
    centres = 2 * rng.normal(size=(30, DIVE_WIDTH))
    kinds = np.repeat(rng.integers(0, 30, DIVE_IMAGES // 40), 40)  # habitats that the vehicle crosses
    model = MemoryBoundedVDP(memory=2000, epoch=1000, observation="diagonal", horizon=DIVE_IMAGES)
    process, memory, rounds, answers = psutil.Process(), [], [], []
    for start in range(0, DIVE_IMAGES, DIVE_BATCH):
        chosen = kinds[start : start + DIVE_BATCH]
        rows = centres[chosen] + rng.normal(size=(len(chosen), DIVE_WIDTH))
        if model.__sklearn_is_fitted__():
            began = time.process_time()
            model.predict(rows)
            model.novelty(rows)
            answers.append(time.process_time() - began)
        began, number = time.process_time(), getattr(model, "n_rounds_", 0)
        model.partial_fit(rows, flush=False)
        if model.n_rounds_ > number:
            rounds.append(time.process_time() - began)
            memory.append(process.memory_info().rss / 2**20)
    hours = np.arange(len(memory)) * model.epoch / (2 * 3600)
    settled = len(memory) // 4
    slope = np.polyfit(hours[settled:], memory[settled:], 1)[0]
    quarters = np.array_split(np.array(rounds), 4)
    rows = [
        ["clusters at the end", model.n_clusters_],
        ["answer for two images, CPU ms, median", 1e3 * float(np.median(answers))],
        ["answer for two images, CPU ms, 99.9 %", 1e3 * float(np.quantile(answers, 0.999))],
        ["round, CPU s, second quarter, median", float(np.median(quarters[1]))],
        ["round, CPU s, last quarter, median", float(np.median(quarters[3]))],
        ["round, CPU s, largest", float(max(rounds))],
        ["memory slope, MB an hour", float(slope)],
    ]
    return Table(f"{DIVE_IMAGES:,} images of a dive, two a second", ["measure", "value"], rows)


@dataclass(frozen=True, eq=False)
class _Digits:
    """Images of digits along the 50 axes of largest variance, and 10,000 other ones."""

    X: np.ndarray
    labels: np.ndarray
    held_out: np.ndarray
    held_out_labels: np.ndarray

    def named(self, fit: BatchFit) -> float:
        """Return the share of the other digits whose cluster has their name. A cluster has the name of its most
        frequent digit."""
        votes = np.zeros((fit.n_clusters_, 10))
        np.add.at(votes, (fit.predict(self.X), self.labels), 1)
        return float((votes.argmax(1)[fit.predict(self.held_out)] == self.held_out_labels).mean())


def _digits() -> _Digits | None:
    path = os.environ.get("MNIST_DATA")
    if not path or not Path(path).is_file():
        return None
    with np.load(path) as data:
        train, test = (data[name].reshape(-1, 784) / 255.0 for name in ("x_train", "x_test"))
        axes = PCA(50, random_state=0).fit(train)
        return _Digits(axes.transform(train), data["y_train"], axes.transform(test), data["y_test"])


def _no_digits(title: str) -> Table:
    return Table(title, ["skipped"], [["MNIST_DATA does not name a file with the digits"]])


def _stream_of_digits() -> Table:
    """The source counts the rows of a round as memory: 6,000 rows with rounds of 3,000 leave 3,000 for the clumps."""
    title, digits = "Digits: 60,000 x 50 by PCA, rounds of 3,000", _digits()
    if digits is None:
        return _no_digits(title)
    memories = [int(memory) for memory in os.environ.get("MNIST_MEMORIES", MEMORIES).split(",")]
    N = len(digits.X)
    streams = {
        f"memory {memory:,} rows, {text}": measure(
            lambda memory=memory, horizon=horizon: _of_digits(digits.X, memory, horizon)
        )
        for memory in memories
        for text, horizon in (("number of rows not known", None), ("known", N))
    }
    best, cost_of_best = measure(lambda: from_stream(list(streams.values())[-1][0], digits.X))
    rows, bound = [], best.lower_bound_
    for name, (model, cost) in streams.items():
        on_all = on_all_rows(model, digits.X)
        ratios = [f"{1 - (bound - each) / abs(bound):.4f}" for each in (model.lower_bound_, on_all.lower_bound_)]
        gap = f"{(bound - on_all.lower_bound_) / N:.3f}"
        rows.append([name, model.n_clusters_, *ratios, gap, f"{digits.named(on_all):.4f}", f"{cost.cpu:.1f}"])
    accuracy = f"{digits.named(best):.4f}"
    rows.append([ALL_ROWS, best.n_clusters_, "1", "1", "0", accuracy, f"{cost_of_best.cpu:.1f}"])
    columns = ["fit", "K", "bound ratio", "ratio on all rows", "gap on all rows, nats per row"]
    columns += ["accuracy of named clusters", "CPU s"]
    notes = [
        "The memory is that besides the rows of a round. "
        f"The bound of the fit of all rows is {bound / N:.3f} nats per row. That of a stream is of its clumps; on all "
        "rows, each row has responsibilities of its own under the clusters of the stream. Each cluster is named after "
        "its most frequent digit in the training rows; the accuracy is that of 10,000 other digits."
    ]
    return Table(title, columns, rows, notes)


def _search_of_digits() -> Table:
    title, digits = "Digits: the search of the other mixtures on all 60,000 x 50", _digits()
    if digits is None:
        return _no_digits(title)
    fit, cost = measure(lambda: from_search(_of_digits(digits.X[:3000], 3000, None), digits.X, MOST_NAMED))
    row = [fit.n_clusters_, f"{fit.lower_bound_ / len(digits.X):.3f}", f"{digits.named(fit):.4f}", f"{cost.cpu:.1f}"]
    return Table(title, ["K", "bound, nats per row", "accuracy of named clusters", "CPU s"], [row])


def _of_digits(X: np.ndarray, memory: int, horizon: int | None) -> MemoryBoundedVDP:
    model = MemoryBoundedVDP(
        memory=memory, epoch=3000, horizon=horizon, lineage=False, max_clusters=MOST_NAMED, tol=1e-5
    )
    return model.partial_fit(X)


def _growth() -> Table:
    """AT11 at full size: 100,000 rows in which new clusters keep appearing."""
    rows = []
    for seed in (0, 1):
        X, clusters = growing_stream(seed, 100_000)
        model = MemoryBoundedVDP(memory=1000, epoch=1000, horizon=len(X), lineage=False)
        for start in range(0, len(X), 1000):
            model.partial_fit(X[start : start + 1000])
            seen = start + 1000
            if seen in (1000, 5000, 10_000, 20_000, 50_000, 100_000):
                true = int((np.bincount(clusters[:seen]) >= 20).sum())
                memory = model.snapshot_.memory
                rows.append([seed, f"{seen:,}", model.n_clusters_, true, memory["units"], memory["values"]])
    columns = ["seed", "rows", "K", "true clusters of 20 rows or more", "units", "values (at most 8,000)"]
    return Table("A growing stream in 8 dimensions, memory 1,000, rounds of 1,000", columns, rows)


def _memory_and_time() -> Table:
    """AT7 and AT8 at full size."""
    X = gaussian_stream(3, 1.6, 90_000)[0]
    peaks = []
    for count in (10_000, 30_000, 90_000):
        model = MemoryBoundedVDP(memory=500, epoch=500, lineage=False).partial_fit(X[:1000])
        tracemalloc.start()
        for start in range(1000, count, 500):
            model.partial_fit(X[start : start + 500])
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    rows = [
        [f"traced peak of {count} rows, MB", peak]
        for count, peak in zip(("10,000", "30,000", "90,000"), peaks, strict=True)
    ]
    model, costs = MemoryBoundedVDP(memory=500, epoch=500, lineage=False), []
    for start in range(0, 50_000, 500):
        costs.append(measure(lambda start=start: model.partial_fit(X[start : start + 500]))[1].cpu)
    quarters = [float(np.median(quarter)) for quarter in np.array_split(costs, 4)]
    rows += [["largest peak / smallest peak (at most 1.25)", max(peaks) / min(peaks)]]
    rows += [["round, CPU ms, second quarter of 100, median", 1e3 * quarters[1]]]
    rows += [["round, CPU ms, last quarter, median", 1e3 * quarters[3]]]
    rows += [["last quarter / second quarter (at most 1.3)", quarters[3] / quarters[1]]]
    return Table("Memory and time of a stream of 20 clusters in 10 dimensions", ["measure", "value"], rows)


def _segmentation() -> Table:
    """Joint segmentation of frames with pixels as rows, ten frames a round, at most 1,000 clumps."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 5)) * [0.6, 0.6, 1, 1, 1]
    model = MemoryBoundedTopicModel(
        epoch=10 * PIXELS, max_clumps=1000, max_groups=200, horizon=FRAMES * PIXELS, tol=1e-5, max_clusters=85
    )
    process, highest, began = psutil.Process(), 0.0, time.process_time()
    before = process.memory_info().rss / 2**20
    for first in range(0, FRAMES, 10):
        frames = np.arange(first, min(first + 10, FRAMES))
        shares = rng.dirichlet(np.full(40, 0.1), len(frames))
        topics = np.concatenate([rng.choice(40, PIXELS, p=share) for share in shares])
        rows = centres[topics] + 0.25 * rng.normal(size=(len(topics), 5))
        model.partial_fit(rows, groups=np.repeat(frames, PIXELS))
        highest = max(highest, process.memory_info().rss / 2**20)
    values = [["topics", model.n_clusters_], ["CPU s, with the generator", time.process_time() - began]]
    values += [["MB above the start", highest - before]]
    return Table(f"{FRAMES} frames of {PIXELS:,} pixels x 5 features", ["measure", "value"], values)


PARTS: dict[str, Callable[[], Table]] = {
    "batch": _against_all_rows,
    "orders": _orders,
    "peers": _peers,
    "memory": _memory_and_time,
    "growth": _growth,
    "file": lambda: _from_file(written(ROWS, "float32")),
    "dive": _live_dive,
    "digits": _stream_of_digits,
    "digits_search": _search_of_digits,
    "frames": _segmentation,
}
