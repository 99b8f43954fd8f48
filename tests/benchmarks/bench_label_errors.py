"""Precision of the first hundred suspicious labels where a hundred labels are wrong, and that of cleanlab."""

from collections.abc import Iterator

import numpy as np

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.labelling.classifier import inputs, learn
from benthoscope.engine.labelling.page_choice.queues import doubted, margins
from benthoscope.engine.mixtures import GMC
from benthoscope.engine.optional_dependencies import is_installed
from tests.benchmarks.known_sets import KnownSet, known_sets
from tests.benchmarks.measure import Table

ERRORS = 100
SEEDS = 2
PEERS = ("cleanlab, quality score", "cleanlab, label issues")
ORDERS = ("least believed", "margin", *PEERS)


def tables() -> Iterator[Table]:
    with blas_threads(1):
        rows = [row_of(known) for known in known_sets()]
    peer = (
        "cleanlab gets the same probabilities." if is_installed("cleanlab") else "Skipped: cleanlab is not installed."
    )
    yield Table(
        f"Share of real errors among the first {ERRORS} listed labels",
        ("set", "images", "classes", "model right", *ORDERS),
        rows,
        [
            f"Every image has a label, {ERRORS} of them an injected error: half in the class that the model confuses "
            "most, half in any class. Probabilities by models that were not trained on the label. "
            f"Means of {SEEDS} runs.",
            peer,
        ],
    )


def row_of(known: KnownSet) -> tuple[object, ...]:
    """Return the row of a set: the precision of each order, and how often the held-out guess is the true class."""
    clusters = GMC(random_state=0).fit(known.X, groups=known.groups).labels_
    data, figures = inputs(known.wide, clusters, rng=np.random.default_rng(0)), []
    every = np.arange(len(known.classes))
    clean = learn(data, every, known.classes, rng=np.random.default_rng(0)).held_out
    confused = np.empty(len(every), np.int64)
    confused[clean.rows] = _second_best(clean.scores, clean.y)
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 4])
        given, wrong = _with_errors(known.classes, confused, rng)
        model = learn(data, every, given, rng=rng)
        held_out, P = model.held_out, model.held_out.probabilities(model.temperature)
        is_wrong = np.isin(held_out.rows, wrong)
        precisions = [float(is_wrong[order[:ERRORS]].sum()) / ERRORS for order in _orders(P, held_out.y)]
        figures.append([float((model.terms[P.argmax(1)] == known.classes[held_out.rows]).mean()), *precisions])
    means = np.mean(figures, axis=0).round(3).tolist()
    return (
        known.name,
        len(every),
        int(known.classes.max()) + 1,
        *means,
        *([] if is_installed("cleanlab") else ["-"] * len(PEERS)),
    )


def _second_best(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    others = scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    return others.argmax(1)


def _with_errors(classes: np.ndarray, confused: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return (labels with injected errors, positions of the errors)."""
    given, wrong = classes.copy(), rng.permutation(len(classes))[:ERRORS]
    near, anywhere = wrong[: ERRORS // 2], wrong[ERRORS // 2 :]
    given[near] = confused[near]
    shift = rng.integers(1, classes.max() + 1, len(anywhere))
    given[anywhere] = (classes[anywhere] + shift) % (classes.max() + 1)
    return given, wrong


def _orders(P: np.ndarray, y: np.ndarray) -> Iterator[np.ndarray]:
    """Yield positions of labels, most suspicious first, in the order of ORDERS."""
    yield doubted(P, y, len(y))
    suspects = np.flatnonzero(P.argmax(1) != y)
    yield suspects[np.argsort(margins(P[suspects]) - P[suspects, y[suspects]], kind="stable")]
    if is_installed("cleanlab"):  # only in an environment of its own, it is no dependency
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores

        yield np.argsort(get_label_quality_scores(y, P), kind="stable")
        yield find_label_issues(y, P, return_indices_ranked_by="self_confidence")
