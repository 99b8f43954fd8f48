"""Writes labels in a format of the outside world, with an account of what it could not carry.

Files appear whole or not at all; `export-report.json` beside them says what was left behind.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.exchange.export_formats import Format, format_named
from engine.exchange.outgoing import ExportFile, ExportReport, Outgoing
from engine.jobs.context import JobContext
from engine.jobs.going_out import Wanted, chosen_images, gathered
from engine.jobs.retelling import retold
from engine.problems import fail
from engine.workspace import Workspace
from engine.workspace.files import replacing, write_json

REPORT = "export-report.json"


def export(
    job: JobContext, workspace: Workspace, *, format: str, output: str, collection: str | None = None,  # noqa: A002
    dive: str | None = None, selection: str | None = None, images: Iterable[int] | None = None, labelled: bool = False,
    until: int | None = None, run: str | None = None, segments: str | None = None,
    fields: Mapping[str, Any] | None = None, vocabulary: str | None = None, level: int | None = None,
) -> dict[str, Any]:
    """Exports the images of a collection, a dive, a selection or all of them; with `until` the labels that held right
    after that event. `fields` go into iFDO headers, `segments` names a feature set whose segments points label. Labels
    are told in the terms of `vocabulary`, where one is named, and no deeper than `level`."""
    chosen = format_named(format)
    folder = _folder(output)
    job.progress(0, None, "Choosing images")
    ids = np.fromiter(images, np.int64) if images else chosen_images(workspace, collection, dive, selection)
    wanted = Wanted(ids, labelled, until, run, segments, dict(fields or {}), chosen.wants_tracks)
    outgoing, coarser = retold(gathered(workspace, wanted, job.on_step), workspace, vocabulary, level)
    report = write_export(chosen, outgoing, folder, job)
    report = replace(report, losses=(*coarser, *report.losses))
    told = {"format": chosen.name, "output": str(folder), "workspace": workspace.name, "images": len(ids),
            "until": workspace.labels.last_number() if until is None else until, **report.told()}
    write_json(folder / REPORT, told)
    return told


def write_export(chosen: Format, outgoing: Outgoing, folder: Path, job: JobContext) -> ExportReport:
    """Writes the files of a format into a folder."""
    if not outgoing.pictures:
        raise fail("export", "there is no image to export", "choose others, or leave out --labelled")
    written = chosen.write(outgoing)
    for at, file in enumerate(written.files):
        job.progress(at, len(written.files), f"Writing {file.name}")
        _write(file, folder, job)
    job.progress(len(written.files), len(written.files), "Done")
    return ExportReport(tuple(file.name for file in written.files), written.rows, written.losses)


def _folder(output: str) -> Path:
    folder = Path(output).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fail(str(folder), f"cannot be made ({error.strerror})", "choose a folder you may write to") from error
    return folder


def _write(file: ExportFile, folder: Path, job: JobContext) -> None:
    try:
        with replacing(folder / file.name) as out:
            for chunk in file.chunks:
                job.check()
                out.write(chunk)
    except OSError as error:
        raise fail(str(folder / file.name), f"cannot be written ({error.strerror})",
                   "free some space or choose another folder") from error


