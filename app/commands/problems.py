"""`benthoscope problems`: what could not be used, and copies."""

from typing import Annotated

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, show
from engine.problems import Problem


def problems(
    source: Annotated[str | None, typer.Argument(help="Only those of this import.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the files an import could not use, with the reason and what to do.

    Example:

        benthoscope problems --json > problems.json
    """
    with opened(workspace) as found:
        listed = [vars(problem) for problem in found.library.problems(source)]
        copies = [[image.path for image in same] for same in found.library.duplicates()]
    show({"problems": listed, "copies": copies}, as_json, _text)


def _text(found: dict) -> str:
    from rich.markup import escape

    lines = [escape(str(Problem(**problem))) for problem in found["problems"]]
    lines += [escape(f"the same image: {', '.join(paths)}") for paths in found["copies"]]
    return "\n".join(lines) or "No problems."
