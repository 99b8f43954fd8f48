"""A descriptor as a folder that can be copied to another campaign: descriptor.json and learned.npz, no pickles."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from engine.features import projected
from engine.features.deep import EfficientNetLite, OnnxDescriptor
from engine.features.descriptor import Descriptor
from engine.features.scspm import ScSPM
from engine.features.segments import IcaSegments
from engine.features.summary import ColourTexture, MeanColour
from engine.problems import BadInput, fail

DESCRIPTION, LEARNED = "descriptor.json", "learned.npz"
PREFIX = "projection."
KINDS = {kind.name: kind for kind in (ScSPM, IcaSegments, ColourTexture, MeanColour, EfficientNetLite, OnnxDescriptor)}


def described(descriptor: Descriptor) -> dict[str, Any]:
    """What a descriptor is, as JSON holds it: for the folder, and beside the features made with it."""
    return {"descriptor": descriptor.name, "version": descriptor.version, "level": descriptor.level,
            "parameters": descriptor.parameters}


def save(descriptor: Descriptor, folder: Path) -> None:
    """Writes the folder; the description comes last, so a folder that has one is whole."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{LEARNED}.partial"
    with partial.open("wb") as file:
        np.savez(file, **descriptor.arrays)
    partial.replace(folder / LEARNED)
    partial = folder / f"{DESCRIPTION}.partial"
    partial.write_text(json.dumps(described(descriptor), indent=1), encoding="utf-8")
    partial.replace(folder / DESCRIPTION)


def load(folder: Path, *, cache: Path) -> Descriptor:
    """The descriptor that `save` wrote; `cache` is where built networks are kept on this machine."""
    folder = Path(folder)
    try:
        told = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        with np.load(folder / LEARNED, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        return _restored(told, arrays, cache)
    except BadInput:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise fail(str(folder), f"not a stored descriptor that can be read ({error})",
                   "give the folder of a feature set's descriptor, or learn a new one") from error


def _restored(told: dict[str, Any], arrays: dict[str, np.ndarray], cache: Path) -> Descriptor:
    kind = KINDS[told["descriptor"]]
    if told["version"] != kind.version:
        raise fail(told["descriptor"], f"stored by version {told['version']} of the method, this is {kind.version}",
                   "make a new feature set")
    parameters = dict(told["parameters"])
    reducer = parameters.pop("projection", None)
    own = {name: value for name, value in arrays.items() if not name.startswith(PREFIX)}
    elsewhere = {"cache": Path(cache)} if kind is EfficientNetLite else {}
    base = kind.restored(parameters, own, **elsewhere)
    if reducer is None:
        return base
    learned = {name.removeprefix(PREFIX): value for name, value in arrays.items() if name.startswith(PREFIX)}
    return projected.restored(base, reducer, learned)
