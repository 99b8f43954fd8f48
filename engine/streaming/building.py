"""Model building (Gomes et al., 4.1): fit a mixture to all units and split clusters while the lower bound rises."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.mixtures.inference import Fit, StoppingRule, first_statistics, settle, step
from benthoscope.engine.mixtures.model import Model, Statistics
from benthoscope.engine.streaming.splitting import StickWeights, UnitSplit, soft_splits, sticks_of
from benthoscope.engine.streaming.units import UnitRows

SEARCHING = 1e-4  # nats per row; smaller gains of an iteration do not count while more splits follow
MOST_ITERATIONS = 200  # of a fit in the search; rounding errors of single precision may be larger than SEARCHING
PATIENCE = 5  # iterations of a split before it is judged
AHEAD = 50  # a split is given up if this many more gains as large as its last one would not make it better


@dataclass(frozen=True)
class Search:
    """How far model building goes: `tries` is the number of splits that are fitted in full before it stops."""

    rule: StoppingRule
    tries: int = 3
    max_clusters: int | None = None


@dataclass(frozen=True, eq=False)
class Built:
    """A fitted mixture and the responsibilities of its clusters for the units (K, U)."""

    fit: Fit
    responsibilities: np.ndarray

    @property
    def assignments(self) -> np.ndarray:
        return self.responsibilities.argmax(0)


def build(model: Model, rows: UnitRows, start: Statistics | None, search: Search) -> Built:
    """Fit the mixture from the statistics, or from one cluster, and split clusters until no split raises the bound.

    Most iterations follow a split that has more splits after it. They stop early and have single precision, and only
    the last fit converges.
    """
    rule = search.rule
    coarse = replace(
        search, rule=replace(rule, tol=max(rule.tol, SEARCHING), max_iter=min(rule.max_iter, MOST_ITERATIONS))
    )
    start = first_statistics(model, rows) if start is None else start
    rough = _searched(model, rows.in_single_precision(), start, coarse)
    return _searched(model, rows, rough.fit.statistics, search)


def _searched(model: Model, rows: UnitRows, start: Statistics, search: Search) -> Built:
    fit, _ = settle(model, rows, start, search.rule)
    built = Built(fit, rows.responsibilities(fit.scorer))
    splits: dict[bytes, UnitSplit | None] = {}
    while search.max_clusters is None or built.fit.n_clusters < search.max_clusters:
        subsets = [np.flatnonzero(built.assignments == k) for k in range(built.fit.n_clusters)]
        splits = _evaluated(model, rows, subsets, splits)
        better = _first_better(model, rows, built, [splits.get(subset.tobytes()) for subset in subsets], search)
        if better is None:
            break
        built = Built(better, rows.responsibilities(better.scorer))
    return built


def _evaluated(
    model: Model, rows: UnitRows, subsets: list[np.ndarray], known: dict[bytes, UnitSplit | None]
) -> dict[bytes, UnitSplit | None]:
    """Return the splits of the subsets by their members. Only subsets with new members are evaluated."""
    new = [subset for subset in subsets if len(subset) > 1 and subset.tobytes() not in known]
    fresh = soft_splits(model.clusters, rows, new, StickWeights(sticks_of(model))) if new else []
    known = {**known, **{subset.tobytes(): split for subset, split in zip(new, fresh, strict=True)}}
    return {subset.tobytes(): known[subset.tobytes()] for subset in subsets if len(subset) > 1}


def _first_better(
    model: Model, rows: UnitRows, built: Built, splits: list[UnitSplit | None], search: Search
) -> Fit | None:
    """Return the first of the most promising splits that raises the bound, fitted in full; None if none does."""
    for k, split in _ranked(splits, search.tries, model.clusters.n_statistics):
        start = _with_split(rows, built, k, split)
        fit = _trial(model, rows, start, built.fit.bound, search.rule)
        if fit is not None and fit.bound > built.fit.bound + search.rule.threshold(len(rows)):
            return fit
    return None


def _ranked(splits: list[UnitSplit | None], count: int, most_loss: float) -> Iterator[tuple[int, UnitSplit]]:
    """Yield the best splits, best first. A split that loses more than `most_loss` nats within its cluster is not fitted
    in full: the units of other clusters rarely make up for it."""
    promising = [(k, split) for k, split in enumerate(splits) if split is not None and split.gain > -most_loss]
    return iter(sorted(promising, key=lambda ranked: -ranked[1].gain)[:count])


def _with_split(rows: UnitRows, built: Built, k: int, split: UnitSplit) -> Statistics:
    """Return the statistics with the second half of a split as a new last cluster."""
    owned = rows.weights[split.members] * split.share * built.responsibilities[k, split.members]
    counts = np.array([[owned.sum()]])
    moments = (owned @ rows.averages(split.members))[None]
    return built.fit.statistics.parted(k, Statistics(counts, moments, built.fit.statistics.sizes))


def _trial(model: Model, rows: UnitRows, start: Statistics, to_beat: float, rule: StoppingRule) -> Fit | None:
    """Fit from the start. Returns None as soon as it is clear that the bound will not reach `to_beat`."""
    fit = step(model, rows, start)
    for _ in range(PATIENCE):
        last, fit = fit, step(model, rows, fit.statistics, fit.parameters)
    if fit.bound + AHEAD * max(fit.bound - last.bound, rule.threshold(len(rows))) < to_beat:
        return None
    return settle(model, rows, fit.statistics, rule, bound=fit.bound)[0]
