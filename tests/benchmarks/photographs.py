"""JPEG files with the size and the detail of AUV images, so that decoding times are realistic."""

from pathlib import Path

import numpy as np
from PIL import Image

SIZE = (1360, 1024)
DIFFERENT = 24  # pictures; the others are copies with another comment, so that no two files are equal


def written(folder: Path, count: int) -> list[Path]:
    """Write this number of files of about 500 kB and return their paths."""
    folder.mkdir(parents=True)
    encoded = [folder / f"PR_20190513_{number:06}_000_LC16.jpg" for number in range(min(count, DIFFERENT))]
    for seed, path in enumerate(encoded):
        _photograph(seed).save(path, quality=88)
    data = [path.read_bytes() for path in encoded]
    paths = [folder / f"PR_20190513_{number:06}_000_LC16.jpg" for number in range(count)]
    for number, path in enumerate(paths[DIFFERENT:], DIFFERENT):
        path.write_bytes(data[number % DIFFERENT] + b"%08d" % number)  # decoders stop before it, hashes do not
    return paths


def _photograph(seed: int) -> Image.Image:
    """Paint patches of several sizes under a strobe that fades to the corners, with sensor noise."""
    draw = np.random.default_rng(seed)
    scales = {8: 0.5, 60: 0.3, 300: 0.2}  # cells across: weight
    scene = sum(np.asarray(_noise(draw, cells), np.float32) * weight for cells, weight in scales.items())
    rows, columns = np.mgrid[-1 : 1 : SIZE[1] * 1j, -1 : 1 : SIZE[0] * 1j]
    lit = scene * (1 - 0.35 * (rows**2 + columns**2))[..., None] + draw.normal(0, 6, (SIZE[1], SIZE[0], 1))
    return Image.fromarray(lit.clip(0, 255).astype(np.uint8))


def _noise(draw: np.random.Generator, cells: int) -> Image.Image:
    coarse = draw.integers(0, 256, (cells * 3 // 4, cells, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize(SIZE, Image.Resampling.BICUBIC)
