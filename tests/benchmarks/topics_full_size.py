"""Topics of a corpus of the size of the source's: 1,300 images, about 650 descriptors of 128 columns, 25 topics, at
most 4,000 clusters and 8,000 atoms. Dense SIFT of real images, or a drawn corpus if there are none."""

import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning

from benthoscope.engine.distributions import SphericalGaussian
from benthoscope.engine.features.planes import grey
from benthoscope.engine.features.sift import DenseSift
from benthoscope.engine.imaging import read_image
from benthoscope.engine.topics import InfiniteWordTopicModel, draw_corpus
from tests.benchmarks.known_sets import DATA
from tests.benchmarks.measure import Table, measure
from tests.benchmarks.peer_environment import MISSING, is_available, peer_result

IMAGES, EACH, WIDTH, TOPICS, CLUSTERS, EPOCHS = 1_300, 650, 128, 25, 4_000, 50
VOCABULARY = 1_000
LLOYD = 100  # most iterations of k-means
NEAREST = 16  # atoms remembered for each descriptor
SOURCE = 1_150 * 60  # CPU seconds of the source's stochastic inference
PEERS = {"gensim": EPOCHS, "scikit-learn": EPOCHS, "tomotopy": 200, "tomotopy-hdp": 50}  # passes


@lru_cache(maxsize=1)
def corpus() -> tuple[str, np.ndarray, np.ndarray]:
    """Return the name of the corpus, its descriptors (rows, D) in float32, and their images."""
    folder = DATA / "deepdive_gbr" / "images"
    paths = sorted(folder.glob("*.jpg")) if folder.exists() else []
    if len(paths) < IMAGES:
        return ("drawn from the prior", *drawn_corpus(IMAGES, EACH, WIDTH))
    chosen = np.sort(np.random.default_rng(0).permutation(len(paths))[:IMAGES])
    sift = DenseSift(24, 9)  # 26 x 26 patches of an image of 250 x 250 px
    vectors = [sift(grey(read_image(paths[at]))).vectors.astype(np.float32) for at in chosen]
    return "deepdive_gbr", np.concatenate(vectors), np.repeat(np.arange(IMAGES), [len(each) for each in vectors])


def drawn_corpus(images: int, each: int, width: int, clusters: int = 1_000, seed: int = 0):
    """Return float32 descriptors drawn from the model's prior, and their images."""
    base = SphericalGaussian.prior(np.zeros(width), 0.3, 3.0, 50.0)
    drawn = draw_corpus(
        images, each, np.full(TOPICS, 0.1), base, np.random.default_rng(seed), form="sticks",
        topic_concentration=clusters / 10, concentration=clusters / 10,
    )  # fmt: skip
    return drawn.descriptors.astype(np.float32), drawn.image_of_descriptor


def fits() -> Iterator[Table]:
    """Stochastic inference against coordinate ascent, and its quality against exact likelihoods."""
    name, X, image = corpus()
    settings = {"n_clusters": CLUSTERS, "n_init": 1, "random_state": 0, "n_nearest": NEAREST, "tol": 0.0}
    rows, bounds = [], {}
    for inference in ("svi", "vi"):
        model = InfiniteWordTopicModel(TOPICS, inference=inference, max_iter=EPOCHS, **settings)
        _, cost = measure(lambda model=model: model.fit(X, image))
        bounds[inference] = model.lower_bound_
        rows.append(
            [inference, cost.cpu, cost.wall, model.n_clusters_, model.n_atoms_, f"{model.lower_bound_:,.0f}", cost.peak]
        )
    more = (bounds["svi"] - bounds["vi"]) / abs(bounds["vi"])
    notes = [
        f"{name}, {len(X):,} descriptors; {NEAREST} nearest atoms of each descriptor; exact bounds at the end.",
        f"svi: bound {more:+.3%} of vi's; {rows[0][1] / 60:.1f} CPU minutes; the source needed "
        f"{SOURCE / rows[0][1]:.0f} times as many.",
    ]
    columns = ["inference", "CPU s", "wall s", "clusters", "atoms", "bound", "peak MB"]
    yield Table(f"{IMAGES:,} images, {TOPICS} topics, {CLUSTERS:,} clusters, {EPOCHS} passes", columns, rows, notes)


def words_and_lda() -> Iterator[Table]:
    """One run of k-means and LDA, as the source compared with."""
    name, X, image = corpus()
    words, cost = measure(lambda: _words(X))
    ending = "at most" if words.n_iter_ == LLOYD else "stopped by itself before"
    rows: list[list[Any]] = [[f"k-means, {VOCABULARY:,} words, {words.n_iter_} iterations", cost.cpu]]
    if is_available():
        lda = _cost_of_lda("gensim", _word_counts(words.labels_, image))
        rows += [[f"LDA of gensim, {PEERS['gensim']} passes", lda], ["both", cost.cpu + lda]]
    notes = [
        f"{name}, {len(X):,} descriptors. k-means of scikit-learn from random rows, one start, {ending} {LLOYD} "
        "iterations, complete.",
        *([] if is_available() else [MISSING]),
    ]
    yield Table(f"{IMAGES:,} images, one vocabulary with LDA", ["step", "CPU s"], rows, notes)


def _words(X: np.ndarray) -> KMeans:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(VOCABULARY, init="random", n_init=1, max_iter=LLOYD, random_state=0).fit(X)


def other_lda() -> Iterator[Table]:
    """LDA of other programs on the words of a cheaper k-means."""
    name, X, image = corpus()
    words, cost = measure(lambda: MiniBatchKMeans(VOCABULARY, n_init=1, random_state=0).fit(X).labels_)
    rows = [[f"k-means in small batches, {VOCABULARY:,} words", cost.cpu]]
    if is_available():
        counts = _word_counts(words, image)
        rows += [
            [f"LDA of {method}, {passes} passes", _cost_of_lda(method, counts)] for method, passes in PEERS.items()
        ]
    notes = [f"{name}, {len(X):,} descriptors.", *([] if is_available() else [MISSING])]
    yield Table(f"{IMAGES:,} images, LDA of other programs", ["step", "CPU s"], rows, notes)


def _word_counts(words: np.ndarray, image: np.ndarray) -> np.ndarray:
    counts = np.zeros((IMAGES, VOCABULARY), np.int32)
    np.add.at(counts, (image, words), 1)
    return counts


def _cost_of_lda(method: str, counts: np.ndarray) -> float:
    return float(peer_result("topic_peers.py", method, str(TOPICS), str(PEERS[method]), "0", counts=counts)["cpu"])
