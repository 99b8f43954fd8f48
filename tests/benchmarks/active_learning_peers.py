"""Strategies of scikit-activeml as ways to label a set. They choose the images; all else is as in `baselines`."""

from collections.abc import Iterator

import numpy as np

from tests.benchmarks.baselines import Flow, Pool, scaled, with_linear_model
from tests.benchmarks.experts import Expert, Point
from tests.benchmarks.known_sets import KnownSet
from tests.benchmarks.peer_environment import MISSING, is_available, peer_answers

COLD = ("TypiClust", "ProbCover", "coverage")  # look at features only
TRAINED = ("query by committee", "discriminative")


def peer_flows() -> dict[str, Flow]:
    """Return the flow of each strategy; none if their environment is missing."""
    if not is_available():
        return {}
    return {f"scikit-activeml, {name}": _flow(name, cold=name in COLD) for name in (*COLD, *TRAINED)}


def missing_peers() -> list[str]:
    """Return a line that says which ways of working are not in the table."""
    return [] if is_available() else [MISSING]


def _flow(name: str, *, cold: bool) -> Flow:
    def flow(known: KnownSet, expert: Expert, rng: np.random.Generator) -> Iterator[Point]:
        with peer_answers("active_learning_strategy.py", name, X=scaled(known)) as answer:

            def strategy(pool: Pool, count: int) -> np.ndarray:
                seed = int(pool.rng.integers(2**31))
                return np.array(answer({"labels": pool.labels.tolist(), "count": count, "seed": seed}))

            yield from with_linear_model(strategy, cold=cold)(known, expert, rng)

    return flow
