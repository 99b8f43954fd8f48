"""Simulated campaigns with known shares, for the coverage of intervals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.labelling.cover.estimate import Cells, limits

SIZES = (
    (50, 20, 2),
    (200, 50, 4),
    (500, 60, 6),
    (2_000, 100, 8),
    (2_000, 200, 20),
    (5_000, 400, 30),
    (20_000, 1_000, 60),
)  # images, draws, terms
SHARES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.2, 0.45)
RARE = 0.05


@dataclass(frozen=True)
class Model:
    """How often a model guesses a term where it is, and where it is not, by the share of the term."""

    name: str
    inside: Callable[[float], float]
    outside: Callable[[float], float]


def _right(rho: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    return (lambda p: rho + (1 - rho) * p), (lambda p: (1 - rho) * p)


MODELS = (
    Model("useless", *_right(0.0)),
    Model("half right", *_right(0.5)),
    Model("85 % right", *_right(0.85)),
    Model("98 % right", *_right(0.98)),
    Model("never says rare terms", lambda p: 0.0 if p <= RARE else 0.9, lambda p: 0.0 if p <= RARE else 0.1 * p + 0.02),
    Model("says rare terms too often", lambda p: 0.9, lambda p: min(4 * p, 0.3) if p <= RARE else 0.05 * p),
)


def two_cells(N: int, n: int, share: float, model: Model, runs: int, rng: np.random.Generator) -> tuple[Cells, float]:
    """(cells (runs, 2): guess is the term or not; true share) of one term in `runs` populations and samples."""
    with_term = max(round(share * N), 1)
    a, b = rng.binomial(with_term, model.inside(share), runs), rng.binomial(N - with_term, model.outside(share), runs)
    kinds = np.stack([a, b, with_term - a, N - with_term - b], -1)
    sample_kinds = _sample_kinds(kinds, n, rng)
    images = np.stack([a + b, N - a - b], -1)
    draws = np.stack([sample_kinds[:, 0] + sample_kinds[:, 1], sample_kinds[:, 2] + sample_kinds[:, 3]], -1)
    return Cells.of(images, draws, sample_kinds[:, [0, 2]]), with_term / N


def _sample_kinds(kinds: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n images drawn without replacement from each row of counts of kinds (R, 4)."""
    left, need, found = kinds.sum(1), np.full(len(kinds), n), np.zeros_like(kinds)
    for at in range(kinds.shape[1] - 1):
        left = left - kinds[:, at]
        found[:, at] = rng.hypergeometric(kinds[:, at], left, need)
        need = need - found[:, at]
    found[:, -1] = need
    return found


def coverage_of(cells: Cells, truth: float | np.ndarray, known: tuple[np.ndarray, np.ndarray] | None = None) -> float:
    """Share of the runs whose interval has the true share; limits are clipped by the answers themselves."""
    low, high = limits(cells)
    N, hits, misses = cells.images.sum(-1), cells.hits.sum(-1), (cells.draws - cells.hits).sum(-1)
    low, high = np.maximum(low, hits / N), np.minimum(high, 1 - misses / N)
    return float(((low <= truth + 1e-12) & (truth <= high + 1e-12)).mean())


def table_of_settings(runs: int, seed: int) -> np.ndarray:
    """(sizes, models, shares): coverage of every term in every setting."""
    rng = np.random.default_rng(seed)
    return np.array(
        [
            [[coverage_of(*two_cells(N, n, share, model, runs, rng)) for share in SHARES] for model in MODELS]
            for N, n, _ in SIZES
        ]
    )


# --- hunting after the draws

HUNTS = ((2_000, 0.05, 100), (2_000, 0.02, 200), (500, 0.05, 60))  # images, share, draws


