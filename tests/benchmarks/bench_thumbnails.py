"""Thumbnails: speed of storing, serving, checking, and creating large ones on demand."""

import hashlib
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benthoscope.engine.workspace.storage.thumbnails import ThumbnailLibrary
from tests.benchmarks.measure import Table, measure
from tests.benchmarks.photographs import written

COUNT, BYTES, BATCH = 20_000, 8_000, 64
VIEWS = 60


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as name:
        yield _packed(Path(name))
    with tempfile.TemporaryDirectory() as name:
        yield _on_demand(Path(name))


def _packed(folder: Path) -> Table:
    draw = np.random.default_rng(0)
    items = [(hashlib.sha256(b"%d" % number).hexdigest(), 320, draw.bytes(BYTES)) for number in range(COUNT)]
    order = random.Random(0).sample(range(COUNT), COUNT)
    library, reader = ThumbnailLibrary(folder), ThumbnailLibrary(folder)
    _, stored = measure(lambda: [library.add_many(items[at : at + BATCH]) for at in range(0, COUNT, BATCH)])
    _, opened = measure(lambda: reader.has(items[0][0], 320))
    served, got = measure(lambda: [reader.get(items[at][0], 320) for at in order])
    assert all(jpeg == items[at][2] for at, jpeg in zip(order, served, strict=True))
    _, asked = measure(lambda: reader.missing([item[0] for item in items], 320))
    _, checked = measure(library.verify)
    (folder / "320.index").unlink()
    _, rebuilt = measure(lambda: ThumbnailLibrary(folder).has(items[0][0], 320))
    rows = [
        (name, COUNT / cost.cpu, cost.wall)
        for name, cost in (
            (f"stored, {BATCH} at a time", stored),
            ("served in random order", got),
            ("asked whether it is there", asked),
            ("read and checked (verify)", checked),
            ("opened without an index, by scanning", rebuilt),
        )
    ]
    notes = (f"Opening with the index: {opened.wall * 1e3:.1f} ms.",)
    return Table(
        f"Packed thumbnails, {COUNT:,} of {BYTES / 1000:g} kB", ("operation", "per CPU s", "wall s"), rows, notes
    )


def _on_demand(folder: Path) -> Table:
    paths = written(folder / "images", VIEWS)
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    library = ThumbnailLibrary(folder / "thumbnails")
    rows = []
    for name in ("first view: made from the original", "later views: from the cache"):
        _, cost = measure(lambda: [library.obtain(sha, 1024, path) for sha, path in zip(hashes, paths, strict=True)])
        rows.append((name, 1e3 * cost.cpu / VIEWS, VIEWS / cost.cpu))
    return Table("The large view (1024) of a 1360 x 1024 JPEG", ("operation", "CPU ms each", "per CPU s"), rows)
