"""Upper bounds for the number of wrong labels that stay valid however often they are inspected.

Labels are checked in a stored random order. For each possible number M of wrong labels, the evidence against M is a
likelihood ratio: a mixture of priors against M. It is a martingale under M, so the probability that it ever exceeds
1/alpha is at most alpha (Ville's inequality). Inspecting, stopping and continuing therefore need no correction.

`pooled_upper` combines several audits with different sampling rates: their posteriors share one extra wrong image.
"""

from functools import lru_cache
from math import inf, lgamma, log

import numpy as np
import scipy

from benthoscope.engine.problems import fail

ALPHA = 0.05
NONE_WRONG = 0.3  # prior probability that no label is wrong
PRIOR = (1.0, 40.0)  # prior of the fraction of wrong labels otherwise; a uniform prior needs twice as many checks
FIRST_SHOWN = 20  # before this number of checks, a bound is too wide to be shown


def log_evidence(total_wrong: int, of: int, checked: int, wrong: int) -> float:
    """Return the log evidence against `total_wrong` wrong labels among `of`, after `wrong` in `checked`; inf if that
    total is impossible."""
    if not wrong <= total_wrong <= of - checked + wrong:
        return inf
    return _log_mixture(checked, wrong) - _log_likelihood(total_wrong, of, checked, wrong)


@lru_cache(maxsize=16_384)
def sequential_upper(of: int, checked: int, wrong: int, alpha: float = ALPHA) -> int:
    """Return the largest number of wrong labels among `of` that the evidence does not exclude, including those
    found."""
    if not 0 <= wrong <= checked <= of:
        raise fail(
            "audit", f"impossible numbers: {wrong} wrong, {checked} checked, {of} in total", "count each image once"
        )
    if checked == of:
        return wrong
    low, high = _likeliest(of, checked, wrong), of - checked + wrong
    while low < high:  # above the most likely number, the evidence only grows
        middle = (low + high + 1) // 2
        if log_evidence(middle, of, checked, wrong) < -log(alpha):
            low = middle
        else:
            high = middle - 1
    return low


@lru_cache(maxsize=4_096)
def sequential_plan(of: int, target: float, wrong: int = 0, alpha: float = ALPHA) -> int:
    """Return how many of `of` labels to check to show that at most the fraction `target` is wrong, if `wrong` are
    found."""
    if not 0 < target < 1:
        raise fail("audit", f"a target of {target}", "give a number between 0 and 1")
    low, high = 0, of
    while low < high:
        middle = (low + high) // 2
        if sequential_upper(of, middle, min(wrong, middle), alpha) <= target * of:
            high = middle
        else:
            low = middle + 1
    return low


def _log_mixture(checked: int, wrong: int) -> float:
    some_wrong = (
        log(1 - NONE_WRONG)
        + scipy.special.betaln(wrong + PRIOR[0], checked - wrong + PRIOR[1])
        - scipy.special.betaln(*PRIOR)
    )
    return float(np.logaddexp(log(NONE_WRONG), some_wrong)) if wrong == 0 else float(some_wrong)


def _log_likelihood(total: int, of: int, checked: int, wrong: int) -> float:
    """Return the log-likelihood of this sequence of answers, drawn without replacement."""
    return (
        lgamma(total + 1)
        - lgamma(total - wrong + 1)
        + lgamma(of - total + 1)
        - lgamma(of - total - checked + wrong + 1)
        + lgamma(of - checked + 1)
        - lgamma(of + 1)
    )


def _likeliest(of: int, checked: int, wrong: int) -> int:
    share = wrong / checked if checked else 0.0
    return int(min(max(round(share * of), wrong), of - checked + wrong))


REPEATS = 4_000
SEED = 20_260_101  # fixed, so that the same audits always give the same bound


def pooled_upper(sizes: np.ndarray, checked: np.ndarray, wrong: np.ndarray, confidence: float = 0.95) -> int:
    """Return an upper bound for the wrong labels of all events together, from events with `sizes` (G,) labels, of which
    `checked` (G,) were checked and `wrong` (G,) were wrong. One extra wrong image is divided among the events by their
    sizes, so that all labels of an event without any check may be wrong."""
    rng, extra = np.random.default_rng(SEED), sizes / sizes.sum()
    total = np.zeros(REPEATS)
    for size, n, x, share in zip(sizes.tolist(), checked.tolist(), wrong.tolist(), extra.tolist(), strict=True):
        rate = np.ones(REPEATS) if n == x else rng.beta(x + share, n - x, REPEATS)
        total += x + rng.binomial(size - n, rate)
    order = min(int(np.ceil((REPEATS + 1) * confidence)), REPEATS)
    return int(np.sort(total)[order - 1])
