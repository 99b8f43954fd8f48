"""Centres, spread and outliers of the clusters of a run, computed once and shared by all sessions."""

from dataclasses import replace

import numpy as np

from benthoscope.app.data.clusters.clustered_images import NONE, Atlas, placed
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.analysis import ClusterGeometry, measure_clusters
from benthoscope.engine.workspace.features import FeatureSet


def image_features(app: AppState, atlas: Atlas) -> FeatureSet | None:
    """The whole-image features the run was made of; where it has none, or none are left, any there are."""
    store, preferred = app.workspace.features, atlas.run.features if atlas.run else None
    names = [name for name in ([preferred] if preferred else []) + store.names() if name in store]
    return next((feature_set for feature_set in map(app.features, names) if feature_set.level == "image"), None)


def cluster_geometry(app: AppState, atlas: Atlas) -> ClusterGeometry | None:
    """With distances by position of the image; None where the run's features are gone, or describe segments."""
    features = image_features(app, atlas)
    if features is None or atlas.run is None or not atlas.clusters:
        return None
    key = ("cluster geometry", atlas.run.id, features.sidecar.data_hash, len(atlas))
    return app.cached(key, lambda: _measured(features, atlas), of=())


def outlier_scores(app: AppState, atlas: Atlas) -> np.ndarray:
    """(N,): how far out in its cluster an image lies; 1 is usual."""
    geometry = cluster_geometry(app, atlas)
    return np.full(len(atlas), np.nan) if geometry is None else geometry.distance


def _measured(features: FeatureSet, atlas: Atlas) -> ClusterGeometry:
    positions, known = placed(atlas.columns, features.image_ids)
    labels = np.full(len(known), NONE, np.int32)
    labels[known] = atlas.labels[positions]
    geometry = measure_clusters(features.X, labels, atlas.clusters)
    distance = np.full(len(atlas), np.nan)
    distance[positions] = geometry.distance[known]
    return replace(geometry, distance=distance)
