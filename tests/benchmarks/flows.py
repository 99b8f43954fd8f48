"""Ways to label a whole set, from one image after the other to ours; each tells where it stands as it goes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from engine.labelling.alike import alike
from engine.labelling.bisection import page_of
from engine.labelling.inputs import Inputs, inputs
from engine.labelling.learner import Learned, learn
from engine.labelling.ordering import extremes_first
from engine.labelling.queues import margins
from engine.mixtures import GMC
from tests.benchmarks.experts import Expert, Point, point
from tests.benchmarks.known_sets import KnownSet

PAGE = 50
FIRST = 20        # labels before a model is asked
GROWTH = 0.04     # of the labels so far, in a batch: retraining after each one would change little but take hours
ROUNDS = 400
IN_VIEW = 24      # images of a cluster on the first screen
GROUP_WEIGHT = 8.0  # labels a group's name counts for in all: its images are alike, and not all of them as named
NEW = 1.0           # images like nothing known, for which a group is asked about before anything else
CLEAR = 0.7         # of what a page puts right an action, a single image must: it also teaches more
MOST = 0.7          # of the images: so many are in clusters that are named before a model is asked

Flow = Callable[[KnownSet, Expert, np.random.Generator], Iterator[Point]]


def one_by_one(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Images in random order, nothing foretold."""
    for place, image in enumerate(rng.permutation(len(known.X))):
        expert.name(image)
        if place % 20 == 0:
            yield point(expert)
    yield point(expert)


