"""Where the clusters of a run lie in the space of its features: centres, spread, neighbours, outliers."""

from dataclasses import dataclass

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import Atlas, placed
from engine.workspace.features import FeatureSet

BLOCK = 50_000  # rows in memory at once


@dataclass(frozen=True)
class Shapes:
    centres: np.ndarray    # (K, D)
    spread: np.ndarray     # (K,) root mean square distance to the centre, in units of that of all rows to theirs
    distance: np.ndarray   # (N,) of every image to its centre over its cluster's root mean square; NaN without features

    def nearest(self, cluster: int, count: int = 3) -> list[int]:
        """The clusters whose centres are nearest, nearest first."""
        far = ((self.centres - self.centres[cluster]) ** 2).sum(1)
        far[cluster] = np.inf
        far[np.isnan(far)] = np.inf
        order = np.argsort(far, kind="stable")
        return [int(found) for found in order[:count] if np.isfinite(far[found])]


def image_features(app: AppState, atlas: Atlas) -> FeatureSet | None:
    """The whole-image features the run was made of; where it has none, or none are left, any there are."""
    store, wanted = app.workspace.features, atlas.run.features if atlas.run else None
    names = [name for name in ([wanted] if wanted else []) + store.names() if name in store]
    return next((found for found in map(app.features, names) if found.level == "image"), None)


def shapes_of(app: AppState, atlas: Atlas) -> Shapes | None:
    """None where the run's features are gone, or describe segments."""
    features = image_features(app, atlas)
    if features is None or atlas.run is None or not atlas.clusters:
        return None
    key = ("shapes", atlas.run.id, features.sidecar.data_hash, len(atlas))
    return app.lasting.once(key, lambda: measured(features, atlas))


def outlier_scores(app: AppState, atlas: Atlas) -> np.ndarray:
    """(N,): how far out in its cluster an image lies; 1 is usual."""
    found = shapes_of(app, atlas)
    return np.full(len(atlas), np.nan) if found is None else found.distance


def measured(features: FeatureSet, atlas: Atlas) -> Shapes:
    positions, known = placed(atlas.columns, features.image_ids)
    rows, labels = np.flatnonzero(known), atlas.labels[positions]
    rows, positions, labels = rows[labels >= 0], positions[labels >= 0], labels[labels >= 0]
    counts = np.bincount(labels, minlength=atlas.clusters)
    centres = _sums(features.X, rows, labels, atlas.clusters) / np.maximum(counts, 1)[:, None]
    far = _squared(features.X, rows, centres, labels)
    mean = np.bincount(labels, far, minlength=atlas.clusters) / np.maximum(counts, 1)
    total = _total_spread(centres, counts, mean)
    distance = np.full(len(atlas), np.nan)
    distance[positions] = np.sqrt(far / np.maximum(mean[labels], 1e-30))
    centres[counts == 0] = np.nan
    return Shapes(centres, np.sqrt(mean / max(total, 1e-30)), distance)


def _sums(X: np.ndarray, rows: np.ndarray, labels: np.ndarray, clusters: int) -> np.ndarray:
    total = np.zeros((clusters, X.shape[1]))
    for at in range(0, len(rows), BLOCK):
        part = labels[at : at + BLOCK]
        owner = np.zeros((clusters, len(part)), np.float32)
        owner[part, np.arange(len(part))] = 1
        total += owner @ X[rows[at : at + BLOCK]]
    return total


def _squared(X: np.ndarray, rows: np.ndarray, centres: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Squared distance of every row to the centre of its cluster."""
    parts = []
    for at in range(0, len(rows), BLOCK):
        part = slice(at, at + BLOCK)
        gap = X[rows[part]] - centres[labels[part]].astype(np.float32)
        parts.append(np.einsum("ij,ij->i", gap, gap).astype(float))
    return np.concatenate(parts) if parts else np.empty(0)


def _total_spread(centres: np.ndarray, counts: np.ndarray, within: np.ndarray) -> float:
    """Mean squared distance of all rows to their common centre."""
    shares = counts / max(counts.sum(), 1)
    middle = shares @ centres
    return float(shares @ (within + ((centres - middle) ** 2).sum(1)))
