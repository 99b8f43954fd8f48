"""Strategies of scikit-activeml, if it is installed: only in an environment of its own, it is no dependency."""

from importlib.util import find_spec

import numpy as np

from tests.benchmarks.baselines import Flow, Pool, Strategy, with_linear_model

PEERS = {"TypiClust": "TypiClust", "ProbCover": "ProbCover", "coverage": "CoreSet"}


def peer_flows() -> dict[str, Flow]:
    if find_spec("skactiveml") is None:
        return {}
    return {f"scikit-activeml, {word}": with_linear_model(_strategy(name), cold=True) for word, name in PEERS.items()}


def missing_peers() -> list[str]:
    """Return a line that says which ways of working are not in the table."""
    return [] if find_spec("skactiveml") else ["Skipped: scikit-activeml is not installed in this environment."]


def _strategy(name: str) -> Strategy:
    from skactiveml import pool

    def chosen(state: Pool, count: int) -> np.ndarray:
        y = np.where(state.labelled, 0.0, np.nan)  # these strategies look at features only
        strategy = getattr(pool, name)(missing_label=np.nan, random_state=int(state.rng.integers(2**31)))
        return np.asarray(strategy.query(state.X, y, batch_size=min(count, len(state.free))))

    return chosen
