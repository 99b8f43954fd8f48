"""A million and ten million rows, how soon a fit stops, and what a Dask cluster would bring."""

import operator
import pickle
import time
from collections.abc import Iterator

import numpy as np

from engine.compute import Compute, DaskCluster, InOrder, LocalThreads
from engine.metrics import v_measure
from engine.mixtures import VDP, model_named, sweep
from engine.mixtures.model import Scorer
from engine.mixtures.observations import Frame, Observations
from engine.progress import Cancelled
from tests.benchmarks.bench_mixtures import COLUMNS, row
from tests.benchmarks.grouped_rows import Files, fitted, written
from tests.benchmarks.measure import Table, measure

MILLION = 1_000_000
REFERENCE_CPU, REFERENCE_LABELS = {"vdp": 1302.0}, {"vdp": "VDP_1m_z"}
PROJECTED = (1, 2, 4, 8, 16, 32, 64)


def tables() -> Iterator[Table]:
    files = written(MILLION)
    yield Table(f"Mixtures, {MILLION:,} x 20, whole process with imports and reading", COLUMNS,
                [row(name, files, fitted(name, files), REFERENCE_LABELS.get(name), REFERENCE_CPU.get(name))
                 for name in ("gmc", "vdp")])
    yield _linear()
    yield _stopping(files)
    yield _workers(files)


def _linear() -> Table:
    rows = []
    for n in (MILLION // 10, MILLION, 10 * MILLION):
        files = written(n, "float32")
        run = fitted("gmc", files)
        rows.append([f"{n:,}", run.cpu, 1e6 * run.cpu / n, run.peak, run.K,
                     f"{v_measure(files.truth, run.labels):.5f}"])
    return Table("GMC from a memory-mapped float32 file", ["rows", "CPU s", "CPU s a million", "peak MB", "K",
                                                           "V-measure"], rows)


def _stopping(files: Files) -> Table:
    """Seconds from the wish to stop until fit returns, the wish coming at different moments of a fit."""
    waits = []
    for after in (0.5, 2.0, 4.0, 5.0):
        waits.append([after, _stopped(files, after)])
    return Table(f"Stopping a VDP fit of {MILLION:,} rows", ["wish after s", "heeded within s"], waits)


def _stopped(files: Files, after: float) -> float:
    begun, last = time.perf_counter(), []

    def stop(progress) -> None:
        now = time.perf_counter()
        if now - begun > after:
            raise Cancelled
        last.append(now)

    try:
        VDP(random_state=0).fit(files.rows, on_step=stop)
    except Cancelled:
        return time.perf_counter() - last[-1]
    return float("nan")


def _workers(files: Files) -> Table:
    """One iteration on each machine, then the same from measured seconds of a chunk and of a message."""
    import distributed

    scorer, chunks = _scorer(files), 16
    rows = [_iteration("this machine, 1 thread", files, scorer, InOrder()),
            _iteration("this machine, 2 threads", files, scorer, LocalThreads(2))]
    for workers in (1, 2):
        with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True,
                                      dashboard_address=None) as started, \
                DaskCluster(started.scheduler_address) as cluster:
            rows.append(_iteration(f"Dask, {workers} workers", files, scorer, cluster))
            message = measure(lambda c=cluster: list(c.map(range(chunks), abs)))[1].wall / chunks
    alone, size = rows[0][1], len(pickle.dumps(scorer)) + 8 * scorer.coefficients.size
    rows += [[f"projected, {n} workers", alone / n + message * (2 * np.log2(n) + 1), "-"] for n in PROJECTED]
    note = (f"Projection: the thread's seconds divided by the workers, plus {1e3 * message:.1f} ms a message "
            f"(measured; {size / 1e3:.0f} kB of beliefs and sums travel) down and up a tree of log2 workers.")
    return Table(f"One iteration on {MILLION:,} x 20", ["machine", "wall s", "CPU s of this process", "speed-up"],
                 [[*row, alone / row[1]] for row in rows], [note])


def _scorer(files: Files) -> Scorer:
    model = model_named("gmc")(random_state=0).fit(files.rows, files.groups)
    return model.mixture_.scorer()


def _iteration(told: str, files: Files, scorer: Scorer, compute: Compute) -> list:
    frame = Frame(np.zeros(scorer.clusters.n_features), 1.0)
    data = Observations(files.rows, files.groups, len(scorer.log_weights), frame, compute)
    data.compute.map_reduce(data.chunks, sweep.statistics, operator.add, scorer)
    costs = [measure(lambda: data.sweep(scorer))[1] for _ in range(3)]
    best = min(costs, key=lambda cost: cost.wall)
    return [told, best.wall, best.cpu]
