"""How well two groupings of the same items agree, and how well densities foretell rows (methods note 10).

`truth` and `found` are labels of any kind, one per item; logarithms are natural.
"""

from dataclasses import dataclass

import numpy as np

from engine.problems import fail

__all__ = [
    "Agreement", "adjusted_rand", "agreement", "confusion", "mean_class_accuracy", "perplexity", "rand",
    "v_measure", "variation_of_information",
]


@dataclass(frozen=True)
class Agreement:
    """Information two groupings share, in the normalisations papers use."""

    homogeneity: float   # 1 where every cluster holds one class
    completeness: float  # 1 where every class sits in one cluster
    v_measure: float     # their harmonic mean, which is mutual information over the mean of both entropies
    nmi_sqrt: float      # mutual information over the geometric mean of both entropies
    variation: float     # variation of information, 0 for equal groupings


def confusion(truth, found) -> np.ndarray:
    """Items of every class (row) in every cluster (column), both in sorted order."""
    truth, found = np.asarray(truth).ravel(), np.asarray(found).ravel()
    if len(truth) != len(found):
        raise fail("labels", f"{len(found)} of one grouping for {len(truth)} of the other", "give one per item in both")
    if not len(truth):
        raise fail("labels", "there are none", "give at least one item")
    classes, row = np.unique(truth, return_inverse=True)
    clusters, column = np.unique(found, return_inverse=True)
    flat = np.bincount(row * len(clusters) + column, minlength=len(classes) * len(clusters))
    return flat.reshape(len(classes), len(clusters))


def agreement(truth, found) -> Agreement:
    joint = confusion(truth, found)
    of_truth, of_found, both = _entropy(joint.sum(1)), _entropy(joint.sum(0)), _entropy(joint.ravel())
    shared = max(of_truth + of_found - both, 0.0)
    homogeneity = shared / of_truth if of_truth else 1.0
    completeness = shared / of_found if of_found else 1.0
    total = homogeneity + completeness
    harmonic = 2 * homogeneity * completeness / total if total else 0.0
    geometric = np.sqrt(of_truth * of_found)
    nmi = shared / geometric if geometric else float(of_truth == of_found)
    return Agreement(homogeneity, completeness, harmonic, float(nmi), max(both - shared, 0.0))


def v_measure(truth, found) -> float:
    """What the papers call NMI: 1 for equal groupings up to names, 0 where one tells nothing of the other."""
    return agreement(truth, found).v_measure


def variation_of_information(truth, found) -> float:
    """Entropy of each grouping given the other, added: a distance between groupings."""
    return agreement(truth, found).variation


def rand(truth, found) -> float:
    """Share of pairs of items on which both groupings agree whether they belong together."""
    together, in_truth, in_found, pairs = _pairs(confusion(truth, found))
    return 1.0 if not pairs else (pairs + 2 * together - in_truth - in_found) / pairs


def adjusted_rand(truth, found) -> float:
    """The Rand index less what chance gives: 1 for equal groupings, 0 on average for unrelated ones, or negative."""
    together, in_truth, in_found, pairs = _pairs(confusion(truth, found))
    by_chance = in_truth * in_found / pairs if pairs else 0.0
    most = (in_truth + in_found) / 2
    return 1.0 if most == by_chance else (together - by_chance) / (most - by_chance)


def mean_class_accuracy(truth, predicted) -> float:
    """Share of each class that was predicted right, averaged over classes."""
    truth, predicted = np.asarray(truth).ravel(), np.asarray(predicted).ravel()
    return float(np.mean([(predicted[truth == name] == name).mean() for name in np.unique(truth)]))


def perplexity(log_densities) -> float:
    """exp of minus the mean held-out log-likelihood."""
    return float(np.exp(-np.mean(log_densities)))


def _entropy(counts: np.ndarray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum()) if len(shares) > 1 else 0.0


def _pairs(joint: np.ndarray) -> tuple[float, float, float, float]:
    """Pairs of items together in both, in the first, in the second, and all; as floats, which do not overflow."""
    joint = joint.astype(float)
    return tuple(float((n * (n - 1) / 2).sum()) for n in (joint, joint.sum(1), joint.sum(0), joint.sum()))
