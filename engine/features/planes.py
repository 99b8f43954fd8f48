"""Conversions of images: size, grey, and three planes of colour."""

import numpy as np
from PIL import Image

LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # BT.601, the weights of grey JPEG files


def shrink(image: np.ndarray, longest: int) -> np.ndarray:
    """Return the uint8 image as RGB with its longer side at most `longest` px. Keeps the aspect ratio, never
    enlarges."""
    image = as_rgb(image)
    height, width = image.shape[:2]
    scale = longest / max(height, width)
    if scale >= 1:
        return image
    return resize(image, max(1, round(height * scale)), max(1, round(width * scale)))


def resize(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the uint8 image resampled to exactly height x width, low-pass filtered if it shrinks."""
    if image.shape[:2] == (height, width):
        return image
    small = Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(small)


def grey(image: np.ndarray) -> np.ndarray:
    """Return the luma of an RGB uint8 image as float32 in 0..1. A single plane is returned unchanged."""
    plane = image.astype(np.float32)
    return (plane @ LUMA if plane.ndim == 3 else plane) / np.float32(255)


def as_rgb(image: np.ndarray) -> np.ndarray:
    """Return three uint8 planes for a grey image, a single plane, or a colour image with transparency."""
    if image.ndim == 2:
        image = image[:, :, None]
    if image.shape[2] == 1:
        return np.repeat(image, 3, axis=2)
    return np.ascontiguousarray(image[:, :, :3])
