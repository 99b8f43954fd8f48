"""View model of the Explore page: filters, colours, order and the selection."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import param

from benthoscope.app.data.clusters.clustered_images import atlas_of
from benthoscope.app.data.clusters.clustering_levels import compute_levels, corresponding, next_level, switch_message
from benthoscope.app.data.clusters.run_view_model import RunViewModel
from benthoscope.app.data.colours import Colouring, colour_choices, colouring
from benthoscope.app.data.exemplars import KINDS
from benthoscope.app.data.labels import labelled
from benthoscope.app.data.measures import GROUPINGS, order_choices, ordered
from benthoscope.app.data.objects import Objects, objects_of
from benthoscope.app.data.projections import METHODS, ProjectedImages, has_projection, plane
from benthoscope.app.pages.explore.cards import FILTERS, ORDERS, Card, cards
from benthoscope.app.session.cache import RUNS
from benthoscope.app.session.required import required
from benthoscope.app.session.selection import NOTHING, Selection
from benthoscope.app.session.sent_selections import SentSelection
from benthoscope.app.session.session import Session
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Run

STATES = {"all": "All", "labelled": "Labelled", "unlabelled": "Not labelled"}
PANES = ("", "clusters", "embedding", "map", "gallery")
IN_ADDRESS = (
    "run",
    "cluster",
    "object",
    "dive",
    "term",
    "state",
    "colour",
    "order",
    "descending",
    "group",
    "pinned",
    "projection",
    "cards",
    "sorted",
    "only",
    "pane",
    "saved",
    "sent",
)


class Explore(RunViewModel):
    """Filters apply to all views. All views share one selection."""

    selection = required(Selection, doc="The one selection of the page.")

    cluster = param.List(default=[], item_type=int, doc="Clusters shown; none means all.")
    object = param.List(default=[], item_type=int, doc="Objects that every shown image contains; none means any.")
    dive = param.List(default=[], item_type=int, doc="Ids of the dives or albums shown; none means all.")
    term = param.List(default=[], item_type=int, doc="Ids of the labels shown; none means any.")
    state: param.Selector[str] = param.Selector(
        default="all", objects=list(STATES), doc="Show all, only labelled or only unlabelled images."
    )

    colour = param.String(default="cluster", doc="What points are coloured by.")
    order = param.String(default="track", doc="What tiles are sorted by.")
    descending = param.Boolean(default=False, doc="Whether the order is descending.")
    group: param.Selector[str] = param.Selector(default="", objects=["", *GROUPINGS], doc="What tiles are grouped by.")
    pinned = param.Integer(default=None, allow_None=True, doc="Id of the image that similarity is measured to.")
    projection: param.Selector[str] = param.Selector(
        default="pca", objects=list(METHODS), doc="Projection of the features to the plot."
    )

    cards: param.Selector[str] = param.Selector(
        default="exemplars", objects=list(KINDS), doc="Which example images a card shows."
    )
    sorted: param.Selector[str] = param.Selector(default="size", objects=list(ORDERS), doc="The order of the cards.")
    only: param.Selector[str] = param.Selector(default="all", objects=list(FILTERS), doc="Which cards are shown.")
    word = param.String(default="", doc="Show only cards with this label or number.")
    pane: param.Selector[str] = param.Selector(default="", objects=list(PANES), doc="The pane that fills the page.")
    saved = param.Integer(default=None, allow_None=True, doc="Id of the saved selection in use.")
    sent = param.String(default="", doc="Key of the selection that another page sent, see app.session.sent_selections.")
    scope = param.Array(default=NOTHING, doc="Positions last selected outside the gallery; the gallery shows them.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, selection=Selection(), **values)
        self.sent_selection: SentSelection | None = None  # while it is the selection of this page
        session.address.bind(self, *IN_ADDRESS)
        self.selection.param.watch(lambda event: self._selected(), "positions")
        self._recall()
        self._open_sent()
        self.param.watch(lambda event: self._recall(), "saved")
        self.param.watch(lambda event: self._open_sent(), "sent")

    @property
    def objects(self) -> Objects | None:
        return objects_of(self.app, self.atlas)

    # --- what is shown

    def objects_sought(self) -> list[int]:
        """Objects of the filter that exist in the run."""
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
        objects = self.objects
        if objects is not None:
            for number in self.objects_sought():
                passing &= objects.shows(number, atlas)
        return passing & self._label_passes()

    def _label_passes(self) -> np.ndarray | bool:
        if not self.term and self.state == "all":
            return True
        labels = labelled(self.app)
        if self.term:
            term_numbers = [at for at, term in enumerate(labels.terms) if term.id in self.term]
            return np.isin(labels.term, term_numbers)
        return (labels.term >= 0) == (self.state == "labelled")

    @property
    def filtered(self) -> bool:
        return bool(self.cluster or self.objects_sought() or self.dive or self.term or self.state != "all")

    def in_gallery(self) -> np.ndarray:
        """(N,) bool: images selected in another view, if there are any; otherwise all that pass the filters.

        Selecting tiles does not change it: the other tiles would vanish under the pointer."""
        shown = self.shown()
        if not len(self.scope):
            return shown
        mask = np.zeros(len(self.atlas), bool)
        mask[self.scope] = True
        return mask & shown if (mask & shown).any() else mask

    # --- how it is shown

    @property
    def colour_in_use(self) -> str:
        """The chosen colouring, or the one by dive if that is not available."""
        return self.colour if self.colour in colour_choices(self.app, self.atlas) else "dive"

    def colours(self) -> Colouring:
        return colouring(self.app, self.atlas, self.colour_in_use)

    def order_positions(self) -> np.ndarray:
        """(N,) int32: all positions in the order of the tiles."""
        known = order_choices(self.app, self.atlas)
        by = self.order if self.order in known else "track"
        return ordered(
            self.app, self.atlas, by, descending=self.descending, group_by=self.group, pinned=self._pinned_position()
        )

    def plane(self) -> ProjectedImages | None:
        return plane(self.app, self.atlas, self.projection)

    def projections(self) -> Mapping[str, bool]:
        """{projection: whether it has been computed}."""
        return {method: has_projection(self.app, self.atlas, method) for method in METHODS}

    def cards_shown(self) -> list[Card]:
        return cards(self.app, self.atlas, kind=self.cards, order=self.sorted, only=self.only, word=self.word)

    def _pinned_position(self) -> int | None:
        if self.pinned is None:
            return None
        position = self.atlas.columns.positions(np.array([self.pinned]))
        return int(position[0]) if len(position) else None

    # --- commands

    def show_all(self) -> None:
        """Remove every filter."""
        self.param.update(cluster=[], object=[], dive=[], term=[], state="all")

    def open_cluster(self, number: int) -> None:
        """Show one cluster in all views; a second call shows all clusters again."""
        self.cluster = [] if self.cluster == [number] else [number]

    def switch_level(self, direction: str) -> None:
        """Show the clustering one level coarser or finer; a filter by cluster follows to the corresponding clusters."""
        before, shown = self.atlas, list(self.cluster)
        target = next_level(self.app, self._run_or_fail(), direction)
        after = atlas_of(self.app, target.id)
        numbers = corresponding(before.labels, after.labels, shown)
        self.param.update(run=target.id, cluster=numbers)
        self.session.notify(switch_message(shown, numbers, direction, after.clusters), kind="info")

    def compute_levels(self) -> None:
        compute_levels(self.session, self._run_or_fail())

    def make_current(self) -> None:
        """Make the shown run the current one."""
        run = self._run_or_fail()
        self.app.workspace.runs.choose(run.id)
        self.session.changed(RUNS)
        self.session.notify(f"{run.name} is now the current run")

    def _run_or_fail(self) -> Run:
        if self.atlas.run is None:
            raise fail("run", "there is none yet", "cluster the images first, in Library")
        return self.atlas.run

    def select_cluster(self, number: int, how: str = "replace") -> None:
        self.selection.combine(how, self.atlas.members(number), {"tool": "cluster", "cluster": number})

    def pin(self, image_id: int | None) -> None:
        """Sort by similarity to this image; None restores the usual order."""
        self.param.update(pinned=image_id, order="likeness" if image_id is not None else "track", descending=False)

    def selected_ids(self) -> np.ndarray:
        return self.atlas.columns.ids[self.selection.positions]

    def _recall(self) -> None:
        """Select the images of the saved selection in the address."""
        if self.saved is None:
            return
        with self.session.attempt():
            stored = self.app.workspace.selections.get(self.saved)
            self._recalled = self.atlas.columns.positions(stored.images)
            self.selection.become(self._recalled, {"tool": "saved", "name": stored.name})

    def _open_sent(self) -> None:
        """Select the images that another page sent, if the address names them."""
        self.sent_selection = None
        if not self.sent:
            return
        with self.session.attempt():
            sent = self.app.sent_selections.get(self.sent)
            self._opened = self.atlas.columns.positions(sent.images)
            if not len(self._opened):
                raise fail("selection", "its images are no longer in this workspace", "select others in the plot")
            self.sent_selection = sent
            self.selection.become(self._opened, {"tool": "plot", "name": sent.text})
        if self.sent_selection is None:
            self.sent = ""

    def _selected(self) -> None:
        """Update the gallery, unless the change came from it. A changed selection is no longer the saved one."""
        self.session.selection = self.selected_ids().astype(np.int32)
        if self.selection.origin.get("tool") != "tiles":
            self.scope = self.selection.positions
        if self.saved is not None and not np.array_equal(self.selection.positions, self._recalled):
            self.saved = None
        if self.sent and not np.array_equal(self.selection.positions, self._opened):
            self.sent = ""
