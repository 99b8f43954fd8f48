"""A topic model that learns from a stream of documents in bounded memory (Gomes, ch. 3: MB-TM)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from benthoscope.engine.compute import Compute, blas_threads
from benthoscope.engine.distributions import WeightsPrior, expected_log_likelihood
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.data import read_rows
from benthoscope.engine.mixtures.inference import StoppingRule
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.streaming.families import family_named
from benthoscope.engine.streaming.identity import ClusterEvent, Identities
from benthoscope.engine.streaming.learning import expected_rows
from benthoscope.engine.streaming.stored_state import first_rows_of, frame_of, prior_of
from benthoscope.engine.streaming.stream_estimator import BLOCK, StreamEstimator, usable_rows
from benthoscope.engine.streaming.topics.documents import AlphaPrior, TiedDirichlet, TopicUnits
from benthoscope.engine.streaming.topics.topic_building import TopicSearch
from benthoscope.engine.streaming.topics.topic_learning import (
    StreamTopicState,
    TopicSettings,
    first_topic_state,
    learn_topics,
)
from benthoscope.engine.streaming.units import Units


@dataclass(frozen=True, eq=False)
class SegmentedDocuments:
    """The topics of the rows of J documents: their most likely topic and its probability, (n,) each, and the
    proportions of the topics in each document."""

    labels: np.ndarray
    probability: np.ndarray
    proportions: np.ndarray  # (J, K)


class MemoryBoundedTopicModel(StreamEstimator[StreamTopicState]):
    """Topics that documents share, each document with its own proportions, learned from a stream in bounded memory.

    A document is a dive whose rows are images, or an image whose rows are its segments or pixels. Rows are merged into
    clumps, and similar documents into groups with the same proportions.

    Parameters
    ----------
    memory : int
        Budget for the memory, as a number of rows: `memory` x D stored numbers. A clump also stores a count for each
        group of documents.
    epoch : int
        Rows of a round.
    horizon : int or None
        Number of rows the stream is expected to have. None expects twice as many as there are, in steps.
    observation : {"full", "diagonal", "discrete"}
        Distribution of a topic: a Gaussian with a full or diagonal covariance, or frequencies of words.
    width : float
        Expected variance of a topic, as a fraction of the variance of the first rows along their principal axis. For
        discrete rows: the prior count of each word.
    alpha_prior : tuple of two floats
        Shape and rate of the Gamma prior of the weight of each topic in a document.
    max_groups : int or None
        Largest number of groups of documents after a round. None never merges documents; the memory of clumps then
        grows with their number.
    max_clumps : int or None
        A limit of the number of clumps and single rows, instead of `memory`.
    prior_rows : int
        Number of first rows that set the prior. It then stays fixed.
    smallest_part : int
        In a compression, no group with fewer rows than this is split off. 0 means no limit.
    tries : int
        Number of splits and merges that are fitted in full before a round stops.
    max_clusters : int or None
        Upper limit for the number of topics; None means no limit.
    tol : float
        A fit stops, and a split or merge is accepted, at this gain of the bound in nats per row.

    Attributes
    ----------
    groups_ : ndarray (J,)
        Names of the documents, in the order of their first row.
    weights_ : ndarray (J, K)
        Proportions of the topics in each document. Documents of a group have the same.
    alpha_ : ndarray (K,)
        Weight of each topic in a document before its rows are seen.
    cluster_ids_ : ndarray (K,)
        Lasting number of each topic.
    events_ : tuple of ClusterEvent
        Births, splits, merges and deaths of topics in the last round.
    memory_ : dict
        Stored numbers, units, clumps, single rows and groups of documents after the last round.
    n_clusters_, clusters_, prior_, lower_bound_, lower_bound_history_, n_rows_seen_, n_rounds_, labels_
        As in `MemoryBoundedVDP`.
    """

    _needs_groups: ClassVar[bool] = True
    _sees_groups = True

    def __init__(
        self,
        *,
        memory=4000,
        epoch=2000,
        horizon=None,
        observation="full",
        width=0.1,
        alpha_prior=(1.0, 0.5),
        max_groups=None,
        max_clumps=None,
        prior_rows=1000,
        smallest_part=0,
        tries=3,
        max_clusters=None,
        tol=1e-6,
        max_iter=1000,
        random_state=None,
    ):
        self.memory, self.epoch, self.horizon = memory, epoch, horizon
        self.observation, self.width, self.alpha_prior = observation, width, alpha_prior
        self.max_groups, self.max_clumps = max_groups, max_clumps
        self.prior_rows, self.smallest_part, self.tries, self.max_clusters = (
            prior_rows,
            smallest_part,
            tries,
            max_clusters,
        )
        self.tol, self.max_iter, self.random_state = tol, max_iter, random_state

    # --- results

    @property
    def memory_(self) -> dict[str, int]:
        """The memory in use after the last round."""
        memory = self._state_for("memory_").memory
        units, groups = memory.units, len(memory.documents)
        budget = self._settings().budget(units.kind, groups)
        used = budget.row * len(units.points) + budget.clump * len(units.sums)
        return {
            "values": used,
            "bytes": 8 * (units.values + memory.clump_groups.size),
            "budget": budget.values,
            "units": len(units),
            "clumps": len(units.sums),
            "points": len(units.points),
            "groups": groups,
        }

    @property
    def group_of_(self) -> np.ndarray:
        """Group of documents (J,) that each document of `groups_` belongs to."""
        return self._state_for("group_of_").group_of

    def predict_ids(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the lasting number of the topic of each row (n,)."""
        return self.cluster_ids_[self.predict(X, groups)]

    def segment(self, X: Any) -> np.ndarray:
        """Return the topic of each row (n,) of one new document, whose proportions are estimated with fixed topics. The
        same number means the same topic in every document."""
        return self.predict(X, np.full(len(X), "a document that was not in the stream"))

    def segment_documents(
        self, X: Any, documents: Any, *, compute: Compute | None = None, on_step: OnStep = ignore
    ) -> SegmentedDocuments:
        """Return the topics of the rows X (n, D) of several documents, sorted by document. The topics stay fixed, and
        the proportions of every document are estimated from its own rows alone, also if it was learned.

        During a stream, old rows share their topic with the other rows of their clump, and the documents of a group
        share their proportions. This is the final segmentation without either. Rows are read in blocks of whole
        documents.
        """
        self._check_fitted()
        source = checking.rows_of(X)
        N, _ = checking.width_of(source)
        names, index = checking.numbered(documents, N)
        if (np.diff(index) < 0).any():
            raise fail("documents", "are not in order", "sort the rows by document")
        parts = []
        for start, stop in _blocks_of_documents(np.bincount(index, minlength=len(names))):
            on_step(Progress(start, N, "segmenting documents with the final topics"))
            rows = usable_rows(read_rows(source, start, stop), start)
            data, _ = self._observed(rows, index[start:stop], compute)
            with blas_threads(1):
                weights = self._folded(data).weights
                labels, probability = data.nearest(self.mixture_.scorer_with(weights.expected_log))
            parts.append((labels, probability, weights.mean / weights.mean.sum(1, keepdims=True)))
        return SegmentedDocuments(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def retrieve(self, X: Any, top: int = 5, gallery: Mapping[Any, Any] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the names and scores (`top`,) of the documents most like the rows X (n, D) of one document, best
        first.

        A score is a lower bound of the log probability of the rows under the proportions of a document, up to a
        constant. Documents in a group of several have the proportions of the group. `gallery` maps names to rows, to
        estimate the proportions of these documents alone.
        """
        frame = self._observed(X, None, None)[0].frame
        rows = (np.asarray(X, float) - frame.origin) / frame.scale
        items = expected_log_likelihood(self.mixture_.parameters.clusters, rows)
        if gallery is None:
            names, expected = self.groups_, self.mixture_.parameters.weights.expected_log
        else:
            names = np.array(list(gallery))
            expected = np.stack([self._expected_log(rows) for rows in gallery.values()])
        scores = np.array([(items + weights).max(1).sum() for weights in expected])
        best = np.argsort(-scores, kind="stable")[:top]
        return names[best], scores[best]

    def _expected_log(self, X: Any) -> np.ndarray:
        data, _ = self._observed(X, None, None)
        return self._folded(data).weights.expected_log[0]

    # --- storage

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, metadata = super().to_arrays()
        return {**arrays, "alpha": self.alpha_}, metadata

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> Self:
        model = super().from_arrays(arrays, metadata)
        model.alpha_ = np.array(arrays["alpha"])
        return model

    # --- inside

    def _weights_prior(self) -> WeightsPrior:
        return TiedDirichlet(self.alpha_)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for value in self.alpha_prior:
            checking.positive("alpha_prior", value)
        for name in ("max_groups", "max_clumps"):
            if getattr(self, name) is not None:
                checking.positive(name, getattr(self, name), integer=True)

    def _settings(self) -> TopicSettings:
        rule = StoppingRule(self.tol, self.max_iter)
        search = TopicSearch(rule, AlphaPrior(*self.alpha_prior), self.tries, self.max_clusters)
        return TopicSettings(
            family_named(self.observation),
            self.width,
            search,
            self.memory,
            self.max_clumps,
            self.max_groups,
            self.prior_rows,
            self.smallest_part,
        )

    def _learn(
        self, rows: np.ndarray, documents: np.ndarray | None, report: OnStep, progress: Progress
    ) -> StreamTopicState:
        settings = self._settings()
        if documents is None:
            documents = np.zeros(len(rows), np.int64)
        state = first_topic_state(settings, rows, documents) if self.state_ is None else self.state_
        groups = len(state.memory.documents) + len(np.unique(documents))
        most = groups if self.max_groups is None else min(groups, self.max_groups)
        budget = settings.budget(state.prior, most)
        self._check_budget(budget.values, budget.clump)
        horizon = expected_rows(self._expected, self.epoch, state.rows + len(rows))
        return learn_topics(state, rows, documents, settings, horizon, lambda: report(progress))

    def _publish(self) -> None:
        state = self._state_for("alpha_")
        self.alpha_ = state.alpha
        self._show(state.mixture(), state.names)
        self.cluster_ids_, self.events_ = state.identities.numbers, state.identities.events
        self.n_rows_seen_, self.n_rounds_ = state.rows, state.rounds
        self._note_budget(state.budget_binds)

    def _note_budget(self, binds: bool) -> None:
        super()._note_budget(binds)
        if self.max_clumps is not None:  # used instead of `memory`
            self.limits_reached_ = ["max_clumps" if limit == "memory" else limit for limit in self.limits_reached_]

    def _figures(self) -> Mapping[str, Any]:
        return self.memory_

    def _stored_state(self) -> dict[str, Any]:
        state = self._state_for("save")
        memory, identities, first = state.memory, state.identities, state.first_rows
        return {
            "frame.origin": state.frame.origin,
            "frame.scale": np.asarray(state.frame.scale),
            **{f"prior.{name}": values for name, values in state.prior.arrays().items()},
            **{f"clusters.{name}": values for name, values in state.topics.arrays().items()},
            "points": memory.units.points,
            "sums": memory.units.sums,
            "point_groups": memory.point_groups,
            "clump_groups": memory.clump_groups,
            "documents": memory.documents,
            "names": state.names,
            "group_of": state.group_of,
            "alpha": state.alpha,
            "counts": state.counts,
            "numbers": identities.numbers,
            **({} if first is None else {"first.mean": first.mean, "first.scatter": first.scatter}),
            "first_count": 0 if first is None else first.count,
            "first_lowest": 0.0 if first is None else first.lowest,
            "kind": type(state.prior).__name__,
            "next_number": identities.next_number,
            "events": [[event.kind, event.cluster, event.other] for event in identities.events],
            "rows": state.rows,
            "rounds": state.rounds,
            "bound": state.bound,
            "budget_binds": state.budget_binds,
        }

    def _restored_state(self, stored: Mapping[str, Any]) -> StreamTopicState:
        prior, clusters = prior_of(stored), prior_of(stored, "clusters")
        units = Units(prior, np.array(stored["points"]), np.array(stored["sums"]))
        memory = TopicUnits(units, *(np.array(stored[name]) for name in ("point_groups", "clump_groups", "documents")))
        events = tuple(ClusterEvent(*event) for event in stored["events"])
        return StreamTopicState(
            frame_of(stored),
            first_rows_of(stored),
            prior,
            memory,
            np.array(stored["names"]),
            np.array(stored["group_of"]),
            stored["rows"],
            stored["rounds"],
            np.array(stored["alpha"]),
            clusters,
            np.array(stored["counts"]),
            Identities(np.array(stored["numbers"]), stored["next_number"], events),
            stored["bound"],
            stored["budget_binds"],
        )


def _blocks_of_documents(sizes: np.ndarray) -> list[tuple[int, int]]:
    """Return the first and last row of blocks of whole documents with these numbers of rows (J,)."""
    ends = np.cumsum(sizes)
    last = np.unique(np.append(np.searchsorted(ends, np.arange(BLOCK, ends[-1], BLOCK)), len(ends) - 1))
    stops = ends[last].tolist()
    return list(zip([0, *stops[:-1]], stops, strict=True))
