"""One dive or album: its track, its sequence, its mixture, and the dives like it."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import panel as pn

from app.components.dive_map import DiveMap
from app.components.gallery import Gallery
from app.components.module import asset_url
from app.components.notices import empty
from app.components.proportions import HeatMap, Proportions
from app.components.strip import Strip
from app.state import dive_views as views
from app.state.dive import DiveView
from app.state.object_acts import name_segment
from app.state.session import Session
from app.state.wire import unpacked

FILL = {"sizing_mode": "stretch_both"}
FOLLOW: Mapping[str, tuple[str, ...]] = {
    "dive": ("track", "mask", "mixtures", "facts"), "cluster": ("mask", "facts"),
    "run": ("images", "track", "mask", "order", "mixtures", "facts"),
}
KEYS = [["Enter", "Open the tile"], ["Space", "Select the tile"], ["Esc", "Clear the selection"]]
SHEETS = [asset_url("css/parts.css"), asset_url("css/dive.css")]


def view(session: Session):
    if not len(session.app.columns):
        return empty("No dives yet", "Add images of dives or albums first.", ("Go to Library", "/library"))
    session.keys = KEYS
    return DivePage(session).layout


class DivePage:
    """Keeps components and view model in step."""

    def __init__(self, session: Session):
        self.dive = DiveView(session)
        self.facts = pn.pane.HTML(stylesheets=SHEETS, sizing_mode="stretch_width")
        self.map, self.strip = DiveMap(tiles=session.app.tiles, **FILL), Strip(**FILL)
        self.gallery = Gallery(title="Images of the dive", **FILL)
        self.bars = Proportions(sizing_mode="stretch_width")
        self.heat = HeatMap(sizing_mode="stretch_width")
        self.of_images = (self.map, self.strip, self.gallery)
        self.layout = self._laid_out()
        self._listen()
        self.draw(*FOLLOW["run"])

    def draw(self, *parts: str) -> None:
        for part in parts:
            if part == "facts":
                self.facts.object = facts_told(self.dive)
            else:
                self._set(getattr(views, part)(self.dive))

    def act(self, told: Mapping[str, Any]) -> None:
        with self.dive.session.attempt():
            ACTS[told["act"]](self, told)

    def focus(self, image_id: int) -> None:
        self.gallery.param.update(focus_id=0)
        self.gallery.focus_id = image_id

    def _set(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        for name, changes in values.items():
            for component in self.of_images if name == "images" else (getattr(self, name),):
                component.param.update(**changes)

    def _listen(self) -> None:
        for component in (*self.of_images, self.bars, self.heat):
            component.on_told = self.act
        for name, parts in FOLLOW.items():
            self.dive.param.watch(lambda event, parts=parts: self.draw(*parts), name)
        self.dive.selection.param.watch(lambda event: self.draw("selection"), "positions")

    def _laid_out(self) -> pn.viewable.Viewable:
        upper = pn.Row(card("Track", self.map, height=330), card("Images", self.gallery, height=330),
                       sizing_mode="stretch_width", styles={"gap": "10px"})
        parts = [self.facts, upper, card("Along the dive", self.strip, height=190)]
        if self.dive.atlas.clusters:
            parts += [card("Mixture, and the dives most like it", self.bars),
                      card("All dives by all clusters, like ones side by side", self.heat)]
        return pn.Column(*parts, sizing_mode="stretch_width", styles={"padding": "4px 12px 24px", "gap": "10px"})


def card(title: str, *parts: Any, height: int | None = None) -> pn.viewable.Viewable:
    heading = pn.pane.HTML(f"<h2>{escape(title)}</h2>", stylesheets=SHEETS, sizing_mode="stretch_width")
    sizes = {"sizing_mode": "stretch_width"} if height is None else {"sizing_mode": "stretch_width", "height": height}
    body = pn.Column(*parts, styles={"position": "relative"}, **sizes)
    return pn.Column(heading, body, sizing_mode="stretch_width", stylesheets=SHEETS, css_classes=["box"])


def facts_told(dive: DiveView) -> str:
    """The head of the page: name, what is known, where to go on."""
    name, run = dive.summary.group.name, dive.atlas.run
    facts = "".join(f"<div><dt>{escape(word)}</dt><dd>{escape(told)}</dd></div>" for word, told in dive.facts())
    more = f"&run={run.id}" if dive.run and run else ""
    only = "" if dive.cluster is None else (f'<a class="button" href="/dive?dive={dive.summary.group.id}{more}">'
                                            f"Cluster {dive.cluster} only: show all</a>")
    return (f'<header class="head"><h1>{escape(name)}</h1>{only}<a class="button" '
            f'href="/explore?dive={dive.summary.group.id}{more}">Explore this dive</a></header>'
            f'<dl class="facts">{facts}</dl>')


def _select(page: DivePage, told: Mapping[str, Any]) -> None:
    positions = unpacked(bytes(told["images"]), len(page.dive.atlas))
    page.dive.selection.combine(told["how"], positions, {"tool": told["tool"]})


def _pick(page: DivePage, told: Mapping[str, Any]) -> None:
    page.focus(int(page.dive.atlas.columns.ids[int(told["position"])]))


def _cluster(page: DivePage, told: Mapping[str, Any]) -> None:
    """A part of a bar, or a cell: that cluster in that dive; the same again shows the whole dive."""
    number, dive = int(told["cluster"]), told.get("id", page.dive.dive)
    again = page.dive.cluster == number and page.dive.summary.group.id == dive
    page.dive.param.update(cluster=None if again else number, dive=dive)


def _pin(page: DivePage, told: Mapping[str, Any]) -> None:
    """Likeness is sorted by among all images, in Explore."""
    page.dive.session.tell("Sort by likeness in Explore: open this dive there and press P on the tile", kind="info")


def _segment(page: DivePage, told: Mapping[str, Any]) -> None:
    name_segment(page.dive.session, page.dive.atlas, int(told["id"]), int(told["number"]), str(told["word"]))


ACTS: Mapping[str, Callable[[DivePage, Mapping[str, Any]], None]] = {
    "segment": _segment, "select": _select, "pick": _pick, "cluster": _cluster, "pin": _pin,
    "dive": lambda page, told: page.dive.param.update(dive=int(told.get("id", page.dive.summary.group.id))),
    "strip": lambda page, told: page.dive.param.update(dive=int(told["dive"])),
    "clear": lambda page, told: page.dive.selection.clear(),
}
