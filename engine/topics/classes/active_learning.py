"""Choose the images to label next by the margin between their two most probable classes, while the topics grow with the
labelled images (methods note 6)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.topics.classes.classification import HistogramIntersectionSVM
from benthoscope.engine.topics.documents import as_documents, document_of_rows
from benthoscope.engine.topics.topic_estimator import TopicEstimator

STRATEGIES = ("margin", "random")


def margin_scores(probability: np.ndarray) -> np.ndarray:
    """Return second largest minus largest class probability of each row, at most 0. The largest scores are the least
    certain rows."""
    top = np.sort(np.asarray(probability, float), axis=1)
    return top[:, -2] - top[:, -1] if top.shape[1] > 1 else -top[:, -1]


def least_certain(probability: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the `count` rows with the largest margin scores, least certain first."""
    return np.argsort(-margin_scores(probability), kind="stable")[:count]


@dataclass(frozen=True)
class Round:
    """The state after some labels."""

    labelled: np.ndarray  # document numbers, in the order in which they were labelled
    accuracy: float | None  # on the test documents, if there are any
    clusters: int  # in use


@dataclass(frozen=True)
class ActiveRule:
    """`grows` extends the topics with each batch of labelled images. Without it, topics stay as they were given, or,
    for models without `partial_fit`, are fitted again to all labelled images."""

    batch: int = 65
    rounds: int = 9
    strategy: str = "margin"
    grows: bool = True


def active_learning(
    topics: TopicEstimator,
    descriptors: Any,
    image_of_descriptor: np.ndarray,
    label_of: Callable[[np.ndarray], np.ndarray],
    seed_images: np.ndarray,
    pool: np.ndarray,
    rule: ActiveRule,
    rng: np.random.Generator,
    *,
    test: np.ndarray | None = None,
    test_labels: np.ndarray | None = None,
    classifier: Any = None,
    on_step: OnStep = ignore,
) -> list[Round]:
    """Label the seed images, then batches of the pool, and return the state after each round.

    `label_of(numbers)` asks for the classes of documents. `topics` is an unfitted model, or a fitted one if the rule
    does not grow it.
    """
    if rule.strategy not in STRATEGIES:
        raise unknown("strategy", rule.strategy, STRATEGIES)
    documents = _Documents(descriptors, image_of_descriptor)
    labelled, pool = np.asarray(seed_images), np.setdiff1d(pool, seed_images)
    labels = np.asarray(label_of(labelled))
    if len(np.unique(labels)) < 2:
        raise fail("seed_images", "have one class only", "start with images of two classes or more")
    model = clone(topics).fit(*documents.subset(labelled)) if rule.grows else topics
    weights, rounds = _TopicWeights(model, documents), []
    for number in range(rule.rounds + 1):
        machine = (HistogramIntersectionSVM() if classifier is None else clone(classifier)).fit(
            weights.of(labelled), labels
        )
        accuracy = _accuracy(weights, machine, test, test_labels)
        rounds.append(Round(labelled, accuracy, int(model.n_clusters_)))
        on_step(Progress(number, rule.rounds, f"{len(labelled)} labels, {model.n_clusters_} clusters in use"))
        if number == rule.rounds or not len(pool):
            break
        chosen = _chosen(weights, machine, pool, rule, rng)
        labelled, pool = np.concatenate([labelled, chosen]), np.setdiff1d(pool, chosen)
        labels = np.concatenate([labels, np.asarray(label_of(chosen))])
        if rule.grows:
            model = _grown(model, topics, documents, labelled, chosen)
            weights = _TopicWeights(model, documents)
    return rounds


def _grown(model, topics, documents: "_Documents", labelled: np.ndarray, chosen: np.ndarray) -> TopicEstimator:
    if hasattr(model, "partial_fit"):
        return model.partial_fit(*documents.subset(chosen))
    return clone(topics).fit(*documents.subset(labelled))


def _chosen(
    weights: "_TopicWeights", machine: Any, pool: np.ndarray, rule: ActiveRule, rng: np.random.Generator
) -> np.ndarray:
    count = min(rule.batch, len(pool))
    if rule.strategy == "random":
        return rng.choice(pool, count, replace=False)
    return pool[least_certain(machine.predict_proba(weights.of(pool)), count)]


def _accuracy(
    weights: "_TopicWeights", machine: Any, test: np.ndarray | None, labels: np.ndarray | None
) -> float | None:
    if test is None or labels is None:
        return None
    return float(np.mean(machine.predict(weights.of(test)) == labels))


class _Documents:
    """Descriptors of chosen documents, renumbered."""

    def __init__(self, descriptors: Any, image_of_descriptor: Any):
        self._documents = as_documents(descriptors, image_of_descriptor)

    def __len__(self) -> int:
        return len(self._documents)

    def subset(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        subset = self._documents.take(np.asarray(numbers))
        if not subset.sizes[-1:].all():  # images are counted by the largest number, so the last one needs a descriptor
            raise fail("images", "an image has no descriptors", "leave it out")
        return subset.read(), document_of_rows(subset)


class _TopicWeights:
    """The topic weights of documents under one state of the topics. Those of a document are inferred once."""

    def __init__(self, model: TopicEstimator, documents: _Documents):
        self._model, self._documents = model, documents
        self._is_known = np.zeros(len(documents), bool)
        self._rows: np.ndarray | None = None

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the weights of documents (n, T)."""
        new = np.unique(np.asarray(numbers)[~self._is_known[numbers]])
        if self._rows is None or len(new):
            rows = self._model.transform(*self._documents.subset(new))
            if self._rows is None:
                self._rows = np.zeros((len(self._documents), rows.shape[1]), rows.dtype)
            self._rows[new], self._is_known[new] = rows, True
        return self._rows[numbers]
