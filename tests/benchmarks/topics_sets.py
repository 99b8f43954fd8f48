"""Classes of real images from topics with few labels, against a vocabulary sweep, sparse codes and network features;
what images without labels add; and active learning against random labels."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benthoscope.engine.compute import LocalThreads
from benthoscope.engine.features import Choices, PrincipalAxes, ScSPM, descriptor_named
from benthoscope.engine.features.patches import LONGEST
from benthoscope.engine.features.planes import grey, shrink
from benthoscope.engine.features.sift import DenseSift
from benthoscope.engine.imaging import read_image
from benthoscope.engine.topics import (
    ActiveRule,
    HistogramIntersectionSVM,
    InfiniteWordTopicModel,
    VisualLDA,
    active_learning,
)
from tests.benchmarks.known_sets import REAL, KnownImages, has_set, real_images
from tests.benchmarks.measure import Table

LABELS = (5, 10, 25)  # of each class
OF_TEST = 10  # images of each class
CLASSES, OF_CLASS = 8, 40  # most frequent classes, and images of each
DRAWS = 3
TOPICS, COLUMNS, CLUSTERS, PASSES = 30, 24, 200, 20
WORDS = (50, 100, 200, 400)
PATCH, STEP = 24, 12  # px; images of 40 px have few patches
ROUNDS, BATCH = 5, 10  # of active learning


@dataclass(frozen=True)
class Described:
    """Patches (rows, D) of images and their centres (rows, 2) as shares of height and width, image vectors, classes
    (N,), and images for training and for tests."""

    patches: np.ndarray
    image: np.ndarray
    centres: np.ndarray
    codes: np.ndarray
    deep: np.ndarray
    classes: np.ndarray
    pool: np.ndarray
    test: np.ndarray

    def of(self, numbers: np.ndarray) -> list[np.ndarray]:
        return self.rows_of(self.patches, numbers)

    def rows_of(self, values: np.ndarray, numbers: np.ndarray) -> list[np.ndarray]:
        """Return the values of the patches of each image."""
        starts = np.searchsorted(self.image, np.arange(len(self.classes) + 1))
        return [values[starts[at] : starts[at + 1]] for at in numbers]


def tables(*names: str) -> Iterator[Table]:
    """Two tables of each named set, or of all."""
    for name in names or REAL:
        if has_set(name):
            yield from _of_set(name)


def _of_set(name: str) -> Iterator[Table]:
    data = described(real_images(name, 6_000))
    size = size_of(name, data)
    yield accuracies(size, data)
    yield Table(
        f"Active learning: {size}, mean accuracy over {ROUNDS} rounds of {BATCH} labels, after 5 a class",
        ["least certain by topics", "random", "difference", "standard error"],
        [_active(data)],
    )


def size_of(name: str, data: Described) -> str:
    return f"{name}, {len(np.unique(data.classes))} classes, {len(data.pool)} + {len(data.test)} images"


def described(known: KnownImages, classes: int = CLASSES, of_class: int = OF_CLASS) -> Described:
    """Describe at most `of_class` images of each of the most frequent classes."""
    numbers, pool, test = _split(known, classes, of_class)
    images = [read_image(known.paths[at], longest=LONGEST) for at in numbers]
    sift = DenseSift(PATCH, STEP)
    grids = list(LocalThreads().map(images, lambda image: sift(grey(shrink(image, LONGEST)))))
    rows = [grid.vectors for grid in grids]
    patches = PrincipalAxes(COLUMNS).fit(lambda: (rows[at] for at in pool), rng=np.random.default_rng(0))
    short = [np.asarray(patches(row), np.float32) for row in rows]
    centres = [np.column_stack([grid.rows / grid.height, grid.columns / grid.width]) for grid in grids]
    return Described(
        np.concatenate(short), np.repeat(np.arange(len(rows)), [len(row) for row in rows]), np.concatenate(centres),
        _codes(images, pool), _network(known, numbers), known.classes[numbers], pool, test,
    )  # fmt: skip


def _split(known: KnownImages, classes: int, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the images of the most frequent classes, and positions among them for training and for tests."""
    rng = np.random.default_rng(0)
    tracked = len(np.unique(known.tracks)) > 1
    numbers, parts = [], []
    for label in np.argsort(-np.bincount(known.classes), kind="stable")[:classes]:
        of_class = rng.permutation(np.flatnonzero(known.classes == label))
        groups = known.tracks[of_class] if tracked else of_class
        order = rng.permutation(np.unique(groups))
        sizes = np.array([(groups == group).sum() for group in order])
        in_test = np.isin(groups, order[: np.searchsorted(np.cumsum(sizes), OF_TEST) + 1])
        training, test = of_class[~in_test][: most - OF_TEST], of_class[in_test][: 2 * OF_TEST]
        if len(training) >= max(LABELS):
            numbers += [training, test]
            parts += [np.zeros(len(training), bool), np.ones(len(test), bool)]
    if len(parts) < 4:
        raise SystemExit(f"{known.name}: fewer than two classes have {max(LABELS) + OF_TEST} images")
    is_test = np.concatenate(parts)
    return np.concatenate(numbers), np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _codes(images: Sequence[np.ndarray], pool: np.ndarray) -> np.ndarray:
    learned = ScSPM(atoms=256).fit([images[at] for at in pool], random_state=0)
    return np.stack(list(LocalThreads().map(images, learned.describe)))


