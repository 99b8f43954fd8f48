"""The Objects page: clusters of segments as cards, which of them appear together, their shares and labelled points."""

from typing import Any

import panel as pn
import param

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.components.notices import empty
from benthoscope.app.pages.base import Background, Page
from benthoscope.app.pages.objects.content import content
from benthoscope.app.pages.objects.model import ObjectGallery, next_step
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.session import Session


class ObjectsBoard(CommandComponent):
    """Sends the commands in `COMMANDS`."""

    _module = "pages/objects/page"
    _styles = ("parts", "explore", "objects", "term_field", "plots")

    content = param.Dict(default={}, doc="Content of the page; empty until it is computed.")


KEYS = [
    ["1 to 5", "Open a part of this page"],
    ["l", "Label the object in focus, or the first one"],
    ["f", "Find an object by its label or number"],
    ["Enter", "Open a crop's image"],
]


def view(session: Session):
    gallery = ObjectGallery(session)
    if gallery.objects is None:
        text, words, address = next_step(session.app)
        return empty(
            "No objects yet",
            f"An object is a cluster of similar segments of images. {text}",
            (words, address),
            ("About objects", "/help?topic=objects"),
            icon="category",
        )
    session.keys = KEYS
    return ObjectsPage(gallery).layout


class ObjectsPage(Page):
    """Connects the board with the view model. Drawing reads features and masks, so a thread does it."""

    def __init__(self, gallery: ObjectGallery):
        super().__init__(gallery, COMMANDS)
        self.layout = ObjectsBoard(self.run_command, sizing_mode="stretch_width")
        self.background = Background(pn.state.curdoc)
        gallery.param.watch(lambda *_: self.draw(), ["run", "part", "kind", "order", "word"])
        gallery.session.param.watch(lambda *_: self.draw(), "version")
        self.draw()

    def draw(self) -> None:
        self.background.soon("objects", lambda: content(self.model), self._show)

    def _show(self, content: dict[str, Any]) -> None:
        self.layout.content = content


def _show_part(gallery: ObjectGallery, name: str) -> None:
    gallery.part = name


def _show_kind(gallery: ObjectGallery, name: str) -> None:
    gallery.kind = name


def _set_order(gallery: ObjectGallery, name: str) -> None:
    gallery.order = name


def _set_word(gallery: ObjectGallery, word: str) -> None:
    gallery.word = word


def _show_run(gallery: ObjectGallery, run: int) -> None:
    gallery.run = run


def _name_object(gallery: ObjectGallery, object_: int, word: str) -> None:
    gallery.name_object(object_, word)


def _name_segment(gallery: ObjectGallery, id_: int, number: int, word: str) -> None:
    gallery.name_segment(id_, number, word)


COMMANDS = CommandTable(
    {
        "part": _show_part,
        "kind": _show_kind,
        "order": _set_order,
        "word": _set_word,
        "run": _show_run,
        "name": _name_object,
        "segment": _name_segment,
    }
)
