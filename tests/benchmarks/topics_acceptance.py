"""Acceptance tests of topics at the size of the methods note (12), where the test suite runs a shorter form. A
criterion that is not met fails the benchmark."""

from collections.abc import Iterator

import numpy as np

from benthoscope.engine.compute import InOrder
from benthoscope.engine.topics import ActiveRule, HistogramIntersectionSVM, VisualLDA, active_learning
from benthoscope.engine.topics.sampling.gibbs import GibbsRule, run_chain
from benthoscope.engine.topics.updates import bound, global_step
from benthoscope.engine.topics.variational import Runtime, collect
from tests.acceptance.test_topic_classes import accuracy, few_of_each, svi
from tests.acceptance.test_topics import (
    RING,
    as_a_user_fits,
    drawn_stochastically,
    has_the_right_topics,
    of_the_ring,
    start,
)
from tests.benchmarks.measure import Table
from tests.topic_corpora import pairs, ring
from tests.unit.topics.test_topic_sampling import chain, largest_geweke_score

VOCABULARIES = (5, 10, 20, 40, 80, 160)


COLUMNS = ["test", "size", "figure", "required"]


def tables() -> Iterator[Table]:
    rows = [_geweke(), _new_clusters(), _cold_starts(), *_words(), *_fixed_topics(), *_growing()]
    yield Table("Acceptance at full size", COLUMNS, rows)


def starts(fits: int = 5) -> Iterator[Table]:
    """Single fits of the ring with the default start, for several truncations and batches."""
    rows, by_limit = [], {C: [as_a_user_fits(seed, C) for seed in range(fits)] for C in (12, 20, 30, 60)}
    bounds = {C: [fitted.fit.bound for fitted in each] for C, each in by_limit.items()}
    reference = max(bounds[30])
    for C, each in by_limit.items():
        assert all(fitted.in_use[-1] == 8 and has_the_right_topics(fitted) for fitted in each)
        far = max(abs(bound / reference - 1) for bound in bounds[C])
        assert far < 0.005
        lowest = min(fitted.rand for fitted in each)
        figure = f"8 clusters, right topics, adjusted Rand {lowest:.3f} or more, bound within {far:.2%}"
        rows.append(["V3, V6, V9", f"at most {C} clusters, {fits} fits", figure, "6 to 8 clusters, within 0.5 %"])
    for share in (0.05, 0.1, 0.25, 0.5):
        each = [drawn_stochastically(RING, seed, share, 50, 4, 30, 32.0, spread=True) for seed in range(fits)]
        lowest = min(fitted.rand for fitted in each)
        assert lowest >= 0.97
        in_use = sorted({fitted.fit.state.clusters_in_use for fitted in each})
        figure = f"adjusted Rand {lowest:.3f} or more, clusters {in_use}"
        rows.append(["S5", f"batches of {share:.0%}, {fits} fits", figure, "at least 0.97"])
    for C in (12, 30):
        random = [of_the_ring(seed, C) for seed in range(2 * fits)]
        right = sum(each.in_use[-1] == 8 and has_the_right_topics(each) for each in random)
        rows.append(["", f"random start, at most {C} clusters", f"right in {right} of {len(random)} fits", ""])
    yield Table("Eight known clusters, four topics: single fits with the default start", COLUMNS, rows)


def _new_clusters() -> list[str]:
    grown = []
    for seed in range(3):
        sampler = chain(seed, None, corpus=ring(60, 50, seed=4), concentrations=(1.0, 1.0))
        sampler.advance()
        first = sampler.n_clusters
        run_chain(sampler, GibbsRule(149, burn_in=1000))
        grown.append(f"{first} to {sampler.n_clusters}")
        assert sampler.n_clusters > first
    return ["G4", "150 sweeps, 3 seeds", f"clusters {', '.join(grown)}", "more at the end"]


def _geweke() -> list[str]:
    score = largest_geweke_score(draws=20_000, direct=4_000)
    assert score < 3.5
    return ["G1", "20,000 draws", f"largest score {score:.2f}", "below 3.5"]


