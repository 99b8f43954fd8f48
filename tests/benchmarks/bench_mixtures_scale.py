"""A million and ten million rows, the time until a fit stops, and the expected gain of a Dask cluster."""

import pickle
import time
from collections.abc import Iterator

import distributed
import numpy as np
import psutil

from benthoscope.engine.compute import Compute, DaskCluster, InOrder, LocalThreads
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import VDP, model_named
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.model import Scorer
from benthoscope.engine.progress import Cancelled
from tests.benchmarks.bench_mixtures import COLUMNS, row
from tests.benchmarks.grouped_rows import Files, fitted, written
from tests.benchmarks.measure import Table, measure

MILLION = 1_000_000
REFERENCE_CPU, REFERENCE_LABELS = {"vdp": 1302.0}, {"vdp": "VDP_1m_z"}
WORKERS = (1, 2, 4, 8, 16, 32, 64)
MESSAGES, REPEATS = 64, 5


def tables() -> Iterator[Table]:
    files = written(MILLION)
    yield Table(
        f"Mixtures, {MILLION:,} x 20, whole process with imports and reading",
        COLUMNS,
        [
            row(name, files, fitted(name, files), REFERENCE_LABELS.get(name), REFERENCE_CPU.get(name))
            for name in ("gmc", "vdp")
        ],
    )
    yield _linear()
    yield _stopping(files)
    yield from _workers(files)


def _linear() -> Table:
    rows = []
    for n in (MILLION // 10, MILLION, 10 * MILLION):
        files = written(n, "float32")
        run = fitted("gmc", files)
        rows.append(
            [f"{n:,}", run.cpu, 1e6 * run.cpu / n, run.peak, run.K, f"{v_measure(files.truth, run.labels):.5f}"]
        )
    return Table(
        "GMC from a memory-mapped float32 file", ["rows", "CPU s", "CPU s a million", "peak MB", "K", "V-measure"], rows
    )


def _stopping(files: Files) -> Table:
    """Return the seconds from a cancellation request until fit returns, at different stages of a fit."""
    waits = [[after, _stopped(files, after)] for after in (0.5, 2.0, 4.0, 5.0)]
    return Table(f"Stopping a VDP fit of {MILLION:,} rows", ["requested after s", "stopped within s"], waits)


def _stopped(files: Files, after: float) -> float:
    start, last = time.perf_counter(), []

    def stop(progress) -> None:
        moment = time.perf_counter()
        if moment - start > after:
            raise Cancelled
        last.append(moment)

    try:
        VDP(random_state=0).fit(files.rows, on_step=stop)
    except Cancelled:
        return time.perf_counter() - last[-1]
    return float("nan")


def _workers(files: Files) -> Iterator[Table]:
    """Measure one iteration on each backend, and estimate the gain of more workers from measured seconds of chunks and
    messages."""
    scorer = _scorer(files)
    rows = [
        _iteration("this machine, 1 thread", files, scorer, InOrder()),
        _iteration("this machine, 2 threads", files, scorer, LocalThreads(2)),
    ]
    for workers in (1, 2):
        started = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        )
        with started, DaskCluster(started.scheduler_address) as cluster:
            rows.append(_iteration(f"Dask, {workers} worker processes", files, scorer, cluster))
            message = measure(lambda c=cluster: list(c.map(range(MESSAGES), abs)))[1].wall / MESSAGES
    yield Table(
        f"One iteration on {MILLION:,} x 20",
        ["machine", "wall s", "CPU s of the process tree"],
        rows,
        ["Wall seconds mean little where other work shares the cores; CPU seconds show what Dask adds."],
    )
    yield _projected(rows[0][2], message, scorer)


def _projected(cpu: float, message: float, scorer: Scorer) -> Table:
    size = (len(pickle.dumps(scorer)) + 8 * scorer.coefficients.size) / 1e3
    sizes = (MILLION, 10 * MILLION, 100 * MILLION)

    def seconds(n: int, workers: int) -> float:
        return cpu * n / MILLION / workers + message * (2 * np.log2(workers) + 1)

    rows = [
        [workers, *(f"{seconds(n, workers):.3g} ({seconds(n, 1) / seconds(n, workers):.1f}x)" for n in sizes)]
        for workers in WORKERS
    ]
    note = (
        f"Not measured but computed: {cpu:.3g} CPU s an iteration and million rows, shared by the workers, plus "
        f"{1e3 * message:.1f} ms for a message of {size:.0f} kB down and up a tree of log2 workers."
    )
    return Table(
        "Projected seconds (speed-up) of one iteration", ["workers", *(f"{n:,} rows" for n in sizes)], rows, [note]
    )


def _scorer(files: Files) -> Scorer:
    model = model_named("gmc")(random_state=0).fit(files.rows, groups=files.groups)
    return model.mixture_.scorer()


def _iteration(title: str, files: Files, scorer: Scorer, compute: Compute) -> list:
    frame = Frame(np.zeros(scorer.clusters.n_features), 1.0)
    data = Observations(files.rows, files.groups, len(scorer.log_weights), frame, compute)
    data.sweep(scorer)  # chunks travel and workers warm up
    before, walls = cpu_of_tree(), []
    for _ in range(REPEATS):
        walls.append(measure(lambda: data.sweep(scorer))[1].wall)
    return [title, min(walls), (cpu_of_tree() - before) / REPEATS]


def cpu_of_tree() -> float:
    """Return the CPU seconds of this process and all its running descendants so far."""
    main_process = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in [main_process, *main_process.children(recursive=True)])
