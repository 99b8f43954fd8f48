"""`benthoscope import`: add a folder of images to a workspace. `benthoscope start`: from a folder to clusters."""

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
    styled,
    text_table,
    workspace_folder,
)
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace

CollectionOption = Annotated[
    str | None,
    typer.Option(
        "--collection",
        help="Campaign or set of albums (default: from the metadata, otherwise the name of the folder).",
    ),
]
KindOption = Annotated[
    str | None,
    typer.Option(
        "--kind", metavar="campaign|albums", help="Dives of a campaign, or albums (default: guessed from the metadata)."
    ),
]
GroupLevelOption = Annotated[
    int | None,
    typer.Option(
        "--group-level",
        metavar="N",
        help="Folders that are dives or albums: 1 for the subfolders of FOLDER, 2 for their subfolders, "
        "0 if all images are one dive (default: guessed).",
    ),
]


MAX_GAP = 60.0  # as in benthoscope.engine.exchange.navigation, which would load NumPy before it is needed
MOST = 10  # rows printed before "and 37 more"


def import_images(
    folder: Annotated[Path, typer.Argument(help="Folder of images; subfolders are included.")],
    collection: CollectionOption = None,
    kind: KindOption = None,
    group_level: GroupLevelOption = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=FIELD",
            help="Meaning of a CSV column, if the guess is wrong. FIELD may also be `keep` or `drop`. May be repeated.",
        ),
    ] = None,
    metadata: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="CSV, TSV or iFDO file in another folder. May be repeated."),
    ] = None,
    navigation: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Positions or depths by time, without image names: a CSV, GPX or NetCDF file. "
            "Files below FOLDER are found automatically. May be repeated.",
        ),
    ] = None,
    clock_offset: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Seconds to add to the camera's clock to get UTC: -36000 for a clock on UTC+10. "
            "Times from metadata tables do not change.",
        ),
    ] = None,
    max_gap: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Use navigation only if the fixes before and after an image are at most this far apart.",
        ),
    ] = MAX_GAP,
    follow_links: Annotated[
        bool,
        typer.Option(
            "--follow-links",
            help="Follow symbolic links that lead out of FOLDER (default: skip and list them).",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only show what would be imported, and the meaning guessed for each column."),
    ] = False,
    check_content: Annotated[
        bool,
        typer.Option(
            "--check-content",
            help="Read known files again and compare their content. By default a file with the same "
            "size and time counts as unchanged.",
        ),
    ] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes (default: one per core).")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import images and their metadata: time, position, depth, dive.

    Images stay where they are and never change. Metadata are read from IMOS AUV tracks, iFDO, BIIGLE and other CSV
    files beside the images, and from EXIF. After adding images, run the command again: it reads only new and changed
    files. Ctrl-C stops; the same command resumes.

    Examples:

        benthoscope import /data/PS201502 --dry-run

        benthoscope import /data/PS201502

        benthoscope import ~/Pictures --kind albums --group-level 2

        benthoscope import /data/dive7 --metadata ctd.csv --mapping "Bottom depth=keep" --mapping Tiefe=depth

        benthoscope import /data/dive8 --navigation ship.gpx --clock-offset -36000 --max-gap 30
    """
    options = {
        "collection": collection,
        "kind": kind,
        "group_level": group_level,
        "mapping": _mapping(mapping or []),
        "clock_offset": clock_offset,
        "max_gap": max_gap,
    }
    extra, tracks = ([str(path.absolute()) for path in files or []] for files in (metadata, navigation))
    if dry_run:
        show(_preview(folder, options, extra, tracks, follow_links, workspace), as_json, _preview_text)
        return
    with open_workspace(workspace) as opened_workspace:
        parameters = {
            "folder": str(folder.absolute()),
            **options,
            "metadata": extra,
            "navigation": tracks,
            "follow_links": follow_links,
            "check_content": check_content,
            "workers": workers,
        }
        result = run_job(opened_workspace, "import", parameters, as_json=as_json)
    show(result, as_json, _result_text)


def _mapping(words: list[str]) -> dict[str, str]:
    pairs = [word.rpartition("=") for word in words]
    for word, (column, _, field) in zip(words, pairs, strict=True):
        if not column.strip() or not field.strip():
            raise fail("--mapping", f"'{word}' is not COLUMN=FIELD", "write it like Tiefe=depth")
    return {column.strip(): field.strip() for column, _, field in pairs}


def _preview(
    folder: Path,
    options: dict[str, Any],
    metadata: list[str],
    navigation: list[str],
    follow_links: bool,
    workspace: Path | None,
) -> dict[str, Any]:
    """The values that `import --dry-run` prints. A workspace is not needed; the folders of one are recognised."""
    from dataclasses import asdict

    from benthoscope.engine.exchange.image_import.import_plan import ImportOptions
    from benthoscope.engine.jobs.library.import_preview import MEANINGS, ImportPreview

    files: dict[str, Any] = {"metadata": metadata, "navigation": navigation, "follow_links": follow_links}
    if workspace is None:
        preview = ImportPreview.of(folder, ImportOptions(**options), **files)
    else:
        with open_workspace(workspace) as opened_workspace:
            preview = ImportPreview.of(folder, ImportOptions(**options), **files, workspace=opened_workspace)
    return {
        "folder": str(folder),
        "images": preview.images,
        "kind": preview.plan.kind,
        "group_level": preview.plan.level,
        "groups": [asdict(group) for group in preview.groups],
        "metadata": [asdict(source) for source in preview.sources],
        "rows": [asdict(row) for row in preview.rows],
        "ignored": dict(preview.ignored),
        "fields": MEANINGS,
        "navigation": asdict(preview.navigation) if preview.navigation else None,
        "skipped_links": preview.skipped_links,
        "unrelated": list(preview.plan.unrelated),
        "problems": [vars(problem) for problem in preview.problems],
    }


def _preview_text(preview: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.text import Text

    settings = f"a {preview['kind'].removesuffix('s')}, groups at level {preview['group_level']}"
    lines: list[Any] = [
        Text.assemble((f"{preview['images']:,} images", "bold"), f" in {preview['folder']}, {settings}")
    ]
    lines += [
        _table(
            ("Collection", "Dive or album", "Images"),
            [(group["collection"], group["name"], f"{group['images']:,}") for group in preview["groups"]],
        )
    ]
    shown: set[tuple[str, ...]] = set()
    for source in preview["metadata"]:
        about = f"{source['kind']}, matches {source['images']:,} images"
        lines.append(Text.assemble("\n", (source["file"], "bold"), f": {about}"))
        names = tuple(column["name"] for column in source["columns"])
        if names and names not in shown:  # files of one kind have the same columns
            shown.add(names)
            lines.append(
                _table(
                    ("Column", "Meaning", "First values"),
                    [(column["name"], column["meaning"], ", ".join(column["samples"])) for column in source["columns"]],
                    most=100,
                )
            )
    lines += navigation_lines(preview["navigation"], "will be")
    lines += ["", _rows_table(preview["rows"]), *_last_lines(preview)]
    return Group(*lines)


def navigation_lines(navigation: dict[str, Any] | None, verb: str) -> list[str]:
    """How many images match the navigation files, and which do not; `verb` is "were" or "will be"."""
    if navigation is None:
        return []
    offset = f", camera clock {navigation['clock_offset']:+g} s" if navigation["clock_offset"] else ""
    lines = [
        f"{track['file']}: {track['kind']}, {track['fixes']:,} fixes from {_utc(track['first'])} to "
        f"{_utc(track['last'])}"
        for track in navigation["files"][:MOST]
    ]
    lines.append(
        f"{navigation['matched']:,} images {verb} matched by time "
        f"(fixes at most {navigation['max_gap']:g} s apart{offset})"
    )
    if navigation.get("by_camera_clock"):
        lines.append(
            f"{navigation['by_camera_clock']:,} of them by the camera's clock, read as UTC; use --clock-offset if the "
            "clock shows another time zone"
        )
    if navigation["without_fix"]:
        lines.append(f"No fix close in time: {counted(navigation['without_fix'], 'image')}")
    if navigation["without_time"]:
        lines.append(_without_time(navigation["without_time"], is_imported=verb == "were"))
    if navigation["examples"]:
        lines.append(f"  such as {', '.join(navigation['examples'][:3])}")
    return lines


def _without_time(count: int, *, is_imported: bool) -> str:
    if is_imported:
        return f"{count:,} images have no time"
    return f"{count:,} images have their time only inside the file; the import reads it and matches them"


def _utc(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _rows_table(rows: list[dict[str, Any]]) -> Any:
    headings = ("Image", "Group", "Taken", "Latitude", "Longitude", "Depth", "Altitude")
    keys = ("path", "group", "taken_at", "latitude", "longitude", "depth", "altitude")
    return _table(headings, [tuple(_cell(row[key]) for key in keys) for row in rows], most=100)


def _last_lines(preview: dict[str, Any]) -> list[Any]:
    from benthoscope.engine.problems import Problem

    problems = [str(Problem(**problem)) for problem in preview["problems"]]
    lines: list[Any] = [styled(line, "yellow") for line in problems[:MOST]]
    lines += [f"and {len(problems) - MOST:,} more problems"] if len(problems) > MOST else []
    lines += (
        [f"Ignored metadata of other images: {', '.join(preview['unrelated'][:MOST])}"] if preview["unrelated"] else []
    )
    lines += [_ignored_text(preview["ignored"])] if preview["ignored"] else []
    return [*lines, "Nothing was imported. Run the command without --dry-run to import."]


def _result_text(result: dict[str, Any]) -> Any:
    from rich.console import Group

    counts = ", ".join(f"{result[name]:,} {name}" for name in ("new", "changed", "unchanged") if result[name])
    lines: list[Any] = [f"{result['images']:,} images: {counts or 'none'}"]
    if result["groups"]:
        names = [group["group"] for group in result["groups"]]
        lines.append(f"in {_few(names)} of {_few(sorted({group['collection'] for group in result['groups']}))}")
    for source in result["metadata"][:MOST]:
        lines.append(f"{source['file']}: {source['kind']}, {source['images']:,} images")
    lines += [f"{result['updated']:,} images got new metadata"] if result["updated"] else []
    lines += (
        [
            f"{result['duplicates']:,} images are copies of others, such as "
            f"{' = '.join(result['duplicate_files'][0][:2])}"
        ]
        if result["duplicates"]
        else []
    )
    lines += navigation_lines(result["navigation"], "were")
    lines += result["losses"][:MOST]
    lines += (
        [f"{result['skipped_links']:,} links lead out of the folder and were skipped; --follow-links includes them"]
        if result["skipped_links"]
        else []
    )
    lines += [_ignored_text(result["ignored"])] if result["ignored"] else []
    if result["problems"]:
        bad = f"{result['bad']:,} files cannot be used; " if result["bad"] else ""
        lines.append(styled(f"{bad}{result['problems']:,} problems listed by `benthoscope problems`", "yellow"))
    return Group(*lines, "Next: benthoscope features")


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]], most: int = MOST) -> Any:
    table = text_table(headings, [[cell[:60] for cell in row] for row in rows[:most]])
    if len(rows) > most:
        table.add_row(f"and {len(rows) - most:,} more")
    return table


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _few(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2:,} more"


def _ignored_text(ignored: dict[str, int]) -> str:
    counts = ", ".join(f"{count:,} {ending}" for ending, count in list(ignored.items())[:MOST])
    return f"Ignored {counts} (no images, and no supported metadata format)"


def start(
    folder: Annotated[Path, typer.Argument(help="Folder of images; subfolders are included.")],
    collection: CollectionOption = None,
    kind: KindOption = None,
    group_level: GroupLevelOption = None,
    width: Annotated[
        float | None, typer.Option(help="Cluster width; see `benthoscope cluster --help`.", show_default="0.05")
    ] = None,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import a folder of images, describe them and cluster them, all in one step.

    A workspace named with --workspace is created if there is none. Without it, the only workspace in this folder is
    used, or a new one named after FOLDER. Ctrl-C stops; the same command resumes. If a step fails, the message says
    which one and how to continue; finished steps are not repeated.

    Examples:

        benthoscope start /data/PS201502

        benthoscope start ~/Pictures --kind albums --workspace pictures.benthos
    """
    from benthoscope.engine.jobs.cluster.fit_request import with_limits

    options = {"collection": collection, "kind": kind, "group_level": group_level, "width": width}
    parameters = {
        "folder": str(folder.expanduser().absolute()),
        "seed": seed,
        **{name: value for name, value in options.items() if value is not None},
    }
    with _open_or_create(folder, workspace) as opened_workspace:
        resumed = _requeue_stopped_job(opened_workspace, parameters)
        result = run_job(opened_workspace, "start", parameters, as_json=as_json, resume=resumed)
        result = {"workspace": str(opened_workspace.folder), **with_limits(opened_workspace, result)}
    show(result, as_json, _start_text)


def _open_or_create(folder: Path, option: Path | None) -> "Workspace":
    """The workspace of the option, or else the only one here, or else a new one named after `folder`."""
    from benthoscope.engine.workspace import Workspace
    from benthoscope.engine.workspace.workspace import workspace_path

    if not folder.expanduser().is_dir():
        raise fail(str(folder), "is not a folder", "give the folder that contains the images")
    if option is None and not list(Path.cwd().glob("*.benthos")):
        option = Path.cwd() / f"{folder.expanduser().resolve().name or 'images'}.benthos"
    path = workspace_path(workspace_folder(option))
    return Workspace.open(path) if path.exists() else Workspace.create(path)


def _requeue_stopped_job(workspace: "Workspace", parameters: dict[str, Any]) -> int | None:
    """Queue the newest `start` again if it had the same parameters and did not finish. Returns its number."""
    from benthoscope.engine.jobs import JobQueue

    queue = JobQueue(workspace)
    newest = next((job for job in queue.all() if job.kind == "start"), None)
    if newest is None or dict(newest.parameters) != parameters or newest.state not in ("failed", "cancelled"):
        return None
    return queue.retry(newest.id).id


def _start_text(result: dict[str, Any]) -> str:
    levels = [result["levels"][level]["clusters"] for level in ("coarser", "finer") if level in result["levels"]]
    other_levels = f" (coarser: {levels[0]}, finer: {levels[1]})" if len(levels) == 2 else ""
    lines = [
        f"{result['images']:,} images, {result['clusters']} clusters{other_levels} in {result['workspace']}",
        *result["limits_reached"],
        f"Next: benthoscope serve {result['workspace']}",
    ]
    return "\n".join(lines)
