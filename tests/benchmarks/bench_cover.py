"""Intervals of cover: how often they contain the true fraction, their width, and their run time."""

from collections.abc import Iterator

import numpy as np

from benthoscope.engine.labelling.cover.estimate import Cells, limits, melded_limits
from tests.benchmarks.measure import Table, measure
from tests.cover_populations import HUNTS, MODELS, SHARES, SIZES, SLIPS, bulk, hunted, slipping, table_of_settings

RUNS = 1_000


def tables() -> Iterator[Table]:
    yield _settings()
    yield _hunting()
    yield _slips()
    yield _times()


def _settings() -> Table:
    coverage = table_of_settings(RUNS, seed=1)
    rows = [
        (f"{N:,} images, {n:,} draws", *(f"{coverage[at, model].min():.3f}" for model in range(len(MODELS))))
        for at, (N, n, _) in enumerate(SIZES)
    ]
    rows.append(("mean of all", *(f"{coverage[:, model].mean():.3f}" for model in range(len(MODELS)))))
    title = f"Least coverage over the shares {', '.join(f'{share:g}' for share in SHARES)} (nominal .95; R = {RUNS:,})"
    return Table(title, ("", *(model.name for model in MODELS)), rows)


def _hunting() -> Table:
    rows = []
    for N, share, n in HUNTS:
        coverage = hunted(N, share, n, RUNS, np.random.default_rng(0))
        rows.append((f"{N:,} images, share {share:g}, {n} draws", *(f"{value:.3f}" for value in coverage.values())))
    return Table("Coverage after a targeted search, by the assumed kind of the draws", ("", *coverage), rows)


def _slips() -> Table:
    rows = []
    for N, n, K in SLIPS:
        for blind in (False, True):
            once, again = slipping(N, n, K, blind, RUNS, np.random.default_rng(0))
            rows.append(
                (
                    f"{N:,} images, {n:,} draws, {K} terms, {'blind' if blind else 'good'} model",
                    f"{once:.3f}",
                    f"{again:.3f}",
                )
            )
    for wrong in (0.02, 0.1):
        cells, truth = bulk(wrong, RUNS, np.random.default_rng(0))
        rows.append((f"bulk labels, {wrong:.0%} wrong: as truth, as cells", f"{truth:.3f}", f"{cells:.3f}"))
    return Table("Coverage with 2 % wrong answers", ("", "one answer", "repeated answers"), rows)


def _times() -> Table:
    rng = np.random.default_rng(0)
    images, draws = np.full((31, 60, 4), 800.0), np.full((31, 60, 4), 10.0)
    cells = Cells.of(images, draws, rng.binomial(10, 0.05, draws.shape))
    _, all_groups = measure(lambda: limits(cells))
    campaign = Cells.of(np.full((60, 62), 1600.0), np.full((60, 62), 10.0), rng.binomial(10, 0.05, (60, 62)))
    _, posterior = measure(lambda: melded_limits(campaign, np.tile([0, 1], 31)))
    return Table(
        "Time",
        ("", "CPU s", "wall s"),
        [
            ("intervals of 60 terms in 31 dives", all_groups.cpu, all_groups.wall),
            ("campaign of 31 dives at unequal rates, 60 terms", posterior.cpu, posterior.wall),
        ],
    )
