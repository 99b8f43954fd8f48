"""One browser tab: person, selection, messages and commands; and which pages were visited in this workspace."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import param

from benthoscope.app.session.address import Address
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS, OTHER
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.required import required
from benthoscope.engine.problems import BadInput, BenthoscopeError, Problem
from benthoscope.engine.workspace.library import Person
from benthoscope.engine.workspace.records import current_time
from benthoscope.engine.workspace.storage.files import read_json, write_json

THEMES = ("light", "dark")
NOBODY = np.empty(0, np.int32)


class NameNeeded(BadInput):
    """The command is logged under a person's name, and nobody has entered one in this tab yet."""

    def __init__(self) -> None:
        super().__init__(Problem("your name", "is stored with every label", "enter your name first"))

    def __reduce__(self):
        return type(self), ()


@dataclass(frozen=True)
class Message:
    """One line for the person. `undo` undoes the reported command and changes these aspects of the workspace; `link` is
    {text, href} of the next step."""

    text: str = ""
    kind: str = "info"  # info, success, error
    undo: Callable[[], Any] | None = None
    link: dict[str, str] | None = None
    undo_changes: tuple[str, ...] = (LABELS,)


@dataclass(frozen=True)
class OtherChange:
    """A change of this tab that is not in the label log, such as a deleted run, and the log's last number then."""

    message: Message
    after: int


class Session(param.Parameterized):
    """State of one tab. A page gets it as its only argument and binds its view model to the address."""

    app = required(AppState, doc="State that all sessions share.")
    page = param.String(default="", constant=True, doc="Slug of the page this tab shows.")
    address = required(Address, doc="The query of the browser's address.")
    person = param.String(default="", doc="Name of the person; empty until it is entered.")
    theme: param.Selector[str] = param.Selector(default="light", objects=list(THEMES), doc="Light or dark.")
    selection = param.Array(default=NOBODY, doc="Ids of the selected images, int32, sorted.")
    version = param.Integer(default=0, doc="Version of the workspace; views depend on it.")
    keys = param.List(default=[], doc="[key, what it does] of this page.")
    message = param.ClassSelector(class_=Message, default=Message(), doc="Message of the last command.")
    asks_name = param.Boolean(default=False, doc="Whether the dialog that asks for the person's name is open.")

    def __init__(self, app: AppState, page: str = "", **values: Any):
        super().__init__(app=app, page=page, address=Address(), version=app.version, **values)
        self.other_change: OtherChange | None = None  # the newest one that can be undone
        self.undo_of_page: Callable[[], Any] | None = None  # a page's own way to undo the person's last label event
        self._pending: list[Callable[[], Any]] = []  # commands that wait for the person's name
        self.param.watch(lambda _: self._resume(), "person")  # before the pages' watchers, which draw the result

    @property
    def workspace(self):
        return self.app.workspace

    def current_person(self) -> Person | None:
        """The person of this tab; None before a name is entered."""
        return self.workspace.people.named(self.person) if self.person.strip() else None

    def require_person(self) -> Person:
        """The current person, for commands that are logged. Raises NameNeeded before a name is entered: call it before
        anything is stored, because the command runs again once the name is known."""
        person = self.current_person()
        if person is None:
            raise NameNeeded
        return person

    def perform(self, command: Callable[[], Any]) -> None:
        """Run a command of the person. User errors become the message line. A command that needs the person's name
        opens the name dialog and runs when the name is entered."""
        try:
            with self.attempt():
                command()
        except NameNeeded:
            self._pending.append(command)
            self.asks_name = True

    def handler(self, commands: CommandTable, *targets: Any) -> Callable[[Mapping[str, Any]], None]:
        """A function that runs the messages of a component that belongs to no page."""
        return lambda message: self.perform(lambda: commands.run(message, *targets))

    def cancel_name(self) -> None:
        """Close the name dialog without a name and drop the commands that waited for it."""
        self._pending.clear()
        self.asks_name = False
        self.notify("Nothing was changed. A label is stored with your name: enter it first", kind="info")

    def notify(
        self,
        text: str,
        *,
        kind: str = "success",
        undo: Callable[[], Any] | None = None,
        link: dict[str, str] | None = None,
        undo_changes: tuple[str, ...] = (LABELS,),
    ) -> None:
        message = Message(text, kind, undo, link, undo_changes)
        if undo is not None and LABELS not in undo_changes:
            self.other_change = OtherChange(message, self.workspace.labels.last_number())
        self.message = message

    def undo(self) -> None:
        """Undo the command that the message reports."""
        undone, self.message = self.message, Message()
        self._undo(undone)

    def undo_other_change(self) -> None:
        """Undo the newest change of this tab that is not in the label log."""
        if self.other_change is not None:
            self._undo(self.other_change.message)

    def _undo(self, undone: Message) -> None:
        undo = undone.undo
        if self.other_change is not None and self.other_change.message is undone:
            self.other_change = None
        if undo:

            def undo_and_announce() -> None:
                undo()
                self.changed(*undone.undo_changes)

            self.perform(undo_and_announce)

    def changed(self, *aspects: str) -> None:
        """Announce a change of the workspace to every tab, see `AppState.changed`."""
        self.version = self.app.changed(*aspects)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Show user errors in the message line. NameNeeded and errors in our code are raised."""
        try:
            yield
        except NameNeeded:
            raise
        except BenthoscopeError as error:
            self.notify(str(error), kind="error")

    def _resume(self) -> None:
        """Run the commands that waited for the name, in order."""
        if not self.person.strip():
            return
        commands, self._pending = self._pending, []
        self.asks_name = False
        for command in commands:
            self.perform(command)


FILE = "page_visits.json"  # {slug: seconds since 1970 of the first visit}


def first_visits(app: AppState) -> dict[str, float]:
    try:
        return dict(read_json(app.workspace.folder / FILE))
    except (OSError, ValueError, TypeError):
        return {}


def note_visit(app: AppState, slug: str) -> None:
    """Store the first visit of a page; does nothing in a read-only workspace."""
    visits = first_visits(app)
    if slug in visits:
        return
    try:
        write_json(app.workspace.folder / FILE, {**visits, slug: current_time()})
    except OSError:
        return
    app.changed(OTHER)
