"""View model of the import dialog: choose a folder of the server's computer, check the preview, start the import."""

import os
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import param

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.data.jobs import starting_time
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.required import required
from benthoscope.app.session.session import Session
from benthoscope.engine.exchange.image_import.import_plan import ALBUMS, CAMPAIGN
from benthoscope.engine.exchange.navigation.tracks import MAX_GAP
from benthoscope.engine.features import available
from benthoscope.engine.imaging import SUFFIXES, is_foreign
from benthoscope.engine.jobs.library.import_preview import MEANINGS, ImportPreview, NavigationPreview
from benthoscope.engine.problems import BenthoscopeError, fail
from benthoscope.engine.progress import Cancelled, Progress

START = "Start folder"
LOOKED_AT = 5_000  # entries read of one folder: a folder of a million images must not block the dialog


@dataclass(frozen=True)
class Listing:
    """Content of a folder. `images` counts images directly in it; `more` says that some entries were not read."""

    path: str
    parents: tuple[tuple[str, str], ...]  # (name, path), from the top down to the folder itself
    folders: tuple[tuple[str, str], ...]  # (name, path), by name
    images: int
    more: bool


def listing(path: str | Path) -> Listing:
    folder = Path(path).expanduser().absolute()
    folders, images, looked = [], 0, 0
    try:
        with os.scandir(folder) as entries:
            for looked, entry in enumerate(entries, 1):
                if looked > LOOKED_AT:
                    break
                if entry.name.startswith(".") or is_foreign(entry.name):
                    continue
                if _is_folder(entry):
                    folders.append((entry.name, str(folder / entry.name)))
                else:
                    images += Path(entry.name).suffix.lower() in SUFFIXES
    except OSError as error:
        raise fail(str(folder), f"cannot be opened ({error.strerror})", "choose another folder") from error
    folders.sort(key=lambda pair: pair[0].lower())
    return Listing(str(folder), tuple(_parents(folder)), tuple(folders), images, looked > LOOKED_AT)


def start_folder() -> Path:
    """The folder where the command was started; the home folder for a program started by a double click."""
    try:
        started = Path.cwd()
    except OSError:  # the folder was deleted
        return Path.home()
    return Path.home() if started == Path(started.anchor) else started


def starting_folders(known: list[str]) -> list[tuple[str, str]]:
    """(name, path) of useful folders: where the program was started, home, disks, and folders of earlier imports."""
    media = [Path("/media"), Path("/mnt"), Path("/Volumes"), Path("/run/media")]
    usual = [("Home", Path.home())]
    if start_folder() != Path.home():
        usual.insert(0, (START, start_folder()))
    folders = [*usual, *((path.name, path) for path in media), *((Path(p).name, Path(p)) for p in known)]
    return [(name, str(path)) for name, path in folders if path.is_dir()]


def _parents(folder: Path) -> list[tuple[str, str]]:
    return [(path.name or path.anchor, str(path)) for path in (*reversed(folder.parents), folder)]


def _is_folder(entry: os.DirEntry) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


GROUPS = 60  # dives shown
PROBLEMS = 50
LEVELS = 4  # of folders that can be chosen as dives

# Texts of the dialog by kind of job: its title, its last button and the title of the job.
OPENING = {
    "import": {"title": "Add images", "action": "Import", "job": "Import {collection}"},
    "start": {
        "title": "Choose a folder",
        "action": "Import, describe and cluster",
        "job": "Import, describe and cluster {collection}",
    },
}


