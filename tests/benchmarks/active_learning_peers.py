"""Strategies of scikit-activeml, if it is installed: only in an environment of its own, it is no dependency."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from tests.benchmarks.baselines import Flow, Pool, Strategy, with_linear_model

COLD = {"TypiClust": "TypiClust", "ProbCover": "ProbCover", "coverage": "CoreSet"}  # look at features only
CANDIDATES = 500  # of the discriminative strategy, for which a model is trained


def peer_flows() -> dict[str, Flow]:
    if find_spec("skactiveml") is None:
        return {}
    flows = {word: with_linear_model(_of_features(name), cold=True) for word, name in COLD.items()}
    flows["query by committee"] = with_linear_model(query_by_committee, cold=False)
    flows["discriminative"] = with_linear_model(discriminative, cold=False)
    return {f"scikit-activeml, {word}": flow for word, flow in flows.items()}


def missing_peers() -> list[str]:
    """Return a line that says which ways of working are not in the table."""
    return [] if find_spec("skactiveml") else ["Skipped: scikit-activeml is not installed in this environment."]


def query_by_committee(state: Pool, count: int) -> np.ndarray:
    """Return images on which a linear model, nearest neighbours and Gaussians of the classes disagree most."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import QueryByCommittee

    members = (
        LogisticRegression(C=10.0, max_iter=200),
        KNeighborsClassifier(min(5, int(state.labelled.sum()))),
        GaussianNB(var_smoothing=1e-3),
    )
    classes = np.unique(state.labels[state.labelled])
    ensemble = [SklearnClassifier(member, classes=classes, missing_label=-1) for member in members]
    return _asked(QueryByCommittee, state, count, state.labels, ensemble=ensemble)


def discriminative(state: Pool, count: int) -> np.ndarray:
    """Return images that a classifier tells from the labelled ones."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import DiscriminativeAL

    model = SklearnClassifier(LogisticRegression(C=10.0, max_iter=200), classes=[0, 1], missing_label=-1)
    candidates = state.rng.permutation(state.free)[: max(CANDIDATES, count)]
    strategy = partial(DiscriminativeAL, greedy_selection=True)
    return _asked(strategy, state, count, state.labels, discriminator=model, candidates=candidates)


def _of_features(name: str) -> Strategy:
    def chosen(state: Pool, count: int) -> np.ndarray:
        from skactiveml import pool

        return _asked(getattr(pool, name), state, count, np.where(state.labelled, 0, -1))

    return chosen


def _asked(strategy: Callable[..., Any], state: Pool, count: int, y: np.ndarray, **options: Any) -> np.ndarray:
    made = strategy(missing_label=-1, random_state=int(state.rng.integers(2**31)))
    return np.asarray(made.query(state.X, y, batch_size=min(count, len(state.free)), **options))
