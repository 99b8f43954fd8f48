"""What a card says of a cluster, and in which order cards stand."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import Atlas
from app.state.colouring import cluster_colours
from app.state.exemplar_book import book_of
from app.state.object_book import stand_ins
from app.state.objects import objects_of
from app.state.shapes import shapes_of
from app.state.terms import Labelled, labelled

LEAST = 0.005  # share of a cluster's segments below which an object is not told of
SHOWN = 6      # objects shown by a segment


@dataclass(frozen=True)
class Card:
    number: int
    colour: str
    size: int
    share: float                 # of all images of the run
    dives: tuple[float, ...]     # the share of every dive that is in this cluster
    label: str                   # the term most of the labelled members have; empty where none is labelled
    labelled: float              # share of the members that have a label
    agreeing: float              # of those, the share that has this term
    spread: float | None         # 1: as wide as all images together
    nearest: tuple[int, ...]
    probability: float | None    # mean of the members
    images: tuple[int, ...]      # ids of those that stand for it
    objects: tuple[tuple[int, float], ...] = ()  # (object, share of the segments), the commonest first
    crops: tuple[tuple[int, int, int], ...] = ()  # (object, image, segment) that show the commonest objects

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


ORDERS: Mapping[str, tuple[str, Callable[[Card], Any]]] = {
    "size": ("Largest", lambda card: -card.size),
    "number": ("Number", lambda card: card.number),
    "unlabelled": ("Least labelled", lambda card: (card.labelled, -card.size)),
    "spread": ("Widest", lambda card: -(card.spread or 0)),
    "sure": ("Least sure", lambda card: card.probability if card.probability is not None else 2),
    "label": ("Label", lambda card: (card.label or "~", -card.size)),
}
FILTERS: Mapping[str, tuple[str, Callable[[Card], bool]]] = {
    "all": ("All", lambda card: True),
    "unlabelled": ("Not labelled", lambda card: card.labelled < 0.5),
    "labelled": ("Labelled", lambda card: card.labelled >= 0.5),
    "mixed": ("Mixed labels", lambda card: bool(card.label) and card.agreeing < 0.95),
}


def cards(app: AppState, atlas: Atlas, *, kind: str = "exemplars", order: str = "size", only: str = "all",
          word: str = "", numbers: tuple[int, ...] | None = None) -> list[Card]:
    """The cards that pass the filter and whose number, label or nothing holds the word, in order."""
    found = [card(app, atlas, number, kind) for number in (range(atlas.clusters) if numbers is None else numbers)]
    word = word.strip().lower()
    passing = [one for one in found if FILTERS[only][1](one) and (word in one.label.lower() or word == str(one.number))]
    return sorted(passing, key=ORDERS[order][1])


def card(app: AppState, atlas: Atlas, number: int, kind: str) -> Card:
    members, shapes, book = atlas.members(number), shapes_of(app, atlas), book_of(app, atlas)
    label, share, agreeing = label_state(labelled(app), members)
    sure = atlas.probability[members]
    return Card(
        number, cluster_colours(atlas.clusters)[number], len(members), len(members) / max(int(atlas.sizes.sum()), 1),
        tuple(np.round(atlas.weights[:, number], 5).tolist()), label, share, agreeing,
        None if shapes is None else round(float(shapes.spread[number]), 3),
        () if shapes is None else tuple(shapes.nearest(number)),
        round(float(np.nanmean(sure)), 4) if np.isfinite(sure).any() else None,
        tuple(atlas.columns.ids[book.of(number, kind)].tolist()), *_made_of(app, atlas, number),
    )


def _made_of(app: AppState, atlas: Atlas, number: int) -> tuple[tuple, tuple]:
    """The objects of a cluster and segments that show them; nothing where the run knows no objects."""
    objects = objects_of(app, atlas)
    if objects is None:
        return (), ()
    shares = objects.by_image_cluster(atlas)[number]
    order = [int(at) for at in np.argsort(-shares, kind="stable") if shares[at] >= LEAST]
    typical = [(at, *segment) for at in order[:SHOWN] for segment in stand_ins(app, objects, "typical", at)[:1]]
    return tuple((at, round(float(shares[at]), 4)) for at in order), tuple(typical)


def label_state(found: Labelled, members: np.ndarray) -> tuple[str, float, float]:
    """(the commonest term of the members, share of them that have any, share of those that have this one)."""
    terms = found.term[members]
    counts = np.bincount(terms[terms >= 0], minlength=len(found.terms))
    if not counts.sum():
        return "", 0.0, 0.0
    best = int(np.argmax(counts))
    return found.terms[best].name, round(float(counts.sum() / len(members)), 4), float(counts[best] / counts.sum())
