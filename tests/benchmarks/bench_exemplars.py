"""Exemplars: 100 of 10,000 x 128 rows, beside apricot-select in the same run where an interpreter that has it is named.

    APRICOT_PYTHON=.../bin/python python -m tests.benchmarks exemplars
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from engine.exemplars import (
    ExemplarLoss,
    StreamGreedy,
    constant,
    cosine,
    lazy_greedy,
    sieve_streaming,
    stochastic_greedy,
    three_sieves,
)
from engine.exemplars.streams import partition
from tests.benchmarks.measure import Cost, Table, measure

ROWS, WIDTH, K = 10_000, 128, 100
APRICOT = """
import json, resource, sys, time
import numpy as np
from apricot import FacilityLocationSelection
X, optimizer = np.load(sys.argv[1]), sys.argv[2]
began = time.process_time()
similar = np.maximum(X @ X.T, 0)  # the rows have length 1
picked = FacilityLocationSelection(int(sys.argv[3]), metric="precomputed", optimizer=optimizer,
                                   random_state=0).fit(similar).ranking
print(json.dumps({"items": [int(item) for item in picked], "cpu": time.process_time() - began,
                  "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def rows(count: int = ROWS) -> np.ndarray:
    """Rows of unit length about 60 directions of unequal importance, float32."""
    rng = np.random.default_rng(0)
    centres, sizes = rng.standard_normal((60, WIDTH)), rng.dirichlet(np.ones(60))
    X = centres[rng.choice(60, count, p=sizes)] + 0.9 * rng.standard_normal((count, WIDTH))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def tables() -> Iterator[Table]:
    X = rows()
    _warm(X[:300])
    yield _side_by_side(X)
    yield _at_size()


def coverage(X: np.ndarray, items: np.ndarray) -> float:
    """Facility location: the sum over rows of the greatest cosine to a chosen one, no less than 0."""
    return float(np.maximum(X @ X[items].T, 0).max(1).sum(dtype=np.float64))


def _side_by_side(X: np.ndarray) -> Table:
    lazy, cost = measure(lambda: np.array(lazy_greedy(_loss(X), K).chosen))
    best, notes, lines = coverage(X, lazy), [], [("lazy greedy", lazy, cost)]
    lines += [(name, *measure(work)) for name, work in _ours(X)]
    for optimizer in ("lazy", "two-stage", "stochastic"):
        told = _apricot(X, optimizer)
        if isinstance(told, str):
            notes = [f"apricot-select left out: {told}"]
        else:
            lines.append((f"apricot {optimizer}", np.array(told["items"]), Cost(told["cpu"], 0, told["peak"])))
    shown = [[name, coverage(X, items), coverage(X, items) / best, cost.cpu] for name, items, cost in lines]
    columns = ["method", "objective", "share of lazy greedy", "CPU s"]
    return Table(f"{K} exemplars of {ROWS:,} x {WIDTH}, facility location by cosine", columns, shown, notes)


def _ours(X: np.ndarray) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
    settings = {"dissimilarity": cosine, "phantom": constant(1.0), "block_size": 1_000, "random_state": 0}
    yield "StreamGreedy", lambda: StreamGreedy(K, **settings).fit(X).exemplars_
    yield "StreamGreedy, one pass", lambda: StreamGreedy(K, max_passes=1, **settings).fit(X).exemplars_
    yield "StreamGreedy, all rows judge", lambda: StreamGreedy(K, validation=ROWS, **settings).fit(X).exemplars_
    rng = np.random.default_rng(0)
    yield "stochastic greedy", lambda: np.array(stochastic_greedy(_loss(X), K, rng).chosen)
    blocks = partition(np.arange(ROWS), 1_000)
    few = np.random.default_rng(0).choice(ROWS, 2_000, replace=False)
    yield "sieve, 2,000 rows judge", lambda: np.array(sieve_streaming(_loss(X, few), blocks, K).chosen)
    yield "three sieves, 2,000 rows judge", lambda: np.array(three_sieves(_loss(X, few), blocks, K).chosen)


def _loss(X: np.ndarray, validation: np.ndarray | None = None) -> ExemplarLoss:
    return ExemplarLoss(X, dissimilarity=cosine, phantom=constant(1.0), validation=validation)


def _apricot(X: np.ndarray, optimizer: str) -> dict | str:
    """What apricot-select did in a process of its own, or why it was not asked."""
    python = os.environ.get("APRICOT_PYTHON")
    if not python:
        return "set APRICOT_PYTHON to an interpreter that has it"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        ran = subprocess.run([python, "-c", APRICOT, str(path), optimizer, str(K)], capture_output=True, text=True,
                             check=False)
    return json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else ran.stderr.strip().splitlines()[-1]


def _at_size() -> Table:
    """What a card of a cluster costs: 12 exemplars, of ever more images."""
    lines = []
    for count in (1_000, 10_000, 100_000, 1_000_000):
        X = rows(count)
        fit, cost = measure(lambda X=X: StreamGreedy(12, random_state=0, max_passes=2).fit(X))
        lines.append([f"{count:,}", fit.loss_, fit.n_steps_, cost.cpu, cost.cpu / count * 1e6])
    return Table(f"12 exemplars of n x {WIDTH}, two passes", ["n", "loss", "blocks", "CPU s", "CPU s a million"], lines)


def _warm(X: np.ndarray) -> None:
    """Compiles the kernels, which is done once on a machine."""
    StreamGreedy(5, block_size=50).fit(X)
    lazy_greedy(ExemplarLoss(X), 3)
