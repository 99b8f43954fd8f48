"""`benthoscope memory`: use the labels of one campaign in the next one."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from benthoscope.app.commands.terminal import (
    JsonOption,
    WorkspaceOption,
    command_group,
    counted,
    format_size,
    open_workspace,
    pass_on,
    run_job,
    show,
    text_table,
    writing,
)
from benthoscope.engine.problems import fail

commands = command_group()
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of a memory, or path of a memory file.")]
FolderOption = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="FOLDER",
        envvar="BENTHOSCOPE_MEMORIES",
        help="Folder of memories (default: one in your data folder).",
    ),
]


@commands.callback()
def memory(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Use the labelled images of one campaign for suggestions in the next one.

    A memory is a file with the labels of a campaign and the features of their images. It contains no images. You can
    copy it to other people, look at it, and delete it.

    Examples:

        benthoscope memory

        benthoscope memory add reef-2019 -w reef-2019.benthos

        benthoscope memory use reef-2019 -w reef-2020.benthos
    """
    if context.invoked_subcommand:
        pass_on(context, workspace, as_json)
        return
    list_(workspace=workspace, as_json=as_json)


@commands.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new memory.")],
    features: Annotated[
        str | None, typer.Option(help="Feature set whose descriptor is used (default: that of the current run).")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="COUNT", help="Store at most this many labels; rare terms come first.")
    ] = 5_000,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a memory of the same name.")] = False,
    folder: FolderOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store the labels of a workspace as a memory. The features are computed from the images again.

    Labels of images that somebody looked at count fully; labels that a whole cluster got at once count less.
    """
    parameters = {"name": name, "features": features, "limit": limit, "overwrite": overwrite}
    with open_workspace(workspace) as opened_workspace:
        result = run_job(
            opened_workspace, "remember", {**parameters, "folder": str(folder) if folder else None}, as_json=as_json
        )
    show(dict(result), as_json, _added_text)


@commands.command("list")
def list_(folder: FolderOption = None, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the memories. With --workspace: also show the one in use there."""
    from benthoscope.engine.labelling.memory.memory_folder import memories, memory_folder
    from benthoscope.engine.labelling.memory.memory_status import entry_facts, status

    result: dict[str, Any] = {
        "folder": str(memory_folder(folder)),
        "memories": [entry_facts(entry) for entry in memories(folder)],
        "used": None,
    }
    if workspace is not None:
        with open_workspace(workspace) as opened_workspace:
            result["used"] = status(opened_workspace)
    show(result, as_json, _list_text)


@commands.command(name="show")
def show_memory(
    name: NameArgument,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every label to this file.")] = None,
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a memory contains: labels by term, and how they were made."""
    from benthoscope.engine.exchange.parsing.csv_output import csv_text
    from benthoscope.engine.labelling.memory.memory_file import read_memory
    from benthoscope.engine.labelling.memory.memory_status import TABLE_HEADER, content_facts, memory_rows

    content = read_memory(_file(name, folder))
    if csv is not None:
        with writing(csv):
            csv.write_text(csv_text(TABLE_HEADER, memory_rows(content)), encoding="utf-8")
    facts = content.facts
    origin = {"name": facts.name, "source": facts.source, "created_at": facts.created_at, "labels": facts.labels}
    show({**origin, **content_facts(content)}, as_json, _content_text)


@commands.command()
def use(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of a memory, or path of a memory file.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Turn the memory off.")] = False,
    add_terms: Annotated[
        bool, typer.Option("--add-terms", help="Add the terms of the memory that the vocabularies lack.")
    ] = False,
    folder: FolderOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Use a memory for the suggestions of a workspace, and train the model with it. Without NAME: show the one in use.

    Own labels are not needed. The weight of the memory falls as own labels arrive. Accuracy is measured on random
    images of this workspace only, never on the memory.
    """
    from benthoscope.engine.labelling.memory.memory_in_use import MemoryUse, can_learn, use_memory
    from benthoscope.engine.labelling.memory.memory_status import status
    from benthoscope.engine.labelling.suggestions import SuggestionStore

    if off and name:
        raise fail("--off", "does not take a name", "write `benthoscope memory use --off`")
    with open_workspace(workspace) as opened_workspace:
        if name:
            use_memory(opened_workspace, _file(name, folder), create_terms=add_terms)
        stopped = off and MemoryUse(opened_workspace.folder).stop()
        if (name or stopped) and can_learn(opened_workspace):
            run_job(opened_workspace, "learn", {}, as_json=as_json)
        elif stopped:
            SuggestionStore(opened_workspace.folder).remove()
        result = status(opened_workspace)
    show(result, as_json, _status_text)


@commands.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the memory.")],
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete the file of a memory. Workspaces that use it keep a copy until you turn it off there."""
    from benthoscope.engine.labelling.memory.memory_folder import remove_memory

    path = remove_memory(name, folder)
    show({"removed": str(path)}, as_json, lambda result: f"Deleted {result['removed']}")


def _file(name: str, folder: Path | None) -> Path:
    """The file of a memory by its name, or the file itself."""
    from benthoscope.engine.labelling.memory.memory_folder import SUFFIX, existing_memory

    return Path(name).expanduser() if name.endswith(SUFFIX) else existing_memory(name, folder)


def _added_text(result: dict[str, Any]) -> str:
    skipped = f" {counted(result['skipped'], 'image')} could not be read." if result["skipped"] else ""
    return (
        f"Stored {counted(result['labels'], 'label')} of {counted(result['terms'], 'term')} in {result['path']}; "
        f"{result['looked_at']:,} of the images were looked at.{skipped}"
    )


def _date(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


def _list_text(result: dict[str, Any]) -> Any:
    from rich.console import Group

    used = _status_text(result["used"]) if result["used"] else None
    if not result["memories"]:
        empty = f"No memories in {result['folder']}; store one with `benthoscope memory add NAME`"
        return Group(*filter(None, (empty, used)))
    damaged = [entry["problem"] for entry in result["memories"] if entry["problem"]]
    rows = [
        (
            entry["name"],
            f"{entry['labels']:,}",
            f"{entry['terms']:,}",
            entry["source"],
            _date(entry["created_at"]),
            format_size(entry["bytes"]),
        )
        for entry in result["memories"]
        if not entry["problem"]
    ]
    table = text_table(("Memory", "Labels", "Terms", "From", "Made", "Size"), rows)
    return Group(*filter(None, (f"Memories in {result['folder']}:", table, *damaged, used)))


def _content_text(result: dict[str, Any]) -> Any:
    from rich.console import Group

    counts = sorted(result["counts"], key=lambda count: -count["labels"])
    table = text_table(("Term", "Labels"), [(count["term"], f"{count['labels']:,}") for count in counts])
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in result["reasons"].items())
    title = f"{result['name']}: {counted(result['labels'], 'label')} from {result['source']}"
    return Group(f"{title}, {_date(result['created_at'])}", f"How they were made: {reasons}", table)


def _status_text(result: dict[str, Any] | None) -> str:
    if result is None:
        return "No memory is in use"
    lines = [f'Using the memory "{result["name"]}": {counted(result["labels"], "label")} from {result["source"]}']
    if result["weight"] is not None:
        lines.append(f"One of its labels counts as {result['weight']:.2f} own labels")
    if result["missing"]:
        names = ", ".join(result["missing"])
        lines.append(f"Not in your vocabularies, so not used: {names}; add them with --add-terms")
    if not result["fits"]:
        lines.append("The feature set has changed, so the memory has no effect: use it again")
    return "\n".join(filter(None, (*lines, result["text"])))
