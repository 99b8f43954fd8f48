"""`benthoscope serve`: open a workspace in the app."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from benthoscope.app.commands.terminal import JsonOption, show, workspace_folder
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace

BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the app in a browser.")]
PortOption = Annotated[
    int, typer.Option(min=0, max=65535, help="Port to listen on (default: a free port).", show_default=False)
]
HostOption = Annotated[
    str,
    typer.Option(
        help="Address to listen on. By default only this machine can reach the app; 0.0.0.0 opens it to the network."
    ),
]
TilesOption = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="BENTHOSCOPE_TILES",
        show_default=False,
        help="Load map tiles from this server, such as https://tiles.lab.org/{z}/{x}/{y}.png. By default the app "
        "contacts no other host.",
    ),
]

AuditSecondsOption = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0,
        max=60,
        envvar="BENTHOSCOPE_AUDIT_SECONDS",
        help="Seconds that an image of an audit must be in view before it counts as seen.",
    ),
]


def serve(
    workspace: Annotated[
        Path | None,
        typer.Argument(
            help="Workspace folder (default: the only NAME.benthos in this folder).", envvar="BENTHOSCOPE_WORKSPACE"
        ),
    ] = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 0,
    browser: BrowserOption = True,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="BENTHOSCOPE_TOKEN",
            help="Secret in the link of the app, for this start only (default: the token in the file "
            "server-token of the workspace).",
        ),
    ] = None,
    new_token: Annotated[
        bool,
        typer.Option(
            "--new-token",
            help="Replace the token of the workspace. Links and browsers with the old token stop working.",
        ),
    ] = False,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Allow access without a token. Use this only behind a login of your own.")
    ] = False,
    jobs: Annotated[bool, typer.Option("--jobs/--no-jobs", help="Run queued jobs in this process.")] = True,
    tiles: TilesOption = "",
    audit_seconds: AuditSecondsOption = 0.25,
    as_json: JsonOption = False,
) -> None:
    """Open a workspace in the app.

    The app is a web page served by this machine; it needs no network. Everyone who has the printed link can use the
    app. The link stays the same at the next start. Ctrl-C stops the server; running jobs resume at the next start.

    Examples:

        benthoscope serve

        benthoscope serve scott-reef --no-browser --port 8642

        benthoscope serve scott-reef --host 0.0.0.0 --token our-lab

        benthoscope serve scott-reef --new-token
    """
    with collecting_later():
        from benthoscope.engine.workspace import Workspace

    if token is not None and not token.strip():
        raise fail("--token", "is empty", "give a token, or use --no-token")
    if new_token and (no_token or token is not None):
        raise fail("--new-token", "cannot be combined with --token or --no-token", "leave one of them out")
    if tiles and not is_tile_address(tiles):
        raise fail(
            "--tiles",
            f"'{tiles}' is not an address of map tiles",
            "write it like https://tiles.lab.org/{z}/{x}/{y}.png",
        )
    with Workspace.open(workspace_folder(workspace)) as opened_workspace:
        secret = server_token(opened_workspace, token, none=no_token, new=new_token)
        run_server(
            opened_workspace,
            browser,
            as_json,
            audit_seconds=audit_seconds,
            host=host,
            port=port,
            token=secret,
            run_jobs=jobs,
            tiles=tiles,
        )


@contextmanager
def collecting_later() -> Iterator[None]:
    """Import modules without garbage collection. Most of what they create stays, and searching it for garbage again and
    again takes a seventh of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def server_token(workspace: "Workspace", token: str | None = None, *, none: bool = False, new: bool = False) -> str:
    """The token of this start: empty with `none`, else `token`, else that of the workspace."""
    from benthoscope.app.server.access import workspace_token

    if none:
        return ""
    return workspace_token(workspace.folder, new=new) if token is None else token


def is_tile_address(text: str) -> bool:
    """Whether `text` is a tile address that is safe inside a content security policy."""
    address = urlsplit(text)
    plain = address.netloc and not set(address.netloc) & set(" ;,'\"*{}")
    marked = all(mark in address.path for mark in ("{z}", "{x}", "{y}"))
    return bool(address.scheme in ("http", "https") and plain and marked)


def run_server(workspace: "Workspace", browser: bool, as_json: bool, **settings: Any) -> None:
    """Serve the workspace until Ctrl-C; prints the address once the server answers."""
    with collecting_later():
        from benthoscope.app.server.application import ServerSettings
        from benthoscope.app.server.run import serve as run

    run(
        workspace,
        ServerSettings(**settings),
        browser=browser,
        announce=lambda address: _print_address(workspace, address, as_json),
    )


def _print_address(workspace: "Workspace", address: str, as_json: bool) -> None:
    if as_json:
        show({"workspace": str(workspace.folder), "name": workspace.name, "address": address}, True, str)
    else:
        typer.echo(f"{workspace.name} is open at\n\n    {address}\n\nCtrl-C stops the server. Nothing is lost.")
