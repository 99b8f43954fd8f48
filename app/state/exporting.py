"""Labels on their way out: what is asked, what the format cannot carry, and the exports there are to fetch."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from app.state.app_state import AppState
from app.state.job_form import Field, Recipe, Values
from app.state.session import Session
from engine.exchange.export_formats import FORMATS, format_named
from engine.exchange.outgoing import Loss
from engine.jobs.export import REPORT
from engine.jobs.going_out import Wanted, chosen_images, gathered
from engine.jobs.retelling import retold
from engine.problems import fail

PREVIEWED = 5_000  # images whose losses are counted before an export: of more, only of the first ones
ALL, SELECTION = "all", "selection:"


@dataclass(frozen=True)
class Scope:
    """Which images go out: (value of the form, words)."""

    app: AppState
    selection: int | None = None

    def choices(self) -> list[tuple[str, str]]:
        library = self.app.workspace.library
        found = [(ALL, f"All {len(self.app.columns):,} images")]
        found += [(f"{SELECTION}{number}", f"Selection {name}, {images:,} images")
                  for number, name, images in self.app.workspace.selections.list()]
        found += [(f"collection:{one.name}", f"Collection {one.name}") for one in library.collections()]
        return found + [(f"dive:{name}", f"Dive {name}") for name in sorted({group.name for group in library.groups()})]

    def first(self) -> str:
        wanted = f"{SELECTION}{self.selection}"
        return wanted if wanted in dict(self.choices()) else ALL

    def parameters(self, value: str) -> dict[str, Any]:
        """What the export job is told."""
        kind, _, name = value.partition(":")
        if value == ALL:
            return {}
        return {"selection": self.app.workspace.selections.get(int(name)).name} if kind == "selection" else {kind: name}


def exporting(session: Session, selection: int | None = None) -> Recipe:
    """The form for an export."""
    app = session.app
    scope = Scope(app, selection)
    words = [("", "As they were given"), *((found.name, found.name) for found in app.workspace.vocabularies.all())]
    fields = (
        Field("format", "Format", "Who is to read it.", "choice", "csv",
              tuple((name, f"{name}: {one.title}") for name, one in FORMATS.items())),
        Field("scope", "Images", "Which images go out.", "choice", scope.first(), tuple(scope.choices())),
        Field("labelled", "Only labelled images", "Leave out images that have no label.", "switch", False),
        Field("vocabulary", "Vocabulary", "Tell labels in the terms of another vocabulary, as far as its terms are "
              "linked to theirs.", "choice", "", tuple(words)),
        Field("level", "Level", "Roll labels up to this level of their tree: 1 is the coarsest. Empty keeps them.",
              "integer", None, minimum=1, maximum=20),
        Field("licence", "Licence", "For iFDO: the licence of the images, such as CC BY 4.0.", "text", "", more=True),
        Field("until", "As of act", "The labels that held right after this act of the history; empty for today's.",
              "integer", None, minimum=0, more=True),
        Field("segments", "Segments", "Name a feature set to have its segments labelled by the points in them, for "
              "COCO.", "text", "", more=True),
    )
    return Recipe("Export labels", "Writes labels in a format other programs read, and says what the format cannot "
                  "carry. The files can be fetched here afterwards.", "Export", fields,
                  lambda values: preview(app, scope, values), lambda values: _jobs(app, scope, values))


def preview(app: AppState, scope: Scope, values: Values) -> str:
    """What would be written and what would be left behind, a line each."""
    chosen = format_named(values["format"])
    told = _parameters(scope, values)
    ids = chosen_images(app.workspace, told.get("collection"), told.get("dive"), told.get("selection"))
    wanted = Wanted(ids[:PREVIEWED], values["labelled"], values["until"], None, values["segments"].strip() or None,
                    told["fields"], chosen.wants_tracks)
    outgoing, coarser = retold(gathered(app.workspace, wanted), app.workspace, told["vocabulary"], values["level"])
    if not outgoing.pictures:
        raise fail("Images", "none of them would be written", "choose others, or take those without a label as well")
    written = chosen.write(outgoing)
    among = f" (counted on the first {PREVIEWED:,} of {len(ids):,} images)" if len(ids) > PREVIEWED else ""
    return "\n".join([f"{written.rows:,} labels of {len(outgoing.pictures):,} images{among}.",
                      *_losses((*coarser, *written.losses))])


def _losses(found: Sequence[Loss]) -> list[str]:
    if not found:
        return ["Nothing is left behind."]
    return ["Left behind:", *(f"· {loss.count:,} {loss.what}: {loss.why}" for loss in found)]


def _parameters(scope: Scope, values: Values) -> dict[str, Any]:
    licence = values["licence"].strip()
    return {"format": values["format"], "labelled": values["labelled"], "until": values["until"],
            "segments": values["segments"].strip() or None, "vocabulary": values["vocabulary"] or None,
            "level": values["level"], "fields": {"image-license": licence} if licence else {},
            **scope.parameters(values["scope"])}


def _jobs(app: AppState, scope: Scope, values: Values) -> list[tuple[str, dict[str, Any], str]]:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = exports_folder(app) / f"{values['format']}-{stamp}"
    return [("export", {**_parameters(scope, values), "output": str(folder)}, f"Export as {values['format']}")]


def exports(app: AppState) -> list[dict[str, Any]]:
    """The exports that can be fetched, the newest first: those made here, whose files are still there."""
    found = []
    for job in app.queue.all():
        result = job.result or {}
        folder = Path(result.get("output", ""))
        if job.kind == "export" and job.state == "done" and folder.parent == exports_folder(app) and folder.is_dir():
            found.append({"id": job.id, "format": result["format"], "at": job.finished_at, "images": result["images"],
                          "rows": result["rows"], "files": result["files"], "losses": result["losses"],
                          "folder": str(folder), "size": _size(folder), "report": str(folder / REPORT)})
    return found


def exports_folder(app: AppState) -> Path:
    return app.workspace.folder / "exports"


def incoming_folder(app: AppState) -> Path:
    """Where files with labels lie that came through the browser."""
    return app.workspace.folder / "incoming"


def _size(folder: Path) -> int:
    return int(np.sum([path.stat().st_size for path in folder.rglob("*") if path.is_file()], dtype=np.int64))
