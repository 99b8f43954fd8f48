"""Images with known classes and the program's descriptors: the sample campaign and real sets."""

import csv
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benthoscope.engine.compute import LocalThreads
from benthoscope.engine.features import Choices, descriptor_named
from benthoscope.engine.imaging import SUFFIXES, read_image
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


@dataclass(frozen=True)
class KnownImages:
    """The files of a set, and their classes, dives and tracks (N,), numbered from 0."""

    name: str
    paths: Sequence[Path]
    classes: np.ndarray
    groups: np.ndarray
    tracks: np.ndarray


def known_sets(images: int = 2400, dives: int = 8) -> Iterator[KnownSet]:
    with tempfile.TemporaryDirectory() as name:
        for known in known_images(images, dives):
            yield _described(known, Path(name))


def known_images(images: int = 2400, dives: int = 8) -> Iterator[KnownImages]:
    """Yield the sample campaign, which exists until the next set is asked for, and a random part of each real set."""
    with tempfile.TemporaryDirectory() as name:
        truth = make_campaign(Path(name) / "campaign", dives=dives, images=images, seed=3, workers=1)
        named = [image for image in truth.images if image.label]
        paths = [truth.folder / image.image for image in named]
        groups = [image.group for image in named]
        yield _without_rare("sample campaign", paths, [image.label for image in named], groups, groups)
    for word in REAL:
        if has_set(word):
            yield real_images(word, images)


def has_set(name: str) -> bool:
    return (DATA / name / "labels.csv").exists()


def real_images(name: str, most: int) -> KnownImages:
    """Return a random part of a real set."""
    column = REAL[name]
    with (DATA / name / "labels.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows = [rows[position] for position in np.sort(np.random.default_rng(0).permutation(len(rows))[:most])]
    paths = [DATA / name / "images" / row["file"] for row in rows]
    tracks = [row.get("track", "") for row in rows]
    return _without_rare(name, paths, [row[column] for row in rows], ["all"] * len(rows), tracks)


def images_of_folder(folder: Path) -> KnownImages:
    """Return the images of a folder with one subfolder for each class."""
    paths = sorted(path for path in folder.glob("*/*") if path.suffix.lower() in SUFFIXES)
    if not paths:
        raise SystemExit(f"{folder}: has no images in subfolders; give a folder with one subfolder for each class")
    return _without_rare(
        folder.name, paths, [path.parent.name for path in paths], ["all"] * len(paths), [""] * len(paths)
    )


def _without_rare(
    name: str, paths: Sequence[Path], classes: Sequence[str], groups: Sequence[str], tracks: Sequence[str]
) -> KnownImages:
    _, number, counts = np.unique(classes, return_inverse=True, return_counts=True)
    positions = np.flatnonzero(counts[number] >= SMALLEST)
    columns = (np.unique(np.asarray(each)[positions], return_inverse=True)[1] for each in (classes, groups, tracks))
    return KnownImages(name, [paths[position] for position in positions], *columns)


def _described(known: KnownImages, cache: Path) -> KnownSet:
    descriptor = descriptor_named("deep", Choices(cache=cache))
    base = descriptor.base.fit([])
    described = LocalThreads().map(known.paths, lambda path: base.describe(read_image(path, longest=base.longest)))
    rows = np.stack(list(described))
    learned = descriptor.onto(base, list(rows[:, None]), np.random.default_rng(0))
    wide = learned.projection(rows)
    return KnownSet(known.name, wide[:, : learned.width], wide, known.classes, known.groups, rows, known.tracks)
