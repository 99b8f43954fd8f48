"""Ways to label a whole set, from one image after the other to ours; each tells where it stands as it goes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from sklearn.linear_model import LogisticRegression

from engine.labelling.alike import Groups, alike
from engine.labelling.bisection import page_of
from engine.labelling.inputs import Inputs, inputs
from engine.labelling.learner import Learned, learn
from engine.labelling.ordering import extremes_first
from engine.labelling.queues import margins
from engine.labelling.sorting import laid_out, likeness, page_to_sort
from engine.mixtures import GMC
from tests.benchmarks.experts import Expert, Point, point
from tests.benchmarks.known_sets import KnownSet

PAGE = 50         # images of a page that is answered as a whole
SORTED = 120      # images of a page that is sorted, and the columns they lie in
COLUMNS = 12
FIRST = 20        # labels before a model is asked
GROWTH = 0.04     # of the labels so far, in a batch: retraining after each one would change little but take hours
ROUNDS = 400
IN_VIEW = 24      # images of a cluster on the first screen
GROUP_WEIGHT = 8.0  # labels a group's name counts for in all: its images are alike, and not all of them as named
MOST = 0.6          # of the images: so many are in clusters that are named before a model is asked
WORTH = 1.0         # doubtful images for which a group is asked about
GROUPS_AT_ONCE = 0.06  # of the actions so far, between two learnings
FEWEST = 2          # of them at least
DOUBTED = 0.8       # how sure the model is of another name where one is asked for again
FORGETTING = 0.6    # how much of what a kind of act gained before counts beside what it gained last
AT_FIRST = {"groups": 20.0, "pages": 2.0}  # images put right an action, as long as nobody has seen

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
class Gains:
    """What naming groups and sorting pages put right an action lately: the expert's own corrections tell."""

    groups: float = AT_FIRST["groups"]
    pages: float = AT_FIRST["pages"]

    def of_group(self, gained: float) -> None:
        kept = FORGETTING**0.5  # groups are asked several at a time
        self.groups = kept * self.groups + (1 - kept) * gained

    def of_page(self, gained: float) -> None:
        self.pages = FORGETTING * self.pages + (1 - FORGETTING) * gained
        self.groups = max(self.groups, 0.3 * self.pages) + 0.1  # lest what once gained little is never tried again


@dataclass
class Asked:
    """The groups the expert has seen (groups,) bool, and how many of them had one name."""

    before: np.ndarray
    named: float = 1.0
    seen: float = 1.5

    @property
    def purity(self) -> float:
        return self.named / self.seen

    def note(self, group: int, name: int) -> None:
        self.before[group] = True
        self.named, self.seen = self.named + (name >= 0), self.seen + 1


@dataclass(frozen=True)
class Ours:
    """The state of our flow: what is known of the images, what was said, which acts were looked at again, and what acts
    have gained."""

    expert: Expert
    data: Inputs
    said: Named
    groups: Groups  # asked about at a glance
    asked: Asked
    gains: Gains
    checked: set[int] = field(default_factory=set)

    @classmethod
    def begun(cls, known: KnownSet, expert: Expert, clusters: np.ndarray, rng: np.random.Generator) -> "Ours":
        data, count = inputs(known.X, clusters, rng=rng), len(known.X)
        groups = alike(data.rows, clusters, rng)
        said = Named(np.full(count, -1), np.zeros(count), np.arange(count))
        return cls(expert, data, said, groups, Asked(np.zeros(groups.count, bool)), Gains())


