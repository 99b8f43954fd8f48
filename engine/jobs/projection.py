"""Lays the images of a feature set out in two dimensions so that neighbours stay neighbours (UMAP)."""

from typing import Any

import numpy as np

from engine.features.compression import PrincipalAxes
from engine.jobs.context import JobContext
from engine.problems import fail
from engine.workspace import Workspace
from engine.workspace.features import FeatureSet
from engine.workspace.projections import ProjectionStore

METHOD = "umap"
WIDE = 50          # dimensions: beyond these neighbours change little, and finding them takes long
FITTED_ON = 50_000  # rows laid out together; the others are put among them, block by block
BLOCK = 20_000
FEWEST = 5


def projection(job: JobContext, workspace: Workspace, *, features: str = "deep", neighbours: int = 15,
               distance: float = 0.1, seed: int = 0) -> dict[str, Any]:
    """Keeps the layout beside the workspace. `neighbours`: few show detail, many show the whole."""
    found = workspace.features.open(features)
    if found.level != "image":
        raise fail(f"features {features}", "describe segments, not whole images", "choose a set of whole images")
    if found.sidecar.rows < FEWEST:
        raise fail(f"features {features}", f"only {found.sidecar.rows} images", "describe more images first")
    job.progress(0, found.sidecar.rows, "shortens the features")
    rng = np.random.default_rng(seed)
    short = shortened(found, rng, job)
    xy = laid_out(job, short, min(neighbours, len(short) - 1), distance, rng)
    ProjectionStore(workspace.folder / "projections").put(found, METHOD, xy)
    return {"features": features, "images": len(xy), "method": METHOD}


def shortened(found: FeatureSet, rng: np.random.Generator, job: JobContext) -> np.ndarray:
    """(n, at most WIDE) float32."""
    width = min(WIDE, found.sidecar.width, found.sidecar.rows)
    if width == found.sidecar.width:
        return np.asarray(found.X)
    axes = PrincipalAxes(width).fit(lambda: _blocks(found.X, job), rng=rng)
    return np.concatenate([axes(block) for block in _blocks(found.X, job)])


def laid_out(job: JobContext, X: np.ndarray, neighbours: int, distance: float, rng: np.random.Generator) -> np.ndarray:
    """(n, 2): a sample is laid out, then the rest among it."""
    from umap import UMAP  # seconds of compiling, which only this job should pay

    sample = np.sort(rng.choice(len(X), FITTED_ON, replace=False)) if len(X) > FITTED_ON else np.arange(len(X))
    job.progress(0, len(X), f"lays out {len(sample):,} images")
    told = _Told(job)
    model = UMAP(n_neighbors=neighbours, min_dist=distance, random_state=int(rng.integers(2**31)), n_jobs=1,
                 verbose=False, tqdm_kwds={"file": told, "mininterval": 0.2, "disable": False})
    xy = np.empty((len(X), 2), np.float32)
    xy[sample] = model.fit_transform(X[sample])
    rest = np.setdiff1d(np.arange(len(X)), sample, assume_unique=True)
    for start in range(0, len(rest), BLOCK):
        part = rest[start : start + BLOCK]
        job.progress(len(sample) + start, len(X), "puts the other images among them")
        xy[part] = model.transform(X[part])
    job.progress(len(X), len(X), "done")
    return xy


class _Told:
    """What UMAP's progress bar writes to: every line is a chance to be cancelled."""

    def __init__(self, job: JobContext):
        self._job = job

    def write(self, text: str) -> int:
        self._job.check()
        return len(text)

    def flush(self) -> None:
        pass


def _blocks(X: np.ndarray, job: JobContext):
    for start in range(0, len(X), BLOCK):
        job.check()
        yield np.asarray(X[start : start + BLOCK])
