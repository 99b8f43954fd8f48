"""Quality of the descriptors: clusters and a linear classifier on images with known classes."""

import csv
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benthoscope.engine.compute import LocalThreads, blas_threads
from benthoscope.engine.features import Choices, Projected, Segments, descriptor_named
from benthoscope.engine.imaging import read_image
from benthoscope.engine.metrics import mean_class_accuracy, v_measure
from benthoscope.engine.mixtures import GMC
from benthoscope.sample_data import make_campaign
from tests.benchmarks.measure import Table

DATA = Path(__file__).parents[2].parent / "shared" / "data"
WORDS = ("mean", "colour", "scspm", "rp", "segments", "deep")
TRAINING = 30  # images of each class
SMALLEST = 45  # images a class must have, so that some are left to test on
MOST, CLASSES = 100, 12  # images of a class, and classes, that are looked at
SPLITS = 3
GAUSSIAN = 20  # leading dimensions given to GMC
FIELDS = {"deepdive_gbr": "label", "fish4knowledge": "label", "planktonset": "label", "kohtao_patches": "labels"}


@dataclass(frozen=True)
class Known:
    """Images with their classes; `family` ties near-duplicates, which must not be split between training and test,
    `group` is the dive."""

    name: str
    paths: Sequence[Path]
    classes: np.ndarray
    families: np.ndarray
    groups: np.ndarray


@dataclass(frozen=True)
class Vectors:
    """One descriptor's view of a set: the vectors clustered, and those given to the classifier."""

    short: np.ndarray
    long: np.ndarray


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder, blas_threads(1):
        for known in labelled_sets(Path(folder)):
            columns = (
                "descriptor",
                "numbers",
                "V of k-means",
                "V of GMC",
                "clusters of GMC",
                "SVM accuracy, all numbers",
                "SVM accuracy, clustered numbers",
            )
            dives = len(set(known.groups))
            title = (
                f"{known.name}: {len(known.paths)} images, {len(set(known.classes))} classes, "
                f"{f'{dives} dives' if dives > 1 else 'no dives known'}"
            )
            yield Table(
                title,
                columns,
                list(_rows(known, Path(folder))),
                [
                    "k-means gets the number of classes, GMC does not. Accuracy is the mean over classes of a "
                    f"linear SVM from {TRAINING} images per class, {SPLITS} splits."
                ],
            )


def _rows(known: Known, cache: Path) -> Iterator[tuple]:
    for word in WORDS:
        vectors = _vectors(word, known, cache)
        count = len(set(known.classes))
        kmeans = KMeans(count, n_init=10, random_state=0).fit(vectors.short)
        yield (
            word,
            vectors.short.shape[1],
            v_measure(known.classes, kmeans.labels_),
            *_mixture(known, vectors.short),
            accuracy(known, vectors.long),
            accuracy(known, vectors.short),
        )


def _mixture(known: Known, rows: np.ndarray) -> tuple:
    """Return V-measure and number of clusters. With few images, a full Gaussian needs few dimensions."""
    if rows.shape[1] > 100:
        return "not for Gaussians", ""
    model = GMC(random_state=0).fit(rows[:, :GAUSSIAN], groups=known.groups)
    return v_measure(known.classes, model.labels_), model.n_clusters_


def _vectors(word: str, known: Known, cache: Path) -> Vectors:
    descriptor = descriptor_named(word, Choices(cache=cache))
    images = [read_image(path, longest=320) for path in known.paths]
    rng = np.random.default_rng(0)
    if not isinstance(descriptor, Projected):
        rows = np.stack([descriptor.describe(image) for image in images])
        return Vectors(rows, rows)
    base = descriptor.base.fit(images[:: max(1, len(images) // 300)], random_state=rng)
    described = list(LocalThreads().map(images, base.describe))
    if isinstance(described[0], Segments):
        return _of_segments(descriptor, base, described, rng)
    rows = np.stack(described)
    return Vectors(descriptor.onto(base, list(rows[:, None]), rng).projection(rows), rows)


def _of_segments(descriptor: Projected, base, described: Sequence[Segments], rng: np.random.Generator) -> Vectors:
    """Describe an image by the mean and the spread of its segments' vectors."""
    learned = replace(descriptor, base=base)
    learned = learned.onto(base, [segments.vectors for segments in described], rng)
    short = [learned.projection(segments.vectors) for segments in described]
    rows = np.stack([np.concatenate([each.mean(0), each.std(0)]) for each in short])
    return Vectors(rows, rows)


def accuracy(known: Known, rows: np.ndarray) -> float:
    accuracies = []
    for split in range(SPLITS):
        train = _training(known, np.random.default_rng(split))
        scaled = rows.shape[1] < 200  # long vectors have unit length and sparse entries
        svm = LinearSVC(C=1.0, max_iter=5000, random_state=0)
        model = make_pipeline(StandardScaler(), svm) if scaled else svm
        model.fit(rows[train], known.classes[train])
        test = ~train & ~np.isin(known.families, known.families[train])
        accuracies.append(mean_class_accuracy(known.classes[test], model.predict(rows[test])))
    return float(np.mean(accuracies))


def _training(known: Known, rng: np.random.Generator) -> np.ndarray:
    """Return about TRAINING images of each class, in whole families."""
    chosen = np.zeros(len(known.paths), dtype=bool)
    for label in np.unique(known.classes):
        of_class = known.classes == label
        for family in rng.permutation(np.unique(known.families[of_class])):
            if (chosen & of_class).sum() >= TRAINING:
                break
            chosen |= of_class & (known.families == family)
    return chosen


def labelled_sets(folder: Path) -> Iterator[Known]:
    truth = make_campaign(folder / "campaign", dives=8, images=1200, seed=1, workers=1)
    named = [image for image in truth.images if image.label and image.quality == "good"]
    yield balanced(
        "sample campaign",
        [truth.folder / image.image for image in named],
        [image.label for image in named],
        [image.image for image in named],
        [image.group for image in named],
    )
    for name, column in FIELDS.items():
        if (DATA / name / "labels.csv").exists():
            yield _shared(name, column)


def _shared(name: str, column: str) -> Known:
    with (DATA / name / "labels.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row[column] and "|" not in row[column]]
    families = [row.get("track") or row.get("photo") or row["file"] for row in rows]
    paths = [DATA / name / "images" / row["file"] for row in rows]
    return balanced(name, paths, [row[column] for row in rows], families, ["all"] * len(rows))


def balanced(name: str, paths: Sequence[Path], classes, families, groups) -> Known:
    """Return the largest classes, none with more than MOST images."""
    classes, families, groups = (np.unique(each, return_inverse=True)[1] for each in (classes, families, groups))
    labels, counts = np.unique(classes, return_counts=True)
    large = labels[np.argsort(-counts, kind="stable")][:CLASSES]
    rng = np.random.default_rng(0)
    positions = np.sort(
        np.concatenate(
            [rng.permutation(np.flatnonzero(classes == label))[:MOST] for label in large if counts[label] >= SMALLEST]
        )
    )
    groups = np.unique(groups[positions], return_inverse=True)[1]
    return Known(name, [paths[position] for position in positions], classes[positions], families[positions], groups)
