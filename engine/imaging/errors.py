"""Why a file cannot be used as an image, in one plain line, whatever the decoder's own words were."""

import os
import struct
from errno import ELOOP
from pathlib import Path

from engine.problems import BadInput, Problem

COPY_AGAIN = "copy it again from the camera or the archive"
AS_JPEG = "save it as JPEG, PNG or 8-bit TIFF"
# Signs in decoders' own words, which nobody but their authors could act on.
CUT_SHORT = ("truncated", "unexpected end", "not enough", "premature", "short read", "no data", "requires a buffer",
             "incomplete", "insufficient", "too small", "chunk b''", "cannot load this image", "missing dimensions")
TOO_LARGE = ("too large", "too much", "exceeds limit", "too many pixels", "security limit", "decompression bomb")
UNCOMMON = ("12-bit", "unknown pixel mode", "samples per pixel", "unsupported", "not supported", "unknown data organ")


class BadImage(BadInput):
    """A file that is not a usable image; `.problem` says which, why and what to do."""


def refuse(where: str, what: str, remedy: str = "") -> BadImage:
    return BadImage(Problem(where, what, remedy))


def readable(path: str | os.PathLike[str]) -> str:
    """The path as one line that every terminal, database and JSON file takes: foreign bytes become \\xNN.

    So do control characters, which could steer a terminal, and those that turn the direction of writing.
    """
    told = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in told)


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Whether the name holds bytes that are not UTF-8 (a disk written under another encoding)."""
    return any("\udc80" <= letter <= "\udcff" for letter in os.fspath(path))


def translated(error: Exception, where: str, kind: str) -> BadImage:
    """What a decoder raised over content of this kind ("JPEG"), told to a person; its words stay in the traceback."""
    if isinstance(error, BadImage):
        return error
    if isinstance(error, MemoryError):
        return refuse(where, "decoding it needs more memory than is free", "close other programs or leave it out")
    words = str(error).lower()
    if any(sign in words for sign in TOO_LARGE):
        return refuse(where, f"unpacks to far more data than an image should ({kind})", "leave it out")
    if isinstance(error, EOFError | struct.error | IndexError) or any(sign in words for sign in CUT_SHORT):
        return refuse(where, f"the {kind} data end too early: the file was cut short", COPY_AGAIN)
    if any(sign in words for sign in UNCOMMON) or isinstance(error, KeyError):  # KeyError: a code in no table
        return refuse(where, f"is an uncommon kind of {kind} that cannot be read, or is damaged", AS_JPEG)
    return refuse(where, f"the {kind} data are damaged", COPY_AGAIN)


def unreadable(error: OSError, path: Path) -> BadImage:
    """What the file system raised, told to a person."""
    where = readable(path)
    if isinstance(error, FileNotFoundError):
        missing = "a link to a file that does not exist" if path.is_symlink() else "does not exist"
        return refuse(where, missing, "restore the file or remove it from the folder")
    if isinstance(error, PermissionError):
        return refuse(where, "may not be read by this account", "change its permissions")
    if "symbolic link" in (error.strerror or "").lower() or error.errno == ELOOP:
        return refuse(where, "a link that leads back to itself", "remove the link")
    return refuse(where, f"cannot be read ({error.strerror or error})", "check the disk or the network drive")
