"""One browser tab: who sits there, what is selected, what the last act had to say."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import param

from app.state.address import Address
from app.state.app_state import AppState
from engine.problems import BenthoscopeError, fail
from engine.workspace.people import Person

THEMES = ("light", "dark")
NOBODY = np.empty(0, np.int32)


@dataclass(frozen=True)
class Message:
    """One line for the person; `undo` takes the act back that it tells of."""

    text: str = ""
    kind: str = "info"  # info, success, error
    undo: Callable[[], Any] | None = None


class Session(param.Parameterized):
    """Views get it as their only argument; a page's own view model is made from it and bound to its address."""

    app = param.ClassSelector(class_=AppState, constant=True, doc="What all sessions share.")
    page = param.String(default="", constant=True, doc="Slug of the page this tab shows.")
    address = param.ClassSelector(class_=Address, constant=True, doc="What the browser's address says.")
    person = param.String(default="", doc="Name of who sits here; empty until somebody said so.")
    theme = param.Selector(default="light", objects=list(THEMES), doc="Light or dark.")
    selection = param.Array(default=NOBODY, doc="Ids of the selected images, int32, sorted.")
    version = param.Integer(default=0, doc="Grows when the workspace changed; what shows it depends on this.")
    keys = param.List(default=[], doc="[key, what it does] of this page, for the keyboard map.")
    message = param.ClassSelector(class_=Message, default=Message(), doc="What the last act had to say.")

    def __init__(self, app: AppState, page: str = "", **values: Any):
        super().__init__(app=app, page=page, address=Address(), version=app.version, **values)

    @property
    def workspace(self):
        return self.app.workspace

    def who(self) -> Person | None:
        """The person of this tab in the workspace; None while nobody said a name."""
        return self.workspace.people.named(self.person) if self.person.strip() else None

    def who_or_fail(self) -> Person:
        """For acts that somebody has to stand for."""
        found = self.who()
        if found is None:
            raise fail("person", "nobody has said who works here", "give your name at the top right")
        return found

    def tell(self, text: str, *, kind: str = "success", undo: Callable[[], Any] | None = None) -> None:
        self.message = Message(text, kind, undo)

    def undo(self) -> None:
        """Takes back what the message tells of."""
        undo = self.message.undo
        self.message = Message()
        if undo:
            with self.attempt():
                undo()
                self.changed()

    def changed(self, *, images: bool = True) -> None:
        """To be called after an act that changed the workspace: every tab will see it. Acts that left the images and
        dives as they were say `images=False`."""
        self.version = self.app.changed(images=images)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Mistakes in what a person asked for become the message line; mistakes in our code stay what they are."""
        try:
            yield
        except BenthoscopeError as error:
            self.tell(str(error), kind="error")
