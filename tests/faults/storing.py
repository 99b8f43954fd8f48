"""A process that stores thumbnails until it is killed. Imports little, so that it is quick to start."""

import hashlib
from pathlib import Path

from engine.workspace.thumbnails import ThumbnailLibrary

AT_ONCE = 3
JPEG = bytes(range(256)) * 20


def sha(who: int, number: int) -> str:
    return hashlib.sha256(f"{who} {number}".encode()).hexdigest()


def jpeg(number: int) -> bytes:
    return JPEG + b"%d" % number


def acknowledged(note: Path) -> int:
    """How many thumbnails the process has written down as stored; the last line may have been cut."""
    return AT_ONCE * note.read_text().count("\n") if note.exists() else 0


def store_for_ever(folder: Path, who: int, note: Path) -> None:
    """Stores a few thumbnails at a time and notes it, only then; goes on after those noted."""
    library, start = ThumbnailLibrary(folder), acknowledged(note)
    with note.open("a") as file:
        for first in range(start, 10**6, AT_ONCE):
            library.add_many((sha(who, number), 320, jpeg(number)) for number in range(first, first + AT_ONCE))
            file.write("stored\n")
            file.flush()
