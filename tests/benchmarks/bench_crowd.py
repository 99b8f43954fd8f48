"""Run time of crowd clustering: 1,000 items, 190,000 judgements by 100 workers; ten times as many; and an update."""

from collections.abc import Iterator

import numpy as np

from benthoscope.engine.crowd import BayesianCrowdClustering
from benthoscope.engine.metrics import adjusted_rand
from tests.benchmarks.measure import Table, measure
from tests.crowds import attribute_crowd

COLUMNS = ("work", "judgements", "CPU s", "wall s", "peak MB", "dimensions", "clusters", "ARI", "target CPU s")


def tables() -> Iterator[Table]:
    _fit(*_answered(200, 20, 100))  # compiles
    judged, truth = _answered(1000, 100, 1000)
    rows = [
        _measured("fit, D from 2 to 6", judged, truth, 20),
        _refresh(judged, truth),
        _measured("fit, ten times the tasks", *_answered(1000, 300, 10_000), 150),
    ]
    yield Table("Crowd clustering", COLUMNS, rows)


def _answered(items: int, workers: int, tasks: int):
    crowd = attribute_crowd(0, n_items=items, n_workers=workers)
    shown = [crowd.rng.choice(items, 20, replace=False) for _ in range(tasks)]
    return crowd.judgements(shown), crowd.truth


def _fit(judged, truth) -> BayesianCrowdClustering:
    return BayesianCrowdClustering(dimensions=range(2, 7), random_state=0).fit(judged)


def _measured(name: str, judged, truth: np.ndarray, target: float) -> tuple:
    model, cost = measure(lambda: _fit(judged, truth))
    return _row(name, judged, truth, model, cost, target)


def _refresh(judged, truth: np.ndarray) -> tuple:
    """All but the last twentieth of the tasks are known; then the rest is added."""
    before = judged.take(judged.task < 0.95 * judged.task.max())
    model = _fit(before, truth)
    _, cost = measure(lambda: model.update(judged))
    return _row("refresh with 5 % new answers", judged, truth, model, cost, "5 wall")


def _row(name: str, judged, truth: np.ndarray, model: BayesianCrowdClustering, cost, target) -> tuple:
    return (
        name,
        f"{len(judged):,}",
        cost.cpu,
        cost.wall,
        cost.peak,
        model.n_dimensions_,
        model.n_clusters_,
        adjusted_rand(truth, model.labels_),
        target,
    )
