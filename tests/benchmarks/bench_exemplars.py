"""Exemplars: 100 of 10,000 x 128 rows, compared with apricot-select in the same run if its interpreter is given.

Active sets: predictions of SparseGPRegressor, compared with the exact Gaussian process of scikit-learn.

APRICOT_PYTHON=.../bin/python python -m tests.benchmarks exemplars, or one of the PARTS below
"""

import heapq
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benthoscope.engine.exemplars import (
    ExemplarLoss,
    SparseGPRegressor,
    StreamGreedy,
    constant,
    cosine,
    lazy_greedy,
    sieve_streaming,
    stochastic_greedy,
    three_sieves,
)
from benthoscope.engine.exemplars.stream_greedy import partition
from tests.benchmarks.measure import Cost, Table, measure
from tests.robot_arm import JOINTS, hand_distances

ROWS, WIDTH, K = 10_000, 128, 100
TURNS = 5
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
    """Return rows of unit length around 60 directions of unequal frequency, float32."""
    rng = np.random.default_rng(0)
    centres, sizes = rng.standard_normal((60, WIDTH)), rng.dirichlet(np.ones(60))
    X = centres[rng.choice(60, count, p=sizes)] + 0.9 * rng.standard_normal((count, WIDTH))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def tables(*parts: str) -> Iterator[Table]:
    _warm(rows(300))
    for part in parts or PARTS:
        yield PARTS[part]()


def coverage(X: np.ndarray, items: np.ndarray) -> float:
    """Return the facility location utility: the sum over rows of the largest cosine to a chosen row, at least 0."""
    return float(np.maximum(X @ X[items].T, 0).max(1).sum(dtype=np.float64))


def _side_by_side() -> Table:
    X = rows()
    lines = _in_turns(
        {
            "lazy greedy": lambda: np.array(lazy_greedy(_loss(X), K).chosen),
            "plain heap": lambda: _plain_heap(X),
        }
    )
    best, notes = coverage(X, lines[0][1]), [f"Lazy greedy and plain heap: median of {TURNS} in turns."]
    lines += [(name, *measure(select)) for name, select in _own_algorithms(X)]
    for optimizer in ("lazy", "two-stage", "stochastic"):
        answer = _apricot(X, optimizer)
        if isinstance(answer, str):
            notes[1:] = [f"apricot-select left out: {answer}"]
        else:
            lines.append((f"apricot {optimizer}", np.array(answer["items"]), Cost(answer["cpu"], 0, answer["peak"])))
    shown = [[name, coverage(X, items), coverage(X, items) / best, cost.cpu] for name, items, cost in lines]
    columns = ["method", "objective", "share of lazy greedy", "CPU s"]
    return Table(f"{K} exemplars of {ROWS:,} x {WIDTH}, facility location by cosine", columns, shown, notes)


