"""Read files safely: never wait for a pipe, open a device or fill the memory."""

import os
import stat
from pathlib import Path

from benthoscope.engine.imaging.errors import COPY_AGAIN, readable, refuse, unreadable

MAX_BYTES = 1 << 30  # an uncompressed 16-bit image at the pixel limit has 0.7 GB; larger files are mosaics or mistakes


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file of 1 byte to 1 GiB. Raises BadImage with the reason otherwise."""
    return read_file(path)[0]


def read_file(path: Path) -> tuple[bytes, os.stat_result]:
    """Like `read_bytes`, with the size and time of the file that was read."""
    try:
        check_regular(path, path.stat())
        return _read(path)
    except OSError as error:
        raise unreadable(error, path) from error


def check_regular(path: Path, status: os.stat_result) -> None:
    """Raise unless the file is a regular file of a usable size."""
    where = readable(path)
    if not stat.S_ISREG(status.st_mode):
        raise refuse(where, f"is not a file but a {_kind(status.st_mode)}", "remove it from the folder")
    if status.st_size == 0:
        raise refuse(where, "the file is empty (0 bytes)", COPY_AGAIN)
    if status.st_size > MAX_BYTES:
        reason = f"the file has {status.st_size / 2**30:.1f} GiB, more than the limit of {MAX_BYTES >> 30} GiB"
        raise refuse(where, reason, "split it into tiles")


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    # If the file was replaced by a pipe since the check, opening must not wait for a writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        check_regular(path, status)
        return file.read(MAX_BYTES + 1), status


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
    return kinds.get(stat.S_IFMT(mode), "device")
