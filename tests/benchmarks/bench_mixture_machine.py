"""How much of the machine the mixtures use: one pass against the rate of matrix products, threads, and Dask.

Other programs may share the cores. Each ratio is therefore measured several times, with both ways in turn, and the
median counts. The parts are `pass`, `threads` and `dask`.
"""

import time
from collections.abc import Callable, Iterator
from statistics import median

import distributed
import numpy as np

from benthoscope.engine.compute import Compute, DaskCluster, InOrder, LocalThreads, blas_threads
from benthoscope.engine.mixtures import model_named
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.model import Scorer
from tests.benchmarks.bench_mixtures_scale import cpu_of_tree
from tests.benchmarks.cluster_shapes import Shape, ShapedRows, shaped_rows
from tests.benchmarks.grouped_rows import Files, written
from tests.benchmarks.measure import Table

SEED = 71
SQUARE, PRODUCTS = 1024, 10
PASSES = 5
TURNS = 5
DASK_ROWS = 10_000_000
OF_PASSES = [Shape(), Shape(clusters=60), Shape(clusters=200), Shape(columns=64), Shape(columns=64, clusters=60)]
OF_THREADS = [Shape(), Shape(clusters=60), Shape(columns=64), Shape(rows=1_000_000)]


def tables(*parts: str) -> Iterator[Table]:
    chosen = {"pass": _passes, "threads": _threads, "dask": _dask}
    unknown = [part for part in parts if part not in chosen]
    if unknown:
        raise SystemExit(f"no part {', '.join(unknown)}; there are {', '.join(chosen)}")
    for part in parts or chosen:
        yield chosen[part]()


def _passes() -> Table:
    rows = []
    with blas_threads(1):
        for shape in OF_PASSES:
            data = shaped_rows(shape, SEED)
            scorer = _scorer(data, shape)
            observations = Observations(data.rows, data.groups, shape.groups, _frame(shape.columns))
            for name, seen in (("float64", observations), ("float32", observations.in_single_precision())):
                seen.sweep(scorer)
                rate, speed = zip(*((_product_rate(), _pass_rate(seen, scorer)) for _ in range(PASSES)), strict=True)
                share = median(100 * own / product for own, product in zip(speed, rate, strict=True))
                rows.append([str(shape), name, median(rate), median(speed), share])
    columns = ["shape", "numbers", "float64 products, GFLOP/s", "E+M pass, GFLOP/s", "% of it"]
    note = "A pass counts 4 operations for each row, cluster and sufficient statistic; CPU seconds of one thread."
    return Table(f"One E+M pass, median of {PASSES}", columns, rows, [note])


def _scorer(data: ShapedRows, shape: Shape) -> Scorer:
    model = model_named("gmc")(search="none", max_iter=2)
    return model.fit(data.rows, groups=data.groups, start=data.truth, compute=InOrder()).mixture_.scorer()


def _frame(columns: int) -> Frame:
    return Frame(np.zeros(columns), 1.0)


def _product_rate() -> float:
    """Return the best rate of several products of square matrices."""
    square = np.random.default_rng(0).random((SQUARE, SQUARE))
    return 2e-9 * SQUARE**3 / min(_cpu(lambda: square @ square) for _ in range(PRODUCTS))


def _pass_rate(data: Observations, scorer: Scorer) -> float:
    return 4e-9 * len(data) * scorer.coefficients.size / _cpu(lambda: data.sweep(scorer))


def _cpu(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def _wall(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _threads() -> Table:
    rows = []
    for shape in OF_THREADS:
        data = shaped_rows(shape, SEED)
        one, two = _in_turn(
            lambda data=data: _fit(data, InOrder()), lambda data=data: _fit(data, LocalThreads(2)), _turns(shape)
        )
        rows.append([str(shape), median(one), median(two), _ratio(one, two)])
    columns = ["shape", "wall s, 1 thread", "wall s, 2 threads", "times faster"]
    return Table(f"A whole fit with two threads, median of up to {TURNS} turns", columns, rows)


def _turns(shape: Shape) -> int:
    return TURNS if shape.rows < Shape.rows * TURNS else 3


def _fit(data: ShapedRows, compute: Compute) -> None:
    model_named("gmc")(random_state=0).fit(data.rows, groups=data.groups, compute=compute)


def _in_turn(first: Callable[[], object], second: Callable[[], object], turns: int) -> tuple[list[float], list[float]]:
    """Return the wall seconds of both functions, each run alternately `turns` times."""
    seconds = [(_wall(first), _wall(second)) for _ in range(turns)]
    return [pair[0] for pair in seconds], [pair[1] for pair in seconds]


def _ratio(slow: list[float], fast: list[float]) -> float:
    return median(a / b for a, b in zip(slow, fast, strict=True))


def _dask() -> Table:
    files = written(DASK_ROWS, "float32")
    scorer = _scorer_of(files)
    here = _observations(files, scorer, InOrder())
    here.sweep(scorer)
    rows, before = [], cpu_of_tree()
    alone = [_wall(lambda: here.sweep(scorer)) for _ in range(3)]
    cpu_alone = (cpu_of_tree() - before) / len(alone)
    rows.append(["this process", median(alone), cpu_alone, "-", "-"])
    walls: dict[int, list[float]] = {1: [], 2: []}
    cpu: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(3):
        for workers in walls:
            with (
                distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
                ) as started,
                DaskCluster(started.scheduler_address) as cluster,
            ):
                data = _observations(files, scorer, cluster)
                data.sweep(scorer)  # workers warm up
                before = cpu_of_tree()
                walls[workers].append(_wall(lambda data=data: data.sweep(scorer)))
                cpu[workers].append(cpu_of_tree() - before)
    for workers in walls:
        overhead = 100 * (median(cpu[workers]) / cpu_alone - 1)
        faster = _ratio(walls[1], walls[workers])
        rows.append(
            [f"Dask, {workers} worker processes", median(walls[workers]), median(cpu[workers]), overhead, faster]
        )
    columns = ["machine", "wall s", "CPU s of all processes", "overhead, % CPU", "times one worker"]
    return Table(f"One iteration on {DASK_ROWS:,} x 20 from a file of float32, median of 3 turns", columns, rows)


def _scorer_of(files: Files) -> Scorer:
    rows, groups = np.load(files.rows, mmap_mode="r")[::100], files.groups[::100]
    model = model_named("gmc")(search="none", max_iter=2)
    return model.fit(np.asarray(rows), groups=groups, start=files.truth[::100]).mixture_.scorer()


def _observations(files: Files, scorer: Scorer, compute: Compute) -> Observations:
    return Observations(files.rows, files.groups, len(scorer.log_weights), _frame(20), compute)
