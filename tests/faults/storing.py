"""A process that stores thumbnails until it is killed. It imports little, so that it starts fast."""

import hashlib
from pathlib import Path

from benthoscope.engine.workspace.storage.thumbnails import ThumbnailLibrary

AT_ONCE = 3
JPEG = bytes(range(256)) * 20


def sha(writer_number: int, number: int) -> str:
    return hashlib.sha256(f"{writer_number} {number}".encode()).hexdigest()


def jpeg(number: int) -> bytes:
    return JPEG + b"%d" % number


def acknowledged(note: Path) -> int:
    """Return how many thumbnails the process has noted as stored. The last line may be incomplete."""
    return AT_ONCE * note.read_text().count("\n") if note.exists() else 0


def store_for_ever(folder: Path, writer_number: int, note: Path) -> None:
    """Store a few thumbnails at a time and note each after it is stored. Continues after those noted before."""
    library, start = ThumbnailLibrary(folder), acknowledged(note)
    with note.open("a") as file:
        for first in range(start, 10**6, AT_ONCE):
            library.add_many(
                (sha(writer_number, number), 320, jpeg(number)) for number in range(first, first + AT_ONCE)
            )
            file.write("stored\n")
            file.flush()
