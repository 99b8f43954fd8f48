"""What the Objects page draws, as plain values: never more than a few numbers for an object, a dive, a pair."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from app.state.colours import distinct
from app.state.cooccurrence import company
from app.state.dive_compare import compared
from app.state.object_book import KINDS, stand_ins
from app.state.object_gallery import ORDERS, PARTS, ObjectGallery, runs_of_objects
from app.state.object_points import point_truth
from app.state.object_terms import object_names, words
from app.state.objects import Objects
from app.state.terms import all_terms

Values = dict[str, Any]
MOST_ROWS = 120    # of a heat map: beyond, rows are thinner than their names
MOST_TERMS = 14    # columns of the table of points; the rest is one more
MOST_IN_MAP = 60   # objects in the map of company: beyond, cells are too small to hit


def content(view: ObjectGallery) -> Values:
    """Everything the page shows now; nothing where the last run of objects was deleted meanwhile."""
    objects = view.objects
    if objects is None:
        return {"gone": True}
    runs = runs_of_objects(view.app)
    return {"run": objects.run.id, "run_name": objects.run.name, "runs": [[run.id, run.name] for run in reversed(runs)],
            "part": view.part, "parts": list(PARTS.items()), "kind": view.kind, "kinds": list(KINDS.items()),
            "order": view.order, "orders": list(ORDERS.items()), "word": view.word,
            "cut": objects.features.folder.name, "version": view.app.images_version, "model": objects.run.model,
            "told": told(objects), "names": words(view.app, objects), "colours": distinct(objects.clusters),
            "terms": sorted({" > ".join(term.path) for term in all_terms(view.app).values()}),
            "shown": DRAWN[view.part](view, objects)}


def told(objects: Objects) -> str:
    return (f"{objects.clusters} kinds of objects among {int(objects.sizes.sum()):,} segments of "
            f"{objects.clustered:,} images")


def cards(view: ObjectGallery, objects: Objects) -> list[Values]:
    found = [_card(view, objects, number) for number in range(objects.clusters)]
    word = view.word.strip().lower()
    passing = [card for card in found if word in card["name"].lower() or word == str(card["number"])]
    return sorted(passing, key=SORTED_BY[view.order])


def together(view: ObjectGallery, objects: Objects) -> Values:
    """How often objects are seen in one image against how often chance would have it."""
    found = company(objects.together, objects.clustered)
    largest = set(np.argsort(-objects.images, kind="stable")[:MOST_IN_MAP].tolist())
    order = [number for number in found.order.tolist() if number in largest]
    return {"order": order, "images": objects.clustered, "left_out": objects.clusters - len(order),
            "ratio": np.round(found.ratio[np.ix_(order, order)], 2).tolist(),
            "both": objects.together[np.ix_(order, order)].tolist(), "each": objects.images[order].tolist()}


def dives(view: ObjectGallery, objects: Objects) -> Values:
    """The share of every object in every dive, like dives and like objects side by side."""
    atlas, shares = view.atlas, objects.by_dive(view.atlas)
    found = compared(shares)
    rows = [at for at in found.dives.tolist() if shares[at].any()][:MOST_ROWS]
    return {"rows": [[atlas.groups[at].group.id, atlas.groups[at].group.name] for at in rows],
            "columns": found.clusters.tolist(), "shares": np.round(shares[np.ix_(rows, found.clusters)], 4).tolist()}


def scenes(view: ObjectGallery, objects: Objects) -> Values:
    """What every image cluster is made of, the largest first."""
    sizes, shares = view.atlas.sizes, objects.by_image_cluster(view.atlas)
    order = [int(at) for at in np.argsort(-sizes, kind="stable") if sizes[at]][:MOST_ROWS]
    return {"rows": [[at, int(sizes[at])] for at in order], "shares": np.round(shares[order], 4).tolist()}


def points(view: ObjectGallery, objects: Objects) -> Values:
    """The terms of the labelled points that lie on each object."""
    truth = point_truth(view.app, objects)
    if truth is None:
        return {"points": 0}
    order = np.argsort(-truth.table.sum(1), kind="stable")
    kept = truth.table[order, :MOST_TERMS]
    rest = truth.table[order, MOST_TERMS:].sum(1)
    return {"points": truth.points, "missed": truth.missed, "v_measure": round(truth.v_measure, 3),
            "terms": [term.name for term in truth.terms[:MOST_TERMS]], "more": max(len(truth.terms) - MOST_TERMS, 0),
            "rows": [_agreement(int(number), row, int(other), truth.table[number], truth.terms)
                     for number, row, other in zip(order, kept, rest, strict=True)]}


def _agreement(number: int, row: np.ndarray, rest: int, whole: np.ndarray, terms: tuple) -> Values:
    total = int(whole.sum())
    return {"number": number, "counts": row.tolist(), "rest": rest, "points": total,
            "term": terms[int(whole.argmax())].name if total else "",
            "share": round(float(whole.max() / total), 3) if total else 0.0}


def _card(view: ObjectGallery, objects: Objects, number: int) -> Values:
    name = object_names(view.app, objects)[number]
    by_dive = view.app.kept(("objects by dive", objects.run.id), lambda: objects.by_dive(view.atlas))[:, number]
    return {"number": number, "name": words(view.app, objects)[number], "term": name.term, "holds": name.holds,
            "named": round(name.named, 4), "agreeing": round(name.agreeing, 4),
            "colour": distinct(objects.clusters)[number], "segments": int(objects.sizes[number]),
            "images": int(objects.images[number]),
            "share": round(float(objects.sizes[number] / max(objects.sizes.sum(), 1)), 4),
            "crops": stand_ins(view.app, objects, view.kind, number),
            "dives": [[group.group.name, round(float(share), 4)]
                      for group, share in zip(view.atlas.groups, by_dive, strict=True)][:MOST_ROWS]}


SORTED_BY: Mapping[str, Callable[[Values], Any]] = {
    "size": lambda card: -card["segments"], "images": lambda card: -card["images"],
    "number": lambda card: card["number"], "unnamed": lambda card: (card["named"], -card["segments"]),
    "name": lambda card: (not card["holds"], card["name"].lower())}
DRAWN: Mapping[str, Callable[[ObjectGallery, Objects], Any]] = {
    "cards": cards, "together": together, "dives": dives, "scenes": scenes, "points": points}
