"""The experiments of the source (methods note 10.1 to 10.8) on images of one's own, or on the set of fish.

TOPIC_IMAGES=FOLDER python -m tests.benchmarks topics:experiments, where FOLDER has one subfolder for each class.
TOPIC_IMAGES_OF_CLASS says how many images of each class are used.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from benthoscope.engine.topics import (
    ActiveRule,
    HistogramIntersectionSVM,
    InfiniteWordTopicModel,
    PyramidKernel,
    VisualLDA,
    active_learning,
)
from benthoscope.engine.topics.classes.classification import pyramid_histograms
from tests.benchmarks import topics_sets
from tests.benchmarks.known_sets import has_set, images_of_folder, real_images
from tests.benchmarks.measure import Table, measure
from tests.benchmarks.topics_sets import CLUSTERS, LABELS, PASSES, TOPICS, WORDS, Described, labelled, topic_model

USUAL_SET = "fish4knowledge"
SWEEPS, BURN_IN, PATCHES = 200, 50, 50  # per chain; patches of each image, drawn at random
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)  # of the images in a batch
STEPS, MOST = 5, 500  # parts in which images arrive, and clusters, so that the limit does not decide
ROUNDS, DRAWS = 5, 3  # of active learning


def tables() -> Iterator[Table]:
    folder = os.environ.get("TOPIC_IMAGES")
    if folder:
        most = int(os.environ.get("TOPIC_IMAGES_OF_CLASS", topics_sets.OF_CLASS))
        name, data = Path(folder).name, topics_sets.described(images_of_folder(Path(folder)), 10_000, most)
    elif has_set(USUAL_SET):
        name, data = USUAL_SET, topics_sets.described(real_images(USUAL_SET, 6_000))
    else:
        yield Table("The source's experiments", ["skipped"], [["TOPIC_IMAGES does not name a folder of images"]])
        return
    size = topics_sets.size_of(name, data)
    for table in (_by_gibbs, topics_sets.accuracies, _batches, _pyramids, _arriving, _active):
        yield table(size, data)


def _by_gibbs(size: str, data: Described) -> Table:
    """Classes learned together with the topics (10.1, 10.2)."""
    rng, y = np.random.default_rng(0), data.classes[data.pool]
    pool, test = ([_some(rows, rng) for rows in data.of(part)] for part in (data.pool, data.test))
    settings: dict[str, Any] = {"inference": "gibbs", "sweeps": SWEEPS, "burn_in": BURN_IN, "random_state": 0}
    own = InfiniteWordTopicModel(TOPICS, n_clusters=CLUSTERS, **settings).fit(pool, y=y)
    models = {"topics (iwtm)": own}
    words: dict[str, dict[str, Any]] = {f"lda, {count} words": {"n_words": count} for count in WORDS}
    words["lda, clusters of iwtm as words"] = {"words": topic_model().fit(pool)}
    models |= {name: VisualLDA(TOPICS, **choice, **settings).fit(pool, y=y) for name, choice in words.items()}
    rows = [
        [name, float((model.predict_class(test) == data.classes[data.test]).mean())] for name, model in models.items()
    ]
    notes = [f"{PATCHES} patches of each image, {SWEEPS} sweeps; iwtm uses {own.n_clusters_} clusters."]
    return Table(f"Classes by Gibbs sampling: {size}", ["model", "accuracy"], rows, notes)


def _some(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rows[rng.permutation(len(rows))[:PATCHES]]


def _batches(size: str, data: Described) -> Table:
    """Stochastic inference with batches of several sizes, each with the same number of passes (10.4)."""
    pool, rows = data.of(data.pool), []
    for share in SHARES:
        model = topic_model(learning_rate=share)
        _, cost = measure(lambda model=model: model.fit(pool))
        rows.append([f"{share:.0%}", f"{model.lower_bound_:,.0f}", model.n_clusters_, cost.cpu])
    return Table(f"Size of batches, {PASSES} passes: {size}", ["batch", "bound", "clusters", "CPU s"], rows)


def _pyramids(size: str, data: Described) -> Table:
    """Topics and words of patches in a spatial pyramid (10.5)."""
    pool, test = data.of(data.pool), data.of(data.test)
    centres = [data.rows_of(data.centres, part) for part in (data.pool, data.test)]
    own = topic_model().fit(pool)
    lda = VisualLDA(TOPICS, n_words=300, max_iter=1, random_state=0).fit(pool)
    words = lda.topics_.vocabulary
    methods: dict[str, tuple[Callable[[list[np.ndarray]], list[np.ndarray]], int]] = {
        "topics (iwtm)": (lambda images: [own.patch_topics(rows, np.zeros(len(rows), int)) for rows in images], TOPICS),
        f"{words.n_words} words": (lambda images: [words.words(rows - lda.centre_) for rows in images], words.n_words),
    }
    rows = []
    for name, (named, count) in methods.items():
        training, others = (
            _levels(named(part), places, count) for part, places in zip((pool, test), centres, strict=True)
        )
        rows.append([name, *_pyramid_scores(data, training, others)])
    columns = ["patches as", *(f"{count} labels a class" for count in LABELS)]
    return Table(f"Spatial pyramid: {size}", columns, rows)


def _levels(words: list[np.ndarray], centres: list[np.ndarray], count: int) -> list[np.ndarray]:
    images = [
        pyramid_histograms(of_patch, at[:, 0], at[:, 1], (1, 1), count)
        for of_patch, at in zip(words, centres, strict=True)
    ]
    return [np.stack(level) for level in zip(*images, strict=True)]


def _pyramid_scores(data: Described, training: list[np.ndarray], others: list[np.ndarray]) -> Iterator[str]:
    for count in LABELS:
        scores = []
        for draw in range(DRAWS):
            rows = labelled(data, count, draw)
            kernel = PyramidKernel([level[rows] for level in training])
            machine = SVC(kernel="precomputed", C=10.0).fit(kernel.gram, data.classes[data.pool][rows])
            scores.append((machine.predict(kernel(others)) == data.classes[data.test]).mean())
        yield f"{np.mean(scores):.3f}"


def _arriving(size: str, data: Described) -> Table:
    """Images that arrive in parts: adding them, with and without their own clusters, against a new fit (10.7)."""
    order = np.random.default_rng(0).permutation(data.pool)
    parts = np.array_split(order, STEPS)
    grown = topic_model(inference="incremental", n_clusters=MOST).fit(data.of(parts[0]))
    plain = clone(grown).fit(data.of(parts[0]))
    rows = []
    for step in range(1, STEPS):
        new, so_far = data.of(parts[step]), data.of(np.concatenate(parts[: step + 1]))
        _, adding = measure(lambda new=new: grown.partial_fit(new))
        plain.partial_fit(new, extend=False)
        again = clone(grown)
        _, fitting = measure(lambda again=again, so_far=so_far: again.fit(so_far))
        bounds = [f"{model.lower_bound_:,.0f}" for model in (grown, plain, again)]
        clusters = [model.n_clusters_ for model in (grown, plain, again)]
        rows.append([len(so_far), adding.cpu, fitting.cpu, *bounds, *clusters])
    columns = ["images", "adding, CPU s", "new fit, CPU s"]
    columns += [
        f"{what}, {how}" for what in ("bound", "clusters") for how in ("added", "without new clusters", "new fit")
    ]
    return Table(f"Images that arrive in {STEPS} parts: {size}", columns, rows)


def _active(size: str, data: Described) -> Table:
    """Accuracy while labels are added and topics grow with them, by the least certain images and at random (10.8)."""
    models = {"topics (iwtm)": topic_model(inference="incremental")}
    models |= {
        f"lda, {count} words": VisualLDA(TOPICS, n_words=count, random_state=0) for count in (WORDS[0], WORDS[-1])
    }
    rows = []
    for name, model in models.items():
        for strategy in ("margin", "random"):
            rounds = [_course(data, model, strategy, draw) for draw in range(DRAWS)]
            means = np.mean([[each.accuracy for each in course] for course in rounds], axis=0)
            rows.append([f"{name}, {strategy}", *(f"{accuracy:.3f}" for accuracy in means)])
    first, batch = LABELS[0] * len(np.unique(data.classes)), topics_sets.BATCH
    columns = ["model, choice", *(f"{first + batch * number} labels" for number in range(ROUNDS + 1))]
    return Table(f"Active learning with topics that grow: {size}", columns, rows)


def _course(data: Described, model: Any, strategy: str, draw: int) -> list[Any]:
    seed = data.pool[labelled(data, LABELS[0], draw)]
    return active_learning(
        model, data.patches, data.image, lambda numbers: data.classes[numbers], seed, data.pool,
        ActiveRule(topics_sets.BATCH, ROUNDS, strategy), np.random.default_rng(draw), test=data.test,
        test_labels=data.classes[data.test], classifier=HistogramIntersectionSVM(10.0),
    )  # fmt: skip