def _cold_starts() -> list[str]:
    drops = []
    for seed in range(3):
        data, state = start(ring(seed=4), 4, 30, 32.0, seed)
        last = None
        for _ in range(50):
            statistics = collect(data, state, Runtime(InOrder(), prune=False))
            if last is not None:
                drops.append((bound(state, statistics) - last) / abs(last))
            state = global_step(state, statistics)
            last = bound(state, statistics)
    assert min(drops) >= -1e-4
    return ["V11", "set A, 3 seeds", f"largest drop {min(drops):.2g}", "at least -1e-4"]


def _words() -> Iterator[list[str]]:
    for spread, handicap in ((3.0, 0.02), (1.5, 0.0)):
        own, best = [], []
        for seed in range(4):
            known = pairs(spread, seed, pool=200)
            train = known.corpus.subset(known.pool)
            own.append(accuracy(svi(seed, inference="vi", n_init=3).fit(train.X, train.image), known, known.pool))
            sweep = (VisualLDA(10, n_words=words, n_init=3, random_state=seed) for words in VOCABULARIES)
            best.append([accuracy(each.fit(train.X, train.image), known, known.pool) for each in sweep])
        highest = np.mean(best, axis=0).max()
        assert np.mean(own) >= highest - handicap
        figure = f"iwtm {np.mean(own):.3f}, best lda {highest:.3f}"
        yield ["BL1", f"spread {spread:g}, 4 seeds", figure, f"at least the best - {handicap:g}"]


def _fixed_topics(runs: int = 20) -> Iterator[list[str]]:
    yield _of_concentration(4.0, runs)[0]
    yield from _of_concentration(12.0, runs)


def _of_concentration(concentration: float, runs: int) -> list[list[str]]:
    known = pairs(concentration=concentration)
    everything = known.corpus.subset(known.pool)
    model = svi(0, n_init=3).fit(everything.X, everything.image)
    gaps = []
    for run in range(runs):
        rng = np.random.default_rng(run)
        classes = known.labels[known.pool]
        seed = np.concatenate([rng.choice(known.pool[classes == y], 3, replace=False) for y in range(10)])
        gaps.append(_gap(known, model, seed, ActiveRule(10, 7, grows=False), run)[0][1:])
    means, by_round = np.mean(gaps, axis=1), np.mean(gaps, axis=0)
    assert means.mean() > 0 and (means > 0).mean() >= 0.65
    size = f"concentration {concentration:g}, {runs} runs"
    rows = [["A1", size, f"{means.mean():+.3f}, {(means > 0).mean():.0%} positive", "above 0, 65 % positive"]]
    if concentration > 4:
        assert by_round.argmax() < len(by_round) - 1
        rows.append(["A2", size, f"peak in round {by_round.argmax() + 1}", "before the last of 7"])
    return rows


def _growing(runs: int = 12) -> Iterator[list[str]]:
    differences, has_grown = [], []
    for run in range(runs):
        known = pairs(seed=run)
        model = svi(run, inference="incremental", max_iter=30, start="random")
        gap, clusters = _gap(known, model, few_of_each(known, 5), ActiveRule(25, 5), run)
        differences.append(gap.mean())
        has_grown += [each[-1] > each[0] for each in clusters]
    assert np.mean(differences) >= -0.01
    yield ["A3", f"{runs} seeds", f"{np.mean(differences):+.3f}", "at least -0.01"]
    assert all(has_grown)
    yield ["A4", f"{runs} seeds", f"{sum(has_grown)} of {len(has_grown)} grow", "all"]


def _gap(known, model, seed: np.ndarray, rule: ActiveRule, run: int) -> tuple[np.ndarray, list[list[int]]]:
    """Return the accuracy of margin sampling minus that of random labels after each round, and clusters in use."""
    curves, clusters = [], []
    for strategy in ("margin", "random"):
        rounds = active_learning(
            model, known.corpus.X, known.corpus.image, lambda numbers: known.labels[numbers], seed, known.pool,
            ActiveRule(rule.batch, rule.rounds, strategy, rule.grows), np.random.default_rng(run), test=known.test,
            test_labels=known.labels[known.test], classifier=HistogramIntersectionSVM(10.0),
        )  # fmt: skip
        curves.append([each.accuracy for each in rounds])
        clusters.append([each.clusters for each in rounds])
    return np.subtract(*curves), clusters
