"""A .npy file that grows at its end while others read it.

The rows beyond the count in the file's own header are invisible, so a torn append leaves the array as it was.
"""

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from engine.problems import fail

HEADER = 256  # bytes for magic and header, fixed so that a longer shape fits in place


def create(path: Path, dtype: np.dtype, width: int | None = None) -> None:
    """An empty array of rows of `width` numbers, or of single numbers where width is None."""
    with path.open("xb") as file:
        file.write(_header(np.dtype(dtype), _shape(0, width)))
        os.fsync(file.fileno())


def append(path: Path, rows: np.ndarray, after: int) -> None:
    """Puts rows after the first `after`; whatever lay beyond those was never published and is overwritten."""
    with path.open("r+b") as file:
        dtype, shape = _read_header(file, path)
        block = np.ascontiguousarray(rows, dtype=dtype)
        if block.shape[1:] != shape[1:]:
            raise fail(path.name, f"rows of shape {block.shape[1:]} do not fit {shape[1:]}", "use the same extractor")
        file.truncate(HEADER + after * _row_bytes(dtype, shape))
        file.seek(0, os.SEEK_END)
        file.write(block.data)
        os.fsync(file.fileno())


def publish(path: Path, count: int) -> None:
    """Makes the first `count` rows the array that np.load sees."""
    with path.open("r+b") as file:
        dtype, shape = _read_header(file, path)
        file.seek(0)
        file.write(_header(dtype, (count, *shape[1:])))  # within one disk sector: whole or not at all
        os.fsync(file.fileno())


def opened(path: Path, count: int) -> np.ndarray:
    """The first `count` rows, mapped and read-only."""
    with path.open("rb") as file:
        dtype, shape = _read_header(file, path)
    whole = (count, *shape[1:])
    if path.stat().st_size < HEADER + count * _row_bytes(dtype, shape):
        raise fail(str(path), f"is shorter than its {count} rows", "make the feature set again")
    if not count:
        return np.empty(whole, dtype)
    return np.memmap(path, dtype, "r", HEADER, whole)


def _header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': {npy.dtype_to_descr(dtype)!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    body = text.encode("latin1").ljust(HEADER - 11) + b"\n"
    return npy.magic(1, 0) + len(body).to_bytes(2, "little") + body


def _read_header(file: BinaryIO, path: Path) -> tuple[np.dtype, tuple[int, ...]]:
    try:
        npy.read_magic(file)
        shape, _, dtype = npy.read_array_header_1_0(file)
    except ValueError as error:
        raise fail(str(path), f"is no array file ({error})", "make the feature set again") from error
    return dtype, shape


def _shape(count: int, width: int | None) -> tuple[int, ...]:
    return (count,) if width is None else (count, width)


def _row_bytes(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    return dtype.itemsize * int(np.prod(shape[1:], dtype=np.int64))