def hunted(N: int, p: float, n: int, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Coverage when most images of a term are labelled by hand after the draws, by what the draws are taken for."""
    M = round(p * N)
    x = rng.hypergeometric(M, N - M, n, runs)
    known = x + rng.binomial(M - x, rng.uniform(0.7, 0.9, runs))  # the hits among the images labelled by now
    other_count = N - n - (known - x)
    y = rng.hypergeometric(M - known, other_count - (M - known), n)
    first, second = (np.full(runs, N), x, np.zeros(runs)), (other_count, y, known)

    def inside(pieces, weights, waves):
        cells = Cells(
            *(
                np.stack(values, -1).astype(float)
                for values in zip(
                    *(
                        (images, np.full(runs, n), hits, hits, lam * images)
                        for (images, hits, _), lam in zip(pieces, weights, strict=True)
                    ),
                    strict=True,
                )
            )
        )
        constant = sum(lam * k for (_, _, k), lam in zip(pieces, weights, strict=True))
        low, high = ((constant + limit * cells.weights.sum(-1)) / N for limit in limits(cells))
        hits = known if waves == 1 else known + y
        misses = n - x if waves == 1 else 2 * n - x - y
        return float(((np.maximum(low, hits / N) <= p) & (p <= np.minimum(high, 1 - misses / N))).mean())

    lam = np.stack([n / np.full(runs, N) ** 2, n / other_count**2])
    lam = lam / lam.sum(0)
    present = Cells.of(other_count[:, None], np.full((runs, 1), n), x[:, None])
    low, high = ((known + limit * other_count) / N for limit in limits(present))
    ones = [np.ones(runs)]
    return {
        "of today's rest": float(((low <= p) & (p <= high)).mean()),
        "when drawn": inside([first], ones, 1),
        "second wave": inside([second], ones, 2),
        "both waves": inside([first, second], lam, 2),
    }


# --- slips of the people

SLIPS = ((2_000, 200, 8), (20_000, 1_000, 20), (20_000, 1_000, 4))
SLIP = 0.02


def slipping(N: int, n: int, K: int, blind: bool, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Least coverage over the terms when 2 % of the looks slip: (asked once, asked again where it may matter)."""
    rare = [0.01, 0.02, 0.05] if K > 4 else [0.02]
    shares = np.array([*rare, *np.full(K - len(rare), (1 - sum(rare)) / (K - len(rare)))])
    truth = np.repeat(np.arange(K), np.diff(np.round(np.cumsum([0, *shares]) * N).astype(int)))
    rho = np.where(blind & (shares <= RARE), 0.0, 0.9)
    good, totals = np.bincount(truth, minlength=K) / N, np.zeros((2, K))
    common = np.where(rho > 0, shares, 0)
    for _ in range(runs):
        guess = np.where(rng.random(N) < rho[truth], truth, rng.choice(K, N, p=common / common.sum()))
        shuffled = rng.permutation(N)[:n]
        once = _look_again(truth[shuffled], K, rng)
        for at, answer in enumerate((once, _asked_again(once, truth[shuffled], guess[shuffled], K, rng))):
            cells = _cells_of_terms(guess, guess[shuffled], answer, K)
            low, high = limits(cells)
            totals[at] += (low <= good + 1e-12) & (good <= high + 1e-12)
    return tuple(float(value) for value in totals.min(1) / runs)


def _look_again(truth: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    slip = rng.random(len(truth)) < SLIP
    return np.where(slip, (truth + rng.integers(1, K, len(truth))) % K, truth)


def _asked_again(
    once: np.ndarray, truth: np.ndarray, guess: np.ndarray, K: int, rng: np.random.Generator
) -> np.ndarray:
    again = (once != guess) | (np.bincount(once, minlength=K)[once] <= 10)
    second, third = _look_again(truth, K, rng), _look_again(truth, K, rng)
    settled = np.where(once == second, once, third)
    return np.where(again, settled, once)


def _cells_of_terms(guess: np.ndarray, guess_drawn: np.ndarray, answer: np.ndarray, K: int) -> Cells:
    images, draws = np.bincount(guess, minlength=K), np.bincount(guess_drawn, minlength=K)
    inside = np.bincount(answer[answer == guess_drawn], minlength=K)
    hits = np.stack([inside, np.bincount(answer, minlength=K) - inside], -1)
    return Cells.of(np.stack([images, images.sum() - images], -1), np.stack([draws, draws.sum() - draws], -1), hits)


# --- bulk labels


def bulk(wrong: float, runs: int, rng: np.random.Generator, share: float = 0.1) -> tuple[float, float]:
    """Coverage of a term when 2,000 of 5,000 images have bulk labels, some of them wrong: (bulk labels as cells with
    draws of their own, bulk labels taken for the truth)."""
    N, in_bulk, n_bulk, n = 5_000, 2_000, 120, 150
    M = round(share * N)
    cells, truth_only = [], []
    for _ in range(runs):
        has = np.zeros(N, bool)
        has[rng.permutation(N)[:M]] = True
        bulk_labels = np.where(rng.random(N) < wrong, ~has & (rng.random(N) < 0.5), has)
        in_model, label = np.arange(N) >= in_bulk, bulk_labels
        drawn_images = np.concatenate([rng.permutation(in_bulk)[:n_bulk], in_bulk + rng.permutation(N - in_bulk)[:n]])
        row = [
            [
                np.sum((in_model == m) & (label == s)),
                np.sum((in_model == m)[drawn_images] & (label == s)[drawn_images]),
                np.sum(((in_model == m) & (label == s) & has)[drawn_images]),
            ]
            for m in (False, True)
            for s in (True, False)
        ]
        cells.append(np.array(row).T)
        truth_only.append((row[2:], label[:in_bulk].sum()))
    four = Cells.of(*np.stack(cells, 1))
    low, high = limits(Cells.of(*np.stack([np.array(row).T for row, _ in truth_only], 1)))
    counted = np.array([count for _, count in truth_only])
    low, high = ((counted + limit * (N - in_bulk)) / N for limit in (low, high))
    return coverage_of(four, M / N), float(((low <= M / N) & (high >= M / N)).mean())
