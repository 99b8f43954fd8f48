"""Estimate the fractions of terms among images from random draws: one estimate for all terms, with an interval each.

A model's guess, or a bulk label, divides the images into strata. Good strata make intervals narrower; bad strata never
make them wrong. This module does not know why an image was labelled: it uses only answers to stored draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

CONFIDENCE = 0.95
FEW = 20  # draws; with fewer, a fraction is only a first impression and guesses are not used
PRIOR_DRAWS = 2.0  # weight of the model's guess in each stratum of the estimate, in draws
EQUAL_RATES = 0.1  # dives are pooled if their sampling rates differ by no more
REPEATS = 4_000  # samples of the posterior if rates differ
SEED = 20_250_601  # seed of these samples, so that figures do not change between two views


@dataclass(frozen=True)
class Cells:
    """Groups of images with a common fraction to estimate; arrays (..., G), one row per term.

    `hits` counts open draws as misses, `hits_at_most` counts them as hits. `weights` is the number of images that a
    cell represents in the total: its images, or fewer if several waves estimate the same total.
    """

    images: np.ndarray
    draws: np.ndarray
    hits: np.ndarray
    hits_at_most: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, images: Sequence, draws: Sequence, hits: Sequence) -> "Cells":
        """Create the cells of one wave without open draws."""
        N, n, x = (np.asarray(each, float) for each in (images, draws, hits))
        return cls(N, n, x, x, N)


@dataclass(frozen=True)
class GuessCounts:
    """Images and draws of one wave by guess, for one source of guesses.

    A row of `answers` (H, K) counts the terms that people gave to draws with this guess; row K, if present, is "no
    guess". `open_draws` (H,) have no answer yet; `wrong` (H,) are known to differ from the guess, but without a term.
    """

    images: np.ndarray
    answers: np.ndarray
    open_draws: np.ndarray
    wrong: np.ndarray

    @property
    def draws(self) -> np.ndarray:
        return self.answers.sum(1) + self.open_draws + self.wrong

    def pooled(self, other: "GuessCounts") -> "GuessCounts":
        return GuessCounts(
            *(
                own_value + other_value
                for own_value, other_value in zip(vars(self).values(), vars(other).values(), strict=True)
            )
        )

    def without_guesses(self) -> "GuessCounts":
        """Return the counts with all images in the stratum "no guess"."""
        at_end = np.zeros(len(self.images))
        at_end[-1] = 1.0
        return GuessCounts(
            at_end * self.images.sum(),
            np.outer(at_end, self.answers.sum(0)),
            at_end * (self.open_draws + self.wrong).sum(),
            np.zeros(len(self.images)),
        )


def clopper_pearson(
    hits: np.ndarray, draws: np.ndarray, confidence: float = CONFIDENCE
) -> tuple[np.ndarray, np.ndarray]:
    """Return exact limits of a fraction from `hits` of `draws`; 0 and 1 without draws."""
    x, n, tail = np.asarray(hits, float), np.asarray(draws, float), (1 - confidence) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(x > 0, scipy.special.betaincinv(np.maximum(x, 0.5), n - x + 1, tail), 0.0)
        high = np.where(x < n, scipy.special.betaincinv(x + 1, np.maximum(n - x, 0.5), 1 - tail), 1.0)
    return low, high


def limits(cells: Cells, confidence: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high) (...): limits of the weighted mean fraction of the cells. Exact limits per cell are narrowed
    by the finite-population factor and combined by recovered variances."""
    total = cells.weights.sum(-1, keepdims=True)
    W = cells.weights / np.where(total > 0, total, 1)
    low = _one_side(cells, W, cells.hits, confidence, 0)
    return low, _one_side(cells, W, cells.hits_at_most, confidence, 1)


def _one_side(cells: Cells, W: np.ndarray, hits: np.ndarray, confidence: float, side: int) -> np.ndarray:
    has_draws = cells.draws > 0
    n = np.maximum(cells.draws, 1)
    overall = (hits.sum(-1, keepdims=True) + 0.5) / (cells.draws.sum(-1, keepdims=True) + 1)
    p = np.where(has_draws, hits / n, overall)
    f = np.sqrt(np.clip(1 - cells.draws / np.maximum(cells.images, 1), 0, 1))
    limit = clopper_pearson(hits, cells.draws, confidence)[side]
    far = np.where(has_draws, (limit - p) * f, side - p)
    centre, spread = (W * p).sum(-1), np.sqrt((W**2 * far**2).sum(-1))
    return centre + spread if side else centre - spread


