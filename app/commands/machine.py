"""`benthoscope doctor` and `version`."""

from typing import Any

import typer

from app.commands.terminal import ERROR, JsonOption, WorkspaceOption, opened, show, workspace_folder
from engine.problems import BadInput

SIGNS = {"ok": "[green]ok  [/green]", "note": "[yellow]note[/yellow]", "bad": "[red]bad [/red]"}


def doctor(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Check this machine and the workspace, and say what to do about each problem.

    Ends with code 2 if something does not work.

    Example:

        benthoscope doctor --workspace scott-reef
    """
    from app.doctor import examine

    try:
        workspace_folder(workspace)
    except BadInput:  # none here: the machine alone is examined
        findings = examine()
    else:
        with opened(workspace) as found:
            findings = examine(found)
    show([vars(finding) for finding in findings], as_json, _text)
    if any(finding.state == "bad" for finding in findings):
        raise typer.Exit(ERROR)


def version(as_json: JsonOption = False) -> None:
    """Print the version.

    Example:

        benthoscope version
    """
    from importlib.metadata import version as installed

    show({"version": installed("benthoscope")}, as_json, lambda found: f"Benthoscope {found['version']}")


def _text(findings: list[dict[str, Any]]) -> str:
    from rich.markup import escape

    lines = []
    for finding in findings:
        remedy = f"\n      {' ' * 18}{escape(finding['remedy'])}" if finding["remedy"] else ""
        lines.append(f"{SIGNS[finding['state']]}  {finding['name']:<18}{escape(finding['found'])}{remedy}")
    return "\n".join(lines)
