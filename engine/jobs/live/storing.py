"""Take image files of a live dive into the library: read, thumbnails, catalogue. A copy of an image is left out."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from benthoscope.engine import imaging
from benthoscope.engine.exchange.image_import.import_plan import described
from benthoscope.engine.imaging import Intake
from benthoscope.engine.jobs.library.import_images import new_image, take_in
from benthoscope.engine.jobs.live.folder_watcher import ReadyFile
from benthoscope.engine.problems import Problem
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.live_dives import LiveDive
from benthoscope.engine.workspace.records import NewImage

CLOCK_JUMP = 3600.0  # seconds between the times of two images that arrive one after the other


@dataclass(frozen=True)
class StoredImage:
    """An image that is in the catalogue now."""

    file: ReadyFile
    id: int
    sha256: str
    taken_at: float | None


@dataclass(frozen=True)
class Stored:
    """The results of a batch: images, copies of earlier images, and files that cannot be read."""

    images: tuple[StoredImage, ...] = ()
    copies: tuple[tuple[ReadyFile, str], ...] = ()  # and the path of the first one
    unreadable: tuple[tuple[ReadyFile, Problem], ...] = ()


class ImageStore:
    """Stores the images of one dive. `prefix` leads from the root of the library to the watched folder."""

    def __init__(self, workspace: Workspace, dive: LiveDive, prefix: str):
        self._workspace, self._dive, self._prefix = workspace, dive, prefix

    def store(self, files: Sequence[ReadyFile], pool: Executor) -> Stored:
        folder = Path(self._dive.folder)
        results = list(pool.map(take_in, [str(folder / file.path) for file in files]))
        pairs = list(zip(files, results, strict=True))
        unreadable = [(file, result) for file, result in pairs if isinstance(result, Problem)]
        readable = [(file, result) for file, result in pairs if isinstance(result, Intake)]
        new, copies = self._without_copies(readable)
        jpegs = [(intake.sha256, size, jpeg) for _, intake in new for size, jpeg in intake.thumbnails.items()]
        self._workspace.thumbnails.add_many(jpegs)
        images = [self._new_image(file.path, intake) for file, intake in new]
        ids = self._workspace.library.store_images(images)
        stored = [
            StoredImage(file, number, intake.sha256, image.taken_at)
            for (file, intake), image, number in zip(new, images, ids, strict=True)
        ]
        return Stored(tuple(stored), tuple(copies), tuple(unreadable))

    def _without_copies(
        self, files: Sequence[tuple[ReadyFile, Intake]]
    ) -> tuple[list[tuple[ReadyFile, Intake]], list[tuple[ReadyFile, str]]]:
        """Return (new images, copies): a copy has the content of another file of the dive."""
        new, copies = [], []
        first_paths: dict[str, str] = {}
        for file, intake in files:
            known = [
                image.path
                for image in self._workspace.library.with_content(intake.sha256)
                if image.group_id == self._dive.group_id and image.path != self._prefix + file.path
            ]
            first = first_paths.get(intake.sha256) or next(iter(known), None)
            if first is None:
                new.append((file, intake))
                first_paths[intake.sha256] = file.path
            else:
                copies.append((file, first))
        return new, copies

    def _new_image(self, path: str, intake: Intake) -> NewImage:
        record = described(None, intake.facts, path)
        return new_image(self._dive.root_id, self._prefix + path, self._dive.group_id, intake, record)


@dataclass
class CameraClock:
    """Notices when the clock of the camera jumps. The order of arrival counts, so a jump does no harm."""

    last: float | None = None

    def jump(self, image: StoredImage) -> Problem | None:
        """Return a problem if the time of this image is far from that of the image before."""
        before, self.last = self.last, image.taken_at if image.taken_at is not None else self.last
        if before is None or image.taken_at is None or abs(image.taken_at - before) < CLOCK_JUMP:
            return None
        change = image.taken_at - before
        direction = "forward" if change > 0 else "back"
        return Problem(
            imaging.readable(image.file.path),
            f"the clock of the camera jumped {direction} by {abs(change) / 3600:.1f} hours",
            "nothing is lost, because images count in the order they arrive; correct the times after the dive",
        )
