"""Cluster cards of Explore: their content, order and filters."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import param

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.data.clusters.cluster_geometry import cluster_geometry
from benthoscope.app.data.clusters.clustered_images import Atlas, cluster_name, cluster_word
from benthoscope.app.data.exemplars import examples_of, segment_examples
from benthoscope.app.data.labels import LabelledImages, labelled
from benthoscope.app.data.objects import objects_of
from benthoscope.app.session.app_state import AppState
from benthoscope.plots.colours import distinct

LEAST = 0.005  # smallest share of a cluster's segments for which an object is listed
SHOWN = 6  # objects shown with an example segment


@dataclass(frozen=True)
class Card:
    number: int
    title: str  # see `cluster_name`
    has_name: bool  # a person gave it this name
    colour: str
    size: int
    share: float  # of all images of the run
    dives: tuple[float, ...]  # the share of every dive that is in this cluster
    label: str  # the most frequent label of the members; empty if none is labelled
    labelled: float  # share of the members that have a label
    agreeing: float  # share of the labelled members with this label
    spread: float | None  # 1: as wide as all images together
    nearest: tuple[int, ...]
    probability: float | None  # mean of the members
    images: tuple[int, ...]  # ids of the example images
    objects: tuple[tuple[int, float], ...] = ()  # (object, share of the segments), most frequent first
    crops: tuple[tuple[int, int, int], ...] = ()  # (object, image, segment) of typical segments of these objects

    @property
    def words(self) -> str:
        """The label and, if a person gave one, the name, in small letters."""
        return f"{self.label} {self.title if self.has_name else ''}".lower()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


ORDERS: Mapping[str, tuple[str, Callable[[Card], Any]]] = {
    "size": ("Largest", lambda card: -card.size),
    "number": ("Number", lambda card: card.number),
    "unlabelled": ("Least labelled", lambda card: (card.labelled, -card.size)),
    "spread": ("Widest", lambda card: -(card.spread or 0)),
    "sure": ("Least certain", lambda card: card.probability if card.probability is not None else 2),
    "label": ("Label", lambda card: (card.label or "~", -card.size)),
}
FILTERS: Mapping[str, tuple[str, Callable[[Card], bool]]] = {
    "all": ("All", lambda card: True),
    "unlabelled": ("Not labelled", lambda card: card.labelled < 0.5),
    "labelled": ("Labelled", lambda card: card.labelled >= 0.5),
    "mixed": ("Mixed labels", lambda card: bool(card.label) and card.agreeing < 0.95),
}


def cards(
    app: AppState,
    atlas: Atlas,
    *,
    kind: str = "exemplars",
    order: str = "size",
    only: str = "all",
    word: str = "",
    numbers: tuple[int, ...] | None = None,
) -> list[Card]:
    """Cards that pass the filter, in order. With `word`, only those whose label contains it or whose number it is."""
    all_cards = [card(app, atlas, number, kind) for number in (range(atlas.clusters) if numbers is None else numbers)]
    word = word.strip().lower()
    passing = [
        entry for entry in all_cards if FILTERS[only][1](entry) and (word in entry.words or word == str(entry.number))
    ]
    return sorted(passing, key=ORDERS[order][1])


def card(app: AppState, atlas: Atlas, number: int, kind: str) -> Card:
    members, geometry, examples = atlas.members(number), cluster_geometry(app, atlas), examples_of(app, atlas)
    label, share, agreeing = label_state(labelled(app), members)
    sure = atlas.probability[members]
    title = cluster_name(app, atlas.run, number)
    return Card(
        number,
        title,
        title != f"{cluster_word(atlas.run)} {number}",
        distinct(atlas.clusters)[number],
        len(members),
        len(members) / max(int(atlas.sizes.sum()), 1),
        tuple(np.round(atlas.weights[:, number], 5).tolist()),
        label,
        share,
        agreeing,
        None if geometry is None else round(float(geometry.spread[number]), 3),
        () if geometry is None else tuple(geometry.nearest(number)),
        round(float(np.nanmean(sure)), 4) if np.isfinite(sure).any() else None,
        tuple(atlas.columns.ids[examples.of(number, kind)].tolist()),
        *_made_of(app, atlas, number),
    )


def _made_of(app: AppState, atlas: Atlas, number: int) -> tuple[tuple, tuple]:
    """Objects of a cluster and typical segments of them; empty if the run has no objects."""
    objects = objects_of(app, atlas)
    if objects is None:
        return (), ()
    shares = objects.by_image_cluster(atlas)[number]
    order = [int(at) for at in np.argsort(-shares, kind="stable") if shares[at] >= LEAST]
    typical = [(at, *segment) for at in order[:SHOWN] for segment in segment_examples(app, objects, "typical", at)[:1]]
    return tuple((at, round(float(shares[at]), 4)) for at in order), tuple(typical)


def label_state(labelled_images: LabelledImages, members: np.ndarray) -> tuple[str, float, float]:
    """(most frequent label of the members, share of them with a label, share of these with this label)."""
    terms = labelled_images.term[members]
    counts = np.bincount(terms[terms >= 0], minlength=len(labelled_images.terms))
    if not counts.sum():
        return "", 0.0, 0.0
    best = int(np.argmax(counts))
    return (
        labelled_images.terms[best].name,
        round(float(counts.sum() / len(members)), 4),
        float(counts[best] / counts.sum()),
    )


class ClusterCards(CommandComponent):
    """Sends {act: open | cluster | reveal, cluster, how}, {act: show, id, cluster}, {act: object, object}."""

    _module = "pages/explore/cards"
    _styles = ("parts", "explore")

    cards = param.List(default=[], doc="Fields of each Card, in order.")
    total = param.Integer(default=0, doc="Number of all clusters.")
    open = param.List(default=[], doc="Clusters of the filter.")
    dives = param.List(default=[], doc="Names of the dives.")
    colours = param.List(default=[], doc="The colour of every cluster.")
    names = param.List(default=[], doc="The name of every cluster.")
    noun = param.String(default="cluster", doc="The word for a cluster: cluster or topic.")
    cut = param.String(default="", doc="Folder name of the segment features of the crops; empty if there are none.")
    object_colours = param.List(default=[], doc="The colour of every object.")
    object_names = param.List(default=[], doc="Name of every object.")
    version = param.Integer(default=1, doc="Version of the workspace.")
    kind = param.String(default="exemplars", doc="Which example images a card shows.")
    kind_choices = param.List(default=[], doc="[value, title].")
    order = param.String(default="size", doc="The order of the cards.")
    order_choices = param.List(default=[], doc="[value, title].")
    only = param.String(default="all", doc="Which cards are shown.")
    only_choices = param.List(default=[], doc="[value, title].")
    word = param.String(default="", doc="Text that the label contains, or the number.")
    limits = param.List(default=[], doc="A sentence for each limit that the fit reached.")
    empty = param.String(default="No clusters yet: cluster the images in Library.", doc="Shown if there is no run.")
