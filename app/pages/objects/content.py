"""Content of the Objects page as plain values."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benthoscope.app.data.exemplars import SEGMENT_KINDS, segment_examples
from benthoscope.app.data.figures import MOST_DIVES, MOST_OBJECTS
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.objects import Objects, object_names, words
from benthoscope.app.pages.objects.model import ORDERS, PARTS, ObjectGallery, runs_of_objects
from benthoscope.app.pages.objects.point_validation import point_truth
from benthoscope.app.session.cache import IMAGES, RUNS
from benthoscope.plots.colours import distinct

Values = dict[str, Any]
MOST_TERMS = 14  # columns of the table of points; one more sums up the rest


def content(view: ObjectGallery) -> Values:
    """Everything the page shows; {"gone": True} if the last run of objects was deleted."""
    objects = view.objects
    if objects is None:
        return {"gone": True}
    runs = runs_of_objects(view.app)
    return {
        "run": objects.run.id,
        "run_name": objects.run.name,
        "runs": [[run.id, run.name] for run in reversed(runs)],
        "part": view.part,
        "parts": _view_choices(view),
        "kind": view.kind,
        "kinds": list(SEGMENT_KINDS.items()),
        "order": view.order,
        "orders": list(ORDERS.items()),
        "word": view.word,
        "cut": objects.features.folder.name,
        "version": view.app.images_version,
        "model": objects.run.model,
        "told": summary_text(objects),
        "names": words(view.app, objects),
        "colours": distinct(objects.clusters),
        "shown": DRAWN[view.part](view, objects),
    }


def _view_choices(view: ObjectGallery) -> list[tuple[str, str]]:
    """The parts of the page with their titles."""
    return list({**PARTS, "dives": f"In {group_words(view.app).plural}"}.items())


def summary_text(objects: Objects) -> str:
    return f"{objects.clusters} objects in {int(objects.sizes.sum()):,} segments of {objects.clustered:,} images"


def cards(view: ObjectGallery, objects: Objects) -> list[Values]:
    all_cards = [_card(view, objects, number) for number in range(objects.clusters)]
    word = view.word.strip().lower()
    passing = [card for card in all_cards if word in card["name"].lower() or word == str(card["number"])]
    return sorted(passing, key=SORTED_BY[view.order])


def together(view: ObjectGallery, objects: Objects) -> Values:
    """How many of the rarest objects the plot of co-occurrence leaves out."""
    return {"left_out": max(objects.clusters - MOST_OBJECTS, 0), "objects": min(objects.clusters, MOST_OBJECTS)}


def dives(view: ObjectGallery, objects: Objects) -> Values:
    """How many dives the plot shows."""
    return {"rows": min(int(objects.by_dive(view.required_atlas()).any(1).sum()), MOST_DIVES)}


def scenes(view: ObjectGallery, objects: Objects) -> Values:
    """How many image clusters the plot shows."""
    return {"rows": min(int((view.required_atlas().sizes > 0).sum()), MOST_DIVES)}


def points(view: ObjectGallery, objects: Objects) -> Values:
    """Labels of the labelled points on each object."""
    truth = point_truth(view.app, objects)
    if truth is None:
        return {"points": 0}
    counts = truth.table.counts
    order = np.argsort(-counts.sum(1), kind="stable")
    most_frequent = counts[order, :MOST_TERMS]
    other_counts = counts[order, MOST_TERMS:].sum(1)
    return {
        "points": truth.table.points,
        "missed": truth.table.missed,
        "v_measure": round(truth.table.v_measure, 3),
        "terms": [term.name for term in truth.terms[:MOST_TERMS]],
        "more": max(len(truth.terms) - MOST_TERMS, 0),
        "rows": [
            _agreement(int(number), row, int(other), counts[number], truth.terms)
            for number, row, other in zip(order, most_frequent, other_counts, strict=True)
        ],
    }


def _agreement(number: int, row: np.ndarray, other_count: int, label_counts: np.ndarray, terms: tuple) -> Values:
    total = int(label_counts.sum())
    return {
        "number": number,
        "counts": row.tolist(),
        "rest": other_count,
        "points": total,
        "term": terms[int(label_counts.argmax())].name if total else "",
        "share": round(float(label_counts.max() / total), 3) if total else 0.0,
    }


def _card(view: ObjectGallery, objects: Objects, number: int) -> Values:
    name = object_names(view.app, objects)[number]
    atlas = view.required_atlas()
    by_dive = view.app.cached(("objects by dive", objects.run.id), lambda: objects.by_dive(atlas), (IMAGES, RUNS))[
        :, number
    ]
    return {
        "number": number,
        "name": words(view.app, objects)[number],
        "term": name.term,
        "holds": name.holds,
        "named": round(name.named, 4),
        "agreeing": round(name.agreeing, 4),
        "colour": distinct(objects.clusters)[number],
        "segments": int(objects.sizes[number]),
        "images": int(objects.images[number]),
        "share": round(float(objects.sizes[number] / max(objects.sizes.sum(), 1)), 4),
        "crops": segment_examples(view.app, objects, view.kind, number),
        "dives": [
            [group.group.name, round(float(share), 4)] for group, share in zip(atlas.groups, by_dive, strict=True)
        ][:MOST_DIVES],
    }


SORTED_BY: Mapping[str, Callable[[Values], Any]] = {
    "size": lambda card: -card["segments"],
    "images": lambda card: -card["images"],
    "number": lambda card: card["number"],
    "unnamed": lambda card: (card["named"], -card["segments"]),
    "name": lambda card: (not card["holds"], card["name"].lower()),
}
DRAWN: Mapping[str, Callable[[ObjectGallery, Objects], Any]] = {
    "cards": cards,
    "together": together,
    "dives": dives,
    "scenes": scenes,
    "points": points,
}
