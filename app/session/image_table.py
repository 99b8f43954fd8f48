"""Columns of the catalogue as arrays, read once and shared by all sessions of the process."""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.workspace import Workspace

NAMES = ("id", "group_id", "taken_at", "latitude", "longitude", "depth", "altitude", "sha256")
HASH_BYTES = 32


@dataclass(frozen=True)
class ImageColumns:
    """One row for each image, by ascending id. Measures are float64, NaN where unknown."""

    ids: np.ndarray  # (N,) int64
    group_ids: np.ndarray  # (N,) int64
    taken_at: np.ndarray  # (N,) seconds since 1970 UTC
    latitude: np.ndarray  # (N,) degrees
    longitude: np.ndarray  # (N,) degrees
    depth: np.ndarray  # (N,) metres below the surface
    altitude: np.ndarray  # (N,) metres above the sea floor
    hashes: np.ndarray  # (N, 32) uint8, SHA-256 of the content

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, ids: np.ndarray) -> np.ndarray:
        """Positions of these ids; unknown ids are left out."""
        ids = np.asarray(ids, dtype=np.int64)
        positions = np.searchsorted(self.ids, ids)
        known = positions < len(self.ids)
        known[known] = self.ids[positions[known]] == ids[known]
        return positions[known]

    def hash_of(self, image_id: int) -> str | None:
        """The content hash in hexadecimal; None for an unknown id."""
        position = self.positions(np.array([image_id]))
        return self.hashes[position[0]].tobytes().hex() if len(position) else None


def read_columns(workspace: Workspace) -> ImageColumns:
    columns = workspace.library.columns(*NAMES)
    packed = bytes.fromhex("".join(columns["sha256"].tolist()))
    hashes = np.frombuffer(packed, np.uint8).reshape(-1, HASH_BYTES)
    return ImageColumns(
        columns["id"],
        columns["group_id"],
        columns["taken_at"],
        columns["latitude"],
        columns["longitude"],
        columns["depth"],
        columns["altitude"],
        hashes,
    )
