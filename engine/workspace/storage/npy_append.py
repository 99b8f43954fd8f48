"""Append rows to a .npy file with concurrent readers.

Rows beyond the count in the file's header are invisible, so an interrupted append leaves the array unchanged.
"""

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike

from benthoscope.engine.problems import fail

REPAIR = "repair it: benthoscope features --repair"
HEADER = 256  # bytes for magic and header, fixed so that a longer shape fits


def create(path: Path, dtype: DTypeLike, width: int | None = None) -> None:
    """Create an empty array of rows of `width` numbers, or of single numbers if width is None."""
    with path.open("xb") as file:
        file.write(_header(np.dtype(dtype), _shape(0, width)))
        os.fsync(file.fileno())


def append(path: Path, rows: np.ndarray, after: int, *, durable: bool = True) -> None:
    """Write rows after the first `after` rows; anything behind them was never published and is overwritten. Without
    `durable`, the rows may be lost in a power cut."""
    with path.open("r+b") as file:
        dtype, shape = _read_header(file, path)
        block = np.ascontiguousarray(rows, dtype=dtype)
        if block.shape[1:] != shape[1:]:
            raise fail(path.name, f"rows of shape {block.shape[1:]} do not fit {shape[1:]}", "use the same descriptor")
        file.truncate(HEADER + after * _row_bytes(dtype, shape))
        file.seek(0, os.SEEK_END)
        file.write(block.data)
        if durable:
            os.fsync(file.fileno())


def publish(path: Path, count: int, *, durable: bool = True) -> None:
    """Make the first `count` rows visible to np.load."""
    with path.open("r+b") as file:
        dtype, shape = _read_header(file, path)
        file.seek(0)
        # within one disk sector, so it is written completely or not at all
        file.write(_header(dtype, (count, *shape[1:])))
        if durable:
            os.fsync(file.fileno())


def opened(path: Path, count: int) -> np.ndarray:
    """Return the first `count` rows, mapped and read-only."""
    try:
        with path.open("rb") as file:
            dtype, shape = _read_header(file, path)
    except OSError as error:
        raise fail(str(path), f"cannot be read ({error.strerror})", REPAIR) from error
    full_shape = (count, *shape[1:])
    if path.stat().st_size < HEADER + count * _row_bytes(dtype, shape):
        raise fail(str(path), f"is shorter than its {count} rows", REPAIR)
    if not count:
        return np.empty(full_shape, dtype)
    return np.memmap(path, dtype, "r", HEADER, full_shape)


def readable(path: Path, count: int, dtype: DTypeLike, width: int | None = None) -> np.ndarray:
    """Return as many of the first `count` rows as the file contains, whatever its header says; none if it is
    missing."""
    shape, dtype = _shape(0, width), np.dtype(dtype)
    size = path.stat().st_size if path.is_file() else 0
    row_count = min(count, max(size - HEADER, 0) // _row_bytes(dtype, shape))
    if not row_count:
        return np.empty((0, *shape[1:]), dtype)
    return np.memmap(path, dtype, "r", HEADER, (row_count, *shape[1:]))


def _header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': {npy.dtype_to_descr(dtype)!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    body = text.encode("latin1").ljust(HEADER - 11) + b"\n"
    return npy.magic(1, 0) + len(body).to_bytes(2, "little") + body


def _read_header(file: BinaryIO, path: Path) -> tuple[np.dtype, tuple[int, ...]]:
    try:
        npy.read_magic(file)
        shape, _, dtype = npy.read_array_header_1_0(file)
    except ValueError as error:
        raise fail(str(path), f"is not an array file ({error})", REPAIR) from error
    return dtype, shape


def _shape(count: int, width: int | None) -> tuple[int, ...]:
    return (count,) if width is None else (count, width)


def _row_bytes(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    return dtype.itemsize * int(np.prod(shape[1:], dtype=np.int64))
