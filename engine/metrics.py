"""Agreement between two groupings of the same items, and the quality of predicted densities (methods note 10).

`truth` and `predicted` are labels of any type, one per item. Logarithms are natural.
"""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.problems import fail

__all__ = [
    "Agreement",
    "adjusted_rand",
    "adjusted_rand_of_counts",
    "agreement",
    "agreement_of_counts",
    "confusion",
    "mean_class_accuracy",
    "perplexity",
    "rand",
    "v_measure",
    "variation_of_information",
]


@dataclass(frozen=True)
class Agreement:
    """The information that two groupings share, in the normalisations used in papers."""

    homogeneity: float  # 1 if each cluster contains a single class
    completeness: float  # 1 if each class is in a single cluster
    v_measure: float  # their harmonic mean: mutual information divided by the mean of both entropies
    nmi_sqrt: float  # mutual information divided by the geometric mean of both entropies
    variation: float  # variation of information, 0 for equal groupings


def confusion(truth, predicted) -> np.ndarray:
    """Return the number of items of each class (row) in each cluster (column), both in sorted order."""
    truth, predicted = np.asarray(truth).ravel(), np.asarray(predicted).ravel()
    if len(truth) != len(predicted):
        raise fail(
            "labels",
            f"{len(predicted)} labels in one grouping, but {len(truth)} in the other",
            "give one label per item in both",
        )
    if not len(truth):
        raise fail("labels", "there are no labels", "give at least one item")
    classes, row = np.unique(truth, return_inverse=True)
    clusters, column = np.unique(predicted, return_inverse=True)
    flat = np.bincount(row * len(clusters) + column, minlength=len(classes) * len(clusters))
    return flat.reshape(len(classes), len(clusters))


def agreement(truth, predicted) -> Agreement:
    return agreement_of_counts(confusion(truth, predicted))


def agreement_of_counts(joint: np.ndarray) -> Agreement:
    """Return the agreement from a table of counts as `confusion` returns it."""
    of_truth, of_found, both = _entropy(joint.sum(1)), _entropy(joint.sum(0)), _entropy(joint.ravel())
    shared = max(of_truth + of_found - both, 0.0)
    homogeneity = shared / of_truth if of_truth else 1.0
    completeness = shared / of_found if of_found else 1.0
    total = homogeneity + completeness
    harmonic = 2 * homogeneity * completeness / total if total else 0.0
    geometric = np.sqrt(of_truth * of_found)
    nmi = shared / geometric if geometric else float(of_truth == of_found)
    return Agreement(homogeneity, completeness, harmonic, float(nmi), max(both - shared, 0.0))


def v_measure(truth, predicted) -> float:
    """Return the V-measure, which the papers call NMI: 1 for equal groupings up to names, 0 for unrelated ones."""
    return agreement(truth, predicted).v_measure


def variation_of_information(truth, predicted) -> float:
    """Return the sum of both conditional entropies, a distance between groupings."""
    return agreement(truth, predicted).variation


def rand(truth, predicted) -> float:
    """Return the fraction of pairs of items for which both groupings agree whether they belong together."""
    together, in_truth, in_found, pairs = _pairs(confusion(truth, predicted))
    return 1.0 if not pairs else (pairs + 2 * together - in_truth - in_found) / pairs


def adjusted_rand(truth, predicted) -> float:
    """Return the Rand index corrected for chance: 1 for equal groupings, 0 on average for unrelated ones, or
    negative."""
    return adjusted_rand_of_counts(confusion(truth, predicted))


def adjusted_rand_of_counts(joint: np.ndarray) -> float:
    """Return the adjusted Rand index from a table of counts as `confusion` returns it."""
    together, in_truth, in_found, pairs = _pairs(joint)
    by_chance = in_truth * in_found / pairs if pairs else 0.0
    most = (in_truth + in_found) / 2
    return 1.0 if most == by_chance else (together - by_chance) / (most - by_chance)


def mean_class_accuracy(truth, predicted) -> float:
    """Return the fraction of each class that was predicted correctly, averaged over classes."""
    truth, predicted = np.asarray(truth).ravel(), np.asarray(predicted).ravel()
    return float(np.mean([(predicted[truth == name] == name).mean() for name in np.unique(truth)]))


def perplexity(log_densities) -> float:
    """Return exp of minus the mean held-out log-likelihood."""
    return float(np.exp(-np.mean(log_densities)))


def _entropy(counts: np.ndarray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum()) if len(shares) > 1 else 0.0


def _pairs(joint: np.ndarray) -> tuple[float, float, float, float]:
    """Return the numbers of pairs of items together in both, in the first, in the second, and of all pairs; as floats,
    which do not overflow."""
    joint = joint.astype(float)
    in_both, in_first, in_second, of_all = (
        float((n * (n - 1) / 2).sum()) for n in (joint, joint.sum(1), joint.sum(0), joint.sum())
    )
    return in_both, in_first, in_second, of_all
