"""Other ways to label a set: random images, active learning by its papers, and clusters that are grown.

Each strategy chooses the next images to label one by one; a linear model predicts the others. All use the same
features as the model of the program.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression

from benthoscope.engine.discriminative.optimisation import kmeans
from benthoscope.engine.discriminative.validation import overall
from benthoscope.engine.labelling.page_choice.page_layout import extremes_first, laid_out, likeness, page_to_sort
from benthoscope.engine.labelling.page_choice.queues import margins
from tests.benchmarks.experts import Expert, Point
from tests.benchmarks.known_sets import KnownSet

FIRST = 20  # labels before a model is asked
GROWTH = 0.1  # of the labels so far, in a batch
SORTED, COLUMNS = 120, 12
MOST_CLUSTERS = 500  # of TypiClust
NEIGHBOURS = 20
BALL_PURITY = 0.95  # of ProbCover
DROPOUT, MASKS = 0.75, 3  # of DropQuery
MARGIN = "margin sampling, linear model"
GALLOP = (64, 32, 16, 8)  # images of a cluster, from coarse to fine

Flow = Callable[[KnownSet, Expert, np.random.Generator], Iterator[Point]]


@dataclass(frozen=True)
class Pool:
    """Scaled rows (N, D), the labels (N,), -1 for none, and the model of the labels, if there is one."""

    X: np.ndarray
    labels: np.ndarray
    model: LogisticRegression | None
    rng: np.random.Generator

    @property
    def labelled(self) -> np.ndarray:
        return self.labels >= 0

    @property
    def free(self) -> np.ndarray:
        return np.flatnonzero(~self.labelled)


Strategy = Callable[[Pool, int], np.ndarray]


def with_linear_model(strategy: Strategy, *, cold: bool) -> Flow:
    """Return the flow of a strategy. A `cold` one chooses the first images itself; they are random for the others."""

    def flow(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
        X = scaled(known)
        pool = Pool(X, expert.labels, None, rng)
        for image in strategy(pool, FIRST) if cold else rng.permutation(len(X))[:FIRST]:
            expert.name(image)
        while (expert.labels < 0).any():
            model, predicted = fitted(X, expert.labels)
            yield expert.point(np.where(expert.labels >= 0, expert.labels, predicted))
            pool = Pool(X, expert.labels, model, rng)
            for image in strategy(pool, max(5, int(GROWTH * pool.labelled.sum())))[: len(pool.free)]:
                expert.name(image)
        yield expert.point(expert.labels)

    return flow


def scaled(known: KnownSet) -> np.ndarray:
    """Return the columns for classifiers with a mean squared norm of one."""
    return overall(known.wide)(known.wide)


def fitted(X: np.ndarray, labels: np.ndarray) -> tuple[LogisticRegression | None, np.ndarray]:
    """Return the model of the labelled images, if they have two classes, and the predictions of all."""
    known = labels >= 0
    if len(np.unique(labels[known])) < 2:
        return None, np.full(len(X), labels[known][0])
    model = LogisticRegression(C=10.0, max_iter=200).fit(X[known], labels[known])
    return model, model.predict(X)


def at_random(pool: Pool, count: int) -> np.ndarray:
    return pool.rng.permutation(pool.free)[:count]


def by_margin(pool: Pool, count: int) -> np.ndarray:
    """Return the images between two classes."""
    if pool.model is None:
        return at_random(pool, count)
    doubt = margins(pool.model.predict_proba(pool.X[pool.free]))
    return pool.free[np.argsort(-doubt, kind="stable")[:count]]


def typiclust(pool: Pool, count: int) -> np.ndarray:
    """Return the densest image of each of the largest clusters without a label (Hacohen et al. 2022)."""
    clusters = kmeans(pool.X, min(int(pool.labelled.sum()) + count, MOST_CLUSTERS, len(pool.X)), pool.rng)
    order = np.lexsort((-np.bincount(clusters), np.bincount(clusters, pool.labelled)))
    chosen = []
    for cluster in order:
        members = pool.free[clusters[pool.free] == cluster]
        if len(members):
            far = np.sort(cdist(pool.X[members], pool.X[members]), axis=1)[:, 1 : NEIGHBOURS + 1]
            chosen.append(members[far.mean(1).argmin() if far.size else 0])
        if len(chosen) == count:
            break
    return np.array(chosen)


def probcover(pool: Pool, count: int) -> np.ndarray:
    """Return images whose balls cover most images that no labelled ball covers (Yehuda et al. 2022). The radius is the
    largest one at which balls are pure by k-means groups."""
    far = cdist(pool.X, pool.X)
    near = far <= _radius(far, kmeans(pool.X, 20, np.random.default_rng(0)))
    covered = near[pool.labelled].any(0)
    chosen: list[int] = []
    for _ in range(min(count, len(pool.free))):
        gain = (near & ~covered).sum(1).astype(float)
        gain[pool.labelled] = -1
        gain[chosen] = -1
        best = int(pool.rng.choice(np.flatnonzero(gain == gain.max())))
        chosen.append(best)
        covered |= near[best]
    return np.array(chosen)


def _radius(far: np.ndarray, groups: np.ndarray) -> float:
    same = groups[:, None] == groups
    for radius in np.quantile(far, np.linspace(0.3, 0.005, 60)):
        near = far <= radius
        if (same | ~near).all(1).mean() >= BALL_PURITY:
            return float(radius)
    return float(np.quantile(far, 0.005))


def maxherding(pool: Pool, count: int) -> np.ndarray:
    """Return images that raise the mean similarity of every image to its most similar labelled one most (Bae et al.
    2024)."""
    far = cdist(pool.X, pool.X, "sqeuclidean")
    similar = np.exp(-far / np.median(far[far > 0]) * 4)
    best = similar[pool.labelled].max(0, initial=0.0)
    chosen: list[int] = []
    for _ in range(min(count, len(pool.free))):
        gain = np.maximum(similar - best, 0).sum(1)
        gain[pool.labelled] = -1
        gain[chosen] = -1
        chosen.append(int(gain.argmax()))
        best = np.maximum(best, similar[chosen[-1]])
    return np.array(chosen)


def dropquery(pool: Pool, count: int) -> np.ndarray:
    """Return the centres of clusters of images whose class changes when features are dropped (Gupte et al. 2024)."""
    if pool.model is None:
        return typiclust(pool, count)
    free, guess = pool.free, pool.model.predict(pool.X[pool.free])
    changed = np.zeros(len(free))
    for _ in range(MASKS):
        mask = (pool.rng.random(pool.X[free].shape) >= DROPOUT) / (1 - DROPOUT)
        changed += pool.model.predict(pool.X[free] * mask) != guess
    unstable = free[changed > MASKS / 2]
    if len(unstable) <= count:
        return np.concatenate([unstable, by_margin(pool, count)])[:count]
    groups = kmeans(pool.X[unstable], count, pool.rng)
    centres = np.stack([pool.X[unstable[groups == group]].mean(0) for group in range(groups.max() + 1)])
    return unstable[cdist(centres, pool.X[unstable]).argmin(1)]


def one_by_one(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Label images in random order without predictions."""
    for step, image in enumerate(rng.permutation(len(known.X))):
        expert.name(image)
        if step % 20 == 0:
            yield expert.point(expert.labels)
    yield expert.point(expert.labels)


