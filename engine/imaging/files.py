"""Reading a file's bytes without ever waiting on a pipe, waking a device or filling the memory."""

import os
import stat
from pathlib import Path

from engine.imaging.refusals import COPY_AGAIN, readable, refuse, unreadable

MAX_BYTES = 1 << 30  # an uncompressed 16-bit image at the pixel limit is 0.7 GB; more is a mosaic or a mistake


def read_bytes(path: Path) -> bytes:
    """The content of a regular file of 1 byte to 1 GiB; raises BadImage with the reason otherwise."""
    return read_file(path)[0]


def read_file(path: Path) -> tuple[bytes, os.stat_result]:
    """`read_bytes`, with the size and time of exactly the file that was read."""
    try:
        check_regular(path, path.stat())
        return _read(path)
    except OSError as error:
        raise unreadable(error, path) from error


def check_regular(path: Path, status: os.stat_result) -> None:
    """Refuses what is no regular file of a usable size."""
    where = readable(path)
    if not stat.S_ISREG(status.st_mode):
        raise refuse(where, f"not a file but a {_kind(status.st_mode)}", "remove it from the folder")
    if status.st_size == 0:
        raise refuse(where, "the file is empty (0 bytes)", COPY_AGAIN)
    if status.st_size > MAX_BYTES:
        told = f"the file has {status.st_size / 2**30:.1f} GiB, more than the {MAX_BYTES >> 30} GiB an image may have"
        raise refuse(where, told, "cut it into tiles")


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    # Should the file have become a pipe since it was looked at, opening must not wait for a writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        check_regular(path, status)
        return file.read(MAX_BYTES + 1), status


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
    return kinds.get(stat.S_IFMT(mode), "device")
