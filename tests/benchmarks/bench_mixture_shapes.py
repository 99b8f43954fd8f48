"""Our mixtures on many shapes of clusters, compared with a start from the true clusters and with other libraries.

A start from the true clusters is what a perfect search would reach: the same model on the same rows, without a search.
CPU seconds are those of the fit alone, with one thread.

One cell, or one of another kind of tables, is chosen by name, and seeds by `seeds=`:

    python -m tests.benchmarks mixture_shapes:D20J10K60sep0.4:seeds=71,72
    python -m tests.benchmarks mixture_shapes:scm mixture_shapes:peers
"""

import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from benthoscope.engine.compute import InOrder
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import TWO_LEVELS, model_named
from benthoscope.engine.mixtures.inference import Fit
from benthoscope.engine.mixtures.search.greedy import Start, Task
from benthoscope.engine.mixtures.two_level import estimator as two_level
from tests.benchmarks.cluster_shapes import Shape, ShapedRows, shaped_rows
from tests.benchmarks.measure import Table

SEEDS = (71, 72, 73)  # not used while the search was developed
SHAPES = [
    Shape(),
    Shape(separation=0.15),
    Shape(columns=8, separation=1.0),
    Shape(columns=64),
    Shape(columns=128, rows=50_000),
    Shape(groups=1),
    Shape(groups=1000),
    Shape(thin=True),
    Shape(clusters=60),
    Shape(clusters=60, separation=0.6),
    Shape(clusters=60, separation=1.0),
    Shape(clusters=60, groups=1000),
    Shape(clusters=60, zipf=True),
    Shape(clusters=100),
    Shape(clusters=200, separation=0.6),
    Shape(clusters=200),
]
LARGE = [Shape(rows=1_000_000), Shape(rows=1_000_000, columns=64)]
OF_TWO_LEVELS = [Shape(), Shape(clusters=60)]
COLUMNS = [
    "shape",
    "K",
    "V",
    "V below the truth start's",
    "bound below it, %",
    "CPU s",
    "truth start: K",
    "V",
    "CPU s",
    "times its CPU",
]
TWO_LEVEL_COLUMNS = [
    "model, shape",
    "K",
    "T",
    "V of segments",
    "below the truth start's",
    "V of images",
    "below it",
    "bound below it, %",
    "CPU s",
    "truth start: K",
    "T",
    "CPU s",
    "times its CPU",
]
PEER_SHAPES = [Shape(), Shape(clusters=60), Shape(clusters=200)]
PEER_ROWS = 20_000  # for the mixtures of scikit-learn, whose cost would otherwise hide all others


def tables(*parts: str) -> Iterator[Table]:
    seeds = [part for part in parts if part.startswith(SEEDS_PART)]
    numbers = tuple(int(seed) for part in seeds for seed in part.removeprefix(SEEDS_PART).split(",")) or SEEDS
    chosen = _parts()
    names = [part for part in parts if part not in seeds] or list(chosen)
    unknown = [name for name in names if name not in chosen]
    if unknown:
        raise SystemExit(f"no part {', '.join(unknown)}; there are {', '.join(chosen)}")
    _own(shaped_rows(Shape(columns=4, clusters=4, separation=2.0, rows=12_000), numbers[0]))  # loads all modules
    for name in names:
        yield from chosen[name](numbers)


SEEDS_PART = "seeds="


def _parts() -> dict[str, Callable[[tuple[int, ...]], Iterator[Table]]]:
    cells = {str(shape).replace(" ", ""): partial(_cell, shape) for shape in [*SHAPES, *LARGE]}
    levels = {name: partial(_levels, name) for name in ("scm", "mcm")}
    return {**cells, **levels, "peers": _peer_tables}


def _cell(shape: Shape, seeds: tuple[int, ...]) -> Iterator[Table]:
    seeds = seeds[:1] if shape in LARGE else seeds
    yield Table(f"GMC, {shape}, {_of_seeds(seeds)}", COLUMNS, [[str(shape), *_median(seeds, partial(_of_rows, shape))]])


