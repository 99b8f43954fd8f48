"""Atomic file writes, locks that are released when a process dies, and arrays with plain values in a folder (without
pickle)."""

import contextlib
import fcntl
import json
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from benthoscope.engine.problems import BadInput, Problem, fail


def make_folder(folder: Path, remedy: str = "choose a folder with write permission") -> None:
    """Create a folder and those above it. Raises BadInput with the remedy if that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fail(str(folder), f"cannot be created ({error.strerror})", remedy) from error


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` if the block succeeds, and that is deleted otherwise."""
    if path.exists() and not path.is_file() and not path.is_dir():  # a device or pipe must not be replaced
        with path.open("wb") as file:
            yield file
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    if durable:
        sync_folder(path.parent)


def write_json(path: Path, content: Any, *, durable: bool = True) -> None:
    with replacing(path, durable=durable) as file:
        file.write(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode())


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def sync_folder(folder: Path) -> None:
    """Flush a folder, so that a rename in it survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process or thread is in such a block for this path."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Claim:
    """A lock for a long time. `taken` is None if a living process holds it. The system releases it when the holder
    dies."""

    def __init__(self, file: BinaryIO):
        self._file = file

    @classmethod
    def acquire(cls, path: Path) -> "Claim | None":
        file = path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return cls(file)

    def release(self) -> None:
        self._file.close()


DOCTOR = "see `benthoscope doctor`"


class MissingFile(BadInput, FileNotFoundError):
    """A stored file that is missing."""


def save_parts(folder: Path, values: Mapping[str, Any]) -> None:
    """Write all parts. The JSON file is written last and lists the arrays, so its presence shows that all are
    complete."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    for name, array in arrays.items():
        with replacing(folder / f"{name}.npy") as file:
            np.save(file, array, allow_pickle=False)
    plain = {name: value for name, value in values.items() if name not in arrays}
    checks = {name: _check(folder / f"{name}.npy") for name in arrays}
    write_json(folder / "parts.json", {"arrays": sorted(arrays), "plain": plain, "checks": checks})


def load_parts(folder: Path) -> dict[str, Any]:
    """Return the saved values. Arrays are mapped, not read."""
    index = _index(folder)
    return index["plain"] | {name: load_array(folder, name) for name in index["arrays"]}


def load_array(folder: Path, name: str) -> np.ndarray:
    try:
        return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise MissingFile(Problem(str(folder / f"{name}.npy"), "is missing", DOCTOR)) from error
    except (OSError, ValueError, EOFError) as error:
        raise fail(str(folder / f"{name}.npy"), f"is damaged ({error})", DOCTOR) from error


def problem_of_parts(folder: Path, *, read: bool = False) -> Problem | None:
    """Return what is wrong with a stored folder. With `read`, the checksums of the arrays are compared."""
    try:
        index = _index(folder)
        for name in index["arrays"]:
            load_array(folder, name)
            if read and index.get("checks", {}).get(name, 0) not in (0, _check(folder / f"{name}.npy")):
                return Problem(str(folder / f"{name}.npy"), "is damaged: its checksum differs", DOCTOR)
    except BadInput as error:
        return error.problem
    return None


def _index(folder: Path) -> dict[str, Any]:
    path = folder / "parts.json"
    try:
        index = read_json(path)
        if not isinstance(index["plain"], dict) or not isinstance(index["arrays"], list):
            raise ValueError("it does not list its parts")
    except FileNotFoundError as error:
        raise MissingFile(Problem(str(path), "is missing", DOCTOR)) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise fail(str(path), f"is damaged ({error})", DOCTOR) from error
    return index


def _check(path: Path) -> int:
    """Return the CRC-32 of a file."""
    value = 0
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            value = zlib.crc32(data, value)
    return value