def random_with_model(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Images in random order; a linear model foretells the others."""
    yield from _with_linear_model(known, expert, rng, lambda P: rng.random(len(P)))


def margin(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """What a linear model is least sure of, image by image."""
    yield from _with_linear_model(known, expert, rng, margins)


def _with_linear_model(known, expert, rng, worth) -> Iterator[Point]:
    for image in rng.permutation(len(known.X))[:FIRST]:
        expert.name(image)
    while (expert.labels < 0).any():
        said = expert.labels >= 0
        P, classes = _linear(known.X, expert.labels, said)
        yield point(expert, classes[P.argmax(1)])
        free = np.flatnonzero(~said)
        batch = max(5, int(GROWTH * said.sum()))
        for image in free[np.argsort(-worth(P[free]), kind="stable")[:batch]]:
            expert.name(image)
    yield point(expert)


def _linear(X, labels, said):
    if len(np.unique(labels[said])) < 2:
        return np.ones((len(X), 1)), labels[said][:1]
    model = LogisticRegression(C=10.0, max_iter=200).fit(X[said] / X.std(), labels[said])
    return model.predict_proba(X / X.std()), model.classes_


def galloping(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """After MorphoCluster: clusters are approved or dissolved, the approved grown page by page until one does not
    belong, what is left is clustered more finely, and in the end the rest is named one by one."""
    for size in (128, 64, 32, 16):
        free = np.flatnonzero(expert.labels < 0)
        if len(free) < size:
            continue
        model = GMC(width=0.05 * size / 128, random_state=0, max_clusters=max(len(free) // size, 2))
        labels = model.fit(known.X[free], groups=known.groups[free]).labels_
        for cluster in range(model.n_clusters_):
            members = free[(labels == cluster) & (expert.labels[free] < 0)]
            if len(members) >= size // 8:
                _approved_and_grown(known, expert, rng, members)
                yield point(expert)
    for place, image in enumerate(rng.permutation(np.flatnonzero(expert.labels < 0))):
        expert.name(image)
        if place % 10 == 0:
            yield point(expert)
    yield point(expert)


def _approved_and_grown(known, expert, rng, members) -> None:
    name = expert.name_group(members[extremes_first(known.X[members])][:100])
    if name < 0:
        return
    expert.accept(members, name)
    free = np.flatnonzero(expert.labels < 0)
    ranking = free[np.argsort(((known.X[free] - known.X[members].mean(0)) ** 2).sum(1))]
    expert.accept(ranking[: PAGE * _galloped(expert, ranking, name)], name)


def _galloped(expert: Expert, ranking: np.ndarray, name: int) -> int:
    """Pages to take: 1, 2, 4, ... ahead until the first no, then a quarter or half of the gap."""
    pages, good, step = -(-len(ranking) // PAGE), 0, 1
    bad = pages
    while good < bad:
        page = min(good + step - 1, bad - 1)
        if expert.all_belong(page_of(ranking, page, PAGE), name):
            good = page + 1
            step = 2 * step if bad == pages else max((bad - good) // 2, 1)
        else:
            bad = page
            step = max((bad - good) // 4, 1)
    return good


@dataclass
class Named:
    """What the expert said of groups: a name (N,), how much an image is to be trusted with it (N,), and in which act
    (N,) it was said; images named one by one have acts of their own."""

    names: np.ndarray
    trust: np.ndarray
    acts: np.ndarray

    def take(self, images: np.ndarray, name: int) -> None:
        self.names[images] = name
        self.acts[images] = self.acts.max() + 1
        self.trust[images] = min(1.0, GROUP_WEIGHT / len(images))


@dataclass
class Asked:
    """The groups the expert has seen, and how many of them had one name."""

    before: np.ndarray
    named: float = 1.0
    seen: float = 1.5

    @property
    def purity(self) -> float:
        return self.named / self.seen

    def note(self, group: int, name: int) -> None:
        self.before[group] = True
        self.named, self.seen = self.named + (name >= 0), self.seen + 1


def ours(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Clusters are named at a glance, then groups of alike images that are unlike all that is known; after that single
    images near a boundary, or pages of one suggestion sorted out by exception."""
    clusters = GMC(random_state=0).fit(known.X, groups=known.groups).labels_
    data = inputs(known.X, clusters, rng=rng)
    said = Named(np.full(len(known.X), -1), np.zeros(len(known.X)), np.arange(len(known.X)))
    groups = alike(data.rows, clusters, rng)
    asked = Asked(np.zeros(groups.count, bool))
    for cluster in _largest(clusters):
        members = np.flatnonzero(clusters == cluster)
        said.take(members, expert.name_group(_in_view(known.X, members, rng)))
        yield point(expert, said.names)
    model = None
    for _ in range(ROUNDS):
        model, P = _learnt(data, expert, said, model, rng)
        yield point(expert, model.terms[P.argmax(1)])
        if not (expert.labels < 0).any():
            return
        _next_act(expert, said, groups, asked, model, P)


def _largest(clusters: np.ndarray) -> np.ndarray:
    """The clusters that together hold most of the images: the others wait for the model to call for them."""
    sizes = np.bincount(clusters)
    order = np.argsort(-sizes, kind="stable")
    return order[: int(np.searchsorted(np.cumsum(sizes[order]), MOST * len(clusters))) + 1]


def _in_view(X: np.ndarray, members: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The extremes of a cluster and some of its images at random."""
    extremes = members[extremes_first(X[members], IN_VIEW // 2)][: IN_VIEW // 2]
    return np.unique(np.concatenate([extremes, rng.permutation(members)[: IN_VIEW // 2]]))


def _learnt(data: Inputs, expert: Expert, said: Named, before: Learned | None, rng) -> tuple[Learned, np.ndarray]:
    single = expert.labels >= 0
    names, trust = np.where(single, expert.labels, said.names), np.where(single, 1.0, said.trust)
    places = np.flatnonzero(names >= 0)
    if len(np.unique(names[places])) < 2:
        for image in rng.permutation(len(names))[:FIRST]:
            expert.name(image)
        return _learnt(data, expert, said, before, rng)
    model = learn(data, places, names[places], trust[places], said.acts[places], before=before, rng=rng)
    return model, model.probabilities(data.rows)


def _next_act(expert, said, groups, asked, model, P) -> None:
    """First what is unlike everything known, a group at a time; then what is near a boundary, image by image; where
    even there most guesses are right, pages sorted out by exception."""
    open_ = expert.labels < 0
    known = np.bincount(groups.of, ~open_ | (said.names >= 0), groups.count) > 0
    new = np.where(asked.before, 0, groups.worth(groups.novelty(known)[groups.of], open_)) * asked.purity
    free, batch = np.flatnonzero(open_), max(4, int(GROWTH * expert.actions))
    doubt = 1 - P[free].max(1)
    single = np.argsort(-margins(P[free]), kind="stable")[:batch]
    page, gain = _best_page(P[free].argmax(1), doubt)
    if new.max() >= NEW:
        _ask_groups(expert, said, groups, asked, np.argsort(-new)[: min(batch, int((new >= NEW).sum()))])
    elif doubt[single].mean() >= CLEAR * gain:
        for image in free[single]:
            expert.name(image)
    else:
        order = np.argsort(-P[free[page]], axis=1)
        expert.correct(free[page], model.terms[order[:, 0]], model.terms[order[:, 1]])


def _ask_groups(expert, said, groups, asked, chosen) -> None:
    for group in chosen.tolist():
        members = groups.members(group)
        name = expert.name_group(members[:IN_VIEW])
        asked.note(group, name)
        if name >= 0:
            said.take(members, name)


def _best_page(best: np.ndarray, doubt: np.ndarray) -> tuple[np.ndarray, float]:
    """Of every suggestion the page of its most doubtful images; the page that puts most right for an action."""
    pages = []
    for term in np.unique(best):
        mine = np.flatnonzero(best == term)
        page = mine[np.argsort(-doubt[mine])[:PAGE]]
        wrong = doubt[page].sum()
        pages.append((wrong / (1 + 1.5 * wrong), page))
    gain, page = max(pages, key=lambda pair: pair[0])
    return page, float(gain)


FLOWS: dict[str, Flow] = {
    "one by one, at random": one_by_one, "random, linear model": random_with_model,
    "margin sampling, linear model": margin, "clusters, grown by galloping": galloping, "ours": ours,
}
