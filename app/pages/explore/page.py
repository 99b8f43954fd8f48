"""The Explore page: clusters, embedding, map and gallery with one selection, and the preloading of its arrays."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import panel as pn
import param
from panel.custom import Child

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.components.charts import Strip
from benthoscope.app.components.gallery import Gallery
from benthoscope.app.components.notices import empty
from benthoscope.app.components.scatter import DiveMap, Embedding
from benthoscope.app.data.exemplars import request_exemplars
from benthoscope.app.data.group_words import group_words
from benthoscope.app.pages.base import Background, PanelsPage
from benthoscope.app.pages.explore import content as explore_views
from benthoscope.app.pages.explore import content as views
from benthoscope.app.pages.explore.cards import ClusterCards
from benthoscope.app.pages.explore.commands import COMMANDS
from benthoscope.app.pages.explore.model import Explore
from benthoscope.app.pages.registry import PAGES
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.session import Session, note_visit


class Workbench(CommandComponent):
    """Sends {act: set, name, value} for the small controls in the panes' heads."""

    _module = "pages/explore/page"
    _styles = ("parts", "explore")

    clusters = Child(doc="The cluster cards.")
    embedding = Child(doc="The plot by similarity.")
    map = Child(doc="The map.")
    strip = Child(doc="The strip of one dive, below the map.")
    gallery = Child(doc="The tiles.")
    has_map = param.Boolean(default=True, doc="Whether any image has a position; otherwise only the strip is shown.")
    noun = param.String(default="cluster", doc="The word for a cluster: cluster or topic.")
    pane = param.String(default="", doc="The pane that fills the page; empty for all.")
    tools = param.Dict(default={}, doc="Controls of every pane.")
    told = param.Dict(default={}, doc="Text beside the title of every pane.")


class SelectionBar(CommandComponent):
    """Sends what is to be done with the selection: {act: label | save | split | clear | invert | back | ...}."""

    _module = "shared/selection_bar"
    _styles = ("parts", "explore", "term_field")

    choices = param.List(default=[], doc="Controls on the left.")
    filters = param.List(default=[], doc="{kind, id, text} of the active filters.")
    legend = param.Dict(default={}, doc="{ends, colours} of a ramp; empty for clusters and labels.")
    shown = param.Integer(default=0, doc="Images that pass the filters.")
    total = param.Integer(default=0, doc="Number of all images.")
    selected_count = param.Integer(default=0, doc="Images selected.")
    saved = param.List(default=[], doc="[id, name, images] of the saved selections.")
    views = param.List(default=[], doc="Names of the saved views.")
    export_url = param.String(default="", doc="Address of the selection as CSV.")
    crowd = param.Boolean(default=False, doc="Whether the Crowd page exists.")
    back = param.Dict(default={}, doc="{href, text} of the link to the page that sent the selection; empty if none.")
    goto = param.String(default="", doc="Address on this server that the tab opens.")


KEYS = [
    ["1 2 3 4", "Show only clusters, embedding, map or gallery; press again to show all"],
    ["l", "Lasso (in embedding and map)"],
    ["b", "Box"],
    ["h", "Move"],
    ["0", "Show all points"],
    ["n", "Go to the next point (in embedding and map); Shift n goes back"],
    ["Shift", "Add to the selection"],
    ["Ctrl", "Remove from the selection"],
    ["Shift Ctrl", "Keep only images in both selections"],
    ["Space", "Select the image"],
    ["Ctrl a", "Select all images of the gallery"],
    ["Shift F10", "Open the menu of the image (or right-click it)"],
    ["Enter", "Open the image"],
    ["p", "Sort by similarity to the image"],
    ["Esc", "Clear the selection"],
]
FILL: dict[str, Any] = {"sizing_mode": "stretch_both"}
CROWD = "crowd"  # slug of the Crowd page
# Panels to redraw when a parameter of the view model changes.
FOLLOW: Mapping[str, tuple[str, ...]] = {
    "run": ("images", "colours", "order", "mask", "selection", "cards", "plane", "map", "strip", "bar"),
    "cluster": ("mask", "open", "bar"),
    "object": ("mask", "bar"),
    "dive": ("mask", "strip", "bar"),
    "term": ("mask", "bar"),
    "state": ("mask", "bar"),
    "scope": ("mask", "bar"),
    "colour": ("colours", "bar"),
    "order": ("order", "bar"),
    "descending": ("order", "bar"),
    "group": ("order", "bar"),
    "pinned": ("order", "bar"),
    "projection": ("plane", "bar"),
    "cards": ("cards", "plane"),
    "sorted": ("cards",),
    "only": ("cards",),
    "word": ("cards",),
    "pane": ("pane",),
    "saved": ("bar",),
    "sent": ("bar",),
}
SLOW = frozenset({"cards", "plane"})  # these read features, so a thread draws them after the rest


