"""Select the rows of a fit: the images, their groups and the axes; for segments, also the descriptors of their
images."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.features import DESCRIPTORS
from benthoscope.engine.features.compression import LinearProjection, PrincipalAxes
from benthoscope.engine.problems import fail
from benthoscope.engine.value_checks import UnusableInput
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.features import FeatureSet

BLOCK = 50_000  # rows in memory at the same time
FEWEST = 4  # smallest number of dimensions, even for few images


@dataclass(frozen=True)
class Rows:
    """The rows to cluster, with the image id and group id of each."""

    features: FeatureSet
    values: Any  # (N, D) an array, or for models that learn from a stream rows of a file
    image_ids: np.ndarray
    groups: np.ndarray
    projection: LinearProjection | None = None

    @property
    def source(self) -> Any:
        """Return the file if all its rows are used, so that each machine can read them itself; else the values."""
        is_complete = self.projection is None and len(self.values) == self.features.sidecar.rows
        return self.features.path if is_complete else self.values

    @property
    def provenance(self) -> dict[str, Any]:
        """Return the description of these rows for a run's provenance."""
        sidecar = self.features.sidecar
        return {
            "name": self.features.name,
            "data_hash": sidecar.data_hash,
            "dimensions": self.values.shape[1],
            "extractor": dict(sidecar.extractor),
        }

    @property
    def axes(self) -> dict[str, np.ndarray]:
        """Return the arrays a run needs to project new images like these rows."""
        return {} if self.projection is None else {"axes": self.projection.axes, "axes_centre": self.projection.centre}


def chosen_rows(workspace: Workspace, features: str, collection: str | None = None) -> Rows:
    """Return the rows of a feature set for images in the catalogue, of one collection or all. Images whose file changed
    since the features were computed are left out."""
    chosen = chosen_images(workspace, features, collection)
    feature_set, included = chosen.features, chosen.included
    values = feature_set.X if included.all() else feature_set.X[included]
    return Rows(feature_set, values, chosen.image_ids, chosen.groups)


@dataclass(frozen=True)
class ChosenImages:
    """Which rows of a feature set are used."""

    features: FeatureSet
    included: np.ndarray  # (rows of the feature set,) bool
    image_ids: np.ndarray
    groups: np.ndarray


def chosen_images(workspace: Workspace, features: str, collection: str | None = None) -> ChosenImages:
    """Return which rows of a feature set `chosen_rows` uses, without their values."""
    feature_set = workspace.features.open(features)
    if feature_set.level != "image":
        raise fail(
            f"features {features}", "describes segments, not whole images", "choose a feature set of whole images"
        )
    group_of = groups_of_images(workspace, collection)
    ids = np.asarray(feature_set.image_ids)
    included = np.isin(ids, np.fromiter(group_of, np.int64, len(group_of)))
    included &= ~np.isin(ids, workspace.stale_images(feature_set))
    if not included.any():
        raise fail(f"features {features}", "has none of the selected images", "run `benthoscope features` first")
    groups = np.array([group_of[number] for number in ids[included].tolist()])
    return ChosenImages(feature_set, included, ids[included], groups)


def groups_of_images(workspace: Workspace, collection: str | None) -> dict[int, int]:
    """Return {image id: group id} of one collection, or of all."""
    only = workspace.library.collection_named(collection).id if collection else None
    columns = workspace.library.columns("id", "group_id", collection_id=only)
    return dict(zip(columns["id"].tolist(), columns["group_id"].tolist(), strict=True))


def narrowed(rows: Rows, dimensions: int | None = None) -> Rows:
    """Return the rows along the axes of largest variance: as many as requested, or as the number of rows supports."""
    width = rows.values.shape[1]
    keep = kept_dimensions(len(rows.values), width, dimensions)
    if keep == width:
        return rows
    with errors_name_images(rows.features, rows.image_ids):
        projection = PrincipalAxes(keep).fit(lambda: _blocks(rows.values), rng=np.random.default_rng(0))
    short = np.concatenate([projection(block) for block in _blocks(rows.values)])
    return replace(rows, values=short, projection=projection)


def kept_dimensions(count: int, width: int, dimensions: int | None) -> int:
    """Return the number of dimensions for `count` rows of this width: as requested, or as many as they support."""
    keep = min(supported(count) if dimensions is None else dimensions, width)
    if keep < 1:
        raise fail("dimensions", f"must be a positive number (got {dimensions})")
    return keep


@contextmanager
def errors_name_images(features: FeatureSet, image_ids: np.ndarray) -> Iterator[None]:
    """Replace the row number in errors of models by the feature set, its row and the image."""
    try:
        yield
    except UnusableInput as error:
        image_id = int(image_ids[error.values.row])
        row = int(np.flatnonzero(np.asarray(features.image_ids) == image_id)[0])
        raise fail(
            f"features {features.name} row {row} (image {image_id})",
            error.values.problem,
            "compute the features of this image again, or remove the image",
        ) from error