def _levels(name: str, seeds: tuple[int, ...]) -> Iterator[Table]:
    for shape in OF_TWO_LEVELS:
        title = f"{name.upper()}, {shape}"
        measured = _median(seeds, partial(_two_levels, name, shape))
        heading = f"{title}, {shape.image_kinds} kinds of images, {_of_seeds(seeds)}"
        yield Table(heading, TWO_LEVEL_COLUMNS, [[title, *measured]])


def _of_seeds(seeds: tuple[int, ...]) -> str:
    numbers = ", ".join(map(str, seeds))
    return f"median of seeds {numbers}" if len(seeds) > 1 else f"seed {numbers}"


def _peer_tables(seeds: tuple[int, ...]) -> Iterator[Table]:
    for shape in PEER_SHAPES:
        yield _peers(shape, seeds[0])


def _median(seeds: tuple[int, ...], measured: Callable[[int], list[float]]) -> list[Any]:
    return np.median([measured(seed) for seed in seeds], axis=0).round(5).tolist()


def _of_rows(shape: Shape, seed: int) -> list[float]:
    data = shaped_rows(shape, seed)

    def fit(search: str, start: np.ndarray | None = None) -> Any:
        model = model_named("gmc")(search=search, random_state=0)
        return model.fit(data.rows, groups=data.groups, start=start, compute=InOrder())

    truth, truth_cpu = _timed(partial(fit, "none", data.truth))
    own, cpu = _timed(partial(fit, "best"))
    V, of_truth = (v_measure(data.truth, model.labels_) for model in (own, truth))
    below = 100 * (truth.lower_bound_ - own.lower_bound_) / abs(truth.lower_bound_)
    return [own.n_clusters_, V, of_truth - V, below, cpu, truth.n_clusters_, of_truth, truth_cpu, cpu / truth_cpu]


def _two_levels(name: str, shape: Shape, seed: int) -> list[float]:
    data = shaped_rows(shape, seed)
    truth, truth_cpu = _timed(partial(_from_true_scenes, name, data))
    own, cpu = _timed(partial(_fitted_scenes, name, data))
    (V, of_images), (true_V, true_of_images) = (
        (v_measure(data.truth, model.labels_), v_measure(data.image_truth, model.image_labels_))
        for model in (own, truth)
    )
    below = 100 * (truth.lower_bound_ - own.lower_bound_) / abs(truth.lower_bound_)
    of_levels = [V, true_V - V, of_images, true_of_images - of_images]
    sizes = [truth.n_clusters_, truth.n_image_clusters_]
    return [own.n_clusters_, own.n_image_clusters_, *of_levels, below, cpu, *sizes, truth_cpu, cpu / truth_cpu]


def _fitted_scenes(name: str, data: ShapedRows) -> Any:
    return TWO_LEVELS[name](by_dive=True, random_state=0).fit(data.rows, compute=InOrder(), **_inputs(name, data))


def _from_true_scenes(name: str, data: ShapedRows) -> Any:
    """Return the model after full VB from the true clusters of segments and of images."""
    model = TWO_LEVELS[name](by_dive=True, random_state=0, search="none")
    with patch.object(two_level, "in_levels", partial(_settled_from_truth, data)):
        return model.fit(data.rows, compute=InOrder(), **_inputs(name, data))


def _settled_from_truth(data: ShapedRows, strategy: Any, task: Task, *_: Any, **__: Any) -> Fit:
    statistics = task.data.labelled(task.model.clusters, data.truth)
    owners = np.eye(int(data.image_truth.max()) + 1)[data.image_truth]
    return task.settle(Start(replace(statistics, owners=owners)))[0]


