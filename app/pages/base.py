"""Base classes of pages: the connection of view model and components, commands, and background work."""

import threading
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Protocol

import panel as pn
from bokeh.document import Document
from panel.io.state import set_curdoc

from benthoscope.app.components.base import ImageView, Message, OnMessage
from benthoscope.app.components.gallery import Gallery
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.watch import Listeners


class Page:
    """One page in one tab: a view model, and the commands of its components. Commands work on `target`, which is the
    model unless a page says otherwise."""

    def __init__(self, model: Any, commands: CommandTable, target: Any = None):
        self.model, self._commands = model, commands
        self._target = model if target is None else target

    def run_command(self, message: Message) -> Mapping[str, Any] | None:
        """Run the command in a message. User errors become the message line; a command that needs the person's name
        runs when it is entered."""
        self.model.session.perform(partial(self._commands.run, message, self._target))
        return None


class Board(Protocol):
    """The component of a page that shows all of its content."""

    param: Any
    content: Any
    on_message: OnMessage


REFRESH = "refresh"  # the command of a script that missed a change
_MISSING = object()  # equal to no value of a content


class BoardPage(Page):
    """A page of one component, its board. The board is redrawn once after a command, except after `silent` commands,
    whose result the browser shows already. Changes of the parameters in `follows` redraw it as well. A board with a
    parameter `changes` gets the content once and then {number, values}: only the entries that changed. Its script sends
    `refresh` if a number is missing."""

    def __init__(
        self,
        model: Any,
        board: Board,
        content: Callable[[Any], dict[str, Any]],
        commands: CommandTable,
        follows: Collection[str],
        silent: Collection[str] = (),
    ):
        super().__init__(model, commands)
        self.board, self._content, self._silent = board, content, silent
        self._acting = False
        board.content = self.shown = content(model)
        self._sent = 0  # changes
        board.on_message = self.run_command
        model.param.watch(lambda *_: self.draw(), list(follows))
        model.session.param.watch(lambda *_: self.draw(), ["version", "person"])

    def draw(self) -> None:
        if not self._acting:
            self.board.param.update(**self._changed_content())

    def _changed_content(self) -> dict[str, Any]:
        """Only what changed, or nothing if the board shows all of it already."""
        before, content = self.shown, self._content(self.model)
        self.shown = content
        if content == before:
            return {}
        if "changes" not in self.board.param:
            return {"content": content}
        self._sent += 1
        changed = {name: value for name, value in content.items() if value != before.get(name, _MISSING)}
        return {"changes": {"number": self._sent, "values": changed}}

    def run_command(self, message: Message) -> dict[str, Any]:
        """Run the command and return the new content of the board."""
        if message.get("act") == REFRESH:
            self.shown = {}
            return self._changed_content()
        self.model.session.perform(partial(self._run_silently, message))
        return {} if message.get("act") in self._silent else self._changed_content()

    def _run_silently(self, message: Message) -> None:
        """Run the command without drawing the changes it makes one by one."""
        self._acting = True
        try:
            self._commands.run(message, self._target)
        finally:
            self._acting = False


class PanelsPage(Page):
    """A page of several components over the same images. Its commands work on the page itself. Subclasses name their
    components as attributes; those in `image_views` share what "images" is set to."""

    image_views: tuple[ImageView, ...]
    gallery: Gallery

    def __init__(self, model: Any, commands: CommandTable):
        super().__init__(model, commands, self)

    def focus(self, image_id: int) -> None:
        """Scroll the gallery to one image."""
        self.gallery.param.update(focus_id=0)
        self.gallery.focus_id = image_id

    def _set(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Set {component: {parameter: value}}; "images" means every component that shows images."""
        for name, changes in values.items():
            for component in self.image_views if name == "images" else (getattr(self, name),):
                component.param.update(**changes)


Run = Callable[[Callable[[], None]], None]


def follow(changes: Listeners, draw: Callable[[], object], run: Run | None = None) -> None:
    """Call `draw` after changes, until the tab is closed. It runs among the commands of the tab, because drawing takes
    too long for the event loop. Changes that follow each other quickly are drawn once. Outside of a tab, does nothing
    unless `run` is given."""
    run = run or _commands_of_tab()
    if run is None:
        return
    waiting = threading.Event()

    def draw_newest() -> None:
        waiting.clear()
        draw()

    def changed() -> None:
        if not waiting.is_set():
            waiting.set()
            run(draw_newest)

    stop = changes.add(changed)
    pn.state.on_session_destroyed(lambda context: stop())


def _commands_of_tab() -> Run | None:
    document = pn.state.curdoc
    if document is None:
        return None

    def run(function: Callable[[], None]) -> None:
        with set_curdoc(document):
            pn.state.execute(function, schedule="thread")

    return run


class Background:
    """Runs slow work of a page on threads. The result of an older request of the same name is dropped."""

    def __init__(self, document: Document | None):
        self._document = document
        self._latest: dict[str, int] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        if document is not None:
            over = self._over  # not `self`: the callback must not keep the page in memory
            pn.state.on_session_destroyed(lambda context: over.set())

    def soon(self, name: str, compute: Callable[[], Any], show: Callable[[Any], None]) -> None:
        """Compute on a thread, then show the result in the page; immediately if there is no page (in tests)."""
        if self._document is None:
            show(compute())
            return
        with self._lock:
            number = self._latest[name] = self._latest.get(name, 0) + 1
        threading.Thread(target=self._do, args=(name, number, compute, show), name=f"page-{name}", daemon=True).start()

    def _do(self, name: str, number: int, compute: Callable[[], Any], show: Callable[[Any], None]) -> None:
        result = compute()
        if self._latest[name] == number:
            self._show(lambda: show(result) if self._latest[name] == number else None)

    def _show(self, update: Callable[[], None]) -> None:
        if self._document is None:
            update()
        elif not self._over.is_set():
            self._document.add_next_tick_callback(update)
