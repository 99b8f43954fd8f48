"""One strategy of scikit-activeml, in its own environment: python active_learning_strategy.py FILE STRATEGY.

FILE has the rows `X` (N, D). Each line of the input is an object with the labels (N,), -1 for none, the number of
images to choose, and a seed. Each line of the output is a list of images to label next.
"""

import json
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from skactiveml import pool
from skactiveml.classifier import SklearnClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

CANDIDATES = 500  # of the discriminative strategy, for which a model is trained
NONE = -1


def of_features(strategy, X, labels, count, seed):
    """Choose by the features, and by which images are labelled."""
    chosen = strategy(missing_label=NONE, random_state=seed)
    return chosen.query(X, np.where(labels >= 0, 0, NONE), batch_size=count)


def query_by_committee(X, labels, count, seed):
    """Choose images on which a linear model, nearest neighbours and Gaussians of the classes disagree most."""
    members = (
        LogisticRegression(C=10.0, max_iter=200),
        KNeighborsClassifier(min(5, int((labels >= 0).sum()))),
        GaussianNB(var_smoothing=1e-3),
    )
    classes = np.unique(labels[labels >= 0])
    ensemble = [SklearnClassifier(member, classes=classes, missing_label=NONE) for member in members]
    strategy = pool.QueryByCommittee(missing_label=NONE, random_state=seed)
    return strategy.query(X, labels, ensemble=ensemble, batch_size=count)


def discriminative(X, labels, count, seed):
    """Choose images that a classifier tells from the labelled ones."""
    model = SklearnClassifier(LogisticRegression(C=10.0, max_iter=200), classes=[0, 1], missing_label=NONE)
    free = np.random.default_rng(seed).permutation(np.flatnonzero(labels < 0))
    strategy = pool.DiscriminativeAL(greedy_selection=True, missing_label=NONE, random_state=seed)
    return strategy.query(X, labels, discriminator=model, candidates=free[: max(CANDIDATES, count)], batch_size=count)


STRATEGIES = {
    "TypiClust": partial(of_features, pool.TypiClust),
    "ProbCover": partial(of_features, pool.ProbCover),
    "coverage": partial(of_features, pool.CoreSet),
    "query by committee": query_by_committee,
    "discriminative": discriminative,
}


def main(path: Path, name: str) -> None:
    warnings.simplefilter("ignore")
    X = np.load(path)["X"]
    for line in sys.stdin:
        question = json.loads(line)
        labels, count = np.array(question["labels"]), question["count"]
        chosen = STRATEGIES[name](X, labels, min(count, int((labels < 0).sum())), question["seed"])
        print(json.dumps(np.asarray(chosen).tolist()), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
