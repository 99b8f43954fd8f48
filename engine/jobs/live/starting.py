"""Start, change and finish live dives. The command, the page and REST use these functions."""

import errno
import os
import tempfile
import threading
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from benthoscope.engine.imaging import SUFFIXES
from benthoscope.engine.jobs.live.descriptor import check_descriptor, usable_name
from benthoscope.engine.jobs.live.settings import live_settings
from benthoscope.engine.jobs.queue import Job, JobQueue
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.live_dives import FINISH, LEARN, LiveDive
from benthoscope.engine.workspace.storage.files import sync_folder

KIND = "live dive"
_one_at_a_time = threading.Lock()  # two files of one name that are sent at the same time: the second one is refused


def check_watch(workspace: Workspace, parameters: Mapping[str, Any], pending: Collection[str]) -> None:
    """Raise BadInput if the job could only fail."""
    dive = workspace.live.get(int(parameters["dive"]))
    if not dive.is_watching:
        raise fail(f"dive {dive.name}", "is finished", "start a new one")


def begin_dive(
    workspace: Workspace,
    folder: str | os.PathLike,
    name: str | None = None,
    *,
    collection: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> LiveDive:
    """Create a live dive for a folder, or return the unfinished one of this folder. The dive is a group of the
    collection; both are created if they do not exist. `watch_job` starts the watch."""
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise fail(str(path), "is not a folder", "give the folder that the images are written to")
    chosen = dict(settings or {})
    chosen["features"] = usable_name(workspace, str(chosen.get("features") or "deep"))
    values = live_settings(chosen)
    check_descriptor(workspace, values.features)
    for dive in workspace.live.all():
        if dive.is_watching and Path(dive.folder) == path:
            if name not in (None, dive.name):
                raise fail(str(path), f"is already watched as dive {dive.name}", "finish that dive first")
            return dive
    title = (name or path.name).strip()
    if not title:
        raise fail("dive", "has no name", "give it a name")
    owner = workspace.library.collection((collection or "Live dives").strip(), "campaign")
    if any(group.name == title for group in workspace.library.groups(owner.id)):
        raise fail(f"dive {title}", f"exists already in {owner.name}", "choose another name")
    group = workspace.library.group(owner.id, title)
    return workspace.live.create(title, str(path), group.id, _root_of(workspace, path), values.to_dict())


def watch_job(queue: JobQueue, dive: LiveDive) -> Job:
    """Return the unfinished job that watches the dive; queue one if there is none."""
    return running_watch(queue, dive.id) or queue.add(KIND, {"dive": dive.id}, title=f"Watch {dive.name}")


def running_watch(queue: JobQueue, dive_id: int) -> Job | None:
    """Return the queued or running job of a dive."""
    jobs = [job for job in queue.unfinished() if job.kind == KIND and job.parameters.get("dive") == dive_id]
    return jobs[0] if jobs else None


def stop_watch(queue: JobQueue, dive: LiveDive) -> None:
    """Stop watching for now. `watch_job` continues where it stopped."""
    job = running_watch(queue, dive.id)
    if job is not None:
        queue.cancel(job.id)


def finish_dive(workspace: Workspace, queue: JobQueue, dive: LiveDive) -> Job:
    """Ask the watch to take in the remaining files and to store the run. Starts it if it is stopped."""
    if not dive.is_watching:
        raise fail(f"dive {dive.name}", "is finished already")
    workspace.live.ask(dive.id, FINISH)
    return watch_job(queue, dive)


def learn_now(workspace: Workspace, dive: LiveDive) -> None:
    """Start a round with the images that wait, however few they are."""
    workspace.live.ask(dive.id, LEARN)


def change_settings(workspace: Workspace, dive: LiveDive, values: Mapping[str, Any]) -> LiveDive:
    """Change settings of the learner; they apply from the next round."""
    changed = live_settings(dive.settings).changed(**values)
    workspace.live.note(dive.id, settings=changed.to_dict())
    return workspace.live.get(dive.id)


def add_file(dive: LiveDive, name: str, content: bytes) -> Path:
    """Write an image into the folder of a dive under a name of one part. When this returns, the file is on disk; the
    watch takes it in. The same content under the same name changes nothing."""
    if not dive.is_watching:
        raise fail(f"dive {dive.name}", "is finished", "start a new dive")
    if PurePosixPath(name).name != name or "\\" in name or name.startswith("."):
        raise fail("file name", f"'{name}' is not the name of a file", "give a name without folders")
    if PurePosixPath(name).suffix.lower() not in SUFFIXES:
        raise fail("file name", f"'{name}' is not the name of an image", f"use one of {', '.join(sorted(SUFFIXES))}")
    if not content:
        raise fail(name, "the file is empty (0 bytes)", "send it again")
    target = Path(dive.folder) / name
    try:
        with _one_at_a_time:
            if not target.exists():
                _write(target, content)
            elif not target.is_file() or target.read_bytes() != content:
                raise fail(name, "exists already with other content", "send it under another name")
    except OSError as error:
        reason = "there is no space left" if error.errno == errno.ENOSPC else error.strerror or "unknown error"
        raise fail(str(target), f"cannot be written ({reason})", "check the disk, then send it again") from error
    return target


def _write(target: Path, content: bytes) -> None:
    """Write under a temporary name that the watch ignores, then rename."""
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def _root_of(workspace: Workspace, path: Path) -> int:
    """Return the registered root that has the folder; the folder itself becomes one if there is none."""
    roots = [root for root in workspace.library.roots() if root.present and path.is_relative_to(root.path)]
    return max(roots, key=lambda root: len(root.path)).id if roots else workspace.library.register_root(path).id
