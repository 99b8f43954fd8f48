"""The job that watches the folder of a live dive: takes images in, assigns them, scores their novelty, and learns.

An image is acknowledged when its row in the table `live_image` is committed: it is then in the library, and has its
features and its score. A round of learning runs on a thread of its own. After a crash the job resumes: files without a
row are taken in again, and the learner continues from its last round.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine import imaging
from benthoscope.engine.compute import cores
from benthoscope.engine.exchange.image_import.import_plan import ImportOptions
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.describe.describe_images import features as describe_images
from benthoscope.engine.jobs.live.clusters import features_of
from benthoscope.engine.jobs.live.descriptor import (
    ImageFile,
    LiveDescriptor,
    LiveVector,
    add_rows,
    open_descriptor,
    refuse_change,
)
from benthoscope.engine.jobs.live.finishing import store_run
from benthoscope.engine.jobs.live.folder_watcher import FolderScan, FolderWatcher, ReadyFile, SeenPaths
from benthoscope.engine.jobs.live.learner import LiveLearner
from benthoscope.engine.jobs.live.metadata import LiveMetadata
from benthoscope.engine.jobs.live.novelty import MOST, NO_IMAGES, RecentImages
from benthoscope.engine.jobs.live.settings import live_settings
from benthoscope.engine.jobs.live.storing import CameraClock, ImageStore, StoredImage
from benthoscope.engine.parameters import ParameterHelp
from benthoscope.engine.problems import BadInput, Problem, fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.live_dives import (
    FINISH,
    FINISHED,
    LEARN,
    LiveDive,
    NewLiveImage,
    StoredVector,
    problem_source,
)
from benthoscope.engine.workspace.records import current_time

POLL = 0.2  # seconds between two scans of the folder
RETRY = 2.0  # seconds between two scans of a folder that cannot be reached
BATCH = 16  # images that are stored together
SAVE = 5.0  # seconds between two checkpoints, which prove to the queue that the job makes progress
MOST_PROBLEMS = 200  # listed with a dive
SAMPLE = 5_000  # rows from which the axes of the learner are computed at most
PARAMETERS = {"dive": ParameterHelp("Number of the live dive; `benthoscope watch --list` lists them.", 1)}


def watch_dive(job: JobContext, workspace: Workspace, *, dive: int) -> dict[str, Any]:
    """Take in the images of a live dive as they are written, until somebody finishes the dive."""
    watched = workspace.live.get(dive)
    if not watched.is_watching:
        raise fail(f"dive {watched.name}", "is finished", "start a new one")
    with ThreadPoolExecutor(cores()) as pool, ThreadPoolExecutor(1, "learner") as rounds:
        return DiveWatch(job, workspace, watched, pool, rounds).run()


class DiveWatch:
    """One watch of one dive, from the start of the job to its end."""

    def __init__(
        self,
        job: JobContext,
        workspace: Workspace,
        dive: LiveDive,
        pool: ThreadPoolExecutor,
        rounds: ThreadPoolExecutor,
    ):
        self._job, self._workspace, self._dive, self._store = job, workspace, dive, workspace.live
        self._pool, self._rounds = pool, rounds
        self._settings = live_settings(dive.settings)
        self._folder = Path(dive.folder)
        prefix = _prefix(workspace, dive)
        self._known = self._known_paths(prefix)
        self._watcher = FolderWatcher(self._folder, SeenPaths(self._known))
        self._images = ImageStore(workspace, dive, prefix)
        self._metadata = LiveMetadata(self._folder, ImportOptions())
        self._metadata.add(_without_position(workspace, dive, prefix))
        self._metadata_files: tuple[tuple[str, int, int], ...] = ()
        self._learner = LiveLearner(self._store.working_folder(dive.id), self._settings)
        self._recent = NO_IMAGES  # images that new ones are compared with; used by rounds only
        self._descriptor: LiveDescriptor | None = None
        self._round: Future | None = None
        self._clock = CameraClock()
        self._problems = workspace.library.problems(self._source)
        self._count = self._store.count(dive.id)
        self._waiting = 0  # images that no round has learned
        self._lacks_clusters = threading.Event()  # images may have no cluster: a round gives them their first one
        self._lacks_clusters.set()
        self._last_round = time.monotonic()
        self._last_save = -np.inf

    @property
    def _source(self) -> str:
        """Return the name under which problems of this dive are listed."""
        return problem_source(self._dive)

    # --- the loop

    def run(self) -> dict[str, Any]:
        if FINISH in self._dive.requests and self._has_other_features():
            self._job.log("the features were computed again, so the dive ends without a run")
            return self._finish(stores_run=False)
        self._open_descriptor()
        self._catch_up()
        try:
            while not self._step():
                pass
        finally:
            if self._round is not None:
                self._round.cancel()
        return self._finish()

    def _step(self) -> bool:
        """Scan the folder once and do all that is due. Returns True when the dive is complete."""
        self._job.check()
        self._dive = self._store.get(self._dive.id)
        self._settings = self._learner.settings = live_settings(self._dive.settings)
        scan = self._watcher.scan()
        stored = self._handle_scan(scan) if scan is not None else 0
        self._metadata.update(self._workspace, self._metadata_files)
        self._learn_if_due()
        self._report()
        if FINISH in self._dive.requests and scan is not None and self._is_complete(scan):
            return True
        if not stored:
            time.sleep(RETRY if scan is not None and scan.unreachable else POLL)
        return False

    def _handle_scan(self, scan: FolderScan) -> int:
        """Take in the files that a scan found. Returns the number of those that could be read."""
        if scan.unreachable:
            self._note(
                f"The folder cannot be read ({scan.unreachable}). Check the disk or the network; the watch goes on "
                "by itself when the folder is back."
            )
            return 0
        self._note("")
        self._metadata_files, count = scan.metadata, 0
        for at in range(0, len(scan.ready), BATCH):
            self._job.check()
            count += self._take(scan.ready[at : at + BATCH])
            self._report()
        return count

    def _is_complete(self, scan: FolderScan) -> bool:
        """Return whether a dive that is to end has no more files to take in, nor images to learn."""
        has_files = not scan.unreachable and bool(scan.ready or self._watcher.waiting)
        return not has_files and self._round is None and not self._waiting

    def _report(self) -> None:
        rounds, predictor = self._learner.rounds, self._learner.predictor
        texts = [f"{self._count:,} images"]
        if self._descriptor is None:
            texts.append(f"the first {self._settings.first_images} train the descriptor")
        elif predictor is not None:
            count = len(predictor.model.cluster_ids_)
            texts.append(f"{count} {'cluster' if count == 1 else 'clusters'} after round {rounds}")
        if self._round is not None:
            texts.append("learning")
        self._job.progress(self._count, self._settings.horizon, ", ".join(texts), waiting=self._waiting)
        if time.monotonic() - self._last_save > SAVE:
            self._job.save_checkpoint({"images": self._count, "rounds": rounds})
            self._last_save = time.monotonic()

    def _note(self, notice: str) -> None:
        if notice != self._dive.notice:
            self._store.note(self._dive.id, notice=notice)
            self._job.log(notice or "the folder can be read again")
            self._dive = self._store.get(self._dive.id)

    # --- images

    def _take(self, files: Sequence[ReadyFile]) -> int:
        """Take in some files: store images, features and scores, and last the rows that acknowledge them. Returns the
        number of files that could be read."""
        if self._descriptor is not None:
            refuse_change(self._workspace, self._descriptor.identity)
        result = self._images.store(files, self._pool)
        for file, problem in result.unreadable:
            final = self._watcher.unusable(file.path, problem)
            if final is not None:
                self._complain(final)
        for file, first in result.copies:
            self._watcher.mark_stored(file.path)
            self._complain(Problem(imaging.readable(file.path), f"is a copy of {first}; it was left out"))
        for image in result.images:
            jump = self._clock.jump(image)
            if jump is not None:
                self._complain(jump)
        rows = self._rows(result.images)
        self._store.add_images(self._dive.id, rows)
        if any(row.cluster is None and row.problem is None for row in rows):
            self._lacks_clusters.set()
        for image in result.images:
            self._watcher.mark_stored(image.file.path)
        self._metadata.add({image.file.path: image.id for image in result.images})
        self._count += len(result.images)
        self._waiting = self._store.count_waiting(self._dive.id)
        return len(result.images) + len(result.copies)

    def _rows(self, images: Sequence[StoredImage]) -> list[NewLiveImage]:
        """Return the rows of images with their features and scores."""
        arrived = current_time()
        if self._descriptor is None:
            return [NewLiveImage(image.id, arrived, _age(image)) for image in images]
        group = self._dive.group_id
        files = [ImageFile(image.id, self._folder / image.file.path, group, image.sha256) for image in images]
        vectors = list(self._pool.map(self._descriptor.describe, files))
        for vector in vectors:
            if isinstance(vector, Problem):
                self._complain(vector)
        scores = self._scores([vector for vector in vectors if isinstance(vector, LiveVector)])
        return [
            NewLiveImage(image.id, arrived, _age(image), problem=str(vector))
            if isinstance(vector, Problem)
            else NewLiveImage(image.id, arrived, _age(image), vector.features, vector.outside, **next(scores))
            for image, vector in zip(images, vectors, strict=True)
        ]

    def _scores(self, vectors: Sequence[LiveVector]) -> Iterator[dict[str, Any]]:
        """Yield the cluster and the novelty of each image, as columns; nothing before the first round."""
        predictor = self._learner.predictor
        if predictor is None or not vectors:
            yield from ({} for _ in vectors)
            return
        assert self._descriptor is not None  # there was a round
        width = self._descriptor.identity["width"]  # without the further columns of networks
        features = np.stack([vector.features[:width] for vector in vectors])
        outside = np.array([vector.outside for vector in vectors])
        scores = predictor.score(features, outside, self._settings.level)
        for at in range(len(vectors)):
            yield {
                "cluster": int(scores.clusters[at]),
                "probability": float(scores.probability[at]),
                "percentile": None if np.isnan(scores.percentile[at]) else float(scores.percentile[at]),
                "new_cluster": float(scores.new_cluster[at]),
                "novel": bool(scores.is_novel[at]),
                "round": predictor.number,
            }

    def _complain(self, problem: Problem) -> None:
        """List a problem with the dive; the oldest ones are dropped if there are very many. A watch that continues
        meets problems of the watch before again, such as copies; they are listed once."""
        if problem in self._problems:
            return
        self._problems = [*self._problems, problem][-MOST_PROBLEMS:]
        self._workspace.library.note_problems(self._source, self._problems)
        self._job.log(str(problem))

    def _known_paths(self, prefix: str) -> list[str]:
        """Return the paths of the images that have a row."""
        acknowledged = self._store.image_ids(self._dive.id)
        files = self._workspace.library.known_files(self._dive.root_id)
        return [
            path.removeprefix(prefix)
            for path, known in files.items()
            if known.image_id in acknowledged and path.startswith(prefix)
        ]

    # --- the descriptor

    def _open_descriptor(self) -> None:
        """Open the descriptor of the dive; none before the first images have trained it."""
        identity = dict(self._dive.descriptor)
        if identity:
            refuse_change(self._workspace, identity)
        name = self._settings.features
        if name not in self._workspace.features:
            return
        self._descriptor = open_descriptor(self._workspace, name)
        if not identity:
            self._store.note(self._dive.id, descriptor=self._descriptor.identity)

    def _has_other_features(self) -> bool:
        """Return whether the feature set was removed or computed again since the dive began."""
        try:
            if self._dive.descriptor:
                refuse_change(self._workspace, dict(self._dive.descriptor))
        except BadInput:
            return True
        return False

    def _train(self) -> None:
        """Train the descriptor with the images so far, and compute their features."""
        self._job.log(f"training the descriptor {self._settings.features} with {self._count} images")
        group = next(group for group in self._workspace.library.groups() if group.id == self._dive.group_id)
        collection = next(each for each in self._workspace.library.collections() if each.id == group.collection_id)
        describe_images(
            self._job,
            self._workspace,
            kinds=[self._settings.features],
            collection=collection.name,
            seed=self._settings.seed,
        )
        self._open_descriptor()
        self._dive = self._store.get(self._dive.id)

    # --- learning

    def _learn_if_due(self) -> None:
        if self._round is not None:
            if not self._round.done():
                return
            finished, self._round = self._round, None
            finished.result()  # raises what the round raised
            self._last_round = time.monotonic()
            self._waiting = self._store.count_waiting(self._dive.id)
            self._store.answered(self._dive.id, LEARN)
        if self._is_round_due():
            if self._descriptor is None:
                self._train()
            self._round = self._rounds.submit(self._learn)

    def _is_round_due(self) -> bool:
        asked = FINISH in self._dive.requests or LEARN in self._dive.requests
        if not self._waiting:
            if LEARN in self._dive.requests:
                self._store.answered(self._dive.id, LEARN)
            return False
        if asked:
            return True
        if not self._learner.rounds:
            return self._waiting >= self._settings.first_images
        is_late = time.monotonic() - self._last_round >= self._settings.round_seconds
        return self._waiting >= self._settings.epoch or is_late

    def _learn(self) -> None:
        """Learn the oldest images that wait. Runs on the learner's thread."""
        size = self._settings.epoch if self._learner.rounds else max(self._settings.epoch, self._settings.first_images)
        images, vectors = self._described(self._store.waiting(self._dive.id, size))
        if not images:
            return
        self._learner.begin(vectors, partial(self._sample, len(vectors)))
        recent = self._recent_with(images, vectors)
        result = self._learner.learn(vectors, lambda progress: self._job.check(), recent)
        self._recent = recent
        self._store.add_round(self._dive.id, result, [image.id for image in images], self._first_clusters())
        self._store.drop_vectors([image.id for image in images])

    def _described(self, images: Sequence[StoredVector]) -> tuple[list[StoredVector], np.ndarray]:
        """Return the images and their features, which are in the feature set afterwards. Images that cannot be
        described are noted and left out."""
        assert self._descriptor is not None  # a round needs one
        name = self._descriptor.name
        files = self._files_of([image.image_id for image in images])
        stored = self._workspace.features.open(name)
        ids = np.asarray(stored.image_ids)
        rows_of_images = np.flatnonzero(np.isin(ids, [image.image_id for image in images]))
        row_of = dict(zip(ids[rows_of_images].tolist(), rows_of_images.tolist(), strict=True))
        usable, vectors, width = [], [], stored.sidecar.width
        for image in images:
            vector = image.vector
            if image.image_id in row_of:
                vector = stored.X[row_of[image.image_id]]  # its further columns are stored already
            elif vector is None:
                result = self._descriptor.describe(files[image.image_id])
                if isinstance(result, Problem):
                    self._store.note_problem(image.id, str(result))
                    continue
                vector = result.features
            usable.append(image)
            vectors.append(vector)
        add_rows(self._workspace, name, [files[image.image_id] for image in usable], vectors)
        rows = np.stack([vector[:width] for vector in vectors]) if vectors else np.empty((0, width), np.float32)
        return usable, rows

    def _files_of(self, ids: Sequence[int]) -> dict[int, ImageFile]:
        paths = self._workspace.library.locate(ids)
        return {
            image.id: ImageFile(image.id, paths[image.id], image.group_id, image.sha256)
            for image in self._workspace.library.images(ids)
        }

    def _sample(self, first: int) -> np.ndarray | None:
        """Return the features from which the axes of the learner are computed, if the set has many more images than the
        first round."""
        assert self._descriptor is not None
        stored = self._workspace.features.open(self._descriptor.name)
        if stored.sidecar.rows <= 2 * first:
            return None
        rows = np.unique(np.linspace(0, stored.sidecar.rows - 1, SAMPLE).astype(int))
        return np.array(stored.X[rows])

    def _recent_images(self) -> RecentImages:
        """Return the newest learned images that new ones are compared with."""
        learned = self._store.last_learned(self._dive.id, MOST, self._learner.rounds_of_axes)
        if not learned:
            return NO_IMAGES
        ids = np.array([image.image_id for image in learned], np.int64)
        features = features_of(self._workspace, self._dive, ids)[:, : self._dive.descriptor["width"]]
        return RecentImages(features, np.array([image.outside for image in learned], float))

    def _recent_with(self, images: Sequence[StoredVector], vectors: np.ndarray) -> RecentImages:
        """Return the recent images with those of a round that begins, unless its images decided the axes."""
        if self._learner.rounds < self._learner.rounds_of_axes:
            return self._recent
        is_known = np.array([image.outside is not None for image in images])
        outside = np.array([image.outside for image in images if image.outside is not None], float)
        return self._recent.and_later(RecentImages(vectors[is_known], outside))

    def _first_clusters(self) -> list[Mapping[str, Any]]:
        """Return the clusters of images that arrived before the first round. Later rounds do not look for any, because
        that reads all images of the dive."""
        if not self._lacks_clusters.is_set():
            return []
        self._lacks_clusters.clear()  # before the search: images that arrive during it are found by the next round
        images, vectors = self._described(self._store.without_cluster(self._dive.id))
        if not images:
            return []
        assert self._learner.predictor is not None  # there was a round
        scores = self._learner.predictor.score(vectors, np.full(len(vectors), np.nan), self._settings.level)
        return [
            {"row": image.id, "to": int(cluster), "share": float(probability)}
            for image, cluster, probability in zip(images, scores.clusters, scores.probability, strict=True)
        ]

    def _catch_up(self) -> None:
        """Bring the memory of the learner and the stored rounds together after a crash.

        The memory is stored before the round. If the crash came between both, the round is stored now. If the memory is
        older or lost, the missing rounds are learned again from the same images.
        """
        if not self._learner.resume():
            self._learner.forget()
        last = self._store.last_round(self._dive.id)
        stored, images = (0, 0) if last is None else (last.number, last.images)
        if self._learner.rounds > stored:
            result = self._learner.result()
            rows = self._store.waiting(self._dive.id, result.images - images)
            self._store.add_round(self._dive.id, result, [row.id for row in rows], self._first_clusters())
        for number in range(self._learner.rounds + 1, stored + 1):
            self._job.check()
            self._job.log(f"learning round {number} again")
            _, vectors = self._described(self._store.learned_in(self._dive.id, number))
            self._learner.begin(vectors, partial(self._sample, len(vectors)))
            self._learner.learn(vectors, lambda progress: self._job.check())
        self._recent = self._recent_images()
        self._learner.compare_with(self._recent)
        self._waiting = self._store.count_waiting(self._dive.id)

    # --- the end

    def _finish(self, *, stores_run: bool = True) -> dict[str, Any]:
        """End the dive, and store its run."""
        self._metadata.update(self._workspace, self._metadata_files, at_once=True)
        stores_run = stores_run and self._learner.rounds > 0
        run = store_run(self._job, self._workspace, self._dive, self._learner) if stores_run else None
        self._store.note(
            self._dive.id, state=FINISHED, finished_at=current_time(), run_id=run.id if run else None, notice=""
        )
        return {
            "dive": self._dive.id,
            "name": self._dive.name,
            "images": self._count,
            "rounds": self._learner.rounds,
            "run": run.id if run else None,
            "clusters": run.summary["clusters"] if run else 0,
        }


def _prefix(workspace: Workspace, dive: LiveDive) -> str:
    """Return the part of library paths that leads from the root to the watched folder."""
    root = next(root for root in workspace.library.roots() if root.id == dive.root_id)
    inner = Path(dive.folder).relative_to(root.path).as_posix()
    return "" if inner == "." else f"{inner}/"


def _without_position(workspace: Workspace, dive: LiveDive, prefix: str) -> dict[str, int]:
    """Return {path below the watched folder: id} of the images of the dive without a position."""
    columns = workspace.library.columns("id", "path", "latitude", group_id=dive.group_id)
    missing = np.flatnonzero(np.isnan(columns["latitude"]))
    return {str(columns["path"][at]).removeprefix(prefix): int(columns["id"][at]) for at in missing}


def _age(image: StoredImage) -> float:
    """Return the seconds since the file was first seen."""
    return max(time.monotonic() - image.file.first_seen, 0.0)
