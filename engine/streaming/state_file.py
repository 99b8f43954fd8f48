"""Arrays and plain values in one file, without pickle. The file replaces an earlier one only when it is complete."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from benthoscope.engine.problems import fail

PLAIN = "plain"  # the entry with the plain values, as JSON


def write_state(path: str | Path, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any]) -> None:
    target = Path(path)
    text = np.frombuffer(json.dumps(plain, allow_nan=False).encode(), np.uint8)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, **{PLAIN: text, **arrays})
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_state(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the plain values of a file."""
    if not Path(path).is_file():
        raise fail(str(path), "no such file", "give the path that was given to save")
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        return arrays, json.loads(arrays.pop(PLAIN).tobytes())
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise fail(str(path), f"is not a saved model, or is damaged ({error})", "use a file written by save") from error
