"""Comparison of encoders and dictionaries for the scene descriptor (chapter 3 of the thesis) on a sample campaign."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.cluster import KMeans

from benthoscope.engine.compute import LocalThreads, blas_threads
from benthoscope.engine.features import PrincipalAxes, Projected, ScSPM
from benthoscope.engine.features.dictionaries import (
    KSVD,
    KMeansCentres,
    RandomPatches,
    SparseCodingDictionary,
    StreamedClusters,
)
from benthoscope.engine.features.encoders import LocalityLinear, MatchingPursuit, SoftThreshold, SparseCoding
from benthoscope.engine.imaging import read_image
from benthoscope.engine.metrics import v_measure
from benthoscope.sample_data import make_campaign
from tests.benchmarks.bench_descriptors import Known, accuracy, balanced
from tests.benchmarks.measure import Table

IMAGES, EACH = 1000, 50
ENCODERS = (SoftThreshold(), MatchingPursuit(), SparseCoding(), LocalityLinear())
# fifty alternations of K-SVD take five minutes
LEARNERS = (RandomPatches(), KMeansCentres(), SparseCodingDictionary(), KSVD(10), StreamedClusters())


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder, blas_threads(1):
        known = _campaign(Path(folder))
        images = [read_image(path, longest=320) for path in known.paths]
        title = f"sample campaign, {len(images)} images, {len(set(known.classes))} classes, at most 1024 atoms"
        made = [ScSPM(encoder=encoder) for encoder in ENCODERS]
        made += [ScSPM(learner=learner) for learner in LEARNERS if not isinstance(learner, KMeansCentres)]
        columns = (
            "encoder",
            "dictionary",
            "atoms",
            "CPU s to learn",
            "V of k-means, 20 axes",
            "SVM accuracy, full code",
        )
        yield Table(title, columns, [_row(descriptor, known, images) for descriptor in made])


def _row(descriptor: ScSPM, known: Known, images: list[np.ndarray]) -> tuple:
    start = process_time()
    learned = descriptor.fit(images[::2], random_state=0)
    took = process_time() - start
    rows = np.stack(list(LocalThreads().map(images, learned.describe)))
    short = Projected(learned, PrincipalAxes(20)).onto(learned, [rows], np.random.default_rng(0)).projection(rows)
    labels = KMeans(len(set(known.classes)), n_init=10, random_state=0).fit(short).labels_
    return (
        type(descriptor.encoder).__name__,
        type(descriptor.learner).__name__,
        learned.atoms,
        took,
        v_measure(known.classes, labels),
        accuracy(known, rows),
    )


def _campaign(folder: Path) -> Known:
    truth = make_campaign(folder / "campaign", dives=8, images=IMAGES, seed=2, workers=1)
    named = [image for image in truth.images if image.label and image.quality == "good"]
    columns = ([getattr(image, name) for image in named] for name in ("label", "image", "group"))
    known = balanced("sample campaign", [truth.folder / image.image for image in named], *columns)
    positions = np.sort(np.concatenate([np.flatnonzero(known.classes == label)[:EACH] for label in set(known.classes)]))
    return replace(
        known,
        paths=[known.paths[position] for position in positions],
        classes=known.classes[positions],
        families=known.families[positions],
        groups=known.groups[positions],
    )
