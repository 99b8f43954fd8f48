"""Arrays and plain values in a folder, written without pickle: each array a .npy file, the rest one JSON file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.workspace.files import read_json, replacing, write_json


def save_parts(folder: Path, parts: Mapping[str, Any]) -> None:
    """Writes every part; the JSON file comes last and names the arrays, so its presence means that all are there."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: value for name, value in parts.items() if isinstance(value, np.ndarray)}
    for name, array in arrays.items():
        with replacing(folder / f"{name}.npy") as file:
            np.save(file, array, allow_pickle=False)
    plain = {name: value for name, value in parts.items() if name not in arrays}
    write_json(folder / "parts.json", {"arrays": sorted(arrays), "plain": plain})


def load_parts(folder: Path) -> dict[str, Any]:
    """What was saved; arrays are mapped, not read."""
    index = read_json(folder / "parts.json")
    return index["plain"] | {name: load_array(folder, name) for name in index["arrays"]}


def load_array(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
