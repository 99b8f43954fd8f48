"""The form for exporting labels, its preview of what a format cannot store, and the list of exports."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.app.components.forms import FormField, Recipe, Values
from benthoscope.app.data.group_words import group_words
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session
from benthoscope.engine.exchange.labels.export_model import Loss
from benthoscope.engine.exchange.labels.formats import FORMATS, format_named
from benthoscope.engine.jobs.labels.export_collect import Wanted, chosen_images, gathered
from benthoscope.engine.jobs.labels.export_labels import REPORT
from benthoscope.engine.jobs.labels.label_translation import retold
from benthoscope.engine.problems import fail

PREVIEWED = 5_000  # images used for the preview of losses: the first ones of a larger export
ALL, SELECTION = "all", "selection:"


@dataclass(frozen=True)
class Scope:
    """The choice of images to export."""

    app: AppState
    selection: int | None = None

    def choices(self) -> list[tuple[str, str]]:
        library = self.app.workspace.library
        choices = [(ALL, f"All {len(self.app.columns):,} images")]
        choices += [
            (f"{SELECTION}{number}", f"Selection {name}, {images:,} images")
            for number, name, images in self.app.workspace.selections.list()
        ]
        choices += [
            (f"collection:{collection.name}", f"Collection {collection.name}") for collection in library.collections()
        ]
        word, names = group_words(self.app).heading, sorted({group.name for group in library.groups()})
        return choices + [(f"dive:{name}", f"{word} {name}") for name in names]

    def first(self) -> str:
        preferred = f"{SELECTION}{self.selection}"
        return preferred if preferred in dict(self.choices()) else ALL

    def parameters(self, value: str) -> dict[str, Any]:
        """Parameters of the export job."""
        kind, _, name = value.partition(":")
        if value == ALL:
            return {}
        return {"selection": self.app.workspace.selections.get(int(name)).name} if kind == "selection" else {kind: name}


def exporting(session: Session, selection: int | None = None, run: int | None = None) -> Recipe:
    """The form for an export; `run` is the run or level whose clusters are preselected, the current one by default."""
    app = session.app
    scope = Scope(app, selection)
    words = [
        ("", "Unchanged"),
        *((vocabulary.name, vocabulary.name) for vocabulary in app.workspace.vocabularies.all()),
    ]
    fields = (
        FormField(
            "format",
            "Format",
            "The program that will read the file.",
            "choice",
            "csv",
            tuple((name, f"{name}: {export_format.title}") for name, export_format in FORMATS.items()),
        ),
        FormField("scope", "Images", "The images to export.", "choice", scope.first(), tuple(scope.choices())),
        FormField("labelled", "Only labelled images", "Leave out images that have no label.", "switch", False),
        FormField(
            "vocabulary",
            "Vocabulary",
            "Translate labels to another vocabulary, as far as their terms are linked.",
            "choice",
            "",
            tuple(words),
        ),
        FormField(
            "level",
            "Level",
            "Replace labels by their parents at this level of the tree: 1 is the coarsest. Empty: no change.",
            "integer",
            None,
            minimum=1,
            maximum=20,
        ),
        FormField(
            "run",
            "Clusters",
            "Run and level whose clusters are exported with the labels.",
            "choice",
            *_runs(app, run),
            more=True,
        ),
        FormField(
            "licence", "Licence", "For iFDO: the licence of the images, such as CC BY 4.0.", "text", "", more=True
        ),
        FormField(
            "until",
            "As of entry",
            "Export the labels as they were after this entry of the history. Empty: current labels.",
            "integer",
            None,
            minimum=0,
            more=True,
        ),
        FormField(
            "segments",
            "Segments",
            "For COCO: the name of segment features, whose segments get the labels of the points in them.",
            "text",
            "",
            more=True,
        ),
    )
    return Recipe(
        "Export labels",
        "Write labels in a format that other programs read, and list what the format cannot "
        "store. Download the files here afterwards.",
        "Export",
        fields,
        lambda values: preview(app, scope, values),
        lambda values: _jobs(app, scope, values),
    )


def _runs(app: AppState, chosen: int | None) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(the run preselected, all runs with their levels), the newest first."""
    listed = [(str(run.id), run.name) for run in reversed(app.workspace.runs.all(levels=True))]
    preselected = str(chosen) if str(chosen) in dict(listed) else ""
    return preselected, (("", "The current run"), *listed)


def preview(app: AppState, scope: Scope, values: Values) -> str:
    """Lines that say what would be exported and what would not."""
    chosen = format_named(values["format"])
    parameters = _parameters(scope, values)
    ids = chosen_images(
        app.workspace, parameters.get("collection"), parameters.get("dive"), parameters.get("selection")
    )
    request = Wanted(
        ids[:PREVIEWED],
        values["labelled"],
        values["until"],
        parameters["run"],
        values["segments"].strip() or None,
        parameters["fields"],
        chosen.wants_tracks,
    )
    outgoing, coarser = retold(
        gathered(app.workspace, request), app.workspace, parameters["vocabulary"], values["level"]
    )
    if not outgoing.pictures:
        raise fail("Images", "none of these has a label", "choose other images, or include images without a label")
    written = chosen.write(outgoing)
    among = f" (counted on the first {PREVIEWED:,} of {len(ids):,} images)" if len(ids) > PREVIEWED else ""
    return "\n".join(
        [f"{written.rows:,} labels of {len(outgoing.pictures):,} images{among}.", *_losses((*coarser, *written.losses))]
    )


def _losses(losses: Sequence[Loss]) -> list[str]:
    if not losses:
        return ["Everything is included."]
    return ["Not included:", *(f"· {loss.count:,} {loss.what}: {loss.why}" for loss in losses)]


def _parameters(scope: Scope, values: Values) -> dict[str, Any]:
    licence = values["licence"].strip()
    return {
        "format": values["format"],
        "labelled": values["labelled"],
        "until": values["until"],
        "segments": values["segments"].strip() or None,
        "vocabulary": values["vocabulary"] or None,
        "level": values["level"],
        "run": values["run"] or None,
        "fields": {"image-license": licence} if licence else {},
        **scope.parameters(values["scope"]),
    }


def _jobs(app: AppState, scope: Scope, values: Values) -> list[tuple[str, dict[str, Any], str]]:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = exports_folder(app) / f"{values['format']}-{stamp}"
    return [("export", {**_parameters(scope, values), "output": str(folder)}, f"Export as {values['format']}")]


def exports(app: AppState) -> list[dict[str, Any]]:
    """Exports available for download, newest first."""
    export_list = []
    for job in app.queue.all():
        result = job.result or {}
        folder = Path(result.get("output", ""))
        if job.kind == "export" and job.state == "done" and folder.parent == exports_folder(app) and folder.is_dir():
            export_list.append(
                {
                    "id": job.id,
                    "format": result["format"],
                    "at": job.finished_at,
                    "images": result["images"],
                    "rows": result["rows"],
                    "files": result["files"],
                    "losses": result["losses"],
                    "folder": str(folder),
                    "size": _size(folder),
                    "report": str(folder / REPORT),
                }
            )
    return export_list


def exports_folder(app: AppState) -> Path:
    return app.workspace.folder / "exports"


def incoming_folder(app: AppState) -> Path:
    """Folder of label files uploaded by browsers."""
    return app.workspace.folder / "incoming"


def _size(folder: Path) -> int:
    return int(np.sum([path.stat().st_size for path in folder.rglob("*") if path.is_file()], dtype=np.int64))
