"""Store a descriptor as a folder that can be copied to another workspace: descriptor.json and learned.npz, no
pickles."""

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.features import descriptor as projected
from benthoscope.engine.features.compression import LinearProjection
from benthoscope.engine.features.descriptor import Descriptor
from benthoscope.engine.problems import BadInput, fail

DESCRIPTION, LEARNED = "descriptor.json", "learned.npz"
PREFIX = "projection."
RESCALING = {"colour-texture": ("spread",)}  # learned arrays that only rescale the vectors, by descriptor


def described(descriptor: Descriptor) -> dict[str, Any]:
    """Return the description of a descriptor as JSON values, for its folder and for feature sets."""
    return {
        "descriptor": descriptor.name,
        "version": descriptor.version,
        "level": descriptor.level,
        "parameters": descriptor.parameters,
    }


def save(descriptor: Descriptor, folder: Path) -> None:
    """Write the folder. The description is written last, so a folder with a description is complete."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{LEARNED}.partial"
    arrays: dict[str, Any] = dict(descriptor.arrays)
    with partial.open("wb") as file:
        np.savez(file, **arrays)
    partial.replace(folder / LEARNED)
    partial = folder / f"{DESCRIPTION}.partial"
    partial.write_text(json.dumps(described(descriptor), indent=1), encoding="utf-8")
    partial.replace(folder / DESCRIPTION)


def is_stored(folder: Path) -> bool:
    """Return whether the folder has a complete descriptor."""
    return (folder / DESCRIPTION).is_file() and (folder / LEARNED).is_file()


def load(folder: Path, *, cache: Path) -> Descriptor:
    """Load the descriptor that `save` wrote. Built networks are stored in the folder `cache` on this machine."""
    stored = read(folder)
    with _reporting(folder):
        return _restored(dict(stored.description), dict(stored.learned), cache)


@dataclass(frozen=True)
class StoredDescriptor:
    """The content of a descriptor's folder. Reading it needs no network and no slow import."""

    description: Mapping[str, Any]
    learned: Mapping[str, np.ndarray]

    @property
    def identity(self) -> dict[str, Any]:
        """Return what two descriptors must have in common for their vectors before the projection to be comparable:
        method, version, settings and learned arrays. The path of a network does not matter, only its content."""
        parameters = {
            name: value for name, value in self.description["parameters"].items() if name not in ("projection", "path")
        }
        rescaling = RESCALING.get(self.description["descriptor"], ())
        arrays = {
            name: value for name, value in self.learned.items() if not name.startswith(PREFIX) and name not in rescaling
        }
        return {
            "descriptor": self.description["descriptor"],
            "version": self.description["version"],
            "parameters": parameters,
            "learned": _digest(arrays) if arrays else "",
        }

    def own_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """Return the vectors (n, d) of this descriptor for vectors (n, D) before rescaling and projection, as
        `comparable` gives them."""
        if self.description["descriptor"] in RESCALING:
            vectors = _kinds()[self.description["descriptor"]].rescaled(vectors, self.learned)
        arrays = {name.removeprefix(PREFIX): value for name, value in self.learned.items() if name.startswith(PREFIX)}
        if not arrays:
            return np.asarray(vectors, np.float32)
        projection = LinearProjection(**arrays)
        if vectors.shape[1] != len(projection.centre):
            width = f"{vectors.shape[1]} values; the projection has {len(projection.centre)}"
            raise fail("vectors", f"have {width}", "compute them again with the same descriptor")
        return projection(vectors)


def comparable(descriptor: Descriptor) -> Descriptor:
    """Return the descriptor without everything that is learned in each campaign and only transforms the vectors
    linearly. Its vectors compare between campaigns with the same `StoredDescriptor.identity`."""
    base: Any = descriptor.base if isinstance(descriptor, projected.Projected) else descriptor
    unscaled: Descriptor = base.unscaled() if base.name in RESCALING else base
    return unscaled


def read(folder: Path) -> StoredDescriptor:
    """Return the content of the folder that `save` wrote."""
    folder = Path(folder)
    with _reporting(folder):
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        with np.load(folder / LEARNED, allow_pickle=False) as archive:
            return StoredDescriptor(description, {name: archive[name] for name in archive.files})


@contextmanager
def _reporting(folder: Path) -> Iterator[None]:
    """Report errors of unreadable files as one line."""
    try:
        yield
    except BadInput:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise fail(
            str(folder),
            f"not a readable descriptor ({error})",
            "give the folder of a feature set's descriptor, or train a new one",
        ) from error


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of arrays with their names and shapes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def _kinds() -> dict[str, Any]:
    """Return the class of each descriptor. Their modules are slow to import."""
    from benthoscope.engine.features.colour_segments import ColourSegments
    from benthoscope.engine.features.colour_texture import ColourTexture, MeanColour
    from benthoscope.engine.features.networks.deep_descriptor import (
        EfficientNetEightBits,
        EfficientNetLite,
        EfficientNetViews,
        OnnxDescriptor,
    )
    from benthoscope.engine.features.patches import DeepPatches, HogPatches, SiftPatches
    from benthoscope.engine.features.pyramid_kernel import PyramidKernelAxes
    from benthoscope.engine.features.scspm import ScSPM
    from benthoscope.engine.features.segments import IcaSegments
    from benthoscope.engine.features.topic_weights import TopicWeights

    kinds: tuple[Any, ...] = (ScSPM, IcaSegments, ColourTexture, MeanColour, EfficientNetLite, OnnxDescriptor)
    kinds = (
        *kinds,
        EfficientNetViews,
        EfficientNetEightBits,
        SiftPatches,
        HogPatches,
        DeepPatches,
        TopicWeights,
        ColourSegments,
        PyramidKernelAxes,
    )
    return {kind.name: kind for kind in kinds}


def _restored(description: dict[str, Any], arrays: dict[str, np.ndarray], cache: Path) -> Descriptor:
    from benthoscope.engine.features.networks.deep_descriptor import BuiltNetwork

    kind = _kinds()[description["descriptor"]]
    if description["version"] != kind.version:
        raise fail(
            description["descriptor"],
            f"stored by version {description['version']} of the method; the current version is {kind.version}",
            "compute a new feature set",
        )
    parameters = dict(description["parameters"])
    reducer = parameters.pop("projection", None)
    base_arrays = {name: value for name, value in arrays.items() if not name.startswith(PREFIX)}
    has_network = issubclass(kind, BuiltNetwork)  # built in the folder `cache`
    elsewhere = {"cache": Path(cache)} if has_network else {}
    base = kind.restored(parameters, base_arrays, **elsewhere)
    if reducer is None:
        return base
    learned = {name.removeprefix(PREFIX): value for name, value in arrays.items() if name.startswith(PREFIX)}
    return projected.restored(base, reducer, learned)
