"""Saved views: a name for a page with its filters, colours and order, stored as the query of its address."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace.records import current_time
from benthoscope.engine.workspace.storage.files import locked, read_json, write_json

FILE = "views.json"
LOCK = "views.lock"
LONGEST = 80  # characters of a name: longer ones do not fit into a menu


@dataclass(frozen=True)
class SavedView:
    """A view of a page. `query` is that of the address; `at` is in seconds since 1970."""

    name: str
    page: str
    query: Mapping[str, str]
    person: str
    at: float


class ViewStore:
    """Views are few and small, so they are one JSON file of the workspace."""

    def __init__(self, folder: Path):
        self._folder = folder

    def of_page(self, page: str) -> list[SavedView]:
        """All views of a page, by name."""
        return sorted((view for view in self._read() if view.page == page), key=lambda view: view.name.lower())

    def get(self, page: str, name: str) -> SavedView:
        views = self.of_page(page)
        view = next((view for view in views if view.name == name), None)
        if view is None:
            raise unknown("views", name, [view.name for view in views])
        return view

    def save(self, page: str, name: str, query: Mapping[str, str], person: str) -> SavedView:
        """Store a view. One with the same name is replaced."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST:
            raise fail("view", f"needs a name of 1 to {LONGEST} characters", "type another name")
        view = SavedView(name, page, dict(query), person, current_time())
        self._change(view.page, view.name, view)
        return view

    def restore(self, view: SavedView) -> None:
        """Store a removed view again as it was."""
        self._change(view.page, view.name, view)

    def remove(self, page: str, name: str) -> SavedView:
        """Delete a view. Returns it, so that `restore` can store it again."""
        removed = self.get(page, name)
        self._change(page, name, None)
        return removed

    def _change(self, page: str, name: str, view: SavedView | None) -> None:
        try:
            with locked(self._folder / LOCK):
                views = [other for other in self._read() if (other.page, other.name) != (page, name)]
                views += [] if view is None else [view]
                write_json(self._folder / FILE, [asdict(each) for each in views])
        except OSError as error:
            raise fail("views", f"cannot be stored ({error.strerror})", "open a workspace you may write to") from error

    def _read(self) -> list[SavedView]:
        path = self._folder / FILE
        if not path.is_file():
            return []
        try:
            return [SavedView(**values) for values in read_json(path)]
        except (json.JSONDecodeError, TypeError) as error:
            raise fail(str(path), "is damaged", "restore it from a backup, or delete it") from error
