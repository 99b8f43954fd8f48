"""Objects: clusters of segments, what they look like, where and with what they are found, and what they are called."""

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from app.components.notices import empty
from app.components.objects_board import ObjectsBoard
from app.pages.background import Background
from app.state.object_gallery import ObjectGallery, next_step
from app.state.object_views import content
from app.state.session import Session

KEYS = [["1 to 5", "Objects, seen together, in dives, in image clusters, labelled points"],
        ["l", "Name the object in focus, or the first"], ["f", "Find an object by its name or number"],
        ["Enter", "Open a crop's image"]]
Told = Mapping[str, Any]


def view(session: Session):
    gallery = ObjectGallery(session)
    if gallery.objects is None:
        text, words, address = next_step(session.app)
        return empty("No objects yet", f"Objects are clusters of segments: what images are made of. {text}",
                     (words, address), ("What objects are", "/help?topic=objects"), icon="category")
    session.keys = KEYS
    return ObjectsPage(gallery).layout


class ObjectsPage:
    """Keeps the board and the view model in step; drawing reads features and masks, so that a thread does it."""

    def __init__(self, gallery: ObjectGallery):
        self.gallery = gallery
        self.layout = ObjectsBoard(sizing_mode="stretch_width")
        self.layout.on_told = self.act
        self.background = Background(pn.state.curdoc)
        gallery.param.watch(lambda *_: self.draw(), ["run", "part", "kind", "order", "word"])
        gallery.session.param.watch(lambda *_: self.draw(), "version")
        self.draw()

    def draw(self) -> None:
        self.background.soon("objects", lambda: content(self.gallery), self._show)

    def act(self, told: Told) -> None:
        """Does what a person asked for; mistakes become the message line."""
        with self.gallery.session.attempt():
            ACTS[told["act"]](self.gallery, told)

    def _show(self, found: dict[str, Any]) -> None:
        self.layout.content = found


ACTS: Mapping[str, Callable[[ObjectGallery, Told], None]] = {
    "part": lambda gallery, told: gallery.param.update(part=told["name"]),
    "kind": lambda gallery, told: gallery.param.update(kind=told["name"]),
    "order": lambda gallery, told: gallery.param.update(order=told["name"]),
    "word": lambda gallery, told: gallery.param.update(word=str(told["word"])),
    "run": lambda gallery, told: gallery.param.update(run=int(told["run"])),
    "name": lambda gallery, told: gallery.name_object(int(told["object"]), str(told["word"])),
    "segment": lambda gallery, told: gallery.name_segment(int(told["id"]), int(told["number"]), str(told["word"])),
}