class ImportDialog(param.Parameterized):
    """`shown` is the content of the dialog. Folders are scanned in the background, because large ones take a while."""

    session = required(Session)
    shown = param.Dict(default={}, doc="folder, preview, busy, error; empty while the dialog is closed.")

    def __init__(self, session: Session, job_kind: str = "import"):
        """`job_kind` is the job to start: "import", or "start" to describe and cluster the images as well."""
        super().__init__(session=session)
        self._job_kind = job_kind
        self._preview: ImportPreview | None = None
        self._stop = threading.Event()

    def open(self, path: str = "") -> None:
        known = [root.path for root in self.session.workspace.library.roots() if root.present]
        self._preview = None
        self._show(
            **OPENING[self._job_kind],
            places=starting_folders(known),
            preview=None,
            meanings=MEANINGS,
            busy="",
            error="",
        )
        self.browse(path or (known[-1] if known else str(start_folder())))

    def browse(self, path: str) -> None:
        """Show another folder of the server's computer."""
        self._show_errors_of(lambda: self._show(folder=asdict(listing(path)), preview=None, error=""))

    def close(self) -> None:
        self._stop.set()
        self._preview, self.shown = None, {}

    def start_scan(self, path: str) -> threading.Thread:
        """Scan the folder in the background."""
        return self._start(path, None)

    def follow(self) -> threading.Thread | None:
        """Scan the folder again and follow links that point outside it; other settings stay."""
        if self._preview is None:
            return None
        survey = self._preview.plan.survey
        return self._start(str(survey.folder / survey.start), self._preview)

    def _start(self, path: str, before: ImportPreview | None) -> threading.Thread:
        self._stop.set()
        self._stop = stop = threading.Event()
        thread = threading.Thread(target=self._scan, args=(path, stop, before), name="import-preview", daemon=True)
        thread.start()
        return thread

    def back(self) -> None:
        """Return to the choice of a folder."""
        self._preview = None
        self._show(preview=None, busy="", error="")

    def mean(self, column: str, meaning: str) -> None:
        self._change(lambda preview: preview.with_meaning(column, meaning))

    def level(self, level: int | None) -> None:
        self._change(lambda preview: preview.with_group_level(level))

    def join(self, clock_offset: str = "", max_gap: str = "", file: str = "") -> None:
        """Change how navigation files are matched with images; `file` is the path of an additional one."""
        self._change(
            lambda preview: preview.with_navigation(
                _seconds("Clock offset", clock_offset), _seconds("Largest gap", max_gap) or MAX_GAP, file.strip()
            )
        )

    def call(self, collection: str, kind: str) -> None:
        self._change(lambda preview: preview.with_collection(collection.strip() or None, kind or None))

    def start(self, collection: str = "", kind: str = "") -> bool:
        """Queue the import as shown, with the name and kind in the dialog. Returns whether it was queued."""
        if self._preview is None or not self._preview.images:
            return False
        plan = self._preview.plan
        if (collection.strip() or plan.collection, kind or plan.kind) != (plan.collection, plan.kind):
            self.call(collection, kind)
        app, preview = self.session.app, self._preview
        title = OPENING[self._job_kind]["job"].format(collection=preview.plan.collection)
        app.queue.add(self._job_kind, preview.parameters, title=title, checked=True)
        app.jobs.refresh()
        self.session.notify(f"{title}: {preview.images:,} images. The job runs in the background", kind="info")
        self.close()
        return True

    def _scan(self, path: str, stop: threading.Event, before: ImportPreview | None) -> None:
        def on_step(step: Progress) -> None:
            if stop.is_set():
                raise Cancelled
            self._show(busy=step.message)

        def scan() -> None:
            self._show(busy="Scanning the folder", error="")
            settings: dict[str, Any] = (
                {}
                if before is None
                else {
                    "options": before.plan.options,
                    "metadata": before.metadata,
                    "navigation": before.navigation_files,
                    "follow_links": True,
                }
            )
            self._preview = ImportPreview.of(path, workspace=self.session.workspace, on_step=on_step, **settings)
            self._show(preview=preview_content(self._preview), cost=self._cost(self._preview.images))

        try:
            self._show_errors_of(scan)
        except Cancelled:
            return
        if not stop.is_set():
            self._show(busy="")

    def _cost(self, images: int) -> str:
        """Estimated time of all steps; empty for an import alone, which is short."""
        if self._job_kind != "start" or not images:
            return ""
        return f"Time: {starting_time(self.session.app, images, available('deep')[0])}. You can cancel and resume it."

    def _change(self, change: Callable[[ImportPreview], ImportPreview]) -> None:
        preview = self._preview
        if preview is not None:

            def apply_changes() -> None:
                self._preview = change(preview)
                self._show(preview=preview_content(self._preview), error="")

            self._show_errors_of(apply_changes)

    def _show_errors_of(self, action: Callable[[], None]) -> None:
        try:
            action()
        except BenthoscopeError as error:
            self._show(error=str(error), busy="")

    def _show(self, **values: Any) -> None:
        self.shown = {**self.shown, **values}


