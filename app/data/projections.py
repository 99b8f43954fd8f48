"""Where images lie in two dimensions: principal axes at once, neighbourhoods once their job is done; and where they
were taken, in metres."""

from dataclasses import dataclass

import numpy as np

from benthoscope.app.data.clusters.cluster_geometry import image_features
from benthoscope.app.data.clusters.clustered_images import Atlas, placed
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES
from benthoscope.engine.analysis import (
    Tracks,
    fit_principal_plane,
    step_scale,
    to_steps,
    track_lines,
    tracks_in_metres,
)
from benthoscope.engine.analysis.projections import StepScale
from benthoscope.engine.workspace.features import FeatureSet, Projection, ProjectionStore

METHODS = {"pca": "Principal axes", "umap": "Neighbourhoods (UMAP)"}


@dataclass(frozen=True)
class ProjectedImages:
    """`xy` (N, 2) uint16 in steps of `engine.analysis.projections`, by position of the image. `axes` are the names of
    the two axes, and `scale` says which coordinates the steps stand for."""

    key: tuple  # of method, content and images: what is made of the plane is kept under it
    xy: np.ndarray
    axes: tuple[str, str]
    scale: StepScale


def store(app: AppState) -> ProjectionStore:
    return ProjectionStore(app.workspace.folder / "projections")


def has_projection(app: AppState, atlas: Atlas, method: str) -> bool:
    features = image_features(app, atlas)
    return features is not None and (method == "pca" or store(app).has(features, method))


def plane(app: AppState, atlas: Atlas, method: str) -> ProjectedImages | None:
    """None where there are no features, or the projection was not made yet."""
    features = image_features(app, atlas)
    if features is None or not has_projection(app, atlas, method):
        return None
    key = ("plane", method, features.sidecar.data_hash, len(atlas))
    return app.cached(key, lambda: _projected(app, atlas, features, method, key), of=())


def _projected(app: AppState, atlas: Atlas, features: FeatureSet, method: str, key: tuple) -> ProjectedImages:
    stored = store(app).get(features, method) or _principal_plane(app, features)
    positions, known = placed(atlas.columns, stored.image_ids)
    xy = np.asarray(stored.xy)[known]
    return ProjectedImages(key, to_steps(xy, positions, len(atlas)), axis_names(method, stored.shares), step_scale(xy))


def _principal_plane(app: AppState, features: FeatureSet) -> Projection:
    plane = fit_principal_plane(features.X)
    return store(app).put(features, "pca", plane.xy, plane.shares)


def axis_names(method: str, shares: tuple[float, float] | None) -> tuple[str, str]:
    """Names of the two axes, for principal axes with their shares of the variance if these are stored."""
    if method != "pca":
        return f"{method.upper()} 1", f"{method.upper()} 2"
    if shares is None:
        return "PC 1", "PC 2"
    return f"PC 1, {_percent(shares[0])}", f"PC 2, {_percent(shares[1])}"


def _percent(share: float) -> str:
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def tracks_of(app: AppState, atlas: Atlas) -> Tracks:
    columns = atlas.columns
    return app.cached("tracks", lambda: tracks_in_metres(columns.latitude, columns.longitude), IMAGES)


def lines_url(app: AppState, atlas: Atlas) -> str:
    """Address of the images of every dive in the order of time, see `track_lines`; empty if no images are joined.
    Albums have no track: their images are not joined."""

    def made() -> np.ndarray:
        kinds = {collection.id: collection.kind for collection in app.workspace.library.collections()}
        dives = np.array([kinds.get(summary.group.collection_id) != "albums" for summary in atlas.groups], bool)
        return track_lines(tracks_of(app, atlas).xy, atlas.group, atlas.columns.taken_at, dives[atlas.group])

    lines = app.cached("track lines", made, IMAGES)
    return app.arrays.put(lines) if (lines >= 0).any() else ""
