"""Time to describe an image, stage by stage, and principal axes of 100,000 x 21,504 codes that are never all in memory.

Targets on two cores at 320x240: modified ScSPM 25 images/s, ICA segments 15, deep 60.
"""

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from time import process_time

import numpy as np

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.features import Choices, descriptor_named, pack_mask
from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.features.encoders import LocalityLinear, MatchingPursuit, SoftThreshold, SparseCoding
from benthoscope.engine.features.planes import grey
from benthoscope.engine.features.scspm import pyramid, unit
from benthoscope.engine.imaging import decode
from benthoscope.engine.jobs.describe.describing import DescriptionPlan, ImageToDescribe, describe_chunk
from benthoscope.sample_data import make_campaign
from tests.benchmarks.measure import Table, measure

TARGETS = {"deep": 60, "scspm": 25, "segments": 15, "colour": "", "deep, segments, scspm": ""}
IMAGES, LEARNED_FROM = 240, 60
ROWS = int(os.environ.get("BENTHOSCOPE_BENCH_ROWS", "100000"))
COLUMNS, AXES = 21_504, 20
BLOCK = 500  # rows, 43 MB


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder, blas_threads(1):
        make_campaign(Path(folder) / "campaign", images=IMAGES, workers=1)
        paths = sorted((Path(folder) / "campaign").rglob("*.jpg"))
        images = [decode(path.read_bytes(), where=path.name, longest=320) for path in paths[:: IMAGES // LEARNED_FROM]]
        learned = {
            word: descriptor_named(word, Choices(cache=Path(folder))).fit(images, random_state=0)
            for word in ("deep", "scspm", "segments", "colour")
        }
        yield Table(
            "Stages, one image of 320x240, one thread",
            ("descriptor", "stage", "CPU ms"),
            list(_stages(learned, images, paths)),
        )
        columns = ("descriptor", "workers", "CPU ms/image", "images/s measured", "images/s at 2 free cores", "target")
        yield Table(
            "From a JPEG file to a short vector, all stages",
            columns,
            list(_throughput(learned, paths)),
            ["At 2 free cores: 2 over the CPU seconds of an image; the measured rate holds whatever else ran."],
        )
    columns = ("rows", "GB on disk", "CPU s", "wall s", "MB resident at most", "share of variance lost to exact")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:  # its peak memory is its own
        row = fresh.submit(_principal_axes).result()
    title = f"{AXES} principal axes of codes of {COLUMNS:,} numbers, read from a file block by block"
    yield Table(title, columns, [row])


def _stages(learned: dict, images: Sequence[np.ndarray], paths: Sequence[Path]) -> Iterator[tuple]:
    scspm, segments, deep = learned["scspm"], learned["segments"], learned["deep"]
    data = [path.read_bytes() for path in paths[: len(images)]]
    yield "all", "read and decode JPEG", _each(data, lambda content: decode(content, where="", longest=320))
    planes = [grey(image) for image in images]
    patches = [scspm.base.sift(plane) for plane in planes]
    yield "scspm", "dense SIFT", _each(images, lambda image: scspm.base.sift(grey(image)))
    for encoder in (MatchingPursuit(), SoftThreshold(), LocalityLinear(), SparseCoding()):
        chosen = " (default)" if encoder == scspm.base.encoder else ""
        yield (
            "scspm",
            f"{type(encoder).__name__}{chosen}",
            _each(patches[:20], lambda p, e=encoder: e(p.vectors, scspm.base.dictionary)),
        )
    codes = [scspm.base.encoder(p.vectors, scspm.base.dictionary) for p in patches]
    yield "scspm", "pyramid", _each(list(zip(codes, patches, strict=True)), lambda pair: pyramid(*pair))
    long = [pyramid(*pair) for pair in zip(codes, patches, strict=True)]
    yield "scspm", "20 principal axes", _each(long, scspm.projection)
    masks = [segments.base.cutter(image) for image in images]
    yield "segments", "SLIC", _each(images, segments.base.cutter)
    yield (
        "segments",
        "filters and pooling",
        _each(
            list(zip(images, masks, strict=True)),
            lambda pair: segments.base.bank.strength(*pair, int(pair[1].max()) + 1),
        ),
    )
    yield "segments", "mask as PNG", _each(masks, pack_mask)
    network = deep.base.network
    batches = [network.form.array(image, network.normalisation) for image in images]
    yield "deep", "resample and normalise", _each(images, lambda i: network.form.array(i, network.normalisation))
    yield "deep", "network", _each(batches, lambda b: network.session.run([network.output], {network.form.name: b}))
    yield (
        "deep",
        "square root, length, 32 axes",
        _each([network(i) for i in images], lambda v: deep.projection(unit(np.sqrt(v)))),
    )
    yield "colour", "histograms and patterns", _each(images, learned["colour"].describe)


def _each(things: Sequence, function: Callable) -> float:
    """Return the CPU milliseconds of one call after a warm-up call."""
    function(things[0])
    start = process_time()
    for thing in things:
        function(thing)
    return 1000 * (process_time() - start) / len(things)


def _throughput(learned: dict, paths: Sequence[Path]) -> Iterator[tuple]:
    for named, target in TARGETS.items():
        words = tuple(named.split(", "))
        plan = DescriptionPlan({word: learned[word] for word in words})
        pictures = [
            ImageToDescribe(n, path, 1, float("nan"), words) for n, path in enumerate(islice(cycle(paths), IMAGES))
        ]
        chunks = [pictures[start : start + 4] for start in range(0, len(pictures), 4)]
        describe_chunk(chunks[0], plan)
        for workers, run in (("1 thread", _in_order), ("2 threads", _threads), ("2 processes", _processes)):
            _, cost = measure(lambda run=run, chunks=chunks, plan=plan: run(chunks, plan))
            cpu = cost.cpu / IMAGES
            yield named, workers, 1000 * cpu, IMAGES / cost.wall, "" if workers == "1 thread" else 2 / cpu, target


def _in_order(chunks: Sequence, plan: DescriptionPlan) -> None:
    for chunk in chunks:
        describe_chunk(chunk, plan)


def _threads(chunks: Sequence, plan: DescriptionPlan) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda chunk: describe_chunk(chunk, plan), chunks))


