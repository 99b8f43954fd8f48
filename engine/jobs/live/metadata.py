"""Times and positions of live images from files that grow beside them: tables, iFDO and navigation files.

The files are read again when they change, but reading takes at most a twentieth of the time, however long they are.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benthoscope.engine.exchange.image_import.folder_scan import FoundFile, Survey
from benthoscope.engine.exchange.image_import.import_plan import ImportOptions, ImportPlan, make_plan, reader_of
from benthoscope.engine.imaging import read_bytes
from benthoscope.engine.jobs.library.import_images import changed_image, stored_record
from benthoscope.engine.problems import BenthoscopeError
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.records import NewImage

INTERVAL = 3.0  # seconds between two readings at least
SHARE = 20.0  # times the duration of a reading until the next one
MOST_PENDING = 5_000  # images without a position that are looked up again
Files = Sequence[tuple[str, int, int]]  # path, size and time of metadata files


class LiveMetadata:
    """Adds the values of metadata files to the images of a folder."""

    def __init__(self, folder: Path, options: ImportOptions, clock: Callable[[], float] = time.monotonic):
        self._folder, self._options, self._clock = folder, options, clock
        self._pending: dict[str, int] = {}  # path: image id
        self._read: Files = ()
        self._due = -1e9
        self._has_new_images = False

    def add(self, images: Mapping[str, int]) -> None:
        """Note new images {path: id}. Those that came first are dropped if too many have no position."""
        self._pending |= images
        self._has_new_images |= bool(images)
        for path in list(self._pending)[: max(len(self._pending) - MOST_PENDING, 0)]:
            del self._pending[path]

    def update(self, workspace: Workspace, files: Files, *, at_once: bool = False) -> int:
        """Store the values of the files for the pending images. Does nothing before it is due, unless `at_once` is set.
        Returns the number of changed images."""
        is_new = tuple(files) != tuple(self._read) or self._has_new_images
        if not files or not self._pending or not (is_new and (at_once or self._clock() >= self._due)):
            return 0
        began = self._clock()
        try:
            changed = self._stored(workspace, files)
        except (BenthoscopeError, OSError):  # a table that is being written
            changed = 0
        self._read, self._has_new_images = tuple(files), False
        ended = self._clock()
        self._due = ended + max(INTERVAL, SHARE * (ended - began))
        return changed

    def _stored(self, workspace: Workspace, files: Files) -> int:
        plan, paths = self._plan(files), {number: path for path, number in self._pending.items()}
        changed: list[NewImage] = []
        located: list[str] = []
        for image in workspace.library.images(list(paths)):
            path = paths[image.id]
            record = plan.record_of(path, image.taken_at)
            if record is None:
                continue
            new = changed_image(image, record.filled_from(stored_record(image, path)), image.group_id)
            changed += [] if new is None else [new]
            if record.latitude is not None:
                located.append(path)
        workspace.library.store_images(changed)
        for path in located:
            del self._pending[path]
        return len(changed)

    def _plan(self, files: Files) -> ImportPlan:
        images = tuple(FoundFile(path, 1, 1) for path in sorted(self._pending))
        survey = Survey(self._folder, "", images, tuple(FoundFile(*file) for file in files))
        return make_plan(survey, reader_of(self._folder, {}, read_bytes), self._options)
