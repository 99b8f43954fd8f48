"""`benthoscope serve` and `benthoscope demo`: open the app."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from app.commands.terminal import workspace_folder
from engine.problems import fail

Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the app in a browser once it answers.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.", show_default=False)]
Host = Annotated[str, typer.Option(
    help="Address to listen on. By default only this machine can reach the app; 0.0.0.0 opens it to the network.")]
Tiles = Annotated[str, typer.Option(
    metavar="URL", envvar="BENTHOSCOPE_TILES", show_default=False,
    help="Let maps load tiles from here, such as https://tiles.lab.org/{z}/{x}/{y}.png; by default nothing is ever "
         "asked of another host.")]


def serve(
    workspace: Annotated[Path | None, typer.Argument(
        help="The workspace; by default the only NAME.benthos in this folder.", envvar="BENTHOSCOPE_WORKSPACE")] = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    browser: Browser = True,
    token: Annotated[str | None, typer.Option(
        envvar="BENTHOSCOPE_TOKEN", help="The secret in the app's link; by default a new one at every start.")] = None,
    no_token: Annotated[bool, typer.Option(
        "--no-token", help="Let in everybody who reaches the port; only behind a login of your own.")] = False,
    jobs: Annotated[bool, typer.Option("--jobs/--no-jobs", help="Run queued jobs in this process.")] = True,
    tiles: Tiles = "",
) -> None:
    """Open a workspace in the app.

    The app is a web page served by this machine; it needs no network. Whoever has the link that is printed may use it.
    Ctrl-C stops the server; running jobs go on from where they were at the next start.

    Examples:

        benthoscope serve

        benthoscope serve scott-reef --no-browser --port 8642

        benthoscope serve scott-reef --host 0.0.0.0 --token our-lab
    """
    from engine.workspace import Workspace

    if token is not None and not token.strip():
        raise fail("--token", "is empty", "give a word, or say --no-token")
    if tiles and not is_tile_address(tiles):
        raise fail("--tiles", f"{tiles} is no address of map tiles",
                   "say one such as https://tiles.lab.org/{z}/{x}/{y}.png")
    with Workspace.open(workspace_folder(workspace)) as found:
        _serve(found, browser, **_settings(host, port, "" if no_token else token, jobs, tiles))


def demo(
    folder: Annotated[Path | None, typer.Option(
        help="Where to keep the demo; by default among your own data.", show_default=False)] = None,
    port: Port = 0,
    browser: Browser = True,
    afresh: Annotated[bool, typer.Option("--afresh", help="Throw the demo's workspace away and begin anew.")] = False,
) -> None:
    """Open the app on a small sample campaign: six AUV dives whose habitats are known.

    The first start imports, describes and clusters the images in the background while you look around; a later one
    opens what is there.

    Examples:

        benthoscope demo

        benthoscope demo --folder /tmp/look --no-browser
    """
    from app.demo import data_folder, demo_workspace, forget_demo, queue_steps
    from sample_data import campaign_path

    place = (folder or data_folder() / "demo").expanduser().absolute()
    if afresh:
        forget_demo(place)
    with demo_workspace(place, campaign_path()) as found:
        queue_steps(found, place / "images")
        _serve(found, browser, **_settings("127.0.0.1", port, None, True, ""))


def _settings(host: str, port: int, token: str | None, jobs: bool, tiles: str) -> dict[str, Any]:
    given = {"host": host, "port": port, "run_jobs": jobs, "tiles": tiles}
    return given if token is None else {**given, "token": token}


def is_tile_address(text: str) -> bool:
    """Whether tiles can be asked for at an address, and the address can stand in a policy without widening it."""
    parts = urlsplit(text)
    plain = parts.netloc and not set(parts.netloc) & set(" ;,'\"*{}")
    marked = all(mark in parts.path for mark in ("{z}", "{x}", "{y}"))
    return bool(parts.scheme in ("http", "https") and plain and marked)


def _serve(workspace: Any, browser: bool, **settings: Any) -> None:
    from app.server import ServerSettings
    from app.serving import serve as run

    run(workspace, ServerSettings(**settings), browser=browser, announce=lambda address: _say(workspace, address))


def _say(workspace: Any, address: str) -> None:
    typer.echo(f"{workspace.name} is open at\n\n    {address}\n\nCtrl-C stops the server; nothing is lost.")
