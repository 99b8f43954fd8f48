"""Live dives: the delay of an image, the growth of the memory, and the cost of a round as the dive goes on.

LIVE_IMAGES=8000 LIVE_FILES=200 python -m tests.benchmarks live, or one of the PARTS below, such as live:dive

The first table replays a dive of 12 hours at two images a second from stored features, faster than real time. It has
scores, rows of the catalogue, rounds on their thread, and the feature set. It does not include reading and describing
files. The second table takes in image files through the whole watch. The third one says how often images of new classes
are novel; it needs the sets of images in ../shared.
"""

import gc
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
from sklearn.metrics import roc_auc_score

from benthoscope.engine.features import available
from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.jobs import run_now
from benthoscope.engine.jobs.live.descriptor import ImageFile, add_rows
from benthoscope.engine.jobs.live.learner import LiveLearner
from benthoscope.engine.jobs.live.novelty import NO_IMAGES, RecentImages
from benthoscope.engine.jobs.live.settings import LiveSettings
from benthoscope.engine.jobs.live.simulation import images_of_folder, replay
from benthoscope.engine.jobs.live.starting import begin_dive, finish_dive, watch_job
from benthoscope.engine.jobs.queue import JobQueue
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.live_dives import NewLiveImage, StoredVector
from benthoscope.sample_data import campaign_path
from tests.benchmarks.known_sets import KnownSet, known_sets
from tests.benchmarks.measure import Table, measure

IMAGES = int(os.environ.get("LIVE_IMAGES", 86_400))
FILES = int(os.environ.get("LIVE_FILES", 1_000))
PER_SECOND = 2
WIDTH = 32
HOURS = IMAGES / PER_SECOND / 3600
QUARTERS = 4
NOVELTY_REPETITIONS = 8
NOVELTY_FIRST, NOVELTY_ROUND, NOVELTY_ROUNDS = 150, 100, 2  # images that train the features, then rounds
NOVELTY_LEAST = 20  # images of a class that takes part


def tables(*parts: str) -> Iterator[Table]:
    for part in parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            yield PARTS[part](Path(folder))


def _long_dive(folder: Path) -> Table:
    dive = _StoredDive(folder / "long")
    rows, _ = measure(dive.run)
    return Table(
        f"Live dive of {IMAGES:,} images ({HOURS:.1f} hours at {PER_SECOND} a second) from stored features",
        ("quarter", "images", "delay p50 (ms)", "p99 (ms)", "max (ms)", "round CPU p50 (s)", "clusters", "RSS (MB)"),
        rows,
        (
            f"Memory slope over the second half: {dive.slope():.2f} MB per hour of the dive.",
            f"Rounds: {len(dive.rounds)}; CPU of a round, last quarter / second quarter: {dive.round_ratio():.2f}.",
            "The delay is that of the score and the commit of one image while rounds run on their thread.",
        ),
    )