def _menu(app: AppState) -> list[list[str]]:
    """Commands in the menu of one image, besides those of every gallery."""
    return [
        ["show_cluster_of", "Show only its cluster"],
        ["select_cluster_of", "Select its cluster"],
        ["show_dive_of", f"Show only its {group_words(app).singular}"],
        ["review_cluster_of", "Label its cluster in Review"],
        ["accept", "Accept its suggestion"],
    ]


def view(session: Session):
    if not len(session.app.columns):
        return empty(
            "Nothing to explore yet",
            "Add images of dives or albums. Their map and gallery then appear here.",
            ("Go to Library", "/library"),
        )
    session.keys = KEYS
    if session.app.run() is not None:
        note_visit(session.app, "explore")
    return ExplorePage(session).layout


class ExplorePage(PanelsPage):
    """Keeps components and view model in step; what a person does comes back as commands."""

    def __init__(self, session: Session):
        self.explore = Explore(session)
        super().__init__(self.explore, COMMANDS)
        self.bar = SelectionBar(sizing_mode="stretch_width", height=42, crowd=any(p.slug == CROWD for p in PAGES))
        self.cards, self.strip = ClusterCards(**FILL), Strip(**FILL)
        self.embedding, self.map = Embedding(**FILL), DiveMap(tiles=session.app.tiles, **FILL)
        self.gallery = Gallery(title="Gallery", menu=_menu(session.app), **FILL)
        self.bench = Workbench(
            clusters=self.cards, embedding=self.embedding, map=self.map, strip=self.strip, gallery=self.gallery, **FILL
        )
        self.image_views = (self.embedding, self.map, self.strip, self.gallery)
        self.layout = pn.Column(
            self.bar,
            self.bench,
            sizing_mode="stretch_both",
            styles={"height": "calc(100dvh - 76px)", "min-height": "440px", "padding": "0 10px"},
        )
        self.background = Background(pn.state.curdoc)
        self._listen()
        self.draw(*FOLLOW["run"], "pane")
        request_exemplars(self.explore.app, self.explore.atlas)
        self.explore.param.watch(lambda event: request_exemplars(self.explore.app, self.explore.atlas), "run")

    def draw(self, *panels: str) -> None:
        """Update panels of the page; slow panels when they are ready."""
        for panel in panels:
            if panel in SLOW:
                self.background.soon(panel, partial(getattr(views, panel), self.explore), self._set)
            else:
                self._set(getattr(views, panel)(self.explore))

    def _listen(self) -> None:
        for component in (*self.image_views, self.cards, self.bar, self.bench):
            component.on_message = self.run_command
        for name, panels in FOLLOW.items():
            self.explore.param.watch(lambda event, panels=panels: self.draw(*panels), name)
        self.explore.selection.param.watch(lambda event: self.draw("selection", "bar"), "positions")
        self.explore.session.param.watch(lambda event: self._changed(), "version")
        for parameter, name in (("kind", "cards"), ("order", "sorted"), ("only", "only"), ("word", "word")):
            self.cards.param.watch(lambda event, name=name: self.explore.param.update(**{name: event.new}), parameter)
        self.bench.param.watch(lambda event: self.explore.param.update(pane=event.new), "pane")
        self.gallery.param.watch(lambda event: self.draw("bar"), "tile")

    def _changed(self) -> None:
        """Redraw after a change of the workspace, in this tab or another one."""
        if len(self.explore.atlas) != self.gallery.count:
            self.draw(*FOLLOW["run"])
        else:
            self.draw("colours", "mask", "cards", "bar")


VIEWS = ("images", "colours", "order", "map", "plane", "cards", "bar")  # these fill arrays that all sessions share


def warm(app: AppState) -> None:
    """Compute the shared arrays of Explore at server start, so that the first visitor does not wait for them."""
    if len(app.columns):
        explore = Explore(Session(app, "explore"))
        for view in VIEWS:
            getattr(explore_views, view)(explore)