def preview_content(preview: ImportPreview) -> dict[str, Any]:
    """The preview as plain values."""
    groups, problems = preview.groups, preview.problems
    return {
        "images": preview.images,
        "collection": preview.plan.collection,
        "kind": preview.plan.kind,
        "kinds": [[CAMPAIGN, "Dives of a campaign"], [ALBUMS, "Albums"]],
        "level": preview.plan.level,
        "levels": LEVELS,
        "groups": [asdict(group) for group in groups[:GROUPS]],
        "group_count": len(groups),
        "sources": [asdict(source) for source in preview.sources],
        "rows": [asdict(row) for row in preview.rows],
        "problems": [str(problem) for problem in problems[:PROBLEMS]],
        "problem_count": len(problems),
        "ignored": dict(preview.ignored),
        "navigation": _navigation(preview),
        "skipped_links": preview.skipped_links,
    }


def _navigation(preview: ImportPreview) -> dict[str, Any]:
    """Navigation files and their settings as plain values."""
    options, navigation = preview.plan.options, preview.navigation
    offset = "" if options.clock_offset is None else f"{options.clock_offset:g}"
    settings = {"clock_offset": offset, "max_gap": f"{options.max_gap:g}"}
    return settings | (
        {"files": [], "lines": []}
        if navigation is None
        else {
            "files": [
                {**track, "first": _utc(track["first"]), "last": _utc(track["last"])} for track in navigation.files
            ],
            "lines": _navigation_lines(navigation),
        }
    )


def _navigation_lines(navigation: NavigationPreview) -> list[str]:
    """Lines that say how many images will be matched and which will not."""
    lines = [f"Matched by time: {navigation.matched:,} images."] if navigation.matched else []
    if navigation.without_fix:
        lines.append(
            f"No fix near their time: {navigation.without_fix:,} images, such as {navigation.examples[0]}. "
            "Check the clock offset or allow a larger gap."
        )
    if navigation.without_time:
        lines.append(
            f"Time known only from inside the image file: {navigation.without_time:,} images. The import reads it, "
            "matches them and reports those without a match."
        )
    return lines


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _seconds(name: str, written: str) -> float | None:
    try:
        return float(written) if written.strip() else None
    except ValueError:
        raise fail(name, f"'{written}' is not a number", "enter seconds, such as -36000") from None


class FolderDialog(CommandComponent):
    """The dialog of an import. It is open while `shown` is not empty: folder, then preview."""

    _module = "pages/library/import_dialog"
    _styles = ("parts", "dialog")

    shown = param.Dict(default={})


IMPORT_COMMANDS = CommandTable(
    {
        "browse": ImportDialog.browse,
        "look": ImportDialog.start_scan,
        "back": ImportDialog.back,
        "mean": ImportDialog.mean,
        "level": ImportDialog.level,
        "join": ImportDialog.join,
        "follow": ImportDialog.follow,
        "call": ImportDialog.call,
        "start": ImportDialog.start,
        "close": ImportDialog.close,
    }
)


def import_dialog(model: ImportDialog) -> FolderDialog:
    return FolderDialog(model.session.handler(IMPORT_COMMANDS, model), shown=model.param.shown)
