"""Replay images as a live dive: they are written into a folder one after the other, with a table that grows."""

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path, PurePosixPath

import numpy as np

from benthoscope.engine.exchange.image_import.folder_scan import survey
from benthoscope.engine.exchange.image_import.import_plan import ImportOptions
from benthoscope.engine.exchange.parsing.csv_output import csv_bytes
from benthoscope.engine.exchange.parsing.values import moment_in_name
from benthoscope.engine.exchange.records import ImageRecord
from benthoscope.engine.jobs.library.import_images import planned, stored_record
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.storage.files import make_folder

TABLE = "positions.csv"
HEADER = ("image", "time", "latitude", "longitude", "depth", "altitude")
PARTIAL = ".part"  # ending of a file that is being written


@dataclass(frozen=True)
class SourceImage:
    """An image to replay, and its measurements."""

    path: Path
    record: ImageRecord


def images_of_folder(folder: Path) -> list[SourceImage]:
    """Return the images below a folder in the order they were taken, with the measurements of its metadata files."""
    scan = survey(folder.expanduser().resolve())
    plan = planned(scan, ImportOptions())
    images = [
        SourceImage(scan.folder / file.path, plan.record_of(file.path, _moment_of(file.path)) or ImageRecord(file.path))
        for file in scan.images
    ]
    return _in_order_of_time(images)


def images_of_workspace(workspace: Workspace, dive: str | None = None) -> list[SourceImage]:
    """Return the images of a workspace, or of one of its dives, in the order they were taken."""
    group_id = None
    if dive is not None:
        named = [group for group in workspace.library.groups() if group.name == dive]
        if not named:
            raise fail("dive", f"there is no '{dive}'", "list the dives with `benthoscope status`")
        group_id = named[0].id
    ids = workspace.library.columns("id", group_id=group_id)["id"].tolist()
    paths = workspace.library.locate(ids)
    images = [SourceImage(paths[image.id], stored_record(image, image.path)) for image in workspace.library.images(ids)]
    return _in_order_of_time(images)


def replay(
    images: Sequence[SourceImage],
    target: Path,
    *,
    rate: float = 2.0,
    count: int | None = None,
) -> int:
    """Write images into a folder, `rate` of them per second. With a `count` above the number of images, they are
    written several times. Returns the number of written images.

    Each image is written under another name and then renamed. Images of the same name and the second copy of an image
    get a number, and a byte at the end that decoders ignore, so that no two files are equal.
    """
    if not rate > 0:
        raise fail("rate", f"must be greater than 0 (got {rate:g})", "give images per second, such as 2")
    if not images:
        raise fail("images", "there are none to replay", "choose another folder or workspace")
    make_folder(target)
    began, done = time.monotonic(), 0
    with (target / TABLE).open("ab") as file:
        if not file.tell():
            file.write(csv_bytes([HEADER]))
        for done, (name, image, lap) in enumerate(islice(_named(images), count or len(images)), 1):
            time.sleep(max(began + (done - 1) / rate - time.monotonic(), 0))
            _write(image.path, target / name, lap)
            file.write(csv_bytes([_row(name, image.record)]))
            file.flush()
    return done


def _named(images: Sequence[SourceImage]) -> Iterator[tuple[str, SourceImage, int]]:
    """Yield (file name, image, lap) without end; names never repeat."""
    used: set[str] = set()
    copies: dict[str, int] = {}  # images so far by the name of their file
    for number, image in enumerate(cycle(images)):
        name = image.path.name
        while name in used:  # also if an image has the name of the copy of another
            copies[image.path.name] = copies.get(image.path.name, 0) + 1
            name = f"{image.path.stem}_{copies[image.path.name]}{image.path.suffix}"
        used.add(name)
        yield name, image, number // len(images)


def _write(source: Path, target: Path, lap: int) -> None:
    partial = target.with_name(target.name + PARTIAL)
    try:
        shutil.copyfile(source, partial)
        if lap:
            with partial.open("ab") as file:
                file.write(f"{lap}".encode())
        partial.replace(target)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise fail(str(source), f"cannot be copied to {target.parent} ({reason})", "check both folders") from error


def _row(name: str, record: ImageRecord) -> list[str]:
    moment = _moment_of(name) if record.taken_at is None else record.taken_at
    stamp = "" if moment is None else datetime.fromtimestamp(moment, UTC).isoformat()
    measures = (record.latitude, record.longitude, record.depth, record.altitude)
    return [name, stamp, *("" if value is None or not np.isfinite(value) else f"{value:.8g}" for value in measures)]


def _in_order_of_time(images: Sequence[SourceImage]) -> list[SourceImage]:
    """Return the images in the order they were taken; those without a time come first."""

    def key(image: SourceImage) -> tuple[float, Path]:
        moment = _moment_of(image.path.name) if image.record.taken_at is None else image.record.taken_at
        return moment or 0.0, image.path

    return sorted(images, key=key)


def _moment_of(path: str) -> float | None:
    """Return the time in the name of a file."""
    return moment_in_name(PurePosixPath(path).name)[0]
