"""State shared by all sessions of a process: the workspace and values cached from it."""

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from benthoscope.app.session.cache import (
    ASPECTS,
    CROWD_ANSWERS,
    FEATURES,
    IMAGES,
    JOBS,
    LABELS,
    LIVE,
    OTHER,
    RUNS,
    ArrayStore,
    Aspects,
    Cache,
)
from benthoscope.app.session.image_table import ImageColumns, read_columns
from benthoscope.app.session.sent_selections import SentSelections
from benthoscope.app.session.watch import POLLS_PER_COMPARISON, ChangeWatch, JobWatch, Listeners, Watcher
from benthoscope.engine.jobs import Job, JobQueue
from benthoscope.engine.labelling.audits.viewing import MIN_SECONDS
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.features import FeatureSet

# Aspects changed by a finished job of this kind; other kinds may change all of them.
CHANGED_BY: dict[str, tuple[str, ...]] = {
    "features": (FEATURES,),
    "projection": (FEATURES,),
    "cluster": (RUNS,),
    "extend topics": (RUNS,),
    "levels": (RUNS,),
    "steer": (RUNS,),
    "crowd": (RUNS,),
    "exemplars": (RUNS,),
    "predict column": (FEATURES,),
    "split cluster": (LABELS,),
    "learn": (LABELS,),
    "typical images": (LABELS,),
    "import labels": (LABELS,),
    "export": (OTHER,),
    "live dive": (IMAGES, FEATURES, RUNS, LABELS),
}
LIVE_PAUSE = 60.0  # seconds between two announcements of new images of a live dive: each one draws all pages again


class AppState:
    """The workspace, its job queue and caches. Large arrays are stored here, never in a session, so that a session
    that outlives its tab is small."""

    def __init__(
        self, workspace: Workspace, tiles: str = "", audit_seconds: float = MIN_SECONDS, first_version: int = 1
    ):
        self.workspace, self.queue = workspace, JobQueue(workspace)
        self.audit_seconds = audit_seconds  # time in view after which an audited image counts as seen
        self.tiles = tiles  # where maps may load tiles from, with {z}, {x} and {y}
        self.jobs = JobWatch(self.queue, self._job_ended, self._jobs_changed)
        self._changes = ChangeWatch(workspace.catalogue, self._changed_elsewhere)
        self._watcher = Watcher(self._poll, self.jobs.refresh, self.queue.changes)
        self.cache, self.arrays = Cache(first_version=first_version), ArrayStore()
        self.sent_selections = SentSelections()  # from plots of other pages to Explore
        self.page_drawn = threading.Event()  # set when a browser has drawn the first page of this process
        self._version = first_version
        self.on_change, self.on_jobs, self.on_answers = Listeners(), Listeners(), Listeners()  # one for each open tab
        self.on_live = Listeners()
        self._postponed: set[str] = set()  # aspects that a live dive changed since they were announced
        self._announced_at = -LIVE_PAUSE
        self._lock = threading.Lock()

    def watch(self) -> None:
        """Start watching the jobs of the workspace and its changes, including those of other processes."""
        self.jobs.refresh()
        self._changes.compare()
        self._watcher.start()

    def close(self) -> None:
        self._watcher.stop()

    def _poll(self, number: int) -> None:
        self.jobs.refresh()
        if number % POLLS_PER_COMPARISON == 0:
            self._changes.compare()
            self._announce_postponed()

    def _job_ended(self, job: Job) -> None:
        self.changed(*CHANGED_BY.get(job.kind, ASPECTS))

    def _jobs_changed(self) -> None:
        self.cache.changed(JOBS)
        self.on_jobs.notify()

    def _changed_elsewhere(self, aspects: Sequence[str]) -> None:
        shown = [aspect for aspect in aspects if aspect not in (CROWD_ANSWERS, LIVE)]
        if LIVE in aspects:
            self.live_changed()
            self._postponed.update(aspect for aspect in shown if aspect in (IMAGES, FEATURES))
            shown = [aspect for aspect in shown if aspect not in (IMAGES, FEATURES)]
        if shown:
            self.changed(*shown)
        if CROWD_ANSWERS in aspects:
            self.on_answers.notify()

    def live_changed(self) -> None:
        """Announce a change of a live dive to the tabs that show it."""
        self.cache.changed(LIVE)
        self.on_live.notify()

    def _announce_postponed(self) -> None:
        """Announce the images of a live dive to all pages, at most once in LIVE_PAUSE."""
        if self._postponed and time.monotonic() - self._announced_at >= LIVE_PAUSE:
            aspects, self._postponed = self._postponed, set()
            self._announced_at = time.monotonic()
            self.changed(*aspects)

    @property
    def version(self) -> int:
        """Grows with every change of the workspace."""
        return self._version

    @property
    def images_version(self) -> int:
        """Grows whenever images or their dives change; part of the addresses of thumbnails."""
        return self.cache.version(IMAGES)

    def changed(self, *aspects: str) -> int:
        """Announce which aspects of the workspace changed (see `app.session.cache`); without aspects, all of them.
        Returns the new version."""
        self._changes.note(aspects or ASPECTS)
        self.cache.changed(aspects or ASPECTS)
        with self._lock:
            self._version += 1
            version = self._version
        self.on_change.notify()
        return version

    def cached(self, key: Hashable, make: Callable[[], Any], of: Aspects = ASPECTS) -> Any:
        """Return `make()`, cached until something the value depends on changes, see `Cache.get`."""
        return self.cache.get(key, make, of)

    @property
    def columns(self) -> ImageColumns:
        """All images of the catalogue, as arrays."""
        return self.cached("columns", lambda: read_columns(self.workspace), IMAGES)

    def features(self, name: str) -> FeatureSet:
        return self.cached(("features", name), lambda: self.workspace.features.open(name), (IMAGES, FEATURES))

    def run(self, run_id: int | None = None) -> Run | None:
        """The run with this id, or the current run; None if there is no current run."""
        if run_id is None:
            return self.cached("current run", self.workspace.runs.current, RUNS)
        return self.cached(("run", run_id), lambda: self.workspace.runs.get(run_id), RUNS)