def _in_turns(methods: dict[str, Callable[[], np.ndarray]]) -> list[tuple[str, np.ndarray, Cost]]:
    """Return the choice and the median cost of each method. The first turn also pays for memory that the system gives
    to the process."""
    turns = [{name: measure(select) for name, select in methods.items()} for _ in range(TURNS)]
    return [(name, *sorted((turn[name] for turn in turns), key=lambda run: run[1].cpu)[TURNS // 2]) for name in methods]


def _own_algorithms(X: np.ndarray) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
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


def _plain_heap(X: np.ndarray) -> np.ndarray:
    """Choose the rows of lazy greedy selection by the textbook method: all similarities, and a heap of bounds."""
    similar = np.maximum(X @ X.T, 0)
    covered = np.zeros(len(X), X.dtype)
    bounds = [(-float(gain), row) for row, gain in enumerate(similar.sum(0, dtype=np.float64))]
    heapq.heapify(bounds)
    chosen: list[int] = []
    while len(chosen) < K:
        _, row = heapq.heappop(bounds)
        bound = (-float(np.maximum(similar[row] - covered, 0).sum(dtype=np.float64)), row)
        if bound <= bounds[0]:
            chosen.append(row)
            np.maximum(covered, similar[row], out=covered)
        else:
            heapq.heappush(bounds, bound)
    return np.array(chosen)


def _apricot(X: np.ndarray, optimizer: str) -> dict | str:
    """Return the result of apricot-select in its own process, or why it was not run."""
    python = os.environ.get("APRICOT_PYTHON")
    if not python:
        return "set APRICOT_PYTHON to an interpreter that has it"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        ran = subprocess.run(
            [python, "-c", APRICOT, str(path), optimizer, str(K)], capture_output=True, text=True, check=False
        )
    return json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else ran.stderr.strip().splitlines()[-1]


def _at_size() -> Table:
    """Print the cost of a cluster card: 12 exemplars of increasing numbers of images."""
    lines = []
    for count in (1_000, 10_000, 100_000, 1_000_000):
        X = rows(count)
        fit, cost = measure(lambda X=X: StreamGreedy(12, random_state=0, max_passes=2).fit(X))
        lines.append([f"{count:,}", fit.loss_, fit.n_steps_, cost.cpu, cost.cpu / count * 1e6])
    return Table(f"12 exemplars of n x {WIDTH}, two passes", ["n", "loss", "blocks", "CPU s", "CPU s a million"], lines)


LEARN_ROWS, NEW_ROWS, KERNEL_ROWS = 5_000, 5_000, 1_000


def _regression() -> Table:
    """Print error and cost of predictions from K rows. The kernel is fitted once and shared; its cost is a line of its
    own."""
    angles, distance = hand_distances(LEARN_ROWS + NEW_ROWS, seed=0)
    X, y, new_X, new_y = angles[:LEARN_ROWS], distance[:LEARN_ROWS], angles[LEARN_ROWS:], distance[LEARN_ROWS:]

    def line(name: str, k: int | str, fit: Callable) -> list:
        model, cost = measure(fit)
        mean, predicting = measure(lambda: model.predict(new_X))
        return [name, k, 0.5 * float(np.mean((mean - new_y) ** 2)), cost.cpu, predicting.cpu]

    fitted, kernel_cost = measure(lambda: SparseGPRegressor(1, kernel_rows=KERNEL_ROWS, random_state=0).fit(X, y))
    lines = [["kernel alone", "", 0.5 * float(np.var(new_y)), kernel_cost.cpu, 0.0]]
    for k in (50, 200, 400):
        for criterion in ("random", "information", "variance", "error"):
            model = SparseGPRegressor(k, criterion=criterion, kernel=fitted.kernel_, random_state=0)
            lines.append(line(criterion, k, lambda model=model: model.fit(X, y)))
    own = _scikit_learn_kernel(X, y)
    exact = GaussianProcessRegressor(own[0], optimizer=None, normalize_y=True)
    lines += [
        ["scikit-learn, kernel alone", "", float("nan"), own[1], 0.0],
        line("scikit-learn, exact", f"{LEARN_ROWS:,}", lambda: exact.fit(X, y)),
    ]
    title = f"Half the mean squared error, {LEARN_ROWS:,} of a robot arm's positions, {NEW_ROWS:,} new ones"
    notes = ["The kernel's line has the error of the mean. CPU s of a fit are without those of its kernel."]
    return Table(title, ["active rows by", "K", "error", "CPU s, fit", "CPU s, predict"], lines, notes)


def _scikit_learn_kernel(X: np.ndarray, y: np.ndarray) -> tuple:
    """Return the kernel that scikit-learn fits to as many random rows, and its CPU seconds."""
    rows = np.random.default_rng(0).choice(len(X), KERNEL_ROWS, replace=False)
    kernel = ConstantKernel() * RBF(np.full(JOINTS, 1.0)) + WhiteKernel(0.1)
    model, cost = measure(lambda: GaussianProcessRegressor(kernel, normalize_y=True).fit(X[rows], y[rows]))
    return model.kernel_, cost.cpu


def _warm(X: np.ndarray) -> None:
    """Compile the kernels, which happens once per machine."""
    StreamGreedy(5, block_size=50).fit(X)
    lazy_greedy(ExemplarLoss(X), 3)


PARTS: dict[str, Callable[[], Table]] = {
    "algorithms": _side_by_side,
    "size": _at_size,
    "regression": _regression,
}
