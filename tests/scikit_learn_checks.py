"""Runs scikit-learn's estimator checks on the estimators, and lists the checks that do not apply.

scikit-learn's checks pass a target y to every estimator. The estimators refuse a target, so the checks run on a
subclass that drops y and changes nothing else.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

# Estimator -> check -> reason why it does not apply. This is the only list of exceptions.
NOT_APPLICABLE: Mapping[str, Mapping[str, str]] = {
    "SemiSupervisedRIM": {
        "check_classifiers_classes": "it has a class named -1, and the label -1 means that a row is not labelled",
        "check_sample_weight_equivalence_on_dense_data": (
            "rows are scaled by all rows, labelled or not, so a weight of 2 differs from a second row"
        ),
    },
}
# Crowd models learn from judgements (item, item, worker, same), not from rows of features: their tag `two_d_array` is
# off, and scikit-learn then runs the checks of the programming interface only.


def without_target(kind: type, **always: Any) -> type:
    """A subclass of an estimator that ignores y; `always` are options that every call gets."""

    class WithoutTarget(kind):
        def fit(self, X, y=None, **options):
            return super().fit(X, **always, **options)

        def fit_predict(self, X, y=None, **options):
            return super().fit_predict(X, **options)

        if hasattr(kind, "partial_fit"):

            def partial_fit(self, X, y=None, **options):
                return super().partial_fit(X, **options)

        if hasattr(kind, "score"):

            def score(self, X, y=None, **options):
                return super().score(X, **options)

        if hasattr(kind, "partial_fit"):

            def partial_fit(self, X, y=None, **options):
                return super().partial_fit(X, **options)

        if hasattr(kind, "fit_transform"):

            def fit_transform(self, X, y=None, **options):
                return super().fit_transform(X, **options)

        if always:

            def predict(self, X, **options):
                return super().predict(X, **always, **options)

    WithoutTarget.__name__ = WithoutTarget.__qualname__ = kind.__name__
    globals()[kind.__name__] = WithoutTarget  # where pickle looks it up
    return WithoutTarget


def scikit_learn_checks(*estimators: Any):
    """A decorator: the test runs once for each estimator and check."""
    return parametrize_with_checks(
        list(estimators), expected_failed_checks=lambda model: NOT_APPLICABLE.get(type(model).__name__, {})
    )


ONE_IMAGE = {"image_features": np.zeros((1, 2))}
