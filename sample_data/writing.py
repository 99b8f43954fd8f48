"""Write a sample to a folder: complete files only, with several processes, resumable."""

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from PIL import Image

RECIPE = "sample.json"  # the settings of the sample in the folder, and whether it is complete
PARTS = ".parts"  # one file for each finished batch, until all are finished
UNFINISHED = ".part"  # the ending of a file that is being written
QUALITY = 78  # of JPEG files
VERSION = 1  # of the painting; a folder started by another version is not continued

SMALLEST, LARGEST = 64, 4096  # pixels of an image's side: smaller images show nothing, larger ones need too much memory

OnStep = Callable[[int, int], None]  # finished and requested images; may raise to stop


class FolderInUse(Exception):
    """The folder contains something other than the requested sample."""


class UnusableSettings(ValueError):
    """No sample can be created with these settings."""


@dataclass(frozen=True)
class Recipe:
    """All settings that determine the content of a sample."""

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
            raise UnusableSettings(f"a seed of {self.seed}: the seed must be 0 or more")


@dataclass(frozen=True)
class Batch:
    """Work for one process that takes at most a second; `key` is the name of its file among the parts."""

    key: str
    images: int
    content: Any


@dataclass(frozen=True)
class Pressed:
    """The result of a batch: files by their path in the folder, and arrays to collect when all batches are finished."""

    files: Mapping[str, bytes]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


def nothing(done: int, total: int) -> None:
    """Ignore the progress; the default for `on_step`."""


def claim(folder: Path, recipe: Recipe, folders: Sequence[str], *, force: bool) -> bool:
    """Prepare the folder. Returns whether it already contains the complete sample.

    The folder must be new, empty, or started with the same recipe. With `force`, an existing sample with its `folders`
    is deleted; other files stay.
    """
    started = _read_recipe(folder)
    if force and started is not None:
        _discard(folder, started)
    elif not force and _recipe(started) != recipe and folder.exists() and any(folder.iterdir()):
        raise FolderInUse("is not empty" if started is None else "contains a sample with other settings")
    elif started is not None and started["complete"]:
        return True
    (folder / PARTS).mkdir(parents=True, exist_ok=True)
    for unfinished in folder.rglob(f".*{UNFINISHED}"):  # an interrupted process leaves at most these
        unfinished.unlink()
    _write_recipe(folder, recipe, folders, complete=False)
    return False


def finish(folder: Path, recipe: Recipe, folders: Sequence[str], texts: Mapping[str, str]) -> None:
    """Write the texts by their paths in the folder, and mark the sample as complete."""
    for path, text in texts.items():
        write(folder / path, text.encode())
    _write_recipe(folder, recipe, folders, complete=True)
    shutil.rmtree(folder / PARTS)


def press(
    folder: Path, batches: Sequence[Batch], make: Callable[[Batch], Pressed], workers: int | None, on_step: OnStep
) -> None:
    """Create each missing batch. If `on_step` raises, the work stops within a batch or two, and the next call
    continues."""
    total = sum(batch.images for batch in batches)
    waiting = [batch for batch in batches if not batch_file(folder, batch.key).exists()]
    done = total - sum(batch.images for batch in waiting)
    on_step(done, total)
    for batch in _each(partial(_press_one, folder, make), waiting, workers or os.cpu_count() or 1):
        done += batch.images
        on_step(done, total)


def batch_file(folder: Path, key: str) -> Path:
    """Return the file with the arrays of a finished batch."""
    return folder / PARTS / f"{key}.npz"


def jpeg(image: Image.Image, **save_options: Any) -> bytes:
    """Return the file content of an image."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, **save_options)
    return buffer.getvalue()


def write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
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
    context = get_context("spawn")  # a fork would copy the threads of a server
    pool = ProcessPoolExecutor(min(workers, len(batches)), context, initializer=_end_with_parent)
    try:
        pending = {pool.submit(do, batch): batch for batch in batches}
        for finished in as_completed(pending):
            finished.result()
            yield pending[finished]
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End with the parent process. Otherwise the workers of a killed process would wait forever."""

    def wait(parent: BaseProcess) -> None:
        parent.join()
        os._exit(1)

    parent = parent_process()
    if parent is not None:
        Thread(target=wait, args=(parent,), daemon=True).start()


def _press_one(folder: Path, make: Callable[[Batch], Pressed], batch: Batch) -> None:
    pressed = make(batch)
    for path, content in pressed.files.items():
        write(folder / path, content)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **pressed.arrays)
    write(batch_file(folder, batch.key), buffer.getvalue())  # last: from now on the batch counts as finished


def _read_recipe(folder: Path) -> dict[str, Any] | None:
    """Return the recipe of the folder; None if there is none or it is not readable."""
    try:
        content = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
        return content if {"recipe", "folders", "complete"} <= set(content) else None
    except (OSError, ValueError, TypeError):
        return None


def _recipe(content: Mapping[str, Any] | None) -> Recipe | None:
    try:
        return None if content is None else Recipe(**{**content["recipe"], "size": tuple(content["recipe"]["size"])})
    except (KeyError, TypeError):  # created by a version with other settings
        return None


def _write_recipe(folder: Path, recipe: Recipe, folders: Sequence[str], *, complete: bool) -> None:
    content = {"recipe": asdict(recipe), "folders": list(folders), "complete": complete}
    write(folder / RECIPE, (json.dumps(content, indent=1) + "\n").encode())


def _discard(folder: Path, content: Mapping[str, Any]) -> None:
    for name in (*content["folders"], PARTS):
        inside = folder / name
        if inside.parent == folder and name not in ("", ".", "..") and inside.is_dir() and not inside.is_symlink():
            shutil.rmtree(inside)
    (folder / RECIPE).unlink()