def ours(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
    """Clusters are named at a glance; then groups of alike images, or pages of doubtful images laid out by likeness,
    whichever has put more right an action of late."""
    clusters = GMC(random_state=0).fit(known.X, groups=known.groups).labels_
    state = Ours.begun(known, expert, clusters, rng)
    for cluster in _largest(clusters):
        members = np.flatnonzero(clusters == cluster)
        name = expert.name_group(_in_view(known.X, members, rng))
        if name >= 0:
            state.said.take(members, name)
        yield point(expert, state.said.names)
    model = None
    for _ in range(ROUNDS):
        model, P = _learnt(state.data, expert, state.said, model, rng)
        yield point(expert, model.terms[P.argmax(1)])
        if not (expert.labels < 0).any():
            return
        doubted = _doubted_act(state, model)
        if doubted is None:
            _next_act(state, model, P)
        else:
            _ask_again(state, doubted, rng)


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


def _doubted_act(state: Ours, model: Learned) -> int | None:
    """A group whose name the model, had it not been told, would sooner have taken for another: likely a slip. It is
    asked only where it knows both names from elsewhere, and once."""
    held = model.held_out
    acts, P = state.said.acts[held.places], held.probabilities(model.temperature)
    told = (state.expert.labels[held.places] < 0) & ~np.isin(acts, list(state.checked))
    found = {}
    for act in np.unique(acts[told]).tolist():
        mean, name = P[acts == act].mean(0), held.y[acts == act][0]
        if mean.max() >= DOUBTED and mean.argmax() != name and len(np.unique(acts[held.y == name])) > 1:
            found[act] = mean[name]
    return min(found, key=found.get) if found else None


def _ask_again(state: Ours, act: int, rng: np.random.Generator) -> None:
    members = np.flatnonzero((state.said.acts == act) & (state.expert.labels < 0))
    name = state.expert.name_group(rng.permutation(members)[:IN_VIEW])
    state.said.take(members, name)
    state.checked.add(int(state.said.acts[members[0]]))


def _next_act(state: Ours, model: Learned, P: np.ndarray) -> None:
    """What a group would tell: that it is new, or what the model doubts, as far as its doubts can be believed. (Taught
    by few acts it doubts nearly everything, what it has right as well.)"""
    terms, open_ = model.terms, state.expert.labels < 0
    doubt = np.where(open_, 1 - P.max(1), 0.0)
    known = np.bincount(state.groups.of, ~open_ | (state.said.names >= 0), state.groups.count) > 0
    unknown = np.maximum(state.groups.novelty(known)[state.groups.of], model.accuracy() * doubt)
    worth = np.where(state.asked.before, 0, state.groups.worth(unknown, open_))
    if worth.max() >= WORTH and min(state.gains.groups, worth.max() * state.asked.purity) >= state.gains.pages:
        most = min(max(FEWEST, int(GROUPS_AT_ONCE * state.expert.actions)), int((worth >= WORTH).sum()))
        _ask_groups(state, np.argsort(-worth)[:most], terms[P.argmax(1)], open_)
    else:
        _sort_page(state, terms, P)


def _ask_groups(state: Ours, chosen: np.ndarray, guesses: np.ndarray, open_: np.ndarray) -> None:
    for group in chosen.tolist():
        members = state.groups.members(group)
        name = state.expert.name_group(members[:IN_VIEW])
        state.asked.note(group, name)
        state.gains.of_group(float((guesses[members][open_[members]] != name).sum()) if name >= 0 else 0.0)
        if name >= 0:
            state.said.take(members, name)


def _sort_page(state: Ours, terms: np.ndarray, P: np.ndarray) -> None:
    """Doubtful images of few kinds, laid out so that neighbours are alike in looks and in what is suggested."""
    free, rows = np.flatnonzero(state.expert.labels < 0), state.data.rows
    page = free[page_to_sort(rows[free], P[free], SORTED)]
    page = page[laid_out(likeness(rows[page], P[page]), COLUMNS)]
    changed, actions = state.expert.sort(page, terms[P[page].argmax(1)], COLUMNS)
    state.gains.of_page(changed / actions)


FLOWS: dict[str, Flow] = {
    "one by one, at random": one_by_one, "random, linear model": random_with_model,
    "margin sampling, linear model": margin, "clusters, grown by galloping": galloping, "ours": ours,
}
