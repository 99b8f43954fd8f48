"""Adding images: choose a folder, see what it was taken for, put it right, start the import."""

import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import param

from app.state.folders import listing, places
from app.state.import_preview import MEANINGS, ImportPreview
from app.state.session import Session
from engine.exchange.plan import ALBUMS, CAMPAIGN
from engine.problems import BenthoscopeError
from engine.progress import Cancelled, Progress

GROUPS = 60    # dives shown
PROBLEMS = 50
LEVELS = 4     # of folders that can be chosen as dives


class ImportDialog(param.Parameterized):
    """`shown` is what the dialog draws. Looking through a large folder takes a while and is done in the background."""

    session = param.ClassSelector(class_=Session, constant=True)
    shown = param.Dict(default={}, doc="folder, preview, busy, error; empty while the dialog is closed.")

    def __init__(self, session: Session):
        super().__init__(session=session)
        self._preview: ImportPreview | None = None
        self._stop = threading.Event()

    def open(self, path: str = "") -> None:
        known = [root.path for root in self.session.workspace.library.roots() if root.present]
        self._preview = None
        self._show(title="Add images", places=places(known), preview=None, meanings=MEANINGS, busy="", error="")
        self.browse(path or (known[-1] if known else "~"))

    def browse(self, path: str) -> None:
        """Shows another folder of the server's machine."""
        self._told(lambda: self._show(folder=asdict(listing(path)), preview=None, error=""))

    def close(self) -> None:
        self._stop.set()
        self._preview, self.shown = None, {}

    def look(self, path: str) -> threading.Thread:
        """Looks through the folder in the background."""
        self._stop.set()
        self._stop = stop = threading.Event()
        thread = threading.Thread(target=self._look, args=(path, stop), name="import-preview", daemon=True)
        thread.start()
        return thread

    def back(self) -> None:
        """To choosing a folder."""
        self._preview = None
        self._show(preview=None, busy="", error="")

    def mean(self, column: str, meaning: str) -> None:
        self._change(lambda preview: preview.with_meaning(column, meaning))

    def level(self, level: int | None) -> None:
        self._change(lambda preview: preview.with_group_level(level))

    def call(self, collection: str, kind: str) -> None:
        self._change(lambda preview: preview.with_collection(collection.strip() or None, kind or None))

    def start(self, collection: str = "", kind: str = "") -> bool:
        """Queues the import as shown, under the name and kind that stand in the dialog; whether it was."""
        if self._preview is None or not self._preview.images:
            return False
        plan = self._preview.plan
        if (collection.strip() or plan.collection, kind or plan.kind) != (plan.collection, plan.kind):
            self.call(collection, kind)
        app, preview = self.session.app, self._preview
        app.queue.add("import", preview.parameters, title=f"Import {preview.plan.collection}")
        app.jobs.look()
        self.session.tell(f"Importing {preview.images:,} images in the background", kind="info")
        self.close()
        return True

    def _look(self, path: str, stop: threading.Event) -> None:
        def on_step(step: Progress) -> None:
            if stop.is_set():
                raise Cancelled
            self._show(busy=step.message)

        def look() -> None:
            self._show(busy="Looking through the folder", error="")
            self._preview = ImportPreview.of(path, workspace=self.session.workspace, on_step=on_step)
            self._show(preview=told(self._preview))

        try:
            self._told(look)
        except Cancelled:
            return
        if not stop.is_set():
            self._show(busy="")

    def _change(self, change: Callable[[ImportPreview], ImportPreview]) -> None:
        if self._preview is not None:
            def act() -> None:
                self._preview = change(self._preview)
                self._show(preview=told(self._preview), error="")

            self._told(act)

    def _told(self, act: Callable[[], None]) -> None:
        try:
            act()
        except BenthoscopeError as error:
            self._show(error=str(error), busy="")

    def _show(self, **values: Any) -> None:
        self.shown = {**self.shown, **values}


def told(preview: ImportPreview) -> dict[str, Any]:
    """A preview as plain values."""
    groups, problems = preview.groups, preview.problems
    return {
        "images": preview.images, "collection": preview.plan.collection, "kind": preview.plan.kind,
        "kinds": [[CAMPAIGN, "Dives of a campaign"], [ALBUMS, "Albums"]], "level": preview.plan.level,
        "levels": LEVELS, "groups": [asdict(group) for group in groups[:GROUPS]], "group_count": len(groups),
        "sources": [asdict(source) for source in preview.sources], "rows": [asdict(row) for row in preview.rows],
        "problems": [str(problem) for problem in problems[:PROBLEMS]], "problem_count": len(problems),
        "ignored": dict(preview.ignored),
    }
