"""The small form of the benchmark "learning": a part of each set, one simulated expert, in a few minutes."""

from collections.abc import Iterator

from benthoscope.engine.compute import blas_threads
from tests.benchmarks.bench_learning import costs
from tests.benchmarks.known_sets import known_sets
from tests.benchmarks.measure import Table

IMAGES = 800  # of each set


def tables() -> Iterator[Table]:
    with blas_threads(1):
        for known in known_sets(images=IMAGES):
            yield costs(known, seeds=1)
