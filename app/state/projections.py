"""Where images lie in two dimensions: principal axes at once, neighbourhoods once their job is done."""

from dataclasses import dataclass

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import Atlas, placed
from app.state.shapes import image_features
from engine.workspace.features import FeatureSet
from engine.workspace.projections import Projection, ProjectionStore

METHODS = {"pca": "Principal axes", "umap": "Neighbourhoods (UMAP)"}
FITTED_ON = 20_000   # rows: two axes of a million rows are known to three digits from far fewer
BLOCK = 100_000      # rows in memory at once
NOWHERE = 65535      # coordinate of images without features
LAST = 65534         # the largest coordinate; a step is a hundredth of a pixel on the largest screens


@dataclass(frozen=True)
class Plane:
    """`xy` (N, 2) uint16 in steps from 0 to LAST across the larger side; NOWHERE for images without features."""

    key: tuple  # of method, content and images: what is made of the plane is kept under it
    xy: np.ndarray


def store(app: AppState) -> ProjectionStore:
    return ProjectionStore(app.workspace.folder / "projections")


def has_projection(app: AppState, atlas: Atlas, method: str) -> bool:
    features = image_features(app, atlas)
    return features is not None and (method == "pca" or store(app).has(features, method))


def plane(app: AppState, atlas: Atlas, method: str) -> Plane | None:
    """None where there are no features, or the projection was not made yet."""
    features = image_features(app, atlas)
    if features is None or not has_projection(app, atlas, method):
        return None
    key = ("plane", method, features.sidecar.data_hash, len(atlas))
    return app.lasting.once(key, lambda: Plane(key, _steps(app, atlas, features, method)))


def _steps(app: AppState, atlas: Atlas, features: FeatureSet, method: str) -> np.ndarray:
    kept = store(app).get(features, method) or store(app).put(features, method, principal(features.X))
    return quantised(kept, atlas)


def principal(X: np.ndarray) -> np.ndarray:
    """(n, 2) float32 along the two axes of largest variance, the larger first; signs are fixed by the axes' sums."""
    rng = np.random.default_rng(0)
    some = np.sort(rng.choice(len(X), FITTED_ON, replace=False)) if len(X) > FITTED_ON else slice(None)
    sample = np.asarray(X[some], np.float64)
    centre = sample.mean(0)
    _, axes = np.linalg.eigh(np.atleast_2d(np.cov(sample - centre, rowvar=False)) if len(sample) > 1
                             else np.eye(X.shape[1]))
    axes = axes[:, ::-1][:, :2]
    axes = (axes * np.where(axes.sum(0) < 0, -1, 1)).astype(np.float32)
    parts = [(X[at : at + BLOCK] - centre.astype(np.float32)) @ axes for at in range(0, len(X), BLOCK)]
    xy = np.concatenate(parts)
    return xy if xy.shape[1] == 2 else np.column_stack([xy, np.zeros_like(xy)])


def quantised(found: Projection, atlas: Atlas) -> np.ndarray:
    """Coordinates in steps, both axes by the same measure; far outliers are drawn at the rim."""
    positions, known = placed(atlas.columns, found.image_ids)
    xy = np.asarray(found.xy)[known].astype(np.float64)
    steps = np.full((len(atlas), 2), NOWHERE, np.uint16)
    if len(xy):
        low, high = np.percentile(xy, (0.05, 99.95), axis=0)
        side = max(float((high - low).max()) * 1.06, 1e-12)
        start = (low + high) / 2 - side / 2
        steps[positions] = np.clip((xy - start) / side * LAST, 0, LAST).round()
    return steps
