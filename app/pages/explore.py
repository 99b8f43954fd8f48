"""Explore: clusters, embedding, map and gallery over one selection."""

from collections.abc import Mapping
from typing import Any

import panel as pn

from app.components.cluster_cards import ClusterCards
from app.components.dive_map import DiveMap
from app.components.embedding import Embedding
from app.components.gallery import Gallery
from app.components.notices import empty
from app.components.strip import Strip
from app.components.workbench import SelectionBar, Workbench
from app.pages.background import Background
from app.pages.explore_acts import ACTS
from app.pages.registry import PAGES
from app.state import explore_views as views
from app.state.explore import Explore
from app.state.session import Session

KEYS = [["1 2 3 4", "Only clusters, embedding, map, gallery; again for all"], ["l", "Lasso (in embedding and map)"],
        ["b", "Box"], ["h", "Move"], ["0", "Show all"], ["Shift", "Add to the selection"],
        ["Ctrl", "Take from the selection"], ["Shift Ctrl", "Keep what is in both"], ["Space", "Select the tile"],
        ["Enter", "Open the tile"], ["p", "Sort by likeness to the tile"], ["Esc", "Clear the selection"]]
FILL = {"sizing_mode": "stretch_both"}
CROWD = "crowd"  # slug of the page that asks the crowd, where there is one
# What has to be drawn anew when a parameter of the view model changes.
FOLLOW: Mapping[str, tuple[str, ...]] = {
    "run": ("images", "colours", "order", "mask", "selection", "cards", "plane", "map", "strip", "bar"),
    "cluster": ("mask", "open", "bar"), "object": ("mask", "bar"),
    "dive": ("mask", "strip", "bar"), "term": ("mask", "bar"),
    "state": ("mask", "bar"), "scope": ("mask", "bar"), "colour": ("colours", "bar"), "order": ("order", "bar"),
    "descending": ("order", "bar"), "group": ("order", "bar"), "pinned": ("order", "bar"),
    "projection": ("plane", "bar"), "cards": ("cards", "plane"), "sorted": ("cards",), "only": ("cards",),
    "word": ("cards",), "pane": ("pane",), "saved": ("bar",),
}
SLOW = frozenset({"cards", "plane"})  # what reads features: drawn by a thread, the rest is there meanwhile


def view(session: Session):
    if not len(session.app.columns):
        return empty("Nothing to explore yet", "Add images of dives or albums; their map and gallery are here at once.",
                     ("Go to Library", "/library"))
    session.keys = KEYS
    return ExplorePage(session).layout


class ExplorePage:
    """Keeps components and view model in step; what a person does comes back as acts."""

    def __init__(self, session: Session):
        self.explore = Explore(session)
        self.bar = SelectionBar(sizing_mode="stretch_width", height=42, crowd=any(p.slug == CROWD for p in PAGES))
        self.cards, self.strip = ClusterCards(**FILL), Strip(**FILL)
        self.embedding, self.map = Embedding(**FILL), DiveMap(tiles=session.app.tiles, **FILL)
        self.gallery = Gallery(title="Gallery", **FILL)
        self.bench = Workbench(clusters=self.cards, embedding=self.embedding, map=self.map, strip=self.strip,
                               gallery=self.gallery, **FILL)
        self.of_images = (self.embedding, self.map, self.strip, self.gallery)
        self.layout = pn.Column(self.bar, self.bench, sizing_mode="stretch_both",
                                styles={"height": "calc(100dvh - 76px)", "min-height": "440px", "padding": "0 10px"})
        self.background = Background(pn.state.curdoc)
        self._listen()
        self.draw(*FOLLOW["run"], "pane")
        self.background.follow_exemplars(self.explore, lambda: self.draw("cards"))

    def draw(self, *parts: str) -> None:
        """Brings parts of the page up to date; the slow ones when they are ready."""
        for part in parts:
            if part in SLOW:
                self.background.soon(part, lambda part=part: getattr(views, part)(self.explore), self._set)
            else:
                self._set(getattr(views, part)(self.explore))

    def act(self, told: Mapping[str, Any]) -> None:
        """Does what a person asked for; mistakes become the message line."""
        with self.explore.session.attempt():
            ACTS[told["act"]](self, told)

    def focus(self, image_id: int) -> None:
        """Brings one image into sight in the gallery."""
        self.gallery.param.update(focus_id=0)
        self.gallery.focus_id = image_id

    def _set(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        """{component: {parameter: value}}; "images" means every view of images."""
        for name, changes in values.items():
            for component in self.of_images if name == "images" else (getattr(self, name),):
                component.param.update(**changes)

    def _listen(self) -> None:
        for component in (*self.of_images, self.cards, self.bar, self.bench):
            component.on_told = self.act
        for name, parts in FOLLOW.items():
            self.explore.param.watch(lambda event, parts=parts: self.draw(*parts), name)
        self.explore.selection.param.watch(lambda event: self.draw("selection", "bar"), "positions")
        self.explore.session.param.watch(lambda event: self._changed(), "version")
        for ours, name in (("kind", "cards"), ("order", "sorted"), ("only", "only"), ("word", "word")):
            self.cards.param.watch(lambda event, name=name: self.explore.param.update(**{name: event.new}), ours)
        self.bench.param.watch(lambda event: self.explore.param.update(pane=event.new), "pane")
        self.gallery.param.watch(lambda event: self.draw("bar"), "tile")

    def _changed(self) -> None:
        """Something in the workspace changed, here or in another tab."""
        if len(self.explore.atlas) != self.gallery.count:
            self.draw(*FOLLOW["run"])
        else:
            self.draw("colours", "mask", "cards", "bar")
