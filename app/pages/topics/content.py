"""Content of the Topics page as plain values."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benthoscope.app.data.clusters.clustered_images import is_joint_segmentation, part_words
from benthoscope.app.data.exemplars import SEGMENT_KINDS
from benthoscope.app.data.group_words import group_words
from benthoscope.app.data.topics import Topics, runs_of_topics, topic_patches, topic_summaries
from benthoscope.app.pages.topics.forms import FINDING, usual_cost
from benthoscope.app.pages.topics.model import ORDERS, PARTS, TopicsView
from benthoscope.engine.jobs.cluster.fit_request import FIELDS, limit_sentences
from benthoscope.engine.jobs.cluster.model_catalog import TOPIC_MODELS
from benthoscope.engine.jobs.cluster.topic_summary import TopicSummary, addition_text
from benthoscope.engine.problems import BenthoscopeError
from benthoscope.plots.colours import distinct

Values = dict[str, Any]
MOST_DIVES = 40  # bars on the card of a topic
MOST_LABELS = 3


def content(view: TopicsView) -> Values:
    """Everything the page shows. Without a run of topics, what the first one costs."""
    topics, app = view.topics, view.app
    jobs = {"models": sorted(TOPIC_MODELS), "finding": FINDING}
    if topics is None:
        images = len(app.columns)
        return {"run": None, "images": images, "cost": usual_cost(app) if images else "", **jobs}
    return {
        **jobs,
        "run": topics.run.id,
        "run_name": topics.run.name,
        "runs": [[run.id, run.name] for run in reversed(runs_of_topics(app))],
        "part": view.part,
        "parts": _parts(view),
        "version": app.images_version,
        "cut": app.features(topics.run.features).folder.name if topics.run.features in app.workspace.features else "",
        "model": topics.run.model,
        "told": summary_text(topics),
        "part_words": part_words(topics.run),
        "names": list(topics.names),
        "colours": distinct(len(topics.names)),
        "added": [addition_text(addition) for addition in topics.run.summary.get("additions", [])],
        "addable": _addable(view),
        "limits": limit_sentences(topics.run, FIELDS),
        "shown": DRAWN[view.part](view, topics),
    }


def _parts(view: TopicsView) -> list[tuple[str, str]]:
    """The parts of the page with their titles."""
    parts = {**PARTS, "dives": f"Along {group_words(view.app).plural}"}
    if view.topics is not None and is_joint_segmentation(view.topics.run):
        parts["fit"] = "Fit"
    return list(parts.items())


def summary_text(topics: Topics) -> str:
    parts = int(topics.run.summary.get("segments", 0))
    return f"{len(topics.names)} topics of {parts:,} {part_words(topics.run)[1]} in {len(topics.positions):,} images"


def _addable(view: TopicsView) -> Values:
    new = view.addable()
    return {"images": 0 if new.problem else new.described + new.undescribed, "problem": new.problem}


def cards(view: TopicsView, topics: Topics) -> Values:
    """One card for each topic, and the choices of examples and order."""
    word = view.word.strip().lower()
    every = [_card(view, topics, summary) for summary in topic_summaries(view.app, topics.run)]
    passing = [card for card in every if word in card["name"].lower() or word == str(card["number"])]
    return {
        "kind": view.kind,
        "kinds": list(SEGMENT_KINDS.items()),
        "order": view.order,
        "orders": list(ORDERS.items()),
        "word": view.word,
        "cards": sorted(passing, key=SORTED_BY[view.order]),
    }


def _card(view: TopicsView, topics: Topics, summary: TopicSummary) -> Values:
    number = summary.topic
    return {
        "number": number,
        "name": topics.names[number],
        "given": summary.name,
        "colour": distinct(len(topics.names))[number],
        "share": round(summary.share, 4),
        "patch_share": round(summary.patch_share, 4),
        "largest_in": summary.largest_in,
        "crops": topic_patches(view.app, topics, view.kind, number),
        "images": [[id_, round(weight, 4)] for id_, weight in zip(summary.image_ids, summary.weights, strict=True)],
        "dives": [[name, round(share, 4)] for name, share in list(summary.dives.items())[:MOST_DIVES]],
        "labels": [[name, round(share, 4)] for name, share in list(summary.labels.items())[:MOST_LABELS]],
    }


def dives(view: TopicsView, topics: Topics) -> Values:
    """The dives with topics, and the chosen one; the plots are drawn from their numbers."""
    groups = topics.atlas.groups
    with_topics = np.flatnonzero(topics.by_dive.any(1)).tolist()
    return {
        "dives": [[groups[at].group.id, groups[at].group.name] for at in with_topics],
        "dive": groups[view.dive_index()].group.id if groups else None,
        "several": len(with_topics) > 1,
    }


def find(view: TopicsView, topics: Topics) -> Values:
    """The search and its result: [id, distance, weights] of the nearest images."""
    problem, rows, distance, shares = "", np.empty(0, int), np.empty(0), {}
    try:
        rows, distance = view.nearest_images()
        shares = {} if view.like is not None or view.region else view.mixture_shares()
    except BenthoscopeError as error:
        problem = str(error)
    ids = topics.ids
    return {
        "mixture": view.mixture,
        "like": view.like,
        "region": view.region,
        "wanted": [round(100 * shares.get(topic, 0.0), 1) for topic in range(len(topics.names))],
        "problem": problem,
        "total": len(rows),
        "images": [
            [int(ids[row]), round(float(far), 3), np.round(topics.weights[row], 3).tolist()]
            for row, far in zip(rows[: view.shown].tolist(), distance, strict=False)
        ],
    }


def fit(view: TopicsView, topics: Topics) -> Values:
    """How the vocabulary and the bound changed during the fit."""
    summary, provenance = topics.run.summary, topics.run.provenance
    parameters = provenance.get("parameters") or {}
    trace = provenance.get("trace") or []
    return {
        "has_trace": len(trace) > 1,
        "vocabulary": int(trace[-1][2]) if trace else None,
        "inferred": topics.run.model != "lda",
        "joint": is_joint_segmentation(topics.run),
        "bound": _bound_of_a_part(summary),
        "converged": summary.get("converged"),
        "seconds": provenance.get("seconds"),
        "inference": parameters.get("inference"),
        "noisy": parameters.get("inference") in ("svi", "incremental"),
    }


def _bound_of_a_part(summary: Mapping[str, Any]) -> float | None:
    """The lower bound of the fit divided by the number of patches or segments."""
    bound, parts = summary.get("lower_bound"), summary.get("segments")
    return round(bound / parts, 2) if bound is not None and parts else None


SORTED_BY: Mapping[str, Callable[[Values], Any]] = {
    "share": lambda card: -card["share"],
    "number": lambda card: card["number"],
    "name": lambda card: (not card["given"], card["name"].lower(), card["number"]),
}
DRAWN: Mapping[str, Callable[[TopicsView, Topics], Values]] = {
    "cards": cards,
    "dives": dives,
    "find": find,
    "fit": fit,
}