def melded_limits(
    cells: Cells, groups: np.ndarray, confidence: float = CONFIDENCE, repeats: int = REPEATS
) -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high) (...) for cells with unequal sampling rates, by two posteriors of the finite population. The
    cells of each of the `groups` (G,) share one extra image: a hit for the upper limit, a miss for the lower one."""
    shape = cells.images.shape[:-1]
    flat = [value.reshape(-1, value.shape[-1]) for value in vars(cells).values()]
    limits_of_rows = [_melded(Cells(*row), groups, confidence, repeats) for row in zip(*flat, strict=True)]
    low, high = np.array(limits_of_rows, float).reshape(-1, 2).T
    return low.reshape(shape), high.reshape(shape)


def _melded(row: Cells, groups: np.ndarray, confidence: float, repeats: int) -> tuple[float, float]:
    """Return the limits of one term; `row` has arrays (G,)."""
    N, n, x, x_most, weights = row.images, row.draws, row.hits, row.hits_at_most, row.weights
    in_group = np.bincount(groups, weights, groups.max() + 1)[groups]
    extra = np.where(in_group > 0, weights / np.where(in_group > 0, in_group, 1), 0.0)
    scale, tail = weights / np.where(N > 0, N, 1), (1 - confidence) / 2
    sides = []
    for hits, above, below, share in ((x, x, n - x + extra, tail), (x_most, x_most + extra, n - x_most, 1 - tail)):
        rng = np.random.default_rng(SEED)
        total = np.full(repeats, float((scale * hits).sum()))
        for at in np.flatnonzero((n < N) & (weights > 0)):
            total += scale[at] * _unseen_hits(rng, int(N[at] - n[at]), above[at], below[at], repeats)
        rank = np.clip((repeats + 1) * share, 1, repeats)
        sides.append(float(np.interp(rank, np.arange(1, repeats + 1), np.sort(total))) / max(weights.sum(), 1e-300))
    return sides[0], sides[1]


def _unseen_hits(rng: np.random.Generator, images: int, above: float, below: float, repeats: int) -> np.ndarray | float:
    if above <= 0 or below <= 0:
        return 0.0 if above <= 0 else float(images)
    return rng.binomial(images, rng.beta(above, below, repeats))


def cells_of(table: GuessCounts, members: np.ndarray, scale: float = 1.0) -> Cells:
    """Return two cells per reported term (T, 2): guess is the term, guess is something else. `members` (T, K) marks the
    columns of each reported term; a parent includes its descendants."""
    T, K = members.shape
    M = np.zeros((T, len(table.images)))
    M[:, :K] = members
    inside = np.einsum("th,hk,tk->t", M, table.answers, members)
    hits = np.stack([inside, members @ table.answers.sum(0) - inside], -1)
    images, draws, open_draws = (_in_and_out(M, value) for value in (table.images, table.draws, table.open_draws))
    wrong = _in_and_out(M, table.wrong)
    wrong[:, 0] *= members.sum(1) > 1  # a wrong label of a parent may still belong to another of its children
    return Cells(images, draws, hits, hits + open_draws + wrong, scale * images)


def _in_and_out(M: np.ndarray, values: np.ndarray) -> np.ndarray:
    inside = M @ values
    return np.stack([inside, values.sum() - inside], -1)


def joined(cells_list: Sequence[Cells]) -> Cells:
    """Concatenate the cells of several tables."""
    return Cells(
        *(np.concatenate([getattr(cells, name) for cells in cells_list], -1) for name in Cells.__annotations__)
    )


def expected_counts(table: GuessCounts, overall: np.ndarray | None = None) -> np.ndarray:
    """Return the expected number of images of each term (K,) in a table; the sum equals its images. `overall` (K,)
    counts answers about the frequency of each term, if there are more than the table's own."""
    H, K = len(table.images), table.answers.shape[1]
    answered = table.answers.sum(1)
    counts = table.answers.sum(0) if overall is None else overall
    common = (counts + 1 / K) / (counts.sum() + 1)
    prior = np.tile(common, (H, 1))
    guessed = answered[:K].sum()
    right = np.trace(table.answers[:K, :K])
    if guessed and clopper_pearson(right, guessed)[0] > common.max():
        rho = (right + 0.5) / (guessed + 1)
        prior[:K] = rho * np.eye(K) + (1 - rho) * common
        prior[:K] /= prior[:K].sum(1, keepdims=True)
    elif guessed and H > K:
        return _filled(table.without_guesses(), np.tile(common, (H, 1)))
    return _filled(table, prior)


def _filled(table: GuessCounts, prior: np.ndarray) -> np.ndarray:
    answered = table.answers.sum(1)
    share = (table.answers + PRIOR_DRAWS * prior) / (answered + PRIOR_DRAWS)[:, None]
    return ((table.images - answered)[:, None] * share).sum(0) + table.answers.sum(0)


def wave_weights(draws: Sequence[float], images: Sequence[float]) -> np.ndarray:
    """Return the weights of several waves that estimate the same total. They depend on sizes only, never on answers."""
    n, N = np.asarray(draws, float), np.maximum(np.asarray(images, float), 1)
    raw = np.where(n >= N, 1e6 * n, n) / N**2  # a completely answered wave determines its total
    return raw / raw.sum() if raw.sum() > 0 else np.zeros(len(raw))


def same_rates(draws: Sequence[float], images: Sequence[float]) -> bool:
    """Return whether several parts have almost the same sampling rate, so that they may be pooled."""
    rates = np.asarray(draws, float) / np.maximum(np.asarray(images, float), 1)
    return len(rates) < 2 or (rates.max() <= rates.min() * (1 + EQUAL_RATES))
