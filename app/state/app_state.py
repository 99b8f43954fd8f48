"""What all sessions of a process share: the workspace, and what is read from it once for everybody."""

import threading
from collections.abc import Callable, Hashable
from typing import Any

from app.state.columns import ImageColumns, read_columns
from app.state.job_watch import JobWatch
from app.state.shelf import Lasting, Shelf
from engine.jobs import Job, JobQueue
from engine.workspace import Run, Workspace
from engine.workspace.features import FeatureSet

# Jobs that add to images but do not change them.
LEAVE_IMAGES = frozenset({"features", "cluster", "crowd", "projection"})


class AppState:
    """Big arrays live here, never in a session, so that a session that outlives its tab is small."""

    def __init__(self, workspace: Workspace, tiles: str = ""):
        self.workspace, self.queue = workspace, JobQueue(workspace)
        self.tiles = tiles  # where maps may load tiles from, with {z}, {x} and {y}
        self.jobs = JobWatch(self.queue, self._job_ended)
        self.shelf, self.lasting = Shelf(), Lasting()
        self._version = self._images_version = 1
        self._kept: dict[Hashable, tuple[int, Any]] = {}
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def watch_jobs(self) -> None:
        """Begins to look after the jobs of the workspace, those of other processes too."""
        self.jobs.start()

    def close(self) -> None:
        self.jobs.stop()

    def _job_ended(self, job: Job) -> None:
        self.changed(images=job.kind not in LEAVE_IMAGES)

    @property
    def version(self) -> int:
        """Grows whenever images, feature sets, runs or labels changed; sessions depend on it."""
        return self._version

    @property
    def images_version(self) -> int:
        """Grows whenever images or their dives changed: part of the addresses of thumbnails."""
        return self._images_version

    def changed(self, *, images: bool = True) -> int:
        """Tells everybody that something in the workspace changed; the new version. `images` False where the images
        and their dives stayed as they were: reading a million of them again takes seconds."""
        with self._lock:
            self._version += 1
            self._images_version += images
            return self._version

    def kept(self, key: Hashable, make: Callable[[], Any], *, of_images: bool = False) -> Any:
        """What `make` gave in this version of the workspace; made once, however many sessions ask at the same time.
        What is made `of_images` alone is kept until those change."""
        with self._lock:
            own = self._making.setdefault(key, threading.Lock())
        with own:
            version = -self._images_version if of_images else self._version
            held = self._kept.get(key)
            if held is None or held[0] != version:
                held = self._kept[key] = (version, make())
            return held[1]

    def holds(self, key: Hashable) -> bool:
        """Whether asking for it is free."""
        held = self._kept.get(key)
        return held is not None and held[0] in (self._version, -self._images_version)

    @property
    def columns(self) -> ImageColumns:
        """All images of the catalogue, as arrays."""
        return self.kept("columns", lambda: read_columns(self.workspace), of_images=True)

    def features(self, name: str) -> FeatureSet:
        return self.kept(("features", name), lambda: self.workspace.features.open(name))

    def run(self, run_id: int | None = None) -> Run | None:
        """The run of this number; without one the current run, None where there is none yet."""
        if run_id is None:
            return self.kept("current run", self.workspace.runs.current)
        return self.kept(("run", run_id), lambda: self.workspace.runs.get(run_id))
