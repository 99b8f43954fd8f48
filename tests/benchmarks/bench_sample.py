"""Speed of painting samples: target 200 images per second at 320x240 on two cores."""

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benthoscope.sample_data import make_albums, make_campaign
from benthoscope.sample_data.dives import plan
from benthoscope.sample_data.seafloor.habitats import HABITATS
from benthoscope.sample_data.studio import studio
from tests.benchmarks.measure import Cost, Table, measure

SIZE = (320, 240)


def tables() -> Iterator[Table]:
    yield Table(
        "Samples, 320x240, complete run including the start of processes and the truth",
        ("kind", "images", "processes", "wall s", "images/s", "CPU s", "CPU ms/image", "MB"),
        list(_runs()),
    )
    yield Table(
        "Painting and photographing one image, one process, fields and sprites ready",
        ("habitat", "images", "CPU ms/image"),
        list(_habitats()),
    )


def _runs() -> Iterator[tuple]:
    cores = os.cpu_count() or 1
    for name, make, images, processes in (
        ("campaign", partial(make_campaign, dives=12), 10_000, cores),
        ("campaign", partial(make_campaign, dives=12), 1_000, 1),
        ("albums", partial(make_albums, albums=6), 1_000, cores),
    ):
        cost, size = _run(partial(make, images=images, workers=processes))
        yield (name, images, processes, cost.wall, images / cost.wall, cost.cpu, 1000 * cost.cpu / images, size)


def _run(make: Callable) -> tuple[Cost, float]:
    with tempfile.TemporaryDirectory() as folder:
        _, cost = measure(lambda: make(Path(folder) / "sample"))
        return cost, sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 2**20


def _habitats() -> Iterator[tuple]:
    dives = plan(8, 800, np.random.default_rng(0))
    frames = [(dive, frame) for dive in dives for frame in dive.frames if frame.quality == "good"]
    for habitat in HABITATS:
        chosen = [each for each in frames if each[1].habitat == habitat.name][:40]
        paint = partial(_paint, chosen)
        paint()  # makes the sprites
        _, cost = measure(paint)
        yield (habitat.name, len(chosen), 1000 * cost.cpu / len(chosen))


def _paint(chosen: list) -> None:
    for dive, frame in chosen:
        studio(0, SIZE[0]).take(frame, dive.water, SIZE, np.random.default_rng([dive.number, frame.number]))
