"""Convert values to a form that all databases can store and all JSON readers can read."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def storable_text(text: str) -> str:
    """Return the text without NUL and without unpaired surrogates, which file names may contain and databases
    reject."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def storable(value: Any) -> Any:
    """Return the value as JSON data: numbers that are not finite become null, unknown objects become their text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {storable_text(str(key)): storable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [storable(entry) for entry in value]
    if isinstance(value, np.generic | np.ndarray):
        return storable(value.tolist())
    return storable_text(str(value))
