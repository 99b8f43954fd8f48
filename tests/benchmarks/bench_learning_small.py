"""The small form of the benchmark "learning": a part of each set, one simulated expert, in a few minutes."""

from collections.abc import Iterator

from benthoscope.engine.compute import blas_threads
from tests.benchmarks.active_learning_peers import peer_flows
from tests.benchmarks.baselines import BASELINES
from tests.benchmarks.bench_learning import LEARN, cost_tables
from tests.benchmarks.known_sets import known_sets
from tests.benchmarks.measure import Table

IMAGES = 800  # of each set


def tables() -> Iterator[Table]:
    with blas_threads(1):
        yield from cost_tables(known_sets(images=IMAGES), 1, {**LEARN, **BASELINES, **peer_flows()})
