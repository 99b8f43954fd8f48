"""The common base class of topic models: topic weights of new images, topics of descriptors, classes and scores."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from benthoscope.engine.compute import Compute, LocalThreads
from benthoscope.engine.mixtures.estimator import ClusteringEstimator
from benthoscope.engine.mixtures.fit_monitor import Checkpoint
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, ignore
from benthoscope.engine.topics.documents import Documents, as_documents, is_list_of_documents
from benthoscope.engine.topics.fitted import ClassifyingTopics, FittedTopics
from benthoscope.engine.topics.monitor import Monitor
from benthoscope.engine.topics.variational import Runtime


class TopicEstimator(TransformerMixin, ClusteringEstimator):
    """Base class. A fit sets `topics_`, `centre_` and `n_features_in_`."""

    _instead_of_target = "image_of_descriptor"
    __metadata_request__fit: ClassVar = {"image_of_descriptor": True}
    __metadata_request__predict: ClassVar = {"image_of_descriptor": True}
    __metadata_request__score: ClassVar = {"image_of_descriptor": True}
    __metadata_request__transform: ClassVar = {"image_of_descriptor": True}

    inference: str
    topics_: FittedTopics
    lower_bound_history_: list[float]

    def fit(
        self, descriptors: Any, image_of_descriptor: Any = None, y: Any = None, *, n_images: int | None = None,
        compute: Compute | None = None, on_step: OnStep = ignore, checkpoint: Checkpoint | None = None,
    ) -> Self:  # fmt: skip
        raise NotImplementedError

    def transform(
        self, descriptors: Any, image_of_descriptor: Any = None, *, n_images: int | None = None,
        compute: Compute | None = None, on_step: OnStep = ignore,
    ) -> np.ndarray:  # fmt: skip
        """Return the expected topic weights of images (N, n_topics), under the fixed model."""
        documents = self._documents_of(descriptors, image_of_descriptor, n_images)
        runtime = self._runtime(compute)
        return self.topics_.topic_weights(documents, runtime, Monitor(on_step))

    def fit_transform(self, descriptors: Any, y: None = None, **options: Any) -> np.ndarray:
        """Fit and return the topic weights of the images (N, n_topics). Options are those of `fit`."""
        self._refuse_target(y, "fit_transform")
        return self.fit(descriptors, **options).topic_weights_

    def predict(self, descriptors: Any, image_of_descriptor: Any = None, *, n_images: int | None = None) -> np.ndarray:
        """Return the topic with the largest weight in each image (N,)."""
        return self.transform(descriptors, image_of_descriptor, n_images=n_images).argmax(1)

    def patch_topics(self, descriptors: Any, image_of_descriptor: Any = None) -> np.ndarray:
        """Return the most probable topic of each descriptor (rows,), in the order of the rows given."""
        return self.patch_topic_probabilities(descriptors, image_of_descriptor).argmax(1)

    def patch_topic_probabilities(self, descriptors: Any, image_of_descriptor: Any = None) -> np.ndarray:
        """Return the probability of each topic for each descriptor (rows, n_topics), in the order of the rows given."""
        documents = self._documents_of(descriptors, image_of_descriptor, None)
        weights = self.topics_.descriptor_topics(documents, self._runtime(None))
        if image_of_descriptor is None or is_list_of_documents(descriptors):
            return weights
        in_given_order = np.empty_like(weights)
        in_given_order[np.argsort(np.asarray(image_of_descriptor), kind="stable")] = weights
        return in_given_order

    def score(
        self, descriptors: Any, image_of_descriptor: Any = None, y: None = None, *, n_images: int | None = None
    ) -> float:
        """Return the lower bound of the log likelihood per descriptor of images that were not in the fit."""
        self._refuse_target(y, "score")
        documents = self._documents_of(descriptors, image_of_descriptor, n_images)
        total = self.topics_.log_likelihood(documents, self._runtime(None))
        return total / max(documents.n_rows, 1)

    def predict_class(self, descriptors: Any, image_of_descriptor: Any = None, *, n_images: int | None = None):
        """Return the most probable class of each image (N,). Needs Gibbs sampling with classes."""
        probability = self.predict_class_proba(descriptors, image_of_descriptor, n_images=n_images)
        return self.classes_[probability.argmax(1)]

    def predict_class_proba(
        self, descriptors: Any, image_of_descriptor: Any = None, *, n_images: int | None = None
    ) -> np.ndarray:
        """Return the probability of each class (N, Y), in the order of `classes_`."""
        documents = self._documents_of(descriptors, image_of_descriptor, n_images)
        if not hasattr(self, "classes_") or not isinstance(self.topics_, ClassifyingTopics):
            raise fail("classes", "the model has none", "fit with inference='gibbs' and y, or train a classifier")
        return self.topics_.class_probability(documents)

    def _stored(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return plain arrays and JSON metadata of the fitted model."""
        check_is_fitted(self, "topics_")
        history = np.array(self.lower_bound_history_)
        course = {"centre": self.centre_, "topic_weights": self.topic_weights_, "lower_bound_history": history}
        arrays = {**self.topics_.arrays(), **course}
        if hasattr(self, "classes_"):
            arrays["classes"] = self.classes_
        return arrays, {
            "model": type(self).__name__,
            "params": {**self.get_params(deep=False), "random_state": seed_of(self.random_state)},
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "lower_bound": self.lower_bound_,
        }

    @classmethod
    def _rebuilt(
        cls, arrays: dict[str, np.ndarray], metadata: dict[str, Any], topics_for: Callable[[Self], FittedTopics]
    ) -> Self:
        if metadata.get("model") != cls.__name__:
            raise fail("stored model", f"is a {metadata.get('model')}, not a {cls.__name__}", "choose its class")
        model = cls(**metadata["params"])
        model.centre_ = np.array(arrays["centre"])
        model.n_features_in_ = len(model.centre_)
        model._show(topics_for(model))
        if "classes" in arrays:
            model.classes_ = np.array(arrays["classes"])
        model.topic_weights_ = np.array(arrays["topic_weights"])
        model.labels_ = model.topic_weights_.argmax(1)
        model.lower_bound_history_ = [float(bound) for bound in arrays["lower_bound_history"]]
        model.lower_bound_, model.n_iter_ = float(metadata["lower_bound"]), int(metadata["n_iter"])
        model.converged_ = bool(metadata["converged"])
        return model

    def _begin_fit(self, descriptors: Any, image_of_descriptor: Any, y: Any, n_images: int | None) -> Documents:
        """Check the input of a fit, forget the fit before, and return the documents."""
        if self.inference != "gibbs":
            self._refuse_target(y, "fit")
        self._check_parameters()
        documents = as_documents(descriptors, image_of_descriptor, n_images)
        if not documents.n_rows:
            raise fail("descriptors", "there are none", "give at least one descriptor")
        self._clear_fit()
        self._record_columns_of(descriptors, documents)
        return documents

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _runtime(self, compute: Compute | None) -> Runtime:
        return Runtime(compute or LocalThreads(), getattr(self, "n_nearest", None))

    def _documents_of(self, descriptors: Any, image_of_descriptor: Any, n_images: int | None) -> Documents:
        check_is_fitted(self, "topics_")
        documents = as_documents(descriptors, image_of_descriptor, n_images)
        if documents.width != self.n_features_in_:
            raise fail(
                "descriptors",
                f"X has {documents.width} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input",
                "give the same columns as in the fit",
            )
        self._check_columns_of(descriptors)
        return documents.centred_at(self.centre_)

    def _record_columns_of(self, descriptors: Any, documents: Documents) -> None:
        if isinstance(descriptors, str | Path) or is_list_of_documents(descriptors):
            self.n_features_in_ = documents.width
        else:
            self._record_columns(descriptors)

    def _check_columns_of(self, descriptors: Any) -> None:
        if not (isinstance(descriptors, str | Path) or is_list_of_documents(descriptors)):
            self._check_columns(descriptors)

    def _show(self, topics: FittedTopics) -> None:
        """Set the fitted attributes that follow from the topics."""
        self.topics_ = topics
        self.n_clusters_, self.n_atoms_ = topics.in_use()
        self.topic_profiles_ = topics.profiles()
        self.cluster_means_ = topics.means() + self.centre_
        self.cluster_deviations_, self.cluster_sizes_ = topics.deviations(), topics.sizes()


def seed_of(random_state: Any) -> int:
    """Return a whole number from a seed, a generator or None."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(np.random.default_rng(random_state).integers(2**31))


def known_classes(y: Any, n_images: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the class number of each image, -1 if it is unknown."""
    if y is None:
        return np.zeros(0), np.zeros(n_images, np.int64)
    y = np.asarray(y)
    if y.shape != (n_images,):
        raise fail("y", f"{len(np.atleast_1d(y))} classes for {n_images} images", "give one class per image, or -1")
    unknown = y == (-1 if y.dtype.kind in "iuf" else "-1")
    if unknown.all():
        raise fail("y", "there are no classes", "give the class of some images, or leave y out")
    classes, numbers = np.unique(y[~unknown], return_inverse=True)
    of_documents = np.full(n_images, -1)
    of_documents[~unknown] = numbers
    return classes, of_documents
