"""The descriptor of a live dive: that of an existing feature set, or one that is trained with the first images."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.features import Descriptor, available, load
from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.features.descriptor import Projected, Segments
from benthoscope.engine.features.registry import DESCRIPTORS
from benthoscope.engine.features.storage import is_stored
from benthoscope.engine.jobs.describe.describe_images import request_of
from benthoscope.engine.jobs.describe.describing import DescriptionPlan, ImageToDescribe, describe_chunk
from benthoscope.engine.problems import Problem, fail, unknown
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.features import content_keys


@dataclass(frozen=True)
class ImageFile:
    """An image in the catalogue and its file."""

    id: int
    path: Path
    group_id: int
    sha256: str


@dataclass(frozen=True, eq=False)
class LiveVector:
    """The features (D,) of an image with the further columns of their set, and the squared distance of its description
    from the features without these columns."""

    features: np.ndarray
    outside: float


@dataclass(frozen=True)
class WithDistance:
    """A trained descriptor whose vectors have a last number more: the squared distance of the description from the
    features, or 0 if the features are the whole description."""

    descriptor: Descriptor

    @property
    def longest(self) -> int | None:
        return self.descriptor.longest

    def describe(self, image: np.ndarray) -> np.ndarray:
        descriptor = self.descriptor
        if not isinstance(descriptor, Projected):
            return np.append(_vector(descriptor.describe(image)), 0.0)
        description = _vector(descriptor.base.describe(image))
        return np.append(_vector(descriptor.shortened(description)), _distance(descriptor, description))


def _vector(described: np.ndarray | Segments) -> np.ndarray:
    assert isinstance(described, np.ndarray)  # `check_descriptor` refused descriptors of segments
    return described


def _distance(descriptor: Projected, description: np.ndarray) -> float:
    if not isinstance(descriptor.reducer, PrincipalAxes) or descriptor.projection is None:
        return 0.0  # random directions are not orthogonal
    return float(descriptor.projection.squared_distances(description[None], descriptor.width)[0])


@dataclass(frozen=True)
class LiveDescriptor:
    """A trained descriptor, and the identity of its feature set."""

    name: str
    descriptor: Descriptor
    identity: dict[str, Any]

    def describe(self, image: ImageFile) -> LiveVector | Problem:
        """Return the features of an image, or why it has none."""
        task = ImageToDescribe(image.id, image.path, image.group_id, np.nan, (self.name,), image.sha256[:16])
        result = describe_chunk([task], DescriptionPlan({self.name: WithDistance(self.descriptor)}))[0]
        if result.problem is not None:
            return result.problem
        row = result.rows[self.name][0]
        return LiveVector(np.asarray(row[:-1], np.float32), float(row[-1]))


def check_descriptor(workspace: Workspace, name: str) -> None:
    """Raise if images cannot be described one by one with this feature set, or if no descriptor has this name."""
    if name not in workspace.features:
        if name not in DESCRIPTORS:
            raise unknown("feature sets and descriptors", name, {*workspace.features.names(), *DESCRIPTORS})
        if DESCRIPTORS[name].level != "image":
            raise fail(f"features {name}", "describes segments, not whole images", "choose a descriptor such as deep")
        return
    feature_set = workspace.features.open(name)
    if feature_set.level != "image":
        raise fail(f"features {name}", "describes segments, not whole images", "choose a set of whole images")
    if feature_set.sidecar.extractor.get("water"):
        raise fail(
            f"features {name}",
            "corrects the water of whole dives, which is unknown while the dive goes on",
            "choose a set without water correction",
        )
    if not is_stored(feature_set.descriptor_folder):
        raise fail(
            f"features {name}",
            "has no stored descriptor, so new images cannot be described",
            f"compute it again: benthoscope features --descriptor {name} --overwrite",
        )


def usable_name(workspace: Workspace, name: str) -> str:
    """Return the name of the feature set; if the network of the descriptor is not installed, that of its fallback."""
    return name if name in workspace.features else available(name)[0]


def open_descriptor(workspace: Workspace, name: str) -> LiveDescriptor:
    """Load the descriptor of an existing feature set."""
    check_descriptor(workspace, name)
    feature_set = workspace.features.open(name)
    cache = request_of(workspace, {}).choices.cache
    return LiveDescriptor(name, load(feature_set.descriptor_folder, cache=cache), identity_of(workspace, name))


def identity_of(workspace: Workspace, name: str) -> dict[str, Any]:
    """Return the values that differ for a feature set of the same name that was computed again."""
    sidecar = workspace.features.open(name).sidecar
    return {"features": name, "folder": sidecar.folder, "width": sidecar.width}


def refuse_change(workspace: Workspace, identity: dict[str, Any]) -> None:
    """Raise if the feature set of the dive was removed or computed again since the dive began."""
    name = identity["features"]
    if name in workspace.features and identity_of(workspace, name) == identity:
        return
    raise fail(
        f"features {name}",
        "were computed again or removed after this dive began, so new images cannot be compared with learned ones",
        "finish this dive, which ends without a run, and start a new one; all images are stored",
    )


def add_rows(workspace: Workspace, name: str, images: Sequence[ImageFile], rows: Sequence[np.ndarray]) -> None:
    """Append rows to the feature set, without those of images that are already in it."""
    with workspace.features.appending(name) as out:
        new = np.flatnonzero(~out.has(np.array([image.id for image in images], np.int64))).tolist()
        if new:
            keys = content_keys([images[at].sha256 for at in new])
            out.append(np.array([images[at].id for at in new]), np.stack([rows[at] for at in new]), None, keys)
