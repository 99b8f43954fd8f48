"""`benthoscope import`: bring a folder of images into a workspace."""

from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show
from engine.problems import fail

MOST = 10  # groups, columns or problems printed before "and 37 more"


def import_images(
    folder: Annotated[Path, typer.Argument(help="Folder of images; everything below it is looked through.")],
    collection: Annotated[str | None, typer.Option(
        help="Campaign or set of albums they belong to; by default what the metadata say, else the folder's name.",
    )] = None,
    kind: Annotated[str | None, typer.Option(
        metavar="campaign|albums", help="Dives of a campaign, or albums; by default guessed from metadata.")] = None,
    group_level: Annotated[int | None, typer.Option(
        metavar="N", help="Which folders are the dives or albums: 1 those right below FOLDER, 2 the ones below them, "
                          "0 all is one. By default guessed.")] = None,
    mapping: Annotated[list[str] | None, typer.Option(
        metavar="COLUMN=FIELD", help="What a column of a CSV means, where the guess is wrong; `keep` and `drop` also "
                                     "work. Say it again for more columns.")] = None,
    metadata: Annotated[list[Path] | None, typer.Option(
        metavar="FILE", help="A CSV, TSV or iFDO file that lies elsewhere. Say it again for more files.")] = None,
    dry_run: Annotated[bool, typer.Option(
        "--dry-run", help="Only show what would be imported, and what each column was taken for.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one for each core.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import images and what is known about them: time, place, depth, dive.

    Images stay where they are and are never changed. Metadata are read from IMOS AUV tracks, iFDO, BIIGLE and any
    other CSV files beside the images, and from EXIF. Run it again after adding images: only what is new or has changed
    is read. Ctrl-C stops it; the same command goes on from there.

    Examples:

        benthoscope import /data/PS201502 --dry-run

        benthoscope import /data/PS201502

        benthoscope import ~/Pictures --kind albums --group-level 2

        benthoscope import /data/dive7 --metadata ctd.csv --mapping "Bottom depth=keep" --mapping Tiefe=depth
    """
    wishes = {"collection": collection, "kind": kind, "group_level": group_level, "mapping": _mapping(mapping or [])}
    extra = [str(path.absolute()) for path in metadata or []]
    if dry_run:
        show(_preview(folder, wishes, extra, workspace), as_json, _preview_text)
        return
    with opened(workspace) as found:
        parameters = {"folder": str(folder.absolute()), **wishes, "metadata": extra, "workers": workers}
        result = run_job(found, "import", parameters, as_json=as_json)
    show(result, as_json, _result_text)


def _mapping(words: list[str]) -> dict[str, str]:
    pairs = [word.rpartition("=") for word in words]
    for word, (column, _, field) in zip(words, pairs, strict=True):
        if not column.strip() or not field.strip():
            raise fail("--mapping", f"'{word}' says nothing", "write it like Tiefe=depth")
    return {column.strip(): field.strip() for column, _, field in pairs}


def _preview(folder: Path, wishes: dict[str, Any], metadata: list[str], workspace: Path | None) -> dict[str, Any]:
    """Works without a workspace; with one it sees the folders that are registered in it."""
    from dataclasses import asdict

    from app.state.import_preview import MEANINGS, ImportPreview
    from engine.exchange.plan import Wishes

    if workspace is None:
        seen = ImportPreview.of(folder, Wishes(**wishes), metadata=metadata)
    else:
        with opened(workspace) as found:
            seen = ImportPreview.of(folder, Wishes(**wishes), metadata=metadata, workspace=found)
    return {
        "folder": str(folder), "images": seen.images, "kind": seen.plan.kind, "group_level": seen.plan.level,
        "groups": [asdict(group) for group in seen.groups], "metadata": [asdict(source) for source in seen.sources],
        "rows": [asdict(row) for row in seen.rows], "ignored": dict(seen.ignored), "fields": MEANINGS,
        "unrelated": list(seen.plan.unrelated), "problems": [vars(problem) for problem in seen.problems],
    }


def _preview_text(seen: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.markup import escape

    parts: list[Any] = [f"[bold]{seen['images']:,} images[/bold] in {escape(seen['folder'])}, "
                        f"a {seen['kind'].removesuffix('s')}, groups at level {seen['group_level']}"]
    parts += [_table(("Collection", "Dive or album", "Images"), [
        (group["collection"], group["name"], f"{group['images']:,}") for group in seen["groups"]])]
    shown: set[tuple[str, ...]] = set()
    for source in seen["metadata"]:
        about = f"{source['kind']}, speaks of {source['images']:,} images"
        parts.append(f"\n[bold]{escape(source['file'])}[/bold]: {about}")
        names = tuple(column["name"] for column in source["columns"])
        if names and names not in shown:  # twelve tracks have the same columns
            shown.add(names)
            parts.append(_table(("Column", "Taken for", "First values"), [
                (column["name"], column["meaning"], ", ".join(column["samples"])) for column in source["columns"]],
                most=100))
    parts += ["", _rows(seen["rows"]), *_ends(seen)]
    return Group(*parts)


def _rows(rows: list[dict[str, Any]]) -> Any:
    headings = ("Image", "Group", "Taken", "Latitude", "Longitude", "Depth", "Altitude")
    keys = ("path", "group", "taken_at", "latitude", "longitude", "depth", "altitude")
    return _table(headings, [tuple(_cell(row[key]) for key in keys) for row in rows], most=100)


def _ends(seen: dict[str, Any]) -> list[str]:
    from rich.markup import escape

    from engine.problems import Problem

    problems = [escape(str(Problem(**problem))) for problem in seen["problems"]]
    lines = [f"[yellow]{line}[/yellow]" for line in problems[:MOST]]
    lines += [f"and {len(problems) - MOST:,} more problems"] if len(problems) > MOST else []
    lines += [f"Not about these images: {escape(', '.join(seen['unrelated'][:MOST]))}"] if seen["unrelated"] else []
    lines += [f"Passed over: {_counted(seen['ignored'])}"] if seen["ignored"] else []
    return [*lines, "Nothing was imported. To do so, leave out --dry-run."]


def _result_text(result: dict[str, Any]) -> str:
    from rich.markup import escape

    counts = ", ".join(f"{result[name]:,} {name}" for name in ("new", "changed", "unchanged") if result[name])
    lines = [f"{result['images']:,} images: {counts or 'none'}"]
    if result["groups"]:
        names = [group["group"] for group in result["groups"]]
        lines.append(f"in {_few(names)} of {_few(sorted({group['collection'] for group in result['groups']}))}")
    for source in result["metadata"][:MOST]:
        lines.append(f"{source['file']}: {source['kind']}, {source['images']:,} images")
    lines += [f"{result['updated']:,} known images have new metadata"] if result["updated"] else []
    lines += [f"{result['duplicates']:,} images are copies of others, such as "
              f"{' = '.join(result['duplicate_files'][0][:2])}"] if result["duplicates"] else []
    lines += result["losses"][:MOST]
    lines += [f"Passed over: {_counted(result['ignored'])}"] if result["ignored"] else []
    told = [escape(line) for line in lines]
    if result["problems"]:
        bad = f"{result['bad']:,} files cannot be used; " if result["bad"] else ""
        told.append(f"[yellow]{bad}{result['problems']:,} remarks: benthoscope problems[/yellow]")
    return "\n".join([*told, "Next: benthoscope features"])


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]], most: int = MOST) -> Any:
    from rich.markup import escape
    from rich.table import Table

    table = Table(*headings, box=None, header_style="bold")
    for row in rows[:most]:
        table.add_row(*(escape(cell[:60]) for cell in row))
    if len(rows) > most:
        table.add_row(f"and {len(rows) - most:,} more")
    return table


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _few(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2:,} more"


def _counted(ignored: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {ending}" for ending, count in list(ignored.items())[:MOST])
