"""The Explore page without its widgets: what is shown, in which colours and order, and the one selection."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import param

from app.state.app_state import AppState
from app.state.atlas import Atlas, atlas_of
from app.state.cards import FILTERS, ORDERS, Card, cards
from app.state.colouring import Colouring, colour_choices, colouring
from app.state.exemplar_book import KINDS
from app.state.objects import Objects, objects_of
from app.state.ordering import GROUPINGS, order_choices, ordered
from app.state.projections import METHODS, Plane, has_projection, plane
from app.state.selection import NOTHING, Selection
from app.state.session import Session
from app.state.terms import labelled

STATES = {"all": "All", "labelled": "Labelled", "unlabelled": "Not labelled"}
PANES = ("", "clusters", "embedding", "map", "gallery")
IN_ADDRESS = ("run", "cluster", "object", "dive", "term", "state", "colour", "order", "descending", "group", "pinned",
              "projection", "cards", "sorted", "only", "pane", "saved")


class Explore(param.Parameterized):
    """Filters narrow what all views show; the selection is a part of that."""

    session = param.ClassSelector(class_=Session, constant=True, doc="The tab.")
    selection = param.ClassSelector(class_=Selection, constant=True, doc="The one selection of the page.")

    run = param.Integer(default=None, allow_None=True, doc="Number of the run; None is the current one.")
    cluster = param.List(default=[], item_type=int, doc="Clusters shown; none means all.")
    object = param.List(default=[], item_type=int, doc="Objects that shown images all contain; none means any.")
    dive = param.List(default=[], item_type=int, doc="Ids of the dives or albums shown; none means all.")
    term = param.Integer(default=None, allow_None=True, doc="Id of the label shown; None means any.")
    state = param.Selector(default="all", objects=list(STATES), doc="Only labelled images, or only the others.")

    colour = param.String(default="cluster", doc="What points are coloured by.")
    order = param.String(default="track", doc="What tiles are sorted by.")
    descending = param.Boolean(default=False, doc="From greatest to least.")
    group = param.Selector(default="", objects=["", *GROUPINGS], doc="What tiles are grouped by.")
    pinned = param.Integer(default=None, allow_None=True, doc="Id of the image that likeness is measured to.")
    projection = param.Selector(default="pca", objects=list(METHODS), doc="How images are laid out in the plane.")

    cards = param.Selector(default="exemplars", objects=list(KINDS), doc="Which images stand for a cluster.")
    sorted = param.Selector(default="size", objects=list(ORDERS), doc="The order of the cards.")
    only = param.Selector(default="all", objects=list(FILTERS), doc="Which cards are shown.")
    word = param.String(default="", doc="Shows cards with this label or number only.")
    pane = param.Selector(default="", objects=list(PANES), doc="The pane that fills the page.")
    saved = param.Integer(default=None, allow_None=True, doc="Number of the saved selection that is selected.")
    scope = param.Array(default=NOTHING, doc="What was last selected in another view than the gallery, which shows it.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, selection=Selection(), **values)
        session.address.bind(self, *IN_ADDRESS)
        self._recall()
        self.param.watch(lambda event: self._recall(), "saved")
        self.selection.param.watch(lambda event: self._selected(), "positions")

    @property
    def app(self) -> AppState:
        return self.session.app

    @property
    def atlas(self) -> Atlas:
        return atlas_of(self.app, self.run)

    @property
    def objects(self) -> Objects | None:
        return objects_of(self.app, self.atlas)

    # --- what is shown

    def objects_sought(self) -> list[int]:
        """Those of the filter that the run has."""
        known = self.objects.clusters if self.object and self.objects else 0
        return [number for number in self.object if 0 <= number < known]

    def shown(self) -> np.ndarray:
        """(N,) bool: the images that pass all filters."""
        atlas = self.atlas
        passing = np.ones(len(atlas), bool)
        if self.cluster:
            passing &= np.isin(atlas.labels, self.cluster)
        if self.dive:
            passing &= np.isin(atlas.columns.group_ids, self.dive)
        for number in self.objects_sought():
            passing &= self.objects.shows(number, atlas)
        return passing & self._label_passes()

    def _label_passes(self) -> np.ndarray | bool:
        if self.term is None and self.state == "all":
            return True
        found = labelled(self.app)
        if self.term is not None:
            wanted = [at for at, term in enumerate(found.terms) if term.id == self.term]
            return np.isin(found.term, wanted)
        return (found.term >= 0) == (self.state == "labelled")

    @property
    def filtered(self) -> bool:
        return bool(self.cluster or self.objects_sought() or self.dive or self.term is not None or self.state != "all")

    def in_gallery(self) -> np.ndarray:
        """(N,) bool: what was selected in another view, where there is such; otherwise all that passes the filters.
        Selecting tiles does not change it: the others would vanish under the pointer."""
        shown = self.shown()
        if not len(self.scope):
            return shown
        mask = np.zeros(len(self.atlas), bool)
        mask[self.scope] = True
        return mask & shown if (mask & shown).any() else mask

    # --- how it is shown

    def colours(self) -> Colouring:
        """By what the person chose, or where that cannot be had by dive."""
        known = colour_choices(self.app, self.atlas)
        return colouring(self.app, self.atlas, self.colour if self.colour in known else "dive")

    def order_positions(self) -> np.ndarray:
        """(N,) int32: all positions in the order of the tiles."""
        known = order_choices(self.app, self.atlas)
        by = self.order if self.order in known else "track"
        return ordered(self.app, self.atlas, by, descending=self.descending, group_by=self.group,
                       pinned=self._pinned_position())

    def plane(self) -> Plane | None:
        return plane(self.app, self.atlas, self.projection)

    def projections(self) -> Mapping[str, bool]:
        """The ways to lay images out, and whether each can be had at once."""
        return {method: has_projection(self.app, self.atlas, method) for method in METHODS}

    def cards_shown(self) -> list[Card]:
        return cards(self.app, self.atlas, kind=self.cards, order=self.sorted, only=self.only, word=self.word)

    def _pinned_position(self) -> int | None:
        if self.pinned is None:
            return None
        found = self.atlas.columns.positions(np.array([self.pinned]))
        return int(found[0]) if len(found) else None

    # --- acts

    def show_all(self) -> None:
        """Takes every filter away."""
        self.param.update(cluster=[], object=[], dive=[], term=None, state="all")

    def open_cluster(self, number: int) -> None:
        """Shows one cluster in all views; the same again shows all."""
        self.cluster = [] if self.cluster == [number] else [number]

    def select_cluster(self, number: int, how: str = "replace") -> None:
        self.selection.combine(how, self.atlas.members(number), {"tool": "cluster", "cluster": number})

    def pin(self, image_id: int | None) -> None:
        """Sorts by likeness to this image; None lets it go."""
        self.param.update(pinned=image_id, order="likeness" if image_id is not None else "track", descending=False)

    def selected_ids(self) -> np.ndarray:
        return self.atlas.columns.ids[self.selection.positions]

    def _recall(self) -> None:
        """Selects what was saved under the number in the address."""
        if self.saved is None:
            return
        with self.session.attempt():
            found = self.app.workspace.selections.get(self.saved)
            self._recalled = self.atlas.columns.positions(found.images)
            self.selection.become(self._recalled, {"tool": "saved", "name": found.name})

    def _selected(self) -> None:
        """What the gallery shows follows, except from the gallery itself; a changed selection is not the saved one."""
        self.session.selection = self.selected_ids().astype(np.int32)
        if self.selection.origin.get("tool") != "tiles":
            self.scope = self.selection.positions
        if self.saved is not None and not np.array_equal(self.selection.positions, self._recalled):
            self.saved = None
