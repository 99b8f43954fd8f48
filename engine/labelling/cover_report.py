"""Cover of a campaign: the share of every term in every dive and in all, with how it was arrived at.

Three kinds of images: those whose label came by a rule that picks (a bulk act, an accepted suggestion, a doubtful image
asked for) count as they are; labels of images nobody picked for what they show are a sample; the rest is estimated
from that sample, cluster by cluster, with the model's help where there is one.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.labelling.cover import CONFIDENCE, Share, neyman, proposed, regression, spread_of, strata, stratified
from engine.labelling.material import Material, Said
from engine.labelling.suggestion_store import Suggestions
from engine.problems import fail
from engine.workspace.events import Event

PICKED = ("bulk", "review", "suggestion", "crowd", "import")       # reasons of labels that are no random sample
PICKING = ("margin", "varied", "outliers", "doubted", "groups")    # queues that choose images for what they show
EVERYWHERE = 0  # the group that stands for the whole campaign


@dataclass(frozen=True)
class Evidence:
    """Terms (N,) of images, 0 where unlabelled, and which labelled ones are a sample (N,) bool."""

    terms: np.ndarray
    sampled: np.ndarray


@dataclass(frozen=True)
class CoverRow:
    group_id: int
    term_id: int
    share: Share


def evidence(history: Iterable[Event], found: Material, said: Said) -> Evidence:
    """From labels as they hold."""
    terms, sampled = np.zeros(len(found.image_ids), np.int64), np.zeros(len(found.image_ids), bool)
    terms[said.places] = said.terms
    chance = {event.number for event in history if event.kind == "label" and _by_chance(event)}
    sampled[said.places] = np.isin(said.events, list(chance))
    return Evidence(terms, sampled)


def cover(found: Material, seen: Evidence, suggestions: Suggestions | None = None, *,
          confidence: float = CONFIDENCE) -> list[CoverRow]:
    """Of every term that was ever given, in the whole campaign and then dive by dive."""
    terms = np.unique(seen.terms[seen.terms > 0])
    if not len(terms):
        raise fail("cover", "nothing is labelled yet", "label a random batch first: benthoscope cover --propose 50")
    P = _model(found, suggestions)
    everywhere = np.ones(len(found.image_ids), bool)
    parts = [(EVERYWHERE, everywhere), *((int(group), found.groups == group) for group in np.unique(found.groups))]
    return [CoverRow(group, int(term), _share(found, seen, part, term, _column(P, suggestions, term), confidence))
            for group, part in parts for term in terms]


def next_to_label(found: Material, seen: Evidence, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Image ids whose labels would narrow the intervals most: Neyman's allocation over clusters, drawn at random."""
    rest = np.flatnonzero((seen.terms == 0) | seen.sampled)
    clusters = found.data.clusters[rest]
    places = np.flatnonzero(seen.sampled[rest])
    terms = np.unique(seen.terms[rest][places])
    tables = [strata(clusters, places, seen.terms[rest][places] == term, found.data.n_clusters) for term in terms]
    sizes = np.bincount(clusters, minlength=found.data.n_clusters)
    spread = spread_of(tables) if tables else np.ones(len(sizes))
    labelled = np.bincount(clusters[places], minlength=len(sizes))
    more = neyman(sizes, spread, budget, labelled)
    return found.image_ids[rest[proposed(clusters, places, more, rng)]]


def as_csv(rows: Sequence[CoverRow], groups: dict[int, str], terms: dict[int, str]) -> str:
    """One line a dive and term, with method and counts."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["group", "term", "share", "low", "high", "standard_error", "labelled", "images", "method"])
    for row in rows:
        share = row.share
        table.writerow([groups[row.group_id], terms[row.term_id], *(f"{value:.6g}" for value in (
            share.estimate, share.low, share.high, share.error)), share.labelled, share.of, share.method])
    return out.getvalue()


def _by_chance(event: Event) -> bool:
    return event.why not in PICKED and event.rule.get("queue") not in PICKING


def _model(found: Material, suggestions: Suggestions | None) -> np.ndarray | None:
    if suggestions is None or not np.array_equal(suggestions.image_ids, found.image_ids):
        return None
    return suggestions.unseen_probabilities()


def _column(P: np.ndarray | None, suggestions: Suggestions | None, term: int) -> np.ndarray | None:
    at = np.flatnonzero(suggestions.terms == term) if P is not None else ()
    return P[:, at[0]] if len(at) else None


def _share(found: Material, seen: Evidence, part: np.ndarray, term: int, model: np.ndarray | None,
           confidence: float) -> Share:
    """What was picked counts as it is, the rest is estimated; both together."""
    picked = part & (seen.terms > 0) & ~seen.sampled
    rest = np.flatnonzero(part & ~picked)
    known, hits = int(picked.sum()), int((seen.terms[picked] == term).sum())
    if not len(rest):
        return Share(hits / known, hits / known, hits / known, 0.0, known, known, "counted in full")
    places = np.flatnonzero(seen.sampled[rest])
    has, clusters = seen.terms[rest][places] == term, found.data.clusters[rest]
    if model is not None and len(places) >= 3:
        about_rest = regression(model[rest], clusters, places, has, confidence)
    else:
        about_rest = stratified(strata(clusters, places, has), confidence)
    return _together(about_rest, known, hits, len(rest))


def _together(rest: Share, known: int, hits: int, count: int) -> Share:
    total = known + count

    def overall(share: float) -> float:
        return (hits + share * count) / total

    method = rest.method + (f", {known} counted" if known else "")
    return replace(rest, estimate=overall(rest.estimate), low=overall(rest.low), high=overall(rest.high),
                   error=rest.error * count / total, labelled=rest.labelled + known, of=total, method=method)
