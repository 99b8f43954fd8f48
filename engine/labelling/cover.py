"""The share of each habitat, per dive and in all, with honest intervals, from labels of a sample of the images.

Clusters are the strata. Only labels of images drawn at random within their stratum make an honest estimate: that is
what the proposals of `neyman` and the queue "random" are for. What has been labelled in full is known, not estimated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, norm, t

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Share:
    """Of images with a term; `low` and `high` bound it at the confidence asked for."""

    estimate: float
    low: float
    high: float
    error: float   # standard error
    labelled: int  # images it rests on
    of: int        # images it is about
    method: str


@dataclass(frozen=True)
class Stratified:
    """Counts in every stratum: images, labelled ones, and of those the ones with the term."""

    sizes: np.ndarray     # (H,)
    labelled: np.ndarray  # (H,)
    hits: np.ndarray      # (H,)


def strata(stratum: np.ndarray, places: np.ndarray, has: np.ndarray, count: int | None = None) -> Stratified:
    """Of images (N,) by stratum, the labelled ones at `places` (n,), of which `has` (n,) says who has the term."""
    H = int(stratum.max(initial=0)) + 1 if count is None else count
    sizes = np.bincount(stratum, minlength=H)
    mine = stratum[places]
    return Stratified(sizes, np.bincount(mine, minlength=H), np.bincount(mine, np.asarray(has, float), minlength=H))


def stratified(found: Stratified, confidence: float = CONFIDENCE) -> Share:
    """Design-based: every stratum's share weighted by its size. Strata without a label borrow the share and the spread
    of all others together; the variance of a stratum is smoothed towards theirs, so that a few equal labels do not
    pass for certainty."""
    W = found.sizes / found.sizes.sum()
    overall = (found.hits.sum() + 1) / (found.labelled.sum() + 2)
    with_labels = found.labelled > 0
    p = np.where(with_labels, found.hits / np.maximum(found.labelled, 1), overall)
    smooth = (found.hits + 2 * overall) / (found.labelled + 2)
    unseen = 1 - found.labelled / np.maximum(found.sizes, 1)
    variance = smooth * (1 - smooth) / np.maximum(found.labelled, 1) * unseen
    error = float(np.sqrt((W**2 * variance).sum()))
    freedom = max(int(found.labelled.sum()) - int(with_labels.sum()), 1)
    return _interval(float(W @ p), error, found, confidence, freedom, "stratified by clusters")


def regression(model: np.ndarray, stratum: np.ndarray, places: np.ndarray, has: np.ndarray,
               confidence: float = CONFIDENCE) -> Share:
    """Prediction-powered: the model's mean probability of the term over all images (N,), corrected by what it gets
    wrong on the labelled ones, stratum by stratum. Honest whatever the model, if the labels did not train it on
    themselves (give held-out probabilities there); narrow where the model is good. The correction is scaled so that
    a useless model is ignored."""
    H = int(stratum.max(initial=0)) + 1
    sizes = np.bincount(stratum, minlength=H)
    y = np.asarray(has, float)
    mine, weights = stratum[places], (sizes / np.maximum(np.bincount(stratum[places], minlength=H), 1))[stratum[places]]
    slope = _slope(model[places], y, weights)
    residual = y - slope * model[places]
    n = np.bincount(mine, minlength=H)
    overall, spread = np.average(residual, weights=weights), np.average(residual**2, weights=weights)
    means = np.where(n > 0, np.bincount(mine, residual, H) / np.maximum(n, 1), overall)
    seconds = (np.bincount(mine, residual**2, H) + 2 * spread) / (n + 2)
    centres = (np.bincount(mine, residual, H) + 2 * overall) / (n + 2)
    unseen = 1 - n / np.maximum(sizes, 1)
    variance = np.maximum(seconds - centres**2, 0) / np.maximum(n, 1) * unseen
    W = sizes / sizes.sum()
    estimate = slope * float(model.mean()) + float(W @ means)
    found = Stratified(sizes, n, np.bincount(mine, y, H))
    error = float(np.sqrt((W**2 * variance).sum()))
    freedom = max(len(places) - int((n > 0).sum()) - 1, 1)
    return _interval(estimate, error, found, confidence, freedom, "model corrected by labels")


def neyman(sizes: np.ndarray, spread: np.ndarray, budget: int, labelled: np.ndarray | None = None) -> np.ndarray:
    """How many more images to label in each stratum (H,), `budget` in all, so that the error of the estimate falls
    fastest: one after the other where size times spread over the root of n (n + 1) is greatest."""
    n = np.zeros(len(sizes), np.int64) if labelled is None else np.asarray(labelled, np.int64).copy()
    begun = n.copy()
    W = sizes / sizes.sum()
    for _ in range(int(min(budget, (sizes - n).sum()))):
        gain = np.where(n < sizes, (W * spread) ** 2 / np.maximum(n * (n + 1), 0.5), -1.0)
        n[int(gain.argmax())] += 1
    return n - begun


def spread_of(found: Sequence[Stratified]) -> np.ndarray:
    """Root of the summed variances of all terms in every stratum (H,): what `neyman` takes for several terms at once.
    Strata with few labels are taken for varied."""
    shares = [(each.hits + 0.5) / (each.labelled + 1) for each in found]
    return np.sqrt(sum(share * (1 - share) for share in shares))


def proposed(stratum: np.ndarray, places: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Images (rows) to label: `counts` (H,) drawn at random among the unlabelled ones of every stratum."""
    free = np.setdiff1d(np.arange(len(stratum)), places)
    free = free[rng.permutation(len(free))]
    by_stratum = free[np.argsort(stratum[free], kind="stable")]
    sizes = np.bincount(stratum[free], minlength=len(counts))
    rank = np.arange(len(by_stratum)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rng.permutation(by_stratum[rank < counts[stratum[by_stratum]]])


def _slope(model: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Of labels on probabilities, between 0 (model ignored) and 1."""
    if len(y) < 3:
        return 1.0
    centred = model - np.average(model, weights=weights)
    total = float(weights @ centred**2)
    return float(np.clip(weights @ (centred * y) / total, 0, 1)) if total > 0 else 0.0


def _interval(estimate: float, error: float, found: Stratified, confidence: float, freedom: int, method: str) -> Share:
    """Symmetric on the scale of log-odds, as shares near 0 and 1 are not symmetric on their own; where no or all
    labels have the term, the exact binomial bound on the side that is open."""
    N, n = int(found.sizes.sum()), int(found.labelled.sum())
    if n >= N:
        return Share(estimate, estimate, estimate, 0.0, n, N, "counted in full")
    factor = float(t.ppf((1 + confidence) / 2, freedom)) if n else float(norm.ppf((1 + confidence) / 2))
    p = float(np.clip(estimate, 0.5 / max(n, 1) / 2, 1 - 0.5 / max(n, 1) / 2))
    on_log_odds = factor * error / (p * (1 - p))
    odds = np.log(p / (1 - p))
    low, high = (1 / (1 + np.exp(-(odds + side * on_log_odds))) for side in (-1, 1))
    hits, tail = float(found.hits.sum()), (1 - confidence) / 2
    if hits == 0 or hits == n:  # nothing to see the spread by: the exact binomial bound of plain chance
        low = 0.0 if hits == 0 else min(low, beta.ppf(tail, n, 1))
        high = 1.0 if hits == n else max(high, beta.ppf(1 - tail, 1, n))
    known, unknown = hits / N, float((found.labelled - found.hits).sum()) / N
    return Share(float(np.clip(estimate, 0, 1)), max(float(low), known), min(float(high), 1 - unknown), error, n, N,
                 method)
