"""Small pictures of single segments: what its bounding box shows, a little more around it, and its outline."""

import io
import threading
from collections import OrderedDict

import numpy as np
from PIL import Image

from app.state.app_state import AppState
from app.state.segments import masks
from engine.problems import fail
from engine.workspace.features import FeatureSet

SIZES = (96, 192)
SOURCE = 1024     # of the thumbnail a crop is cut from
AROUND = 0.25     # of the box on every side: what a thing lies on tells what it is
LEAST = 24        # pixels of the source, so that a speck is not all blur
ROOM = 64 << 20   # bytes of crops kept: some ten thousand
QUALITY = 85
DIM = 0.72        # brightness outside the segment


class CropShelf:
    """The latest crops as JPEG."""

    def __init__(self, room: int = ROOM):
        self._room, self._used = room, 0
        self._held: OrderedDict[tuple, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple) -> bytes | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: tuple, jpeg: bytes) -> None:
        with self._lock:
            self._used += len(jpeg) - len(self._held.get(key, b""))
            self._held[key] = jpeg
            while self._used > self._room and len(self._held) > 1:
                self._used -= len(self._held.popitem(last=False)[1])


def crop(app: AppState, features: FeatureSet, image_id: int, number: int, size: int) -> bytes:
    """The JPEG of one segment, `size` pixels square."""
    if size not in SIZES:
        raise fail("crop", f"no size '{size}'", f"choose one of {', '.join(map(str, SIZES))}")
    shelf = app.lasting.once("crops", CropShelf)
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
    held = io.BytesIO()
    outlined(_source(app, image_id), mask, size).save(held, "JPEG", quality=QUALITY)
    return held.getvalue()


def outlined(picture: Image.Image, mask: np.ndarray, size: int) -> Image.Image:
    """The square around the mask, the rest of it a little darker, with a white line along the edge."""
    box = square_around(mask, picture.size)
    seen = picture.convert("RGB").resize((size, size), Image.Resampling.LANCZOS, box=box)
    scale = np.array(mask.shape[::-1]) / picture.size
    inside = Image.fromarray(mask).convert("L").resize(
        (size, size), Image.Resampling.BILINEAR, box=tuple(np.array(box) * np.tile(scale, 2)))
    return Image.fromarray(_drawn(np.asarray(seen), np.asarray(inside) >= 128))


def square_around(mask: np.ndarray, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Left, top, right, bottom in pixels of a picture of this width and height; inside of it, moved where it has to."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    scale = np.array(size) / mask.shape[::-1]
    first = np.array([columns[0], rows[0]]) * scale
    last = np.array([columns[-1] + 1, rows[-1] + 1]) * scale
    side = min(max(float((last - first).max()) * (1 + 2 * AROUND), LEAST), *size)
    corner = np.clip((first + last - side) / 2, 0, np.array(size) - side)
    return (*corner, *(corner + side))


def _drawn(seen: np.ndarray, inside: np.ndarray) -> np.ndarray:
    shown = np.where(inside[..., None], seen, (seen * DIM).astype(np.uint8))
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
        raise fail("images", f"no image {image_id}", "reload the page")
    place = app.workspace.library.locate([image_id])[image_id]
    return Image.open(io.BytesIO(app.workspace.thumbnails.obtain(sha256, SOURCE, place)))
