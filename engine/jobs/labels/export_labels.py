"""The job that writes labels in an external format and reports what the format cannot store.

Files are written atomically. `export-report.json` beside them lists what is not included.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.exchange.labels.export_model import ExportFile, ExportReport, Outgoing
from benthoscope.engine.exchange.labels.formats import ExportFormat, format_named
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.labels.export_collect import Wanted, chosen_images, gathered
from benthoscope.engine.jobs.labels.label_translation import retold
from benthoscope.engine.labelling.audits.bulk_audit import pooled_statement
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.storage.files import make_folder, replacing, write_json

REPORT = "export-report.json"


def export(
    job: JobContext,
    workspace: Workspace,
    *,
    format: str,  # noqa: A002
    output: str,
    collection: str | None = None,
    dive: str | None = None,
    selection: str | None = None,
    images: Iterable[int] | None = None,
    labelled: bool = False,
    until: int | None = None,
    run: str | None = None,
    segments: str | None = None,
    fields: Mapping[str, Any] | None = None,
    vocabulary: str | None = None,
    level: int | None = None,
) -> dict[str, Any]:
    """Export images of a collection, a dive, a selection, or all images.

    With `until`, exports the labels that were effective after that event. `fields` are iFDO header fields; `segments`
    is a feature set whose segments get the labels of points. With `vocabulary`, labels are translated to it; with
    `level`, they are rolled up to that level.
    """
    chosen = format_named(format)
    folder = _folder(output)
    job.progress(0, None, "Choosing images")
    ids = np.fromiter(images, np.int64) if images else chosen_images(workspace, collection, dive, selection)
    request = Wanted(ids, labelled, until, run, segments, dict(fields or {}), chosen.wants_tracks)
    outgoing, coarser = retold(gathered(workspace, request, job.on_step), workspace, vocabulary, level)
    report = write_export(chosen, outgoing, folder, job)
    report = replace(report, losses=(*coarser, *report.losses))
    manifest = {
        "format": chosen.name,
        "output": str(folder),
        "workspace": workspace.name,
        "images": len(ids),
        "until": workspace.labels.last_number() if until is None else until,
        **report.to_dict(),
        "bulk_labels": _bulk_labels(workspace, until),
    }
    write_json(folder / REPORT, manifest)
    return manifest


def _bulk_labels(workspace: Workspace, until: int | None) -> dict[str, Any] | None:
    """Return the bound on wrong bulk labels of the whole workspace. Bounds of single events do not hold together and
    are not exported. Only for current labels."""
    statement = pooled_statement(workspace) if until is None else None
    return None if statement is None else statement.to_dict()


def write_export(chosen: ExportFormat, outgoing: Outgoing, folder: Path, job: JobContext) -> ExportReport:
    """Write the files of a format to a folder."""
    if not outgoing.pictures:
        raise fail("export", "there is no image to export", "choose other images, or remove --labelled")
    written = chosen.write(outgoing)
    for at, file in enumerate(written.files):
        job.progress(at, len(written.files), f"Writing {file.name}")
        _write(file, folder, job)
    job.progress(len(written.files), len(written.files), "Done")
    return ExportReport(tuple(file.name for file in written.files), written.rows, written.losses)


def _folder(output: str) -> Path:
    folder = Path(output).expanduser().absolute()
    make_folder(folder)
    return folder


def _write(file: ExportFile, folder: Path, job: JobContext) -> None:
    try:
        with replacing(folder / file.name) as out:
            for chunk in file.chunks:
                job.check()
                out.write(chunk)
    except OSError as error:
        raise fail(
            str(folder / file.name), f"cannot be written ({error.strerror})", "free some space or choose another folder"
        ) from error
