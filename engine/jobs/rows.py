"""The rows a model is to see: of which images, in which groups, along which axes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.features.compression import PrincipalAxes, Projection
from engine.problems import fail
from engine.workspace import Workspace
from engine.workspace.features import FeatureSet

BLOCK = 50_000  # rows in memory at once
FEWEST = 4      # dimensions, however few images there are


@dataclass(frozen=True)
class Rows:
    """The rows to be clustered, with the id of the image and of the group of each."""

    features: FeatureSet
    values: np.ndarray
    image_ids: np.ndarray
    groups: np.ndarray
    projection: Projection | None = None

    @property
    def source(self) -> Any:
        """The file where all of its rows are wanted, so that every machine reads them for itself; else the values."""
        whole = self.projection is None and len(self.values) == self.features.sidecar.rows
        return self.features.path if whole else self.values

    @property
    def told(self) -> dict[str, Any]:
        """What a run's provenance says of these rows."""
        sidecar = self.features.sidecar
        return {"name": self.features.name, "data_hash": sidecar.data_hash, "dimensions": self.values.shape[1],
                "extractor": dict(sidecar.extractor)}

    @property
    def axes(self) -> dict[str, np.ndarray]:
        """What a run has to keep to see a new image as these rows were seen."""
        return {} if self.projection is None else {"axes": self.projection.axes, "axes_centre": self.projection.centre}


def chosen_rows(workspace: Workspace, features: str, collection: str | None = None) -> Rows:
    """The rows of a feature set whose images the catalogue still knows, of one collection or of all."""
    found = workspace.features.open(features)
    if found.level != "image":
        raise fail(f"features {features}", "describe segments, not whole images", "choose a set of whole images")
    group_of = groups_of_images(workspace, collection)
    ids = np.asarray(found.image_ids)
    wanted = np.isin(ids, np.fromiter(group_of, np.int64, len(group_of)))
    if not wanted.any():
        raise fail(f"features {features}", "has none of the images wanted", "run `benthoscope features` first")
    groups = np.array([group_of[number] for number in ids[wanted].tolist()])
    return Rows(found, found.X if wanted.all() else found.X[wanted], ids[wanted], groups)


def groups_of_images(workspace: Workspace, collection: str | None) -> dict[int, int]:
    """The group of every image of one collection, or of all, by the ids of both."""
    only = workspace.library.collection_named(collection).id if collection else None
    columns = workspace.library.columns("id", "group_id", collection_id=only)
    return dict(zip(columns["id"].tolist(), columns["group_id"].tolist(), strict=True))


def narrowed(rows: Rows, dimensions: int | None = None) -> Rows:
    """The rows along their axes of largest variance: as many as wished, or as the number of rows can support."""
    width = rows.values.shape[1]
    keep = min(supported(len(rows.values)) if dimensions is None else dimensions, width)
    if keep < 1:
        raise fail("dimensions", f"{dimensions} of {width}", "give a positive number")
    if keep == width:
        return rows
    projection = PrincipalAxes(keep).fit(lambda: _blocks(rows.values), rng=np.random.default_rng(0))
    short = np.concatenate([projection(block) for block in _blocks(rows.values)])
    return replace(rows, values=short, projection=projection)


def supported(count: int) -> int:
    """Dimensions for `count` images: D * D / 2, the size of one full covariance, is a quarter of the images. On the
    sample campaign more dimensions than that merge habitats, for the prior then outweighs each of a dozen clusters."""
    return max(FEWEST, int(np.sqrt(count / 2)))


def _blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    return (np.asarray(values[at : at + BLOCK]) for at in range(0, len(values), BLOCK))
