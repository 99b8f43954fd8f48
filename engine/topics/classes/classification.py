"""Classes of images from their topics: an SVM with the histogram intersection kernel, with labels for all or for some
images (methods note 7 and 8.3)."""

from collections.abc import Sequence
from typing import Any, Self

import numba
import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, ignore
from benthoscope.engine.topics.documents import as_documents
from benthoscope.engine.topics.topic_estimator import TopicEstimator, known_classes

MARGINS = (0.1, 1.0, 10.0, 100.0, 1000.0)  # values of the soft margin that cross-validation compares
FOLDS = 10
UNCALIBRATED = 2.0  # slope of the sigmoid for classes with too few labels to calibrate
NO_PENALTY = 1e6  # of the logistic regression that calibrates decisions


def histogram_intersection(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the sum over columns of the smaller value, for each row of A (n, D) and each row of B (m, D)."""
    return _intersection(np.ascontiguousarray(A, float), np.ascontiguousarray(B, float))


@numba.njit(cache=True, nogil=True)
def _intersection(A, B):
    out = np.zeros((A.shape[0], B.shape[0]))
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            total = 0.0
            for d in range(A.shape[1]):
                total += min(A[i, d], B[j, d])
            out[i, j] = total
    return out


class HistogramIntersectionSVM(ClassifierMixin, BaseEstimator):
    """One-vs-rest support vector machines for histograms, with calibrated class probabilities.

    Parameters
    ----------
    margin : float or None
        Soft margin C of all machines. None chooses it by cross-validation.
    kernel : "intersection" or "precomputed"
        Whether rows are histograms, or already kernel values with the rows of the fit.
    calibrate : bool
        Whether probabilities are calibrated by cross-validation, which takes ten times as long as the machines. Without
        it, all classes use the same sigmoid. Predicted classes are the same.
    """

    def __init__(
        self,
        margin: float | None = None,
        *,
        kernel: str = "intersection",
        calibrate: bool = True,
        random_state: Any = 0,
    ):
        self.margin, self.kernel, self.calibrate, self.random_state = margin, kernel, calibrate, random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        if self.kernel not in ("intersection", "precomputed"):
            raise fail("kernel", f"there is no '{self.kernel}'", "choose intersection or precomputed")
        X, y = validate_data(self, X, y, dtype=float, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise fail("y", f"has one class only ({self.classes_[0]})", "give labels of two classes or more")
        self.rows_ = X
        gram = X if self.kernel == "precomputed" else histogram_intersection(X, X)
        folds = self._folds(gram, numbers) if self.calibrate or self.margin is None else []
        self.margin_ = self._chosen_margin(gram, numbers, folds)
        self.machines_ = _machines(gram, numbers, len(self.classes_), self.margin_)
        held_out = folds if self.calibrate else []
        self.calibrations_ = _calibrations(gram, numbers, held_out, self.margin_, len(self.classes_))
        return self

    def _folds(self, gram: np.ndarray, numbers: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return stratified folds; none if a class has a single row."""
        fewest = int(np.bincount(numbers).min())
        if fewest < 2:
            return []
        split = StratifiedKFold(min(FOLDS, fewest), shuffle=True, random_state=self.random_state)
        return list(split.split(gram, numbers))

    def _chosen_margin(self, gram: np.ndarray, numbers: np.ndarray, folds: list) -> float:
        if self.margin is not None:
            return float(self.margin)
        if not folds:
            return 10.0
        K = len(self.classes_)
        right = [_out_of_fold(gram, numbers, folds, margin, K).argmax(1) == numbers for margin in MARGINS]
        return MARGINS[int(np.argmax([each.mean() for each in right]))]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the distance to each class's border (n, K); for two classes that of the second (n,)."""
        scores = self._scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self._scores(X).argmax(1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return calibrated probabilities of the classes (n, K)."""
        scores = self._scores(X)
        probability = np.column_stack(
            [expit(slope * score + offset) for score, (slope, offset) in zip(scores.T, self.calibrations_, strict=True)]
        )
        probability = np.maximum(probability, 1e-12)
        return probability / probability.sum(1, keepdims=True)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float)
        gram = X if self.kernel == "precomputed" else histogram_intersection(X, self.rows_)
        return np.column_stack([machine.decision_function(gram) for machine in self.machines_])


def _machines(gram: np.ndarray, numbers: np.ndarray, K: int, margin: float) -> list[SVC]:
    return [SVC(C=margin, kernel="precomputed").fit(gram, numbers == k) for k in range(K)]


def _out_of_fold(gram: np.ndarray, numbers: np.ndarray, folds: list, margin: float, K: int) -> np.ndarray:
    """Return the decisions (n, K) of machines that were not trained on the row."""
    scores = np.zeros((len(gram), K))
    for train, test in folds:
        machines = _machines(gram[np.ix_(train, train)], numbers[train], K, margin)
        scores[test] = np.column_stack([each.decision_function(gram[np.ix_(test, train)]) for each in machines])
    return scores


def _calibrations(
    gram: np.ndarray, numbers: np.ndarray, folds: list, margin: float, K: int
) -> list[tuple[float, float]]:
    """Return the slope and offset of the sigmoid of each class (Platt), from decisions of cross-validation."""
    if not folds:
        return [(UNCALIBRATED, 0.0)] * K
    scores = _out_of_fold(gram, numbers, folds, margin, K)
    fits = [LogisticRegression(C=NO_PENALTY).fit(scores[:, [k]], numbers == k) for k in range(K)]
    slopes = [(float(fit.coef_[0, 0]), float(fit.intercept_[0])) for fit in fits]
    return [pair if pair[0] > 0 else (UNCALIBRATED, 0.0) for pair in slopes]


class TopicClassifier(ClassifierMixin, BaseEstimator):
    """A classifier on the topic weights of images. The topics learn from all images, the classifier from those with a
    label: labels of -1 are unknown.

    Parameters
    ----------
    topics
        An unfitted topic model, or a fitted one with `fitted=True`.
    classifier
        A classifier of topic weights; HistogramIntersectionSVM by default.
    """

    def __init__(self, topics: TopicEstimator, classifier: Any = None, *, fitted: bool = False):
        self.topics, self.classifier, self.fitted = topics, classifier, fitted

    def fit(
        self, descriptors: Any, image_of_descriptor: Any, y: Any, *, n_images: int | None = None,
        on_step: OnStep = ignore,
    ) -> Self:  # fmt: skip
        count = len(as_documents(descriptors, image_of_descriptor, n_images))
        self.classes_, numbers = known_classes(y, count)
        labelled = numbers >= 0
        self.topics_ = self.topics if self.fitted else clone(self.topics)
        if not self.fitted:
            self.topics_.fit(descriptors, image_of_descriptor, n_images=n_images, on_step=on_step)
        # all images are inferred in the same way as new ones
        weights = self.topics_.transform(descriptors, image_of_descriptor, n_images=count)
        classifier = HistogramIntersectionSVM() if self.classifier is None else clone(self.classifier)
        self.classifier_ = classifier.fit(weights[labelled], numbers[labelled])
        return self

    def predict(self, descriptors: Any, image_of_descriptor: Any = None, *, n_images: int | None = None) -> np.ndarray:
        """Return the class of each image (N,)."""
        weights = self.topics_.transform(descriptors, image_of_descriptor, n_images=n_images)
        return self.classes_[self.classifier_.predict(weights)]

    def predict_proba(
        self, descriptors: Any, image_of_descriptor: Any = None, *, n_images: int | None = None
    ) -> np.ndarray:
        """Return the probability of each class (N, K)."""
        return self.classifier_.predict_proba(
            self.topics_.transform(descriptors, image_of_descriptor, n_images=n_images)
        )

    def score(self, descriptors: Any, image_of_descriptor: Any, y: Any, *, n_images: int | None = None) -> float:
        """Return the share of images whose class is predicted."""
        return float(np.mean(self.predict(descriptors, image_of_descriptor, n_images=n_images) == np.asarray(y)))


GRIDS = (1, 2, 4)  # cells per side of the three levels


def pyramid_histograms(
    words: np.ndarray, rows: np.ndarray, columns: np.ndarray, size: tuple[int, int], n_words: int
) -> list[np.ndarray]:
    """Return the histograms of words (or topics) of one image's patches, one array (cells * n_words,) for each level,
    divided by the number of patches. `rows` and `columns` are the centres in px, `size` the height and width."""
    levels, total = [], max(len(words), 1)
    for grid in GRIDS:
        row = np.minimum((np.asarray(rows) * grid // size[0]).astype(int), grid - 1)
        column = np.minimum((np.asarray(columns) * grid // size[1]).astype(int), grid - 1)
        cell = (row * grid + column) * n_words + np.asarray(words, int)
        levels.append(np.bincount(cell, minlength=grid * grid * n_words) / total)
    return levels


class PyramidKernel:
    """The mean over levels of intersection kernels, each divided by its mean over the training images. New images use
    the training means."""

    def __init__(self, training: Sequence[np.ndarray]):
        """`training` has one array (N, cells * n_words) for each level."""
        self._training = [np.asarray(level, float) for level in training]
        grams = [histogram_intersection(level, level) for level in self._training]
        self._means = [max(float(gram.mean()), 1e-300) for gram in grams]
        self.gram = sum(gram / mean for gram, mean in zip(grams, self._means, strict=True)) / len(grams)

    def __call__(self, levels: Sequence[np.ndarray]) -> np.ndarray:
        """Return the kernel of new images with the training images (n, N)."""
        pairs = zip(levels, self._training, self._means, strict=True)
        kernels = [histogram_intersection(new, old) / mean for new, old, mean in pairs]
        return np.sum(kernels, axis=0) / len(kernels)