def supported(count: int) -> int:
    """Return the number of dimensions for `count` images: D * D / 2, the size of one full covariance, is a quarter of
    the images. With more dimensions, habitats of the sample workspace were merged, because the prior then outweighs
    each of a dozen clusters."""
    return max(FEWEST, int(np.sqrt(count / 2)))


def _blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    return (np.asarray(values[at : at + BLOCK]) for at in range(0, len(values), BLOCK))


SEGMENTS = "segments"  # the set that `benthoscope features --descriptor segments` makes
PATCHES = "patches"


@dataclass(frozen=True)
class SegmentRows:
    features: FeatureSet
    values: np.ndarray  # (S, D)
    row_numbers: np.ndarray | None  # (S,) their rows in the feature set; None: all of them
    image_of_segment: np.ndarray  # (S,) int32, ascending
    image_ids: np.ndarray  # (I,)
    groups: np.ndarray  # (I,)
    images: Rows | None = None  # descriptors of these images, in this order

    @property
    def source(self) -> np.ndarray | Path:
        """Return the file if all its rows are used; else the values."""
        return self.features.path if self.row_numbers is None else self.values

    def aligned(self, values: np.ndarray, missing: float) -> np.ndarray:
        """Return the values of these segments as an array with one entry for each row of the feature set."""
        if self.row_numbers is None:
            return values
        result = np.full(self.features.sidecar.rows, missing, values.dtype)
        result[self.row_numbers] = values
        return result

    @property
    def provenance(self) -> dict[str, Any]:
        """Return the description of these rows for a run's provenance."""
        sidecar = self.features.sidecar
        facts = {
            "features": {
                "name": self.features.name,
                "data_hash": sidecar.data_hash,
                "dimensions": self.values.shape[1],
                "extractor": dict(sidecar.extractor),
            }
        }
        return facts | ({"image_features": self.images.provenance} if self.images else {})


def segment_set(workspace: Workspace, word: str | None, usual: str = SEGMENTS) -> FeatureSet:
    """Return the set of segments with this name, or the default one: `usual` if it exists."""
    if word is not None:
        if word not in workspace.features and word in DESCRIPTORS:
            raise fail(f"features {word}", "do not exist yet", f"run `benthoscope features --descriptor {word}` first")
        feature_set = workspace.features.open(word)
        if feature_set.level != "segment":
            raise fail(
                f"features {word}",
                "describe whole images, not segments",
                "choose a set of segments, or make one with `benthoscope features --descriptor segments`",
            )
        return feature_set
    names = [name for name in workspace.features.names() if workspace.features.open(name).level == "segment"]
    if not names:
        raise fail(
            usual,
            f"there are no {usual} yet",
            f"run `benthoscope features --descriptor {usual}` first",
        )
    return workspace.features.open(usual if usual in names else names[0])


def has_same_rows(run: Run, features: FeatureSet) -> bool:
    """Return whether the segments of a run are the first rows of the set: images may be added later, but not divided
    into segments again."""
    rows, made = len(run.array("segment_labels")), run.provenance.get("features", {}).get("data_hash")
    if made is None:
        return rows <= features.sidecar.rows
    return made == features.sidecar.hash_of_first(rows)


def segment_rows(
    workspace: Workspace,
    features: FeatureSet,
    image_features: str | None,
    collection: str | None,
    dimensions: int | None,
) -> SegmentRows:
    """Return the segments of all images in the catalogue, of one collection or all. With descriptors of whole images,
    only images that have both."""
    group_of = groups_of_images(workspace, collection)
    ids, counts = np.asarray(features.image_ids), np.diff(features.offsets)
    included = np.isin(ids, np.fromiter(group_of, np.int64, len(group_of))) & (counts > 0)
    included &= ~np.isin(ids, workspace.stale_images(features))
    described = chosen_rows(workspace, image_features, collection) if image_features else None
    if described is not None:
        included &= np.isin(ids, described.image_ids)
    if not included.any():
        raise fail(f"features {features.name}", "has none of the selected images", "run `benthoscope features` first")
    groups = np.array([group_of[number] for number in ids[included].tolist()])
    images = described and narrowed(_of_images(described, ids[included]), dimensions)
    return SegmentRows(
        features, *_values(features, included), _numbers(counts[included]), ids[included], groups, images
    )


def _values(features: FeatureSet, included: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    if included.all():
        return features.X, None
    row_numbers = np.flatnonzero(included[features.image_of_row])
    return features.X[row_numbers], row_numbers


def _numbers(counts: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def _of_images(described: Rows, ids: np.ndarray) -> Rows:
    """Return the descriptors of these images, in this order."""
    order = np.argsort(described.image_ids, kind="stable")
    at = order[np.searchsorted(described.image_ids, ids, sorter=order)]
    return replace(described, values=described.values[at], image_ids=ids, groups=described.groups[at])
