"""`benthoscope watch` and `benthoscope simulate-dive`: cluster the images of a dive while they are taken."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.terminal import (
    JsonOption,
    SeedOption,
    WorkspaceOption,
    counted,
    open_workspace,
    run_job,
    show,
    text_table,
)
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace


def watch(
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Folder that the images are written to.")
    ] = None,
    dive: Annotated[str | None, typer.Option(help="Name of the dive; that of the folder by default.")] = None,
    collection: Annotated[str | None, typer.Option(help="Campaign of the dive; 'Live dives' by default.")] = None,
    features: Annotated[
        str, typer.Option(help="Feature set that describes the images, or a descriptor for the first images to train.")
    ] = "deep",
    memory: Annotated[int, typer.Option(help="Budget of the learner: images whose features it can store.")] = 2_000,
    epoch: Annotated[int, typer.Option(help="Images of a learning round.")] = 200,
    first_images: Annotated[int, typer.Option(help="Images before the first round.")] = 100,
    horizon: Annotated[int | None, typer.Option(help="Planned number of images of the dive.")] = None,
    width: Annotated[
        float, typer.Option(help="Expected variance of a cluster, as a fraction of that of the first images.")
    ] = 0.1,
    dimensions: Annotated[int, typer.Option(help="Axes of largest variance that the learner uses.")] = 16,
    finish: Annotated[
        bool, typer.Option("--finish", help="Take in the remaining files, store the run, and end the dive.")
    ] = False,
    learn: Annotated[bool, typer.Option("--learn", help="Ask a running watch for a learning round now.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the live dives instead.")] = False,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in the images of a dive as they are written, and cluster them while the vehicle is in the water.

    Each image is imported, described, assigned to a cluster and scored for novelty. The clusters are learned in rounds,
    in bounded memory. The page Live shows the state. Ctrl-C stops the watch; the same command resumes it. After the
    dive, `--finish` stores the clusters as a run.

    Half-written files wait until they are complete. A folder that disappears, such as a network share, is tried again.

    Examples:

        benthoscope watch /mnt/auv/images --dive north-2

        benthoscope watch /mnt/auv/images --finish

        benthoscope watch --list
    """
    with open_workspace(workspace) as opened_workspace:
        if list_:
            show([dive_facts(opened_workspace, each) for each in opened_workspace.live.all()], as_json, _list_text)
            return
        if folder is None:
            raise fail("FOLDER", "is missing", "give the folder that the images are written to")
        from benthoscope.engine.jobs import JobQueue
        from benthoscope.engine.jobs.live.starting import begin_dive, learn_now, running_watch
        from benthoscope.engine.workspace.live_dives import FINISH

        settings = {
            "features": features,
            "memory": memory,
            "epoch": epoch,
            "first_images": first_images,
            "horizon": horizon,
            "width": width,
            "dimensions": dimensions,
            "seed": seed,
        }
        live = begin_dive(opened_workspace, folder, dive, collection=collection, settings=settings)
        if learn:
            learn_now(opened_workspace, live)
            show({"dive": live.id, "name": live.name}, as_json, lambda _: f"Asked for a round of {live.name}")
            return
        if finish:
            opened_workspace.live.ask(live.id, FINISH)
        waiting = running_watch(JobQueue(opened_workspace), live.id)
        result = run_job(
            opened_workspace,
            "live dive",
            {"dive": live.id},
            as_json=as_json,
            title=f"Watch {live.name}",
            resume=None if waiting is None else waiting.id,
        )
        show(result, as_json, _result_text)


def simulate_dive(
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write the images to.")],
    rate: Annotated[float, typer.Option(help="Images per second.")] = 2.0,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Folder or workspace with the images; the sample by default."),
    ] = None,
    dive: Annotated[str | None, typer.Option(help="Only this dive, if the images are those of a workspace.")] = None,
    count: Annotated[
        int | None, typer.Option(help="Number of images; more than there are repeats them. All once by default.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a campaign as a live dive: write its images into a folder, one after the other.

    The images have their positions in a table that grows beside them. Watch the folder with `benthoscope watch` or on
    the page Live.

    Examples:

        benthoscope simulate-dive /tmp/dive --rate 2

        benthoscope simulate-dive /tmp/dive --from reef.benthos --dive north --rate 10
    """
    from benthoscope.engine.jobs.live.simulation import replay

    written = replay(_source_images(source, dive), target.expanduser(), rate=rate, count=count)
    result = {"folder": str(target), "images": written}
    show(result, as_json, lambda _: f"Wrote {counted(written, 'image')} to {target}")


def _source_images(source: Path | None, dive: str | None) -> Any:
    from benthoscope.engine.jobs.live.simulation import images_of_folder, images_of_workspace
    from benthoscope.engine.workspace import Workspace
    from benthoscope.engine.workspace.workspace import SUFFIX
    from benthoscope.sample_data import campaign_path

    if source is not None and (source.suffix == SUFFIX or (source / "workspace.json").is_file()):
        with Workspace.open(source) as workspace:
            return images_of_workspace(workspace, dive)
    if dive is not None:
        raise fail("--dive", "needs a workspace", "write `--from NAME.benthos --dive NAME`")
    return images_of_folder(campaign_path() if source is None else source)


def dive_facts(workspace: "Workspace", dive: Any) -> dict[str, Any]:
    """A live dive as plain values for lists."""
    last = workspace.live.last_round(dive.id)
    return {
        "id": dive.id,
        "name": dive.name,
        "folder": dive.folder,
        "state": dive.state,
        "images": workspace.live.count(dive.id),
        "rounds": 0 if last is None else last.number,
        "clusters": 0 if last is None else len(last.clusters),
        "run": dive.run_id,
        "notice": dive.notice,
    }


def _list_text(dives: list[dict[str, Any]]) -> Any:
    if not dives:
        return "There are no live dives. Start one with `benthoscope watch FOLDER`."
    rows = [
        (
            dive["name"],
            dive["folder"],
            dive["state"],
            *(f"{dive[name]:,}" for name in ("images", "rounds", "clusters")),
            str(dive["run"] or ""),
        )
        for dive in dives
    ]
    return text_table(("Dive", "Folder", "State", "Images", "Rounds", "Clusters", "Run"), rows)


def _result_text(result: dict[str, Any]) -> str:
    stored = f"; {result['clusters']} clusters are stored as run {result['run']}" if result["run"] else ""
    return f"Dive {result['name']} is finished: {counted(result['images'], 'image')}, {result['rounds']} rounds{stored}"
