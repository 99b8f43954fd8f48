"""One round of the topic model: build, compress items into clumps, merge documents into groups."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.distributions import Clusters, Weights, log_evidence
from benthoscope.engine.mixtures.data import Frame, Summary
from benthoscope.engine.mixtures.fitted import FittedMixture
from benthoscope.engine.mixtures.model import Parameters, Scorer, Statistics
from benthoscope.engine.streaming.compression import Budget, Compressed, compress
from benthoscope.engine.streaming.families import StreamFamily, first_prior, later_prior
from benthoscope.engine.streaming.identity import Identities, first_identities
from benthoscope.engine.streaming.splitting import UnitSplit, hard_splits
from benthoscope.engine.streaming.topics.documents import (
    DocumentWeights,
    TiedDirichlet,
    TopicRows,
    TopicUnits,
    document_worth,
)
from benthoscope.engine.streaming.topics.topic_building import StreamTopicFit, TopicSearch, TopicStart, build_topics
from benthoscope.engine.streaming.units import Units


@dataclass(frozen=True)
class TopicSettings:
    """The settings of a stream of documents. They may change between rounds."""

    family: StreamFamily
    width: float
    search: TopicSearch
    memory: int
    max_clumps: int | None
    max_groups: int | None
    prior_rows: int
    smallest_part: int

    def budget(self, kind: Clusters, groups: int) -> Budget:
        """Return the budget. A clump stores a count for each group instead of one count. A limit of the number of
        clumps counts single rows as clumps; otherwise it would limit nothing."""
        if self.max_clumps is not None:
            return Budget(self.max_clumps, 1, 1)
        return Budget(self.memory * kind.n_features, kind.n_statistics - 1 + groups, kind.n_features)


@dataclass(frozen=True, eq=False)
class StreamTopicState:
    """The memory of a stream of documents, in units of the frame."""

    frame: Frame
    first_rows: Summary | None  # of the rows that set the prior, in units of the rows; None once the prior is final
    prior: Clusters
    memory: TopicUnits
    names: np.ndarray  # (J,) of the documents, in the order of their first row
    group_of: np.ndarray  # (J,) group of each document
    rows: int = 0
    rounds: int = 0
    alpha: np.ndarray = field(default_factory=lambda: np.empty(0))  # (K,)
    clusters: Clusters | None = None  # None before the first round
    counts: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))  # (S, K) rows of each group in each topic
    identities: Identities = field(default_factory=lambda: first_identities(np.empty(0)))
    bound: float = 0.0
    budget_binds: bool = False

    @property
    def topics(self) -> Clusters:
        """Return the topics; raises before the first round."""
        if self.clusters is None:
            raise ValueError("a stream has topics after its first round")
        return self.clusters

    @property
    def weights(self) -> Weights:
        """Return the posterior weights of the topics in each group."""
        return TiedDirichlet(self.alpha, self.memory.documents).posterior(self.counts)

    def mixture(self) -> FittedMixture:
        """Return the mixture with one row of weights for each document."""
        weights, group_of = self.weights, self.group_of
        of_documents = replace(
            weights, expected_log=weights.expected_log[group_of], mean=weights.mean[group_of], kl=weights.kl[group_of]
        )
        shares = 1 / self.memory.documents[group_of]
        counts = self.counts[group_of] * shares[:, None]
        statistics = Statistics(counts, np.zeros((len(self.alpha), self.prior.n_statistics)), counts.sum(1))
        return FittedMixture(Parameters(of_documents, self.topics), statistics, self.prior, self.frame, self.bound)


def first_topic_state(settings: TopicSettings, rows: np.ndarray, documents: np.ndarray) -> StreamTopicState:
    """Return the state before the first round, in a frame that suits the first rows."""
    frame, summary, prior = first_prior(settings, rows)
    units = Units.of_rows(prior, np.empty((0, rows.shape[1])))
    none = np.empty(0, np.int64)
    memory = TopicUnits(units, none, np.empty((0, 0)), np.empty(0))
    return StreamTopicState(frame, summary, prior, memory, documents[:0], none)


def learn_topics(
    state: StreamTopicState, rows: np.ndarray, documents: np.ndarray, settings: TopicSettings, horizon: float, pulse
) -> StreamTopicState:
    """Return the state after a round with new rows (n, D) and the names of their documents (n,)."""
    with blas_threads(1):
        state = _with_prior(state, rows, settings)
        before = len(state.memory.point_groups)
        state = _with_rows(state, rows, documents)
        data = TopicRows(state.memory, pulse)
        old = _scorer(state, data.sizes)
        fit = build_topics(state.prior, data, _start(state, data, old), settings.search)
        is_new = np.zeros(len(data.units), bool)
        is_new[before : before + len(rows)] = True
        identities, tops = _identities(state, data, fit, old, is_new)
        order = np.argsort(identities.numbers, kind="stable")
        state = _published(state, fit, replace(identities, numbers=identities.numbers[order]), order)
        state, binds = _compressed(state, data, np.argsort(order)[tops], settings, horizon, pulse)
        return replace(_with_merged_documents(state, settings.max_groups), budget_binds=binds)


@dataclass(frozen=True, eq=False)
class TopicDivision:
    """Groups of units of the topic model, all rows of a group in one topic."""

    prior: Clusters
    rows: TopicRows
    rate: np.ndarray  # (U,) alpha per row of the topic of each unit
    magnification: float
    smallest: float = 0.0

    def splits(self, subsets: list[np.ndarray]) -> list[UnitSplit | None]:
        weights = DocumentWeights(self.rows, self.rate, self.magnification)
        return hard_splits(self.prior, self.rows, subsets, weights, self.magnification, self.smallest)

    def rank(self, split: UnitSplit) -> tuple[float, ...]:
        """Splits that raise the objective come first. The others use the remaining room where rows are most spread. By
        their loss, small groups would come before large ones, which would stay whole and could never be divided by
        later images: the bound would depend on the order of the images."""
        return (0.0, -split.gain) if split.gain > 0 else (1.0, -split.spread)

    def moments(self, subset: np.ndarray) -> np.ndarray:
        """Return the summed statistics, alpha, and the rows of each group of documents."""
        weights = self.rows.weights[subset]
        by_group = np.asarray(self.rows.composition[subset].sum(0)).ravel()
        return np.concatenate([weights @ self.rows.averages(subset), [weights @ self.rate[subset]], by_group])

    def worth(self, moments: np.ndarray) -> np.ndarray:
        F = self.prior.n_statistics
        of_documents = document_worth(np.maximum(moments[:, F], 1e-6), moments[:, F + 1 :], self.rows.documents)
        return log_evidence(self.prior, self.magnification * moments[:, :F]) + self.magnification * of_documents


def most_alike(proportions: np.ndarray) -> tuple[int, int]:
    """Return the two groups whose expected proportions (S, K) have the largest cosine."""
    unit = proportions / np.linalg.norm(proportions, axis=1, keepdims=True)
    cosine = unit @ unit.T
    cosine[np.tril_indices(len(unit))] = -np.inf
    i, j = np.unravel_index(cosine.argmax(), cosine.shape)
    return int(i), int(j)


def merged_documents(state: StreamTopicState, groups: int) -> StreamTopicState:
    """Return the state with at most this many groups of documents; the most similar groups are merged first."""
    S = len(state.memory.documents)
    proportions, documents = state.weights.mean.copy(), state.memory.documents.copy()
    group_of, alive = np.arange(S), np.arange(S)
    while len(alive) > groups:
        i, j = (alive[at] for at in most_alike(proportions[alive]))
        share = documents[j] / (documents[i] + documents[j])
        proportions[i] += share * (proportions[j] - proportions[i])
        documents[i] += documents[j]
        group_of[group_of == j] = i
        alive = alive[alive != j]
    numbers = np.searchsorted(alive, group_of)
    counts = np.zeros((len(alive), state.counts.shape[1]))
    np.add.at(counts, numbers, state.counts)
    memory = state.memory.regrouped(numbers, len(alive))
    return replace(state, memory=memory, group_of=numbers[state.group_of], counts=counts)


def _with_merged_documents(state: StreamTopicState, most: int | None) -> StreamTopicState:
    return state if most is None or len(state.memory.documents) <= most else merged_documents(state, most)


def _with_prior(state: StreamTopicState, rows: np.ndarray, settings: TopicSettings) -> StreamTopicState:
    """Return the state with the prior of the first rows. The first `prior_rows` rows decide it."""
    if state.first_rows is None:
        return state
    prior, first_rows = later_prior(settings, state.frame, state.first_rows, state.rows, rows)
    return replace(state, prior=prior, first_rows=first_rows)


def _with_rows(state: StreamTopicState, rows: np.ndarray, documents: np.ndarray) -> StreamTopicState:
    """Return the state with new rows. A document that is not known yet becomes a group of its own."""
    names, first, index = np.unique(documents, return_index=True, return_inverse=True)
    position = {name: number for number, name in enumerate(state.names.tolist())}
    new = [number for number in np.argsort(first) if names[number].item() not in position]
    all_names = np.concatenate([state.names, names[new]]) if len(new) else state.names
    S = len(state.memory.documents)
    group_of = np.concatenate([state.group_of, S + np.arange(len(new))])
    position.update({names[number].item(): len(state.names) + at for at, number in enumerate(new)})
    document = np.array([position[name] for name in names.tolist()])[index]
    scaled = (rows - state.frame.origin) / state.frame.scale
    memory = state.memory.with_rows(scaled, group_of[document], len(new))
    counts = np.pad(state.counts, ((0, len(new)), (0, 0)))
    return replace(state, memory=memory, names=all_names, group_of=group_of, counts=counts, rows=state.rows + len(rows))


def _scorer(state: StreamTopicState, sizes: np.ndarray) -> Scorer | None:
    """Return the former topics, for groups with `sizes` (S,) rows.

    New documents start with equal shares of all topics, as new documents of a prediction do. With the weights of the
    prior, whose alphas are often far below 1, almost all their rows would start in one topic and stay there.
    """
    if state.clusters is None:
        return None
    is_new = ~np.any(state.counts, axis=1, keepdims=True)
    counts = np.where(is_new, sizes[:, None] / len(state.alpha), state.counts)
    weights = TiedDirichlet(state.alpha, state.memory.documents).posterior(counts)
    return Scorer(state.prior, state.clusters.coefficients(), weights.expected_log)


def _start(state: StreamTopicState, data: TopicRows, old: Scorer | None) -> TopicStart | None:
    return None if old is None else TopicStart(data.sweep(old), state.alpha)


def _identities(
    state: StreamTopicState, data: TopicRows, fit: StreamTopicFit, old: Scorer | None, is_new: np.ndarray
) -> tuple[Identities, np.ndarray]:
    """Return the lasting numbers of the topics, and the top topic of each unit."""
    tops = np.concatenate([owned.argmax(0) for _, owned in data.owned_blocks(fit.fit.scorer)])
    if old is None:
        return first_identities(fit.fit.statistics.owned), tops
    former = np.concatenate([owned.argmax(0) for _, owned in data.owned_blocks(old)])
    before, after = np.eye(len(state.alpha))[:, former], np.eye(fit.n_topics)[:, tops]
    return state.identities.then(before, after, data.weights, is_new), tops


def _published(
    state: StreamTopicState, fit: StreamTopicFit, identities: Identities, order: np.ndarray
) -> StreamTopicState:
    clusters = fit.fit.parameters.clusters
    sorted_clusters = type(clusters)(**{name: values[order] for name, values in clusters.arrays().items()})
    offset = -state.rows * len(state.frame.origin) * float(np.log(state.frame.scale))
    return replace(
        state,
        rounds=state.rounds + 1,
        alpha=fit.alpha[order],
        clusters=sorted_clusters,
        counts=fit.fit.statistics.counts[:, order],
        identities=identities,
        bound=fit.bound + offset,
    )


def _compressed(
    state: StreamTopicState,
    data: TopicRows,
    tops: np.ndarray,
    settings: TopicSettings,
    horizon: float,
    pulse: Callable[[], None],
) -> tuple[StreamTopicState, bool]:
    """Return the state with its units in the budget, and whether the budget limits the number of topics."""
    memory, units = state.memory, state.memory.units
    groups = len(memory.documents)
    if settings.max_groups is not None:
        groups = min(groups, settings.max_groups)
    budget = settings.budget(units.kind, groups)
    everything = budget.row * len(units.points) + budget.clump * len(units.sums)
    if everything <= budget.values:
        return state, False
    sizes = np.bincount(tops, data.weights, minlength=len(state.alpha))
    rate = (state.alpha / np.maximum(sizes, 1.0))[tops]
    division = TopicDivision(state.prior, data, rate, max(1.0, horizon / state.rows), settings.smallest_part)
    result = compress(division, units, tops, budget, pulse)
    binds = result.merged_parts > 0 or 2 * len(state.alpha) * budget.clump > budget.values
    return replace(state, memory=_with_clumps(memory, data, result)), binds


def _with_clumps(memory: TopicUnits, data: TopicRows, result: Compressed) -> TopicUnits:
    P, S = len(memory.point_groups), len(memory.documents)
    points, clumps = result.remaining[result.remaining < P], result.remaining[result.remaining >= P] - P
    new = np.zeros((result.new_clumps, S))
    entries = data.composition.tocoo()
    clump = result.clump_of[entries.row]
    joins = clump >= 0
    np.add.at(new, (clump[joins], entries.col[joins]), entries.data[joins])
    groups = np.concatenate([memory.clump_groups[clumps], new])
    return TopicUnits(result.units, memory.point_groups[points], groups, memory.documents)
