"""The demonstration: the sample campaign, imported, described and clustered by ordinary jobs in view of the person."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.features import available
from engine.jobs import JobQueue
from engine.problems import fail
from engine.workspace import Workspace
from engine.workspace.files import locked

NAME = "Sample campaign"


@dataclass(frozen=True)
class Step:
    """A job, and how to see that it was done."""

    kind: str
    title: str
    parameters: Mapping[str, Any]
    done: Callable[[Workspace], bool]


def data_folder() -> Path:
    """Where this person's programs keep what they make, on this system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "benthoscope"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "benthoscope"


def demo_workspace(folder: Path, campaign: Path) -> Workspace:
    """The demo's workspace in `folder`, with the sample's images beside it; made where it is not there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fail(str(folder), f"cannot be made ({error.strerror})", "name another with --folder") from error
    with locked(folder / "demo.lock"):
        _copied(campaign, folder / "images")
        place = folder / "demo.benthos"
        return Workspace.open(place) if place.exists() else Workspace.create(place, name=NAME)


def forget_demo(folder: Path) -> None:
    """Throws away the demo's workspace and images, and nothing else that may lie in the folder."""
    for place in (folder / "demo.benthos", folder / "images"):
        shutil.rmtree(place, ignore_errors=True)


def queue_steps(workspace: Workspace, images: Path) -> list[str]:
    """Queues what has not been done and does not wait already; the kinds queued, in order."""
    queue = JobQueue(workspace)
    waiting = {job.kind for job in queue.unfinished()}
    missing = [step for step in steps(images) if step.kind not in waiting and not step.done(workspace)]
    for step in missing:
        queue.add(step.kind, step.parameters, title=step.title)
    return [step.kind for step in missing]


def steps(images: Path) -> tuple[Step, ...]:
    """One after the other: heavy jobs wait for each other in the order they were queued."""
    word, _ = available("deep")
    return (
        Step("import", "Import the sample campaign", {"folder": str(images), "collection": NAME, "kind": "campaign"},
             lambda workspace: workspace.library.count_images() > 0),
        Step("features", "Describe the images", {"kinds": [word]}, lambda workspace: word in workspace.features),
        Step("cluster", "Cluster the dives together", {"model": "gmc", "features": word, "name": "First look"},
             lambda workspace: bool(workspace.runs.all() or workspace.runs.all(deleted=True))),
    )


def _copied(campaign: Path, images: Path) -> None:
    """A copy under a temporary name that is renamed when it is whole."""
    if images.exists():
        return
    if not campaign.is_dir():
        raise fail(str(campaign), "the sample campaign is not installed", "make one with `benthoscope sample`")
    waiting = images.with_name("images.copying")
    shutil.rmtree(waiting, ignore_errors=True)
    shutil.copytree(campaign, waiting)
    waiting.rename(images)
