"""Rows of full-covariance Gaussian clusters in groups, and fits of them in separate processes."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

PROJECT = Path(__file__).parents[2]
REFERENCE = PROJECT.parent / "shared" / "bench"  # generator and labels of the reference library, where they are at hand
COLUMNS, GROUPS, CLUSTERS = 20, 10, 15
BLOCK = 500_000

PEAK = """
def peak():  # of this program alone: what getrusage tells includes the process that started it
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
"""
FIT = """
import json, resource, sys
from pathlib import Path
import numpy as np
from benthoscope.engine.mixtures import model_named
name, rows, groups, out = sys.argv[1:5]
model = model_named(name)(random_state=0).fit(rows, groups=np.load(groups))
told = {"K": model.n_clusters_, "bound": model.lower_bound_, "peak": peak()}
np.savez(out, labels=model.labels_, told=json.dumps(told))
"""
FIT_OTHER = """
import json, resource, sys
from pathlib import Path
import numpy as np
from sklearn.mixture import BayesianGaussianMixture
_, rows, _, out = sys.argv[1:5]
X = np.load(rows)
model = BayesianGaussianMixture(n_components=30, random_state=0, max_iter=int(sys.argv[5])).fit(X)
labels = model.predict(X)
told = {"K": len(np.unique(labels)), "bound": float("nan"), "peak": peak()}
np.savez(out, labels=labels, told=json.dumps(told))
"""


@dataclass(frozen=True)
class Files:
    """Where rows, groups and true clusters of one size lie."""

    rows: Path
    groups: np.ndarray
    groups_path: Path
    truth: np.ndarray


@dataclass(frozen=True)
class Run:
    """The result of a fit in a separate process, and the time and memory of the whole process."""

    labels: np.ndarray
    K: int
    bound: float
    cpu: float  # seconds, imports and reading included
    peak: float  # MB


@lru_cache(maxsize=1)
def folder() -> Path:
    return Path(mkdtemp(prefix="benthoscope-bench-"))


def written(n: int, dtype: str = "float64") -> Files:
    """Write n rows to disk: those of the reference's generator if available, else of the same kind."""
    data_folder = folder() / f"{n}-{dtype}"
    if not data_folder.exists():
        data_folder.mkdir()
        if (REFERENCE / "make_grouped.py").exists() and n <= 1_000_000:
            _write_reference(n, data_folder, dtype)
        else:
            _write_own(n, data_folder, dtype)
    groups = np.load(data_folder / "groups.npy")
    return Files(data_folder / "rows.npy", groups, data_folder / "groups.npy", np.load(data_folder / "truth.npy"))


def _write_reference(n: int, data_folder: Path, dtype: str) -> None:
    made = data_folder / "made.npz"
    subprocess.run(
        [sys.executable, REFERENCE / "make_grouped.py", "--n", str(n), "--out", made],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    with np.load(made) as data:
        np.save(data_folder / "rows.npy", data["X"].astype(dtype))
        np.save(data_folder / "groups.npy", data["group"])
        np.save(data_folder / "truth.npy", data["z"])
    made.unlink()


def _write_own(n: int, data_folder: Path, dtype: str) -> None:
    """Use log-uniform variances between 0.05 and 1 along random axes, means of deviation 0.4, and Dirichlet
    proportions."""
    rng = np.random.default_rng(0)
    means = 0.4 * rng.standard_normal((CLUSTERS, COLUMNS))
    axes = np.linalg.qr(rng.standard_normal((CLUSTERS, COLUMNS, COLUMNS)))[0]
    roots = axes * np.exp(rng.uniform(np.log(0.05), 0, (CLUSTERS, 1, COLUMNS)) / 2)
    shares = rng.dirichlet(np.full(CLUSTERS, 0.7), GROUPS)
    groups = (np.arange(n) * GROUPS // n).astype(np.int32)
    truth = np.empty(n, np.int8)
    rows = np.lib.format.open_memmap(data_folder / "rows.npy", "w+", dtype, (n, COLUMNS))
    for start in range(0, n, BLOCK):
        block = slice(start, min(start + BLOCK, n))
        truth[block] = _kinds(groups[block], shares, rng)
        rows[block] = _sampled_rows(truth[block], means, roots, rng)
    rows.flush()
    np.save(data_folder / "groups.npy", groups)
    np.save(data_folder / "truth.npy", truth)


def _kinds(groups: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((len(groups), 1)) > shares.cumsum(1)[groups][:, :-1]).sum(1)


def _sampled_rows(kinds: np.ndarray, means: np.ndarray, roots: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal((len(kinds), COLUMNS), dtype=np.float32)
    for k in range(CLUSTERS):
        members = kinds == k
        noise[members] = means[k] + noise[members] @ roots[k].T
    return noise


def fitted(name: str, files: Files, program: str = FIT, *arguments: str) -> Run:
    """Fit the model in a new Python process with one BLAS thread, and measure its whole run."""
    out = folder() / "found.npz"
    command = [sys.executable, "-c", PEAK + program, name, files.rows, files.groups_path, out, *arguments]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, cwd=PROJECT, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the fit of {name} ended with {process.returncode}")
    with np.load(out) as archive:
        facts, labels = json.loads(str(archive["told"])), archive["labels"]
    return Run(labels, facts["K"], facts["bound"], used.ru_utime + used.ru_stime, facts["peak"])