def _inputs(name: str, data: ShapedRows) -> dict[str, Any]:
    options = {"image_features": data.descriptors} if name == "mcm" else {}
    return {"image_of_segment": data.images, "group_of_image": data.image_groups, **options}


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def _peers(shape: Shape, seed: int) -> Table:
    """Compare with libraries that are given the true number of clusters, except fast_hdbscan."""
    data, rows, missing = shaped_rows(shape, seed), [], []
    for title, module, labels_of in _PEERS:
        if importlib.util.find_spec(module) is None:
            missing.append(f"{title} is not installed, so its row is missing.")
            continue
        (numbers, labels), cpu = _timed(partial(labels_of, data.rows, shape.clusters))
        rows.append([title, len(np.unique(labels)), v_measure(data.truth[numbers], labels), cpu])
    model, cpu = _timed(partial(_own, data))
    rows.append(["GMC, not given K", model.n_clusters_, v_measure(data.truth, model.labels_), cpu])
    return Table(f"Other libraries, {shape}, seed {seed}", ["library", "K", "V", "CPU s"], rows, missing)


def _own(data: ShapedRows) -> Any:
    return model_named("gmc")(random_state=0).fit(data.rows, groups=data.groups, compute=InOrder())


def _kmeans(rows: np.ndarray, K: int) -> tuple[slice, np.ndarray]:
    from sklearn.cluster import MiniBatchKMeans

    return slice(None), MiniBatchKMeans(K, random_state=0, n_init=3).fit_predict(rows)


def _gaussian_mixture(rows: np.ndarray, K: int) -> tuple[slice, np.ndarray]:
    from sklearn.mixture import GaussianMixture

    return slice(PEER_ROWS), GaussianMixture(K, random_state=0, max_iter=30).fit_predict(rows[:PEER_ROWS])


def _variational_mixture(rows: np.ndarray, K: int) -> tuple[slice, np.ndarray]:
    from sklearn.mixture import BayesianGaussianMixture

    return slice(PEER_ROWS), BayesianGaussianMixture(n_components=K, random_state=0, max_iter=30).fit_predict(
        rows[:PEER_ROWS]
    )


def _faiss(rows: np.ndarray, K: int) -> tuple[slice, np.ndarray]:
    import faiss

    kmeans = faiss.Kmeans(rows.shape[1], K, niter=20, seed=0)
    single = np.ascontiguousarray(rows, np.float32)
    kmeans.train(single)
    return slice(None), kmeans.index.search(single, 1)[1][:, 0]


def _hdbscan(rows: np.ndarray, K: int) -> tuple[slice, np.ndarray]:
    import fast_hdbscan

    return slice(PEER_ROWS), fast_hdbscan.HDBSCAN(min_cluster_size=50).fit_predict(rows[:PEER_ROWS])


def _bnpy(rows: np.ndarray, K: int) -> tuple[slice, np.ndarray]:
    import bnpy

    data = bnpy.data.XData(rows[:PEER_ROWS])
    model, _ = bnpy.run(data, "DPMixtureModel", "Gauss", "memoVB", K=K, nLap=30, moves="birth,merge", doWriteStdOut=0)
    return slice(PEER_ROWS), model.calc_local_params(data)["resp"].argmax(1)


_PEERS: list[tuple[str, str, Callable[[np.ndarray, int], tuple[slice, np.ndarray]]]] = [
    ("scikit-learn MiniBatchKMeans", "sklearn", _kmeans),
    (f"scikit-learn GaussianMixture, {PEER_ROWS:,} rows, 30 iterations", "sklearn", _gaussian_mixture),
    (f"scikit-learn BayesianGaussianMixture, {PEER_ROWS:,} rows, 30 iterations", "sklearn", _variational_mixture),
    ("faiss k-means", "faiss", _faiss),
    (f"fast_hdbscan, {PEER_ROWS:,} rows", "fast_hdbscan", _hdbscan),
    (f"bnpy, {PEER_ROWS:,} rows", "bnpy", _bnpy),
]
