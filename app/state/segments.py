"""The segments of an image as a transparent picture to lay over it: borders, and colours where a run clustered them."""

import io

import numpy as np
from PIL import Image

from app.state.app_state import AppState
from app.state.atlas import Atlas, arrays_of
from app.state.colours import distinct
from engine.features.mask_file import MaskFile
from engine.workspace.features import FeatureSet

LABELS = "segment_labels"  # the array of a run with the cluster of every row of its segment features
COVER = 110                # opacity of the colours, of 255: the image has to stay visible


def segment_features(app: AppState, atlas: Atlas) -> FeatureSet | None:
    """The segments the run was made of; otherwise any set of segments there is."""
    store, wanted = app.workspace.features, atlas.run.features if atlas.run else None
    names = [name for name in ([wanted] if wanted else []) + store.names() if name in store]
    return next((found for found in map(app.features, names) if found.level == "segment"), None)


def has_segments(app: AppState, atlas: Atlas, image_id: int) -> bool:
    features = segment_features(app, atlas)
    return features is not None and image_id in masks(app, features)


def overlay(app: AppState, atlas: Atlas, image_id: int) -> bytes:
    """A PNG of the size of the mask."""
    features = segment_features(app, atlas)
    mask = masks(app, features)[image_id]
    picture = np.zeros((*mask.shape, 4), np.uint8)
    labels = labels_of(atlas, features, image_id)
    if labels is not None:
        colours = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in
                            distinct(int(labels.max(initial=0)) + 1)], np.uint8)
        picture[..., :3], picture[..., 3] = colours[labels][mask], COVER
    picture[borders(mask)] = 255
    held = io.BytesIO()
    Image.fromarray(picture, "RGBA").save(held, "PNG", compress_level=3)
    return held.getvalue()


def borders(mask: np.ndarray) -> np.ndarray:
    """(H, W) bool: pixels whose right or lower neighbour belongs to another segment."""
    edge = np.zeros(mask.shape, bool)
    edge[:, :-1] |= mask[:, :-1] != mask[:, 1:]
    edge[:-1] |= mask[:-1] != mask[1:]
    return edge


def labels_of(atlas: Atlas, features: FeatureSet, image_id: int) -> np.ndarray | None:
    """The cluster of every segment of an image; None where the run did not cluster these segments."""
    run = atlas.run
    if run is None or run.features != features.name or LABELS not in arrays_of(run):
        return None
    at = int(np.flatnonzero(features.image_ids == image_id)[0])
    return np.asarray(run.array(LABELS)[features.offsets[at] : features.offsets[at + 1]])


def masks(app: AppState, features: FeatureSet) -> MaskFile:
    return app.lasting.once(("masks", features.name, features.sidecar.data_hash), lambda: MaskFile(features.folder))