class _StoredDive:
    """A dive whose images exist as features only, replayed as fast as the scores and the commits allow."""

    def __init__(self, folder: Path):
        self.workspace = Workspace.create(folder)
        self.settings = LiveSettings(horizon=IMAGES)
        camera = folder.parent / "camera"
        camera.mkdir(exist_ok=True)
        library = self.workspace.library
        self.root = library.register_root(camera).id
        self.group = library.group(library.collection("Live dives").id, "long").id
        self.store = self.workspace.live
        self.dive = self.store.create("long", str(camera), self.group, self.root, self.settings.to_dict())
        self.learner = LiveLearner(self.store.working_folder(self.dive.id), self.settings)
        with self.workspace.features.writer("deep", width=WIDTH, extractor={}):
            pass
        self.recent = NO_IMAGES
        # arrays of their final size: lists would grow with the dive
        self.delays = np.full(IMAGES // PER_SECOND, np.nan)
        self.memory = np.full(IMAGES // PER_SECOND, np.nan)  # MB after each second of the dive
        self.rounds: list[tuple[int, float]] = []  # (images, CPU seconds)
        self.process = psutil.Process()

    def run(self) -> list[tuple]:
        vectors = _vectors()
        rows, quarter = [], IMAGES // QUARTERS
        with ThreadPoolExecutor(1) as pool:
            current: Future | None = None
            waiting = 0
            for at in range(0, IMAGES, PER_SECOND):
                self._take(vectors[at : at + PER_SECOND], at)
                waiting += PER_SECOND
                if waiting >= self.settings.epoch:
                    if current is not None:
                        current.result()
                    current, waiting = pool.submit(self._round), 0
                self.memory[at // PER_SECOND] = self.process.memory_info().rss / 2**20
                if (at + PER_SECOND) % quarter < PER_SECOND:
                    rows.append(self._row(len(rows), quarter))
            if current is not None:
                current.result()
        return rows

    def _take(self, vectors: np.ndarray, at: int) -> None:
        began, stamp = time.perf_counter(), 1.5e9 + at / PER_SECOND
        images = [
            NewImage(self.root, f"{at + n}.jpg", self.group, 1, 1, f"{at + n:064}", 640, 480, stamp + n / PER_SECOND)
            for n in range(len(vectors))
        ]
        ids = self.workspace.library.store_images(images)
        predictor = self.learner.predictor
        new = [NewLiveImage(number, stamp, 0.0, vector) for number, vector in zip(ids, vectors, strict=True)]
        if predictor is not None:
            outside = _outside(at, len(vectors))
            scores = predictor.score(vectors, outside, self.settings.level)
            new = [
                NewLiveImage(
                    number,
                    stamp,
                    0.0,
                    vector,
                    outside=float(outside[n]),
                    cluster=int(scores.clusters[n]),
                    probability=float(scores.probability[n]),
                    percentile=float(scores.percentile[n]),
                    new_cluster=float(scores.new_cluster[n]),
                    novel=bool(scores.is_novel[n]),
                    round=predictor.number,
                )
                for n, (number, vector) in enumerate(zip(ids, vectors, strict=True))
            ]
        self.store.add_images(self.dive.id, new)
        self.delays[at // PER_SECOND] = time.perf_counter() - began

    def _round(self) -> None:
        began = time.thread_time()
        images = self.store.waiting(self.dive.id, self.settings.epoch)
        vectors = np.stack([image.vector for image in images])
        files = [ImageFile(image.image_id, Path(), self.group, f"{image.image_id:064}") for image in images]
        add_rows(self.workspace, "deep", files, vectors)
        self.learner.begin(vectors)
        self.recent = self._recent_with(images, vectors)
        result = self.learner.learn(vectors, recent=self.recent)
        self.store.add_round(self.dive.id, result, [image.id for image in images], [])
        self.store.drop_vectors([image.id for image in images])
        self.rounds.append((result.images, time.thread_time() - began))

    def _recent_with(self, images: Sequence[StoredVector], vectors: np.ndarray) -> RecentImages:
        """Return the recent images with those of a round, as the watch does."""
        is_described = np.array([image.outside is not None for image in images])
        outside = np.array([image.outside for image in images if image.outside is not None], float)
        return self.recent.and_later(RecentImages(vectors[is_described], outside))

    def _row(self, number: int, quarter: int) -> tuple:
        seconds_of_dive = slice(number * quarter // PER_SECOND, (number + 1) * quarter // PER_SECOND)
        delays = 1000 * self.delays[seconds_of_dive]
        seconds = [cpu for images, cpu in self.rounds if number * quarter < images <= (number + 1) * quarter] or [0.0]
        clusters = len(self.learner.predictor.model.cluster_ids_)
        gc.collect()
        percentiles = (round(float(np.percentile(delays, q)), 1) for q in (50, 99, 100))
        return (
            number + 1,
            quarter,
            *percentiles,
            round(float(np.median(seconds)), 3),
            clusters,
            round(self.memory[seconds_of_dive.stop - 1], 1),
        )

    def slope(self) -> float:
        """MB per hour of the dive, by a straight line through the second half."""
        half = self.memory[len(self.memory) // 2 :]
        return float(np.polyfit(np.arange(len(half)) / 3600, half, 1)[0])

    def round_ratio(self) -> float:
        cpu = [seconds for _, seconds in self.rounds]
        quarter = max(len(cpu) // QUARTERS, 1)
        return float(np.median(cpu[-quarter:]) / np.median(cpu[quarter : 2 * quarter]))


def _vectors() -> np.ndarray:
    """Features of 20 kinds of images; a third of the kinds appears only in the second half."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(20, WIDTH)) * np.linspace(2, 0.5, WIDTH)
    kinds = rng.integers(0, np.where(np.arange(IMAGES) < IMAGES // 2, 13, 20))
    return (centres[kinds] + rng.normal(0, 0.4, (IMAGES, WIDTH))).astype(np.float32)


def _outside(first: int, count: int) -> np.ndarray:
    """Return squared distances of some images from their features."""
    return np.random.default_rng(first).gamma(8, 0.1, count)


def _files(folder: Path) -> Table:
    """The whole watch on image files: import, thumbnails, features, score, rounds."""
    word, _ = available("deep")
    rows = []
    with Workspace.create(folder / "files") as workspace:
        camera = folder / "vehicle"
        camera.mkdir()
        dive = begin_dive(workspace, camera, settings={"features": word})
        queue = JobQueue(workspace)
        job = watch_job(queue, dive)
        images = images_of_folder(campaign_path())

        def write() -> None:
            replay(images, camera, rate=PER_SECOND, count=FILES)
            finish_dive(workspace, queue, dive)

        writer = threading.Thread(target=write)
        writer.start()
        done, cost = measure(lambda: run_now(workspace, "live dive", resume=job.id))
        writer.join()
        columns = workspace.live.columns(dive.id)
        scored = columns["seconds"][np.isfinite(columns["percentile"])]
        p50, p99 = (round(float(np.percentile(scored, q)), 2) for q in (50, 99))
        rows.append((word, len(columns["id"]), PER_SECOND, p50, p99, round(cost.cpu / FILES, 3), done.state))
    return Table(
        "Live dive from image files at the live rate",
        ("features", "images", "per second", "delay p50 (s)", "delay p99 (s)", "CPU per image (s)", "state"),
        rows,
        ("The delay is from the first sight of a file to its stored score, without images before the first round.",),
    )


def _novelty(folder: Path) -> Table:
    """Images of known classes arrive first. A third of the classes is new and arrives later."""
    level, rows = LiveSettings().level, []
    for known in known_sets():
        drawings = range(NOVELTY_REPETITIONS)
        shares = [_novel_shares(known, seed, folder / f"{known.name} {seed}") for seed in drawings]
        old, new, area = np.mean(shares, axis=0)
        rows.append((known.name, round(100 * old, 2), round(100 * new, 2), round(new / old, 1), round(area, 3)))
    return Table(
        f"Images that are novel, at a level of {100 * level:g} %",
        ("set", "% of known classes", "% of new classes", "ratio", "area under the curve"),
        rows,
        (
            f"Mean of {NOVELTY_REPETITIONS} drawings of the new classes, a third of those with {NOVELTY_LEAST} images. "
            f"{NOVELTY_FIRST} images train the features and the axes; {NOVELTY_ROUNDS} rounds of {NOVELTY_ROUND} "
            "follow.",
        ),
    )


def _novel_shares(known: KnownSet, seed: int, folder: Path) -> tuple[float, float, float]:
    """Return the shares of the images of known and of new classes that are novel, and the area under the curve."""
    rng = np.random.default_rng(seed)
    classes = np.flatnonzero(np.bincount(known.classes) >= NOVELTY_LEAST)
    is_new = np.isin(known.classes, rng.choice(classes, len(classes) // 3, replace=False))
    order = rng.permutation(np.flatnonzero(np.isin(known.classes, classes)))
    old, new = order[~is_new[order]], order[is_new[order]]
    reducer = PrincipalAxes(WIDTH)
    projection = reducer.fit(lambda: iter([known.long[old[:NOVELTY_FIRST]]]), rng=rng)
    vectors, outside = projection(known.long), projection.squared_distances(known.long)
    folder.mkdir()
    learner, settings = LiveLearner(folder, LiveSettings()), LiveSettings()
    learner.begin(vectors[old[:NOVELTY_FIRST]])
    learner.learn(vectors[old[:NOVELTY_FIRST]])
    learned = NOVELTY_FIRST + NOVELTY_ROUNDS * NOVELTY_ROUND
    for start in range(NOVELTY_FIRST, learned, NOVELTY_ROUND):
        recent = old[NOVELTY_FIRST : start + NOVELTY_ROUND]
        images = RecentImages(vectors[recent], outside[recent])
        learner.learn(vectors[old[start : start + NOVELTY_ROUND]], recent=images)
    assert learner.predictor is not None  # there were rounds
    later, fresh = (
        learner.predictor.score(vectors[part], outside[part], settings.level) for part in (old[learned:], new)
    )
    area = roc_auc_score(
        np.repeat([0, 1], [len(later.percentile), len(fresh.percentile)]),
        -np.concatenate([later.percentile, fresh.percentile]),
    )
    return float(later.is_novel.mean()), float(fresh.is_novel.mean()), float(area)


PARTS: dict[str, Callable[[Path], Table]] = {"dive": _long_dive, "files": _files, "novelty": _novelty}
