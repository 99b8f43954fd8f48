"""Images whose classes are known, described as the program describes them: the sample campaign and the real sets."""

import csv
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.compute import LocalThreads
from engine.features import Choices, descriptor_named
from engine.imaging import read_image
from sample_data import make_campaign

DATA = Path(__file__).parents[2].parent / "shared" / "data"
# The patches of reef that lie there too bear several labels each, or none: no set of single names to be given.
REAL = {"deepdive_gbr": "label", "fish4knowledge": "label", "planktonset": "label"}
SMALLEST = 5  # images of a class: rarer ones are nothing to simulate learning on


@dataclass(frozen=True)
class KnownSet:
    """Descriptors (N, D), true classes (N,) numbered from 0, dives or tracks (N,)."""

    name: str
    X: np.ndarray
    classes: np.ndarray
    groups: np.ndarray


def known_sets(images: int = 2400, dives: int = 8) -> Iterator[KnownSet]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = make_campaign(folder / "campaign", dives=dives, images=images, seed=3, workers=1)
        named = [image for image in truth.images if image.label]
        yield _described("sample campaign", [truth.folder / image.image for image in named],
                         [image.label for image in named], [image.group for image in named], folder)
        for word, column in REAL.items():
            if (DATA / word / "labels.csv").exists():
                yield _real(word, column, folder, images)


def _real(name: str, column: str, cache: Path, most: int) -> KnownSet:
    """At most so many of its images, drawn at random."""
    with (DATA / name / "labels.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows = [rows[place] for place in np.sort(np.random.default_rng(0).permutation(len(rows))[:most])]
    paths = [DATA / name / "images" / row["file"] for row in rows]
    return _described(name, paths, [row[column] for row in rows], ["all"] * len(rows), cache)


def _described(name: str, paths: Sequence[Path], classes: Sequence[str], groups: Sequence[str],
               cache: Path) -> KnownSet:
    _, number, counts = np.unique(classes, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts[number] >= SMALLEST)
    descriptor = descriptor_named("deep", Choices(cache=cache))
    base = descriptor.base.fit([])
    rows = np.stack(list(LocalThreads().map([paths[place] for place in kept], lambda path: base.describe(
        read_image(path, longest=base.longest)))))
    short = descriptor.onto(base, list(rows[:, None]), np.random.default_rng(0)).projection(rows)
    numbered = [np.unique(np.asarray(each)[kept], return_inverse=True)[1] for each in (classes, groups)]
    return KnownSet(name, short, *numbered)