def _network(known: KnownImages, numbers: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        base = descriptor_named("deep", Choices(cache=Path(folder))).base.fit([])
        paths = [known.paths[at] for at in numbers]
        return np.stack(
            list(LocalThreads().map(paths, lambda path: base.describe(read_image(path, longest=base.longest))))
        )


def topic_model(**changes: Any) -> InfiniteWordTopicModel:
    settings = {"inference": "svi", "n_clusters": CLUSTERS, "max_iter": PASSES, "n_init": 1, "random_state": 0}
    return InfiniteWordTopicModel(TOPICS, **{**settings, **changes})


def accuracies(size: str, data: Described) -> Table:
    most = len(data.pool) // len(np.unique(data.classes)) + OF_TEST
    notes = [
        f"The most frequent classes with at most {most} images each; "
        f"topics and words are learned from all images of the pool. Means of {DRAWS} draws of labels. Images of one "
        "track are on one side.",
        "Topics, labelled only: the topics are learned from the labelled images alone.",
    ]
    columns = ["method", *(f"{labels} labels a class" for labels in LABELS)]
    return Table(f"Accuracy: {size}", columns, list(_accuracies(data)), notes)


def _accuracies(data: Described) -> Iterator[list[str]]:
    pool, test = data.of(data.pool), data.of(data.test)
    own = topic_model().fit(pool)
    others = {"lda, words of a Dirichlet process": "dp", "lda, clusters of iwtm as words": own}
    models: dict[str, Any] = {"topics (iwtm)": own}
    models |= {
        name: VisualLDA(TOPICS, words=words, n_words=CLUSTERS, max_iter=50, random_state=0).fit(pool)
        for name, words in others.items()
    }
    models |= {
        f"lda, {words} words": VisualLDA(TOPICS, n_words=words, max_iter=50, random_state=0).fit(pool)
        for words in WORDS
    }
    for name, model in models.items():
        weights, others = model.transform(pool), model.transform(test)
        yield [name, *_scores(data, lambda rows, w=weights: w[rows], others, HistogramIntersectionSVM(10.0))]
    alone = []
    for count in LABELS:
        scores = []
        for draw in range(DRAWS):
            rows = labelled(data, count, draw)
            own = topic_model().fit([pool[at] for at in rows])
            machine = HistogramIntersectionSVM(10.0).fit(own.topic_weights_, data.classes[data.pool][rows])
            scores.append((machine.predict(own.transform(test)) == data.classes[data.test]).mean())
        alone.append(f"{np.mean(scores):.3f}")
    yield ["topics, labelled only", *alone]
    for name, vectors in (("sparse codes (ScSPM), SVM", data.codes), ("network (deep), SVM", _unit(data.deep))):
        own = vectors[data.pool]
        yield [name, *_scores(data, lambda rows, v=own: v[rows], vectors[data.test], LinearSVC(C=1.0))]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _scores(data: Described, of_rows, others: np.ndarray, machine: Any) -> list[str]:
    out = []
    for count in LABELS:
        scores = []
        for draw in range(DRAWS):
            rows = labelled(data, count, draw)
            fitted = machine.fit(of_rows(rows), data.classes[data.pool][rows])
            scores.append((fitted.predict(others) == data.classes[data.test]).mean())
        out.append(f"{np.mean(scores):.3f}")
    return out


def labelled(data: Described, count: int, draw: int) -> np.ndarray:
    rng, labels = np.random.default_rng([draw, count]), data.classes[data.pool]
    return np.concatenate([rng.choice(np.flatnonzero(labels == y), count, replace=False) for y in np.unique(labels)])


def _active(data: Described) -> list[str]:
    model, curves = topic_model().fit(data.of(data.pool)), {"margin": [], "random": []}
    for draw in range(2 * DRAWS):
        seed = data.pool[labelled(data, LABELS[0], draw)]
        for strategy, means in curves.items():
            rounds = active_learning(
                model, data.patches, data.image, lambda numbers: data.classes[numbers], seed, data.pool,
                ActiveRule(BATCH, ROUNDS, strategy, grows=False), np.random.default_rng(draw), test=data.test,
                test_labels=data.classes[data.test], classifier=HistogramIntersectionSVM(10.0),
            )  # fmt: skip
            means.append(np.mean([each.accuracy for each in rounds[1:]]))
    gains = np.subtract(curves["margin"], curves["random"])
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return [f"{np.mean(means):.3f}" for means in curves.values()] + [f"{gains.mean():+.3f}", f"{error:.3f}"]
