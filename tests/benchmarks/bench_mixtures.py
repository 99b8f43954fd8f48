"""100,000 x 20, ten groups, fifteen clusters: our mixtures compared with the reference library and scikit-learn."""

from collections.abc import Iterator

import numpy as np

from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import model_named
from tests.benchmarks.grouped_rows import FIT_OTHER, REFERENCE, Files, Run, fitted, written
from tests.benchmarks.measure import Table

ROWS = 100_000
ITERATIONS = 100  # scikit-learn's default; it has not converged by then, so more would only cost it more
REFERENCE_CPU = {"vdp": 59.0, "bgmm": 63.0, "gmc": 32.5, "sgmc": 34.0}  # CPU s of the reference library, one thread
REFERENCE_LABELS = {"vdp": "VDP_z", "bgmm": "BGMM_z", "gmc": "GMC_z", "sgmc": "SGMC_z"}
COLUMNS = [
    "model",
    "CPU s",
    "peak MB",
    "K",
    "V-measure",
    "bound",
    "bound from reference's labels",
    "above it %",
    "reference CPU s",
    "reference V",
    "times fewer CPU s",
]


def tables() -> Iterator[Table]:
    files = written(ROWS)
    yield Table(
        f"Mixtures, {ROWS:,} x 20, whole process with imports and reading",
        COLUMNS,
        [
            row(name, files, fitted(name, files), REFERENCE_LABELS.get(name), REFERENCE_CPU.get(name))
            for name in REFERENCE_CPU
        ],
        _notes(),
    )
    yield _against_scikit_learn(files)


def row(name: str, files: Files, run: Run, labels: str | None, their_cpu: float | None) -> list:
    V = v_measure(files.truth, run.labels)
    theirs = reference_labels(labels)
    if theirs is None or len(theirs) != len(run.labels):
        return [name, run.cpu, run.peak, run.K, f"{V:.5f}", f"{run.bound:.0f}", *["-"] * 5]
    bar = bound_from(name, files, theirs)
    above = 100 * (run.bound - bar) / abs(bar)
    return [
        name,
        run.cpu,
        run.peak,
        run.K,
        f"{V:.5f}",
        f"{run.bound:.0f}",
        f"{bar:.0f}",
        f"{above:.5f}",
        their_cpu or "-",
        f"{v_measure(files.truth, theirs):.5f}",
        (their_cpu or np.nan) / run.cpu,
    ]


def reference_labels(name: str | None) -> np.ndarray | None:
    path = REFERENCE / "reference_labels.npz"
    if name is None or not path.exists():
        return None
    with np.load(path) as archive:
        return np.unique(archive[name], return_inverse=True)[1]


def bound_from(name: str, files: Files, labels: np.ndarray) -> float:
    """Return the bound to which full VB converges from given labels, without any search."""
    model = model_named(name)(search="none", tol=1e-8)
    return model.fit(files.rows, groups=files.groups, start=labels).lower_bound_


def _against_scikit_learn(files: Files) -> Table:
    own_runs = {name: fitted(name, files) for name in ("vdp", "gmc")}
    theirs = fitted("", files, FIT_OTHER, str(ITERATIONS))
    run_by_name = {**own_runs, f"scikit-learn BayesianGaussianMixture, K=30, {ITERATIONS} iterations": theirs}
    rows = [
        [name, run.cpu, run.K, f"{v_measure(files.truth, run.labels):.5f}", theirs.cpu / run.cpu]
        for name, run in run_by_name.items()
    ]
    return Table(
        f"Against scikit-learn, {ROWS:,} x 20, one BLAS thread, same run",
        ["model", "CPU s", "K", "V-measure", "times fewer CPU s"],
        rows,
    )


def _notes() -> list[str]:
    at_hand = (REFERENCE / "reference_labels.npz").exists()
    note = "The reference's CPU seconds were measured on this kind of machine by its maintainers' default build."
    return [note if at_hand else "The reference's data and labels are not on this machine: rows of the same kind."]