def _processes(chunks: Sequence, plan: DescriptionPlan) -> None:
    """Include start and imports, which a job pays once."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), _keep, (plan,)) as pool:
        list(pool.map(_with_kept, chunks))


def _keep(plan: DescriptionPlan) -> None:
    global _plan_of_process
    _plan_of_process = plan


def _with_kept(chunk: Sequence[ImageToDescribe]) -> None:
    describe_chunk(chunk, _plan_of_process)


def _principal_axes() -> tuple:
    """Yield rows with known covariance: 60 directions whose variances follow a power law."""
    with tempfile.TemporaryDirectory() as folder, blas_threads(1):
        path = Path(folder) / "codes.f32"
        directions = _write(path, ROWS)
        axes, cost = measure(lambda: PrincipalAxes(AXES).fit(lambda: _read(path), rng=np.random.default_rng(0)))
        caught = ((directions.T @ axes.axes) ** 2 * _variances()[:, None]).sum()  # of the true variance
        lost = 1 - caught / _variances()[:AXES].sum()
        return ROWS, path.stat().st_size / 1e9, cost.cpu, cost.wall, cost.peak, float(lost)


def _variances() -> np.ndarray:
    return np.arange(1, 61) ** -1.0


def _write(path: Path, rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((COLUMNS, 60)))[0].T.astype(np.float32)
    scales = np.sqrt(_variances()).astype(np.float32)
    with path.open("wb") as file:
        for start in range(0, rows, BLOCK):
            count = min(BLOCK, rows - start)
            block = (rng.standard_normal((count, 60), dtype=np.float32) * scales) @ directions
            file.write(block + np.float32(0.01))
    return directions.T


def _read(path: Path) -> Iterator[np.ndarray]:
    with path.open("rb") as file:  # not mapped: mapped pages would count as resident
        while len(data := file.read(BLOCK * COLUMNS * 4)):
            yield np.frombuffer(data, dtype=np.float32).reshape(-1, COLUMNS)
