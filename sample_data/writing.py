"""Filling a folder with images: whole files only, over several processes, taken up again where it stopped."""

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from PIL import Image

RECIPE = "sample.json"  # what a folder holds, and whether it is complete
PARTS = ".parts"        # one file for each finished batch, until all are finished
UNFINISHED = ".part"    # the ending of a file that is being written
QUALITY = 78            # of JPEG files
VERSION = 1             # of the painting: a folder begun by another version is not continued

SMALLEST, LARGEST = 64, 4096  # pixels of an image's side: below, nothing is recognisable; above, memory runs out

OnStep = Callable[[int, int], None]  # done and wanted images; may raise to stop


class FolderInUse(Exception):
    """The folder holds something else than what was asked for."""


class UnusableSettings(ValueError):
    """No sample can be made with these settings."""


@dataclass(frozen=True)
class Recipe:
    """All that decides the content of a sample."""

    flavour: str
    groups: int
    images: int
    size: tuple[int, int]
    seed: int
    version: int = VERSION

    def __post_init__(self):
        if not 1 <= self.groups <= self.images:
            raise UnusableSettings(f"{self.images} images cannot fill {self.groups} dives or albums; each needs one")
        if min(self.size) < SMALLEST or max(self.size) > LARGEST:
            width, height = self.size
            raise UnusableSettings(f"a size of {width}x{height}: both sides must be {SMALLEST} to {LARGEST} pixels")
        if self.seed < 0:
            raise UnusableSettings(f"a seed of {self.seed}: it must be 0 or more")


@dataclass(frozen=True)
class Batch:
    """Work for one process, done in a second or less; `key` names its file among the parts."""

    key: str
    images: int
    content: Any


@dataclass(frozen=True)
class Pressed:
    """What a batch gives: files by their path in the folder, and arrays to be gathered when all batches are done."""

    files: Mapping[str, bytes]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


def nothing(done: int, total: int) -> None:
    """The listener of those who do not listen."""


def claim(folder: Path, recipe: Recipe, folders: Sequence[str], *, force: bool) -> bool:
    """Makes the folder ours, and tells whether it already holds the whole sample.

    It must be new, empty, or begun with the same recipe. With `force` the sample in it is thrown away, with the
    `folders` that one made, and other files are left where they are."""
    begun = _told(folder)
    if force and begun is not None:
        _discard(folder, begun)
    elif not force and _recipe(begun) != recipe and folder.exists() and any(folder.iterdir()):
        raise FolderInUse("is not empty" if begun is None else "holds a sample made with other settings")
    elif begun is not None and begun["complete"]:
        return True
    (folder / PARTS).mkdir(parents=True, exist_ok=True)
    for left in folder.rglob(f".*{UNFINISHED}"):  # a killed process leaves at most these
        left.unlink()
    _tell(folder, recipe, folders, complete=False)
    return False


def finish(folder: Path, recipe: Recipe, folders: Sequence[str], texts: Mapping[str, str]) -> None:
    """Writes the texts by their paths in the folder, and declares it complete."""
    for path, text in texts.items():
        write(folder / path, text.encode())
    _tell(folder, recipe, folders, complete=True)
    shutil.rmtree(folder / PARTS)


def press(folder: Path, batches: Sequence[Batch], make: Callable[[Batch], Pressed], workers: int | None,
          on_step: OnStep) -> None:
    """Makes every batch that is not there yet. What `on_step` raises stops the work within a batch or two, and the
    next call goes on from there."""
    total = sum(batch.images for batch in batches)
    waiting = [batch for batch in batches if not part(folder, batch.key).exists()]
    done = total - sum(batch.images for batch in waiting)
    on_step(done, total)
    for batch in _each(partial(_press_one, folder, make), waiting, workers or os.cpu_count() or 1):
        done += batch.images
        on_step(done, total)


def part(folder: Path, key: str) -> Path:
    """Where the arrays of a finished batch wait."""
    return folder / PARTS / f"{key}.npz"


def jpeg(image: Image.Image, **more: Any) -> bytes:
    """The file content of an image."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, **more)
    return buffer.getvalue()


def write(path: Path, content: bytes) -> None:
    """Writes a file that is whole whenever it is there under its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}{UNFINISHED}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _each(do: Callable[[Batch], None], batches: Sequence[Batch], workers: int) -> Iterator[Batch]:
    if min(workers, len(batches)) <= 1:
        for batch in batches:
            do(batch)
            yield batch
        return
    context = get_context("spawn")  # a fork would copy a server's threads
    pool = ProcessPoolExecutor(min(workers, len(batches)), context, initializer=_end_with_parent)
    try:
        pending = {pool.submit(do, batch): batch for batch in batches}
        for finished in as_completed(pending):
            finished.result()
            yield pending[finished]
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Workers of a killed process would otherwise wait for work for ever."""
    def wait() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def _press_one(folder: Path, make: Callable[[Batch], Pressed], batch: Batch) -> None:
    pressed = make(batch)
    for path, content in pressed.files.items():
        write(folder / path, content)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **pressed.arrays)
    write(part(folder, batch.key), buffer.getvalue())  # last: from now on the batch counts as done


def _told(folder: Path) -> dict[str, Any] | None:
    """What the folder says of itself; None where it says nothing that we understand."""
    try:
        told = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
        return told if {"recipe", "folders", "complete"} <= set(told) else None
    except (OSError, ValueError, TypeError):
        return None


def _recipe(told: Mapping[str, Any] | None) -> Recipe | None:
    try:
        return None if told is None else Recipe(**{**told["recipe"], "size": tuple(told["recipe"]["size"])})
    except (KeyError, TypeError):  # made by a version that knew other settings
        return None


def _tell(folder: Path, recipe: Recipe, folders: Sequence[str], *, complete: bool) -> None:
    told = {"recipe": asdict(recipe), "folders": list(folders), "complete": complete}
    write(folder / RECIPE, (json.dumps(told, indent=1) + "\n").encode())


def _discard(folder: Path, told: Mapping[str, Any]) -> None:
    for name in (*told["folders"], PARTS):
        inside = folder / name
        if inside.parent == folder and name not in ("", ".", "..") and inside.is_dir() and not inside.is_symlink():
            shutil.rmtree(inside)
    (folder / RECIPE).unlink()
