"""Segments of images of dives, with descriptors of the images, and fits of them in new processes."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.benchmarks.grouped_rows import PEAK, PROJECT, REFERENCE, folder

KINDS, SCENES, BLOCK = 15, 6, 500_000

FIT = """
import json, resource, sys
from pathlib import Path
import numpy as np
from benthoscope.engine.mixtures import GMC, TWO_LEVELS
name, place, out = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
image, dive = np.load(place / "image.npy"), np.load(place / "dive.npy")
if name == "gmc-segments":
    model = GMC(random_state=0).fit(place / "rows.npy", groups=image)
    told = {"K": model.n_clusters_, "T": 0}
    scenes = np.zeros(0)
else:
    looks = {"image_features": place / "looks.npy"} if name == "mcm" else {}
    model = TWO_LEVELS[name](random_state=0).fit(place / "rows.npy", image_of_segment=image,
                                                 group_of_image=dive, **looks)
    told = {"K": model.n_clusters_, "T": model.n_image_clusters_}
    scenes = model.image_labels_
told |= {"bound": model.lower_bound_, "peak": peak()}
np.savez(out, labels=model.labels_, scenes=scenes, told=json.dumps(told))
"""


@dataclass(frozen=True)
class Survey:
    """Where the rows of one size lie, and the truth of them."""

    folder: Path
    kinds: np.ndarray  # (S,) of segments
    scenes: np.ndarray  # (I,) of images


@dataclass(frozen=True)
class LevelsRun:
    """The result of a fit in a separate process, and the time and memory of the whole process."""

    labels: np.ndarray
    scenes: np.ndarray
    K: int
    T: int
    bound: float
    cpu: float  # seconds, imports and reading included
    wall: float
    peak: float  # MB


def reference_survey(n: int) -> Survey:
    """Return rows of the reference's generator if available, else rows of the same kind."""
    data_folder = folder() / f"images-{n}"
    if not (REFERENCE / "make_grouped.py").exists():
        return own_survey(n // 100, 100, 20, 10)
    if not data_folder.exists():
        data_folder.mkdir()
        made = data_folder / "made.npz"
        subprocess.run(
            [sys.executable, REFERENCE / "make_grouped.py", "--n", str(n), "--out", made],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with np.load(made) as data:
            for name, key in (
                ("rows", "X"),
                ("image", "doc"),
                ("dive", "doc_group"),
                ("looks", "W"),
                ("kinds", "z"),
                ("scenes", "y"),
            ):
                np.save(data_folder / f"{name}.npy", data[key])
        made.unlink()
    return Survey(data_folder, np.load(data_folder / "kinds.npy"), np.load(data_folder / "scenes.npy"))


def own_survey(images: int, segments: int, columns: int, dives: int, feature_count: int = 20) -> Survey:
    """Return float32 rows: segments of fifteen kinds with log-uniform variances, images of six scenes, dives with their
    own proportions."""
    data_folder = folder() / f"survey-{images}-{segments}-{columns}"
    if not data_folder.exists():
        data_folder.mkdir()
        _write(data_folder, images, segments, columns, dives, feature_count)
    return Survey(data_folder, np.load(data_folder / "kinds.npy"), np.load(data_folder / "scenes.npy"))


def _write(data_folder: Path, images: int, segments: int, columns: int, dives: int, feature_count: int) -> None:
    rng = np.random.default_rng(0)
    dive = (np.arange(images) * dives // images).astype(np.int32)
    scenes = _chosen(rng.dirichlet(np.full(SCENES, 0.7), dives)[dive], rng)
    image = np.repeat(np.arange(images, dtype=np.int32), segments)
    proportions, draw = rng.dirichlet(np.full(KINDS, 0.4), SCENES), _gaussians(KINDS, columns, 0.4, rng)
    rows = np.lib.format.open_memmap(data_folder / "rows.npy", "w+", np.float32, (len(image), columns))
    kinds = np.empty(len(image), np.int8)
    for start in range(0, len(image), BLOCK):
        block = slice(start, start + BLOCK)
        kinds[block] = _chosen(proportions[scenes[image[block]]], rng)
        rows[block] = draw(kinds[block])
    rows.flush()
    for name, values in (
        ("image", image),
        ("dive", dive),
        ("kinds", kinds),
        ("scenes", scenes),
        ("looks", _gaussians(SCENES, feature_count, 1.0, rng)(scenes)),
    ):
        np.save(data_folder / f"{name}.npy", values)


def _chosen(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((len(shares), 1)) > shares.cumsum(1)[:, :-1]).sum(1).astype(np.int8)


def _gaussians(count: int, columns: int, apart: float, rng: np.random.Generator):
    """Draw rows of the given kinds: full covariances, means of deviation `apart`."""
    means = apart * rng.standard_normal((count, columns))
    axes = np.linalg.qr(rng.standard_normal((count, columns, columns)))[0]
    roots = axes * np.exp(rng.uniform(np.log(0.05), 0, (count, 1, columns)) / 2)

    def draw(kinds: np.ndarray) -> np.ndarray:
        rows = rng.standard_normal((len(kinds), columns), dtype=np.float32)
        for k in range(count):
            members = kinds == k
            rows[members] = means[k] + rows[members] @ roots[k].T
        return rows

    return draw


def fitted(name: str, survey: Survey) -> LevelsRun:
    """Fit the model in a new Python process with one BLAS thread per worker, and measure its whole run."""
    out = folder() / "levels.npz"
    command = [sys.executable, "-c", PEAK + FIT, name, survey.folder, out]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    start = os.times().elapsed
    process = subprocess.Popen(command, cwd=PROJECT, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the fit of {name} ended with {process.returncode}")
    with np.load(out) as archive:
        facts, labels, scenes = json.loads(str(archive["told"])), archive["labels"], archive["scenes"]
    return LevelsRun(
        labels,
        scenes,
        facts["K"],
        facts["T"],
        facts["bound"],
        used.ru_utime + used.ru_stime,
        os.times().elapsed - start,
        facts["peak"],
    )
