"""Images with known classes and the program's descriptors: the sample campaign and real sets."""

import csv
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benthoscope.engine.compute import LocalThreads
from benthoscope.engine.features import Choices, descriptor_named
from benthoscope.engine.imaging import read_image
from benthoscope.sample_data import make_campaign

DATA = Path(__file__).parents[2].parent / "shared" / "data"
# The patches of reef that lie there too bear several labels each, or none: no set of single names to be given.
REAL = {"deepdive_gbr": "label", "fish4knowledge": "label", "planktonset": "label"}
SMALLEST = 5  # images of a class: rarer ones are nothing to simulate learning on


@dataclass(frozen=True)
class KnownSet:
    """Descriptors (N, D), the columns for classifiers (N, D'), true classes (N,) numbered from 0, dives (N,), vectors
    before the projection (N, L), and dives or tracks of one animal (N,), which a split must not separate."""

    name: str
    X: np.ndarray
    wide: np.ndarray
    classes: np.ndarray
    groups: np.ndarray
    long: np.ndarray
    tracks: np.ndarray


def known_sets(images: int = 2400, dives: int = 8) -> Iterator[KnownSet]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = make_campaign(folder / "campaign", dives=dives, images=images, seed=3, workers=1)
        named = [image for image in truth.images if image.label]
        yield _described(
            "sample campaign",
            [truth.folder / image.image for image in named],
            [image.label for image in named],
            [image.group for image in named],
            folder,
        )
        for word, column in REAL.items():
            if (DATA / word / "labels.csv").exists():
                yield _real(word, column, folder, images)


def _real(name: str, column: str, cache: Path, most: int) -> KnownSet:
    """Return a random subset of its images."""
    with (DATA / name / "labels.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows = [rows[position] for position in np.sort(np.random.default_rng(0).permutation(len(rows))[:most])]
    paths = [DATA / name / "images" / row["file"] for row in rows]
    tracks = [row.get("track", "") for row in rows]
    return _described(name, paths, [row[column] for row in rows], ["all"] * len(rows), cache, tracks)


def _described(
    name: str,
    paths: Sequence[Path],
    classes: Sequence[str],
    groups: Sequence[str],
    cache: Path,
    tracks: Sequence[str] | None = None,
) -> KnownSet:
    _, number, counts = np.unique(classes, return_inverse=True, return_counts=True)
    positions = np.flatnonzero(counts[number] >= SMALLEST)
    descriptor = descriptor_named("deep", Choices(cache=cache))
    base = descriptor.base.fit([])
    rows = np.stack(
        list(
            LocalThreads().map(
                [paths[position] for position in positions],
                lambda path: base.describe(read_image(path, longest=base.longest)),
            )
        )
    )
    learned = descriptor.onto(base, list(rows[:, None]), np.random.default_rng(0))
    wide = learned.projection(rows)
    columns = (classes, groups, groups if tracks is None else tracks)
    of_class, of_group, of_track = (np.unique(np.asarray(each)[positions], return_inverse=True)[1] for each in columns)
    return KnownSet(name, wide[:, : learned.width], wide, of_class, of_group, rows, of_track)
