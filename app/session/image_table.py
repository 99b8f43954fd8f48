"""The catalogue's columns as arrays, read once and shared by all sessions of the process."""

from dataclasses import dataclass

import numpy as np

from engine.workspace import Workspace

NAMES = ("id", "group_id", "taken_at", "latitude", "longitude", "depth", "altitude", "sha256")
HASH_BYTES = 32


@dataclass(frozen=True)
class ImageColumns:
    """One row an image, ascending by id; measures are float64 with NaN where unknown."""

    ids: np.ndarray        # (N,) int64
    group_ids: np.ndarray  # (N,) int64
    taken_at: np.ndarray   # (N,) seconds since 1970 UTC
    latitude: np.ndarray   # (N,) degrees
    longitude: np.ndarray  # (N,) degrees
    depth: np.ndarray      # (N,) metres below the surface
    altitude: np.ndarray   # (N,) metres above the sea floor
    hashes: np.ndarray     # (N, 32) uint8, SHA-256 of the content

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, ids: np.ndarray) -> np.ndarray:
        """Where these ids stand; those the catalogue does not know are left out."""
        ids = np.asarray(ids, dtype=np.int64)
        found = np.searchsorted(self.ids, ids)
        known = found < len(self.ids)
        known[known] = self.ids[found[known]] == ids[known]
        return found[known]

    def hash_of(self, image_id: int) -> str | None:
        """The content hash in hexadecimal; None for an unknown id."""
        found = self.positions(np.array([image_id]))
        return self.hashes[found[0]].tobytes().hex() if len(found) else None


def read_columns(workspace: Workspace) -> ImageColumns:
    found = workspace.library.columns(*NAMES)
    packed = bytes.fromhex("".join(found["sha256"].tolist()))
    hashes = np.frombuffer(packed, np.uint8).reshape(-1, HASH_BYTES)
    return ImageColumns(*(found[name] for name in NAMES[:-1]), hashes)
