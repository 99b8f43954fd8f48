"""The job that arranges the images of a feature set in two dimensions so that neighbours stay neighbours (UMAP)."""

from typing import Any

import numpy as np

from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.optional_dependencies import import_optional
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.features import FeatureSet, ProjectionStore

METHOD = "umap"
WIDE = 50  # dimensions; with more, neighbours change little but take long to find
FITTED_ON = 50_000  # rows arranged together; the others are added block by block
BLOCK = 20_000
FEWEST = 5


def projection(
    job: JobContext,
    workspace: Workspace,
    *,
    features: str = "deep",
    neighbours: int = 15,
    distance: float = 0.1,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute and store the layout. Few `neighbours` show detail, many show the overall structure."""
    feature_set = workspace.features.open(features)
    if feature_set.level != "image":
        raise fail(
            f"features {features}", "describes segments, not whole images", "choose a feature set of whole images"
        )
    if feature_set.sidecar.rows < FEWEST:
        raise fail(
            f"features {features}",
            f"has only {feature_set.sidecar.rows} images",
            "compute the features of more images first",
        )
    job.progress(0, feature_set.sidecar.rows, "shortening the features")
    rng = np.random.default_rng(seed)
    short = shortened(feature_set, rng, job)
    xy = laid_out(job, short, min(neighbours, len(short) - 1), distance, rng)
    ProjectionStore(workspace.folder / "projections").put(feature_set, METHOD, xy)
    return {"features": features, "images": len(xy), "method": METHOD}


def shortened(feature_set: FeatureSet, rng: np.random.Generator, job: JobContext) -> np.ndarray:
    """Return the features as (n, at most WIDE) float32."""
    width = min(WIDE, feature_set.sidecar.width, feature_set.sidecar.rows)
    if width == feature_set.sidecar.width:
        return np.asarray(feature_set.X)
    axes = PrincipalAxes(width).fit(lambda: _blocks(feature_set.X, job), rng=rng)
    return np.concatenate([axes(block) for block in _blocks(feature_set.X, job)])


def laid_out(job: JobContext, X: np.ndarray, neighbours: int, distance: float, rng: np.random.Generator) -> np.ndarray:
    """(n, 2): a sample is laid out, then the rest among it."""
    umap = import_optional("umap")  # seconds of compiling, which only this job should pay
    sample = np.sort(rng.choice(len(X), FITTED_ON, replace=False)) if len(X) > FITTED_ON else np.arange(len(X))
    job.progress(0, len(X), f"arranging {len(sample):,} images")
    progress_lines = _Told(job)
    model = umap.UMAP(
        n_neighbors=neighbours,
        min_dist=distance,
        random_state=int(rng.integers(2**31)),
        n_jobs=1,
        verbose=False,
        tqdm_kwds={"file": progress_lines, "mininterval": 0.2, "disable": False},
    )
    xy = np.empty((len(X), 2), np.float32)
    xy[sample] = model.fit_transform(X[sample])
    remaining = np.setdiff1d(np.arange(len(X)), sample, assume_unique=True)
    for start in range(0, len(remaining), BLOCK):
        block = remaining[start : start + BLOCK]
        job.progress(len(sample) + start, len(X), "adding the other images")
        xy[block] = model.transform(X[block])
    job.progress(len(X), len(X), "done")
    return xy


class _Told:
    """The output of UMAP's progress bar. Each line allows cancellation."""

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
