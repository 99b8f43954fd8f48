"""Joint segmentation and object discovery: agreement with known masks and classes, and bounded against full memory.

python -m tests.benchmarks applications
"""

import csv
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.analysis import recognise, segmentation_scores
from benthoscope.engine.features import PyramidKernelAxes, descriptor_named
from benthoscope.engine.imaging import read_image
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.streaming import BudgetWarning, MemoryBoundedTopicModel, MemoryBoundedVDP
from benthoscope.sample_data import Truth, make_campaign
from tests.benchmarks.known_sets import DATA, REAL
from tests.benchmarks.measure import Table, measure

FRAMES, ROUND = 30, 5  # of the comparison of memories, as in the source
JOB = {"width": 0.5, "max_clumps": 1000, "max_groups": 200, "tol": 1e-5}
MOST = 500  # images of a real set
FREQUENT = 4  # classes of a real set, as in the source


def tables() -> Iterator[Table]:
    warnings.simplefilter("ignore", BudgetWarning)
    with tempfile.TemporaryDirectory() as name:
        truth = make_campaign(Path(name) / "campaign", workers=1)
        images = [read_image(truth.folder / image.image) for image in truth.images]
        yield _segmentation(truth, images)
        yield _memories(images[:: len(images) // FRAMES][:FRAMES])
    yield _discovery()


def _described(images: Sequence[np.ndarray], word: str) -> list[Any]:
    descriptor = descriptor_named(word).fit(images[::4], random_state=0)
    return [descriptor.describe(image) for image in images]


def _rows(described: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    counts = [len(segments.vectors) for segments in described]
    rows = np.concatenate([segments.vectors for segments in described]).astype(float)
    return rows, np.repeat(np.arange(len(counts)), counts)


def _segmentation(truth: Truth, images: Sequence[np.ndarray]) -> Table:
    values = []
    for word in ("segments", "colour-segments"):
        described = _described(images, word)
        rows, image_of_row = _rows(described)
        epoch = 10 * len(rows) // len(images)

        def fitted(rows=rows, image_of_row=image_of_row, epoch=epoch):
            model = MemoryBoundedTopicModel(epoch=epoch, **JOB).fit(rows, groups=image_of_row)
            return model, model.segment_documents(rows, image_of_row)

        (model, result), cost = measure(fitted)
        parts = np.split(result.labels, np.flatnonzero(np.diff(image_of_row)) + 1)
        number = {image.image: position for position, image in enumerate(truth.images)}
        pairs = ((parts[number[name]][described[number[name]].mask], truth.mask(name)) for name in truth.masked)
        scores = segmentation_scores(pairs, model.n_clusters_)
        agreement = [f"{value:.3f}" for value in (scores.v_measure, scores.adjusted_rand, scores.accuracy)]
        values.append([word, len(rows), model.n_clusters_, *agreement, cost.cpu])
    columns = ["segments", "rows", "topics", "V-measure", "adjusted Rand", "pixels with the right name", "CPU s"]
    return Table(f"Joint segmentation: {len(images)} images, {len(truth.masked)} known masks", columns, values)


def _memories(images: Sequence[np.ndarray]) -> Table:
    """The bound of 30 images in rounds of five, relative to one round with all rows in memory."""
    rows, image_of_row = _rows(_described(images, "colour-segments"))
    everything = MemoryBoundedTopicModel(memory=10**7, epoch=len(rows), tol=1e-5)
    batch, batch_cost = measure(lambda: everything.partial_fit(rows, groups=image_of_row))
    values = [["all rows at once", "none", batch.n_clusters_, "1", "0", batch_cost.cpu]]
    epoch = len(rows) * ROUND // len(images)
    for clumps, groups in ((30, None), (60, None), (125, None), (500, None), (125, 9)):
        bounded = MemoryBoundedTopicModel(
            max_clumps=clumps, max_groups=groups, epoch=epoch, horizon=len(rows), tol=1e-5
        )
        model, cost = measure(lambda bounded=bounded: bounded.partial_fit(rows, groups=image_of_row))
        gap = batch.lower_bound_ - model.lower_bound_
        ratio = 1 - gap / abs(batch.lower_bound_)
        values.append([clumps, groups or "none", model.n_clusters_, f"{ratio:.4f}", f"{gap / len(rows):.3f}", cost.cpu])
    columns = ["clumps", "groups", "topics", "bound ratio", "gap, nats per segment", "CPU s"]
    return Table(f"Bounded memory: {len(images)} images, {len(rows):,} colour segments", columns, values)


def _discovery() -> Table:
    values = []
    for name in REAL:
        if not (DATA / name / "labels.csv").is_file():
            values.append([name, "skipped: not installed", "", "", "", "", ""])
            continue
        images, classes = _known_images(name)
        descriptor, cost = measure(lambda images=images: PyramidKernelAxes().fit(images, random_state=0))
        rows = np.stack([descriptor.describe(image) for image in images]).astype(float)
        for observation in ("diagonal", "full"):
            model = MemoryBoundedVDP(memory=200, epoch=100, observation=observation, width=0.05).fit(rows)
            clusters, probability = model.assign(rows)
            result = recognise(clusters, probability, classes, model.n_clusters_)
            right = f"{result.accuracy:.3f} of {result.tested}"
            agreement = f"{v_measure(classes, clusters):.3f}"
            frequent = f"{np.bincount(classes).max() / len(classes):.3f}"
            values.append([name, observation, model.n_clusters_, right, frequent, agreement, cost.cpu])
    columns = ["set", "clusters", "K", "right names", "largest class", "V-measure", "CPU s of the axes"]
    return Table(f"Object discovery: {MOST} images of the {FREQUENT} largest classes", columns, values)


def _known_images(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    with (DATA / name / "labels.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    labels = np.array([row["label"] for row in rows])
    names, counts = np.unique(labels, return_counts=True)
    frequent = names[np.argsort(-counts, kind="stable")[:FREQUENT]]
    positions = np.random.default_rng(0).permutation(np.flatnonzero(np.isin(labels, frequent)))[:MOST]
    images = [read_image(DATA / name / "images" / rows[at]["file"]) for at in positions]
    return images, np.searchsorted(np.sort(frequent), labels[positions])
