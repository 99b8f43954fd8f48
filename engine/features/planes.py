"""Pictures as arrays of the size and kind a descriptor wants."""

import numpy as np
from PIL import Image

LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # BT.601, what a grey JPEG holds


def shrink(image: np.ndarray, longest: int) -> np.ndarray:
    """The uint8 image as RGB with its longer side at most `longest` px, aspect kept; never enlarged."""
    image = as_rgb(image)
    height, width = image.shape[:2]
    scale = longest / max(height, width)
    if scale >= 1:
        return image
    return resize(image, max(1, round(height * scale)), max(1, round(width * scale)))


def resize(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """The uint8 image resampled to exactly height x width, low-pass filtered when it shrinks."""
    if image.shape[:2] == (height, width):
        return image
    small = Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(small)


def grey(image: np.ndarray) -> np.ndarray:
    """Luma of an RGB uint8 image as float32 in 0..1; a single plane passes through."""
    plane = image.astype(np.float32)
    return (plane @ LUMA if plane.ndim == 3 else plane) / np.float32(255)


def as_rgb(image: np.ndarray) -> np.ndarray:
    """Three uint8 planes, whatever came: grey, a single plane, or colour with transparency."""
    if image.ndim == 2:
        image = image[:, :, None]
    if image.shape[2] == 1:
        return np.repeat(image, 3, axis=2)
    return np.ascontiguousarray(image[:, :, :3])
