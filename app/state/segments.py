"""The segments of an image as a transparent picture to lay over it: borders, and colours where a run clustered them."""

import io
import zlib

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
    if labels is not None and len(labels) > mask.max(initial=0):
        coloured = labels[mask] >= 0
        picture[coloured, :3] = rgb(int(labels.max(initial=0)) + 1)[labels[mask][coloured]]
        picture[coloured, 3] = COVER
    picture[borders(mask)] = 255
    held = io.BytesIO()
    Image.fromarray(picture, "RGBA").save(held, "PNG", compress_level=3)
    return held.getvalue()


def rgb(count: int) -> np.ndarray:
    """(count, 3) uint8: the colours of objects."""
    return np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in distinct(count)], np.uint8)


def packed_mask(app: AppState, features: FeatureSet, image_id: int) -> bytes:
    """Height, width, and the segment of every pixel row by row, as little-endian uint16 compressed by zlib."""
    mask = masks(app, features)[image_id]
    return zlib.compress(np.concatenate([mask.shape, mask.ravel()]).astype("<u2").tobytes(), 1)


def borders(mask: np.ndarray) -> np.ndarray:
    """(H, W) bool: pixels whose right or lower neighbour belongs to another segment."""
    edge = np.zeros(mask.shape, bool)
    edge[:, :-1] |= mask[:, :-1] != mask[:, 1:]
    edge[:-1] |= mask[:-1] != mask[1:]
    return edge


def labels_of(atlas: Atlas, features: FeatureSet, image_id: int) -> np.ndarray | None:
    """The cluster of every segment of an image, -1 where the run left one out; None where it knows none of them."""
    run = atlas.run
    if run is None or run.features != features.name or LABELS not in arrays_of(run):
        return None
    rows = rows_of_image(features, image_id)
    return np.asarray(run.array(LABELS)[rows.start : rows.stop])


def rows_of_image(features: FeatureSet, image_id: int) -> range:
    """Rows of the set, one for every segment of the image in the order of their numbers; empty for one it lacks."""
    at = np.flatnonzero(np.asarray(features.image_ids) == image_id)
    return range(*map(int, features.offsets[at[0] : at[0] + 2])) if len(at) else range(0)


def masks(app: AppState, features: FeatureSet) -> MaskFile:
    return app.lasting.once(("masks", features.name, features.sidecar.data_hash), lambda: MaskFile(features.folder))
