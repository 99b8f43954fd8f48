"""Convert the errors of decoders and of the file system to one line in plain words."""

import os
import struct
from errno import ELOOP
from pathlib import Path

from benthoscope.engine.problems import BadInput, Problem

COPY_AGAIN = "copy it again from the camera or the archive"
AS_JPEG = "save it as JPEG, PNG or 8-bit TIFF"
# Words of decoders that identify the cause. Users could not act on the original messages.
CUT_SHORT = (
    "truncated",
    "unexpected end",
    "not enough",
    "premature",
    "short read",
    "no data",
    "requires a buffer",
    "incomplete",
    "insufficient",
    "too small",
    "chunk b''",
    "cannot load this image",
    "missing dimensions",
)
TOO_LARGE = ("too large", "too much", "exceeds limit", "too many pixels", "security limit", "decompression bomb")
UNCOMMON = ("12-bit", "unknown pixel mode", "samples per pixel", "unsupported", "not supported", "unknown data organ")


class BadImage(BadInput):
    """A file that is not a usable image. `.problem` has the file, the reason and the remedy."""


def refuse(where: str, text: str, remedy: str = "") -> BadImage:
    return BadImage(Problem(where, text, remedy))


def readable(path: str | os.PathLike[str]) -> str:
    """Return the path as one line for terminals, databases and JSON files. Bytes that are not UTF-8 become \\xNN.

    Control characters, which could control a terminal, and characters that reverse the direction of text are escaped
    too.
    """
    decoded = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in decoded)


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Return whether the name contains bytes that are not UTF-8 (a disk written with another encoding)."""
    return any("\udc80" <= letter <= "\udcff" for letter in os.fspath(path))


def translated(error: Exception, where: str, kind: str) -> BadImage:
    """Convert an error that a decoder raised for content of this kind ("JPEG"). The original message stays in the
    traceback."""
    if isinstance(error, BadImage):
        return error
    if isinstance(error, MemoryError):
        return refuse(where, "decoding it needs more memory than is free", "close other programs or remove the file")
    words = str(error).lower()
    if any(sign in words for sign in TOO_LARGE):
        return refuse(where, f"unpacks to far more data than an image should ({kind})", "remove the file")
    if isinstance(error, EOFError | struct.error | IndexError) or any(sign in words for sign in CUT_SHORT):
        return refuse(where, f"the {kind} data end too early: the file is truncated", COPY_AGAIN)
    if any(sign in words for sign in UNCOMMON) or isinstance(error, KeyError):  # KeyError: a code in no table
        return refuse(where, f"is an unsupported kind of {kind}, or is damaged", AS_JPEG)
    return refuse(where, f"the {kind} data are damaged", COPY_AGAIN)


def unreadable(error: OSError, path: Path) -> BadImage:
    """Convert an error of the file system."""
    where = readable(path)
    if isinstance(error, FileNotFoundError):
        missing = "a link to a file that does not exist" if path.is_symlink() else "does not exist"
        return refuse(where, missing, "restore the file or remove it from the folder")
    if isinstance(error, PermissionError):
        return refuse(where, "this account may not read it", "change its permissions")
    if "symbolic link" in (error.strerror or "").lower() or error.errno == ELOOP:
        return refuse(where, "a link that points back to itself", "remove the link")
    return refuse(where, f"cannot be read ({error.strerror or error})", "check the disk or the network drive")
