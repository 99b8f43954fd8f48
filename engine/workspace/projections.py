"""Two-dimensional pictures of feature sets, kept beside them: made again at no cost but time."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.workspace.features import FeatureSet
from engine.workspace.files import replacing


@dataclass(frozen=True)
class Projection:
    """`xy` (n, 2) float32, one row for each of `image_ids` (n,)."""

    image_ids: np.ndarray
    xy: np.ndarray


class ProjectionStore:
    """By method and content of the feature set: other content is another picture."""

    def __init__(self, folder: Path):
        self._folder = folder

    def has(self, features: FeatureSet, method: str) -> bool:
        return self._path(features, method).is_file()

    def get(self, features: FeatureSet, method: str) -> Projection | None:
        path = self._path(features, method)
        if not path.is_file():
            return None
        xy = np.load(path, mmap_mode="r", allow_pickle=False)
        return Projection(features.image_ids[:len(xy)], xy)

    def put(self, features: FeatureSet, method: str, xy: np.ndarray) -> Projection:
        self._folder.mkdir(exist_ok=True)
        with replacing(self._path(features, method)) as file:
            np.save(file, np.asarray(xy, np.float32), allow_pickle=False)
        return self.get(features, method)

    def _path(self, features: FeatureSet, method: str) -> Path:
        return self._folder / f"{features.name}.{features.sidecar.data_hash[:16]}.{method}.npy"
