"""`benthoscope demo`: the app on the sample campaign, which ordinary jobs import, describe and cluster."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.serve import BrowserOption, PortOption, run_server, server_token
from benthoscope.app.commands.terminal import JsonOption
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace

NAME = "Sample campaign"


def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Folder for the demo; by default in your user data folder.", show_default=False)
    ] = None,
    port: PortOption = 0,
    browser: BrowserOption = True,
    reset: Annotated[bool, typer.Option("--reset", help="Delete the workspace of the demo and start again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Open the app on a small sample campaign: six AUV dives whose habitats are known.

    The first start imports, describes and clusters the images in the background while you look around. Later starts
    open the finished workspace.

    Examples:

        benthoscope demo

        benthoscope demo --folder /tmp/look --no-browser
    """
    from benthoscope.sample_data import campaign_path

    demo_folder = (folder or data_folder() / "demo").expanduser().absolute()
    if reset:
        forget_demo(demo_folder)
    with demo_workspace(demo_folder, campaign_path()) as workspace:
        queue_steps(workspace, demo_folder / "images")
        run_server(workspace, browser, as_json, port=port, token=server_token(workspace))


@dataclass(frozen=True)
class DemoStep:
    """A job, and how to see that it is done."""

    kind: str
    title: str
    parameters: Mapping[str, Any]
    done: Callable[["Workspace"], bool]


def data_folder() -> Path:
    """The user's data folder for this program, by the convention of the system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "benthoscope"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "benthoscope"


def demo_workspace(folder: Path, campaign: Path) -> "Workspace":
    """The demo's workspace in `folder`, with the sample's images beside it; created if it does not exist."""
    from benthoscope.engine.workspace import Workspace
    from benthoscope.engine.workspace.storage.files import locked, make_folder

    make_folder(folder, "choose another folder with --folder")
    with locked(folder / "demo.lock"):
        _copy_sample(campaign, folder / "images")
        workspace_path = folder / "demo.benthos"
        return (
            Workspace.open(workspace_path) if workspace_path.exists() else Workspace.create(workspace_path, name=NAME)
        )


def forget_demo(folder: Path) -> None:
    """Delete the demo's workspace and images, and nothing else in the folder."""
    for path in (folder / "demo.benthos", folder / "images"):
        shutil.rmtree(path, ignore_errors=True)


def queue_steps(workspace: "Workspace", images: Path) -> list[str]:
    """Queue the steps that are neither done nor queued already. Returns their kinds, in order."""
    from benthoscope.engine.jobs import JobQueue

    queue = JobQueue(workspace)
    queued = {job.kind for job in queue.unfinished()}
    missing = [step for step in steps(images) if step.kind not in queued and not step.done(workspace)]
    for step in missing:
        queue.add(step.kind, step.parameters, title=step.title)
    return [step.kind for step in missing]


def steps(images: Path) -> tuple[DemoStep, ...]:
    """The jobs of the demo. They run one after the other: heavy jobs wait for each other."""
    from benthoscope.engine.features import available

    descriptor, _ = available("deep")
    return (
        DemoStep(
            "import",
            "Import the sample campaign",
            {"folder": str(images), "collection": NAME, "kind": "campaign"},
            lambda workspace: workspace.library.count_images() > 0,
        ),
        DemoStep(
            "features",
            "Describe the images",
            {"kinds": [descriptor]},
            lambda workspace: descriptor in workspace.features,
        ),
        DemoStep(
            "cluster",
            "Cluster the dives together",
            {"model": "gmc", "features": descriptor, "name": "First look", "parameters": {"observation": "diagonal"}},
            lambda workspace: bool(workspace.runs.all() or workspace.runs.all(deleted=True)),
        ),
    )


def _copy_sample(campaign: Path, images: Path) -> None:
    """Copy under a temporary name, which is renamed when the copy is complete."""
    if images.exists():
        return
    if not campaign.is_dir():
        raise fail(str(campaign), "the sample campaign is not installed", "create one with `benthoscope sample`")
    partial = images.with_name("images.copying")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(campaign, partial)
    partial.rename(images)