def uncertain_page(X: np.ndarray, P: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return page_to_sort(X, P, SORTED)


def random_page(X: np.ndarray, P: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(len(X))[:SORTED]


def linear_model_and_pages(choose: Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]) -> Flow:
    """Return the flow that labels twenty random images, then sorts pages of images with the suggestions of a linear
    model. `choose` returns the positions of a page from rows and probabilities of images without a label."""

    def flow(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
        X = scaled(known)
        for image in rng.permutation(len(X))[:FIRST]:
            expert.name(image)
        while (expert.labels < 0).any():
            model, predicted = fitted(X, expert.labels)
            yield expert.point(np.where(expert.labels >= 0, expert.labels, predicted))
            free = np.flatnonzero(expert.labels < 0)
            P = model.predict_proba(X) if model else np.ones((len(X), 1))
            page = free[choose(X[free], P[free], rng)]
            page = page[laid_out(likeness(X[page], P[page]), COLUMNS)]
            expert.labels[page] = predicted[page]
            for kind, images in expert.sorted_page(page, predicted[page], COLUMNS):
                expert.labels[images] = kind
        yield expert.point(expert.labels)

    return flow


def grown_clusters(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Approve pure clusters, from coarse to fine ones; extend each page by page until an image does not match; label
    the others one by one."""
    X = scaled(known)
    for size in GALLOP:
        free = np.flatnonzero(expert.labels < 0)
        if len(free) < 2 * size:
            continue
        clusters = kmeans(X[free], len(free) // size, rng)
        for cluster in range(clusters.max() + 1):
            members = free[(clusters == cluster) & (expert.labels[free] < 0)]
            if len(members) >= max(size // 4, 3):
                _approve_and_grow(X, expert, members, size)
                yield expert.point(expert.labels)
    for step, image in enumerate(rng.permutation(np.flatnonzero(expert.labels < 0))):
        expert.name(image)
        if step % 10 == 0:
            yield expert.point(expert.labels)
    yield expert.point(expert.labels)


def _approve_and_grow(X: np.ndarray, expert: Expert, members: np.ndarray, size: int) -> None:
    named = expert.names_group(members[extremes_first(X[members])][:24])
    if named < 0:
        return
    expert.labels[members] = named
    free = np.flatnonzero(expert.labels < 0)
    ranking = free[np.argsort(((X[free] - X[members].mean(0)) ** 2).sum(1))]
    for start in range(0, len(ranking), size):
        page = ranking[start : start + size]
        if not expert.all_belong(page, named):
            return
        expert.labels[page] = named


BASELINES: dict[str, Flow] = {
    "one by one, at random": one_by_one,
    "random, linear model": with_linear_model(at_random, cold=False),
    MARGIN: with_linear_model(by_margin, cold=False),
    "TypiClust, linear model": with_linear_model(typiclust, cold=True),
    "ProbCover, linear model": with_linear_model(probcover, cold=True),
    "MaxHerding, linear model": with_linear_model(maxherding, cold=True),
    "DropQuery, linear model": with_linear_model(dropquery, cold=True),
    "20 labels, linear model, pages to sort": linear_model_and_pages(uncertain_page),
    "20 labels, linear model, random pages": linear_model_and_pages(random_page),
    "pure clusters, grown by pages": grown_clusters,
}
