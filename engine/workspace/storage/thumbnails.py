"""The thumbnails of a workspace: small JPEGs by content hash of the original, in one packed file per size."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from benthoscope.engine import imaging
from benthoscope.engine.imaging import BadImage
from benthoscope.engine.problems import Problem, fail, unknown
from benthoscope.engine.workspace.storage.thumbnail_pack import Pack, PackHealth

AT_IMPORT = (128, 320)  # grids and cards
ON_DEMAND = (1024,)  # the large view: seven times larger than the others, and needed for few images
SIZES = (*AT_IMPORT, *ON_DEMAND)
HASH = re.compile(r"[0-9a-f]{64}")


class ThumbnailLibrary:
    """Thumbnails in one folder, for any number of threads and processes. A crash loses at most the latest ones."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self._packs = {size: Pack(self.folder, size) for size in SIZES}

    def get(self, sha256: str, size: int) -> bytes | None:
        """Return the JPEG, or None if it does not exist or is damaged."""
        return self._pack(size).get(_key(sha256))

    def has(self, sha256: str, size: int) -> bool:
        return self._pack(size).has(_key(sha256))

    def missing(self, hashes: Iterable[str], size: int) -> list[str]:
        """Return those hashes that have no thumbnail of this size, in order."""
        pack = self._pack(size)
        return [sha256 for sha256 in hashes if not pack.has(_key(sha256))]

    def add(self, sha256: str, size: int, jpeg: bytes) -> None:
        self.add_many([(sha256, size, jpeg)])

    def add_many(self, thumbnails: Iterable[tuple[str, int, bytes]]) -> int:
        """Store new (hash, size, JPEG) triples. Returns their number."""
        by_size: dict[int, list[tuple[bytes, bytes]]] = {}
        for sha256, size, jpeg in thumbnails:
            self._pack(size)
            by_size.setdefault(size, []).append((_key(sha256), jpeg))
        return sum(self._packs[size].add_many(items) for size, items in by_size.items())

    def obtain(self, sha256: str, size: int, original: Path) -> bytes:
        """Return the JPEG. If it is missing, it is created from the original and stored; BadImage if this fails."""
        jpeg = self.get(sha256, size)
        if jpeg is None:
            jpeg = _made(sha256, size, original)
            self.add(sha256, size, jpeg)
        return jpeg

    def verify(self) -> list[PackHealth]:
        """Read all thumbnails and remove damaged ones from the index. Returns the result per size."""
        return [pack.verify() for pack in self._packs.values()]

    def close(self) -> None:
        for pack in self._packs.values():
            pack.close()

    def _pack(self, size: int) -> Pack:
        try:
            return self._packs[size]
        except KeyError:
            raise unknown("thumbnail size", str(size), map(str, SIZES)) from None


def _made(sha256: str, size: int, original: Path) -> bytes:
    data, where = imaging.read_bytes(original), imaging.readable(original)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BadImage(Problem(where, "has changed since it was imported", "import its folder again"))
    return imaging.thumbnails(data, (size,), where=where)[size]


def _key(sha256: str) -> bytes:
    if not HASH.fullmatch(sha256):
        raise fail("thumbnail", f"'{sha256[:80]}' is not a SHA-256 hash", "give 64 hexadecimal digits")
    return bytes.fromhex(sha256)
