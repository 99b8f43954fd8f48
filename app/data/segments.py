"""Images of segments: a transparent overlay with borders and object colours, and crops of single segments."""

import io
import threading
import zlib
from collections import OrderedDict

import numpy as np
from PIL import Image

from benthoscope.app.data.clusters.clustered_images import Atlas, arrays_of, is_of_topics
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.features.masks import MaskFile
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.features import FeatureSet
from benthoscope.plots.colours import distinct

SEGMENT_LABELS = "segment_labels"  # array of a run with the cluster of every row of its segment features
COVER = 110  # opacity of the colours, of 255, so that the image stays visible


def segment_features(app: AppState, atlas: Atlas) -> FeatureSet | None:
    """The segment features of the run, or else any segment features."""
    store, preferred = app.workspace.features, atlas.run.features if atlas.run else None
    names = [name for name in ([preferred] if preferred else []) + store.names() if name in store]
    return next((feature_set for feature_set in map(app.features, names) if feature_set.level == "segment"), None)


def segments_of(app: AppState, atlas: Atlas, image_id: int) -> FeatureSet | None:
    """The segment features of the run, if they have this image; else None."""
    features = segment_features(app, atlas)
    return features if features is not None and image_id in masks(app, features) else None


def overlay(app: AppState, atlas: Atlas, features: FeatureSet, image_id: int, cover: int = COVER) -> bytes:
    """The overlay of an image with segments as a PNG of the size of its mask. `cover` is the opacity of the colours, at
    most 255. Patches of a run of topics have borders only where the topic changes."""
    mask = masks(app, features)[image_id]
    picture = np.zeros((*mask.shape, 4), np.uint8)
    labels, parts = labels_of(atlas, features, image_id), mask
    if labels is not None and len(labels) > mask.max(initial=0):
        parts = labels[mask] if is_of_topics(atlas.run) else mask
        coloured = labels[mask] >= 0
        picture[coloured, :3] = rgb(int(labels.max(initial=0)) + 1)[labels[mask][coloured]]
        picture[coloured, 3] = cover
    picture[borders(parts)] = 255
    buffer = io.BytesIO()
    Image.fromarray(picture, "RGBA").save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()


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
    """Cluster of every segment of an image, -1 for segments left out; None if the run does not have these segments."""
    run = atlas.run
    if run is None or run.features != features.name or SEGMENT_LABELS not in arrays_of(run):
        return None
    rows = rows_of_image(features, image_id)
    return np.asarray(run.array(SEGMENT_LABELS)[rows.start : rows.stop])


def rows_of_image(features: FeatureSet, image_id: int) -> range:
    """Rows of the segments of an image, in the order of their numbers; empty if the image is not in the set."""
    at = np.flatnonzero(np.asarray(features.image_ids) == image_id)
    return range(*map(int, features.offsets[at[0] : at[0] + 2])) if len(at) else range(0)


def masks(app: AppState, features: FeatureSet) -> MaskFile:
    return app.cached(("masks", features.name, features.sidecar.data_hash), lambda: MaskFile(features.folder), of=())


SIZES = (96, 192)
SOURCE = 1024  # size of the thumbnail a crop is cut from
AROUND = 0.25  # margin on every side, relative to the box: the surroundings help to identify a segment
LEAST = 24  # smallest crop in pixels of the source, so that tiny segments are not too blurred
ROOM = 64 << 20  # bytes of cached crops, about ten thousand
QUALITY = 85
DIM = 0.72  # brightness outside the segment


class CropShelf:
    """LRU cache of crops as JPEG."""

    def __init__(self, room: int = ROOM):
        self._room, self._used = room, 0
        self._crops: OrderedDict[tuple, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple) -> bytes | None:
        with self._lock:
            if key in self._crops:
                self._crops.move_to_end(key)
            return self._crops.get(key)

    def put(self, key: tuple, jpeg: bytes) -> None:
        with self._lock:
            self._used += len(jpeg) - len(self._crops.get(key, b""))
            self._crops[key] = jpeg
            while self._used > self._room and len(self._crops) > 1:
                self._used -= len(self._crops.popitem(last=False)[1])


def crop(app: AppState, features: FeatureSet, image_id: int, number: int, size: int) -> bytes:
    """The JPEG of one segment, `size` pixels square."""
    if size not in SIZES:
        raise fail("crop", f"there is no size '{size}'", f"choose one of {', '.join(map(str, SIZES))}")
    shelf = app.cached("crops", CropShelf, of=())
    key = (features.folder.name, app.columns.hash_of(image_id), number, size)
    jpeg = shelf.get(key)
    if jpeg is None:
        jpeg = _made(app, features, image_id, number, size)
        shelf.put(key, jpeg)
    return jpeg


def _made(app: AppState, features: FeatureSet, image_id: int, number: int, size: int) -> bytes:
    mask = masks(app, features)[image_id] == number
    if not mask.any():
        raise fail(f"image {image_id}", f"has no segment {number}", "choose one of its segments")
    buffer = io.BytesIO()
    outlined(_source(app, image_id), mask, size).save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()


def outlined(picture: Image.Image, mask: np.ndarray, size: int) -> Image.Image:
    """The square around the mask, the rest of it a little darker, with a white line along the edge."""
    box = square_around(mask, picture.size)
    crop = picture.convert("RGB").resize((size, size), Image.Resampling.LANCZOS, box=box)
    scale = np.array(mask.shape[::-1]) / picture.size
    inside = (
        Image.fromarray(mask)
        .convert("L")
        .resize((size, size), Image.Resampling.BILINEAR, box=tuple(np.array(box) * np.tile(scale, 2)))
    )
    return Image.fromarray(_with_outline(np.asarray(crop), np.asarray(inside) >= 128))


def square_around(mask: np.ndarray, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Left, top, right, bottom in pixels of a picture of this width and height; inside of it, moved where it has to."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    scale = np.array(size) / mask.shape[::-1]
    first = np.array([columns[0], rows[0]]) * scale
    last = np.array([columns[-1] + 1, rows[-1] + 1]) * scale
    side = min(max(float((last - first).max()) * (1 + 2 * AROUND), LEAST), *size)
    corner = np.clip((first + last - side) / 2, 0, np.array(size) - side)
    return (*corner, *(corner + side))


def _with_outline(crop: np.ndarray, inside: np.ndarray) -> np.ndarray:
    shown = np.where(inside[..., None], crop, (crop * DIM).astype(np.uint8))
    edge = _thick(_edge(inside))
    shown[_thick(edge) & ~edge] //= 2  # a dark rim, so that the line shows on white sand too
    shown[edge] = 255
    return shown


def _edge(inside: np.ndarray) -> np.ndarray:
    edge = np.zeros(inside.shape, bool)
    edge[:, 1:] |= inside[:, 1:] != inside[:, :-1]
    edge[1:] |= inside[1:] != inside[:-1]
    return edge


def _thick(edge: np.ndarray) -> np.ndarray:
    wide = edge.copy()
    wide[1:] |= edge[:-1]
    wide[:-1] |= edge[1:]
    wide[:, 1:] |= edge[:, :-1]
    wide[:, :-1] |= edge[:, 1:]
    return wide


def _source(app: AppState, image_id: int) -> Image.Image:
    sha256 = app.columns.hash_of(image_id)
    if sha256 is None:
        raise fail("images", f"there is no image {image_id}", "reload the page")
    path = app.workspace.library.locate([image_id])[image_id]
    return Image.open(io.BytesIO(app.workspace.thumbnails.obtain(sha256, SOURCE, path)))
