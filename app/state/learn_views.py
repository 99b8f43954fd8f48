"""What the board of Learn shows, as plain data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from app.state.colours import distinct
from app.state.learn import WHY, Learn
from app.state.review_views import favourites
from app.state.terms import standing_events
from engine.labelling.accepting import acceptable
from engine.labelling.forecast import forecast
from engine.labelling.pace import pace
from engine.labelling.suggestion_store import Suggestions

OPTIONS = 3      # suggestions of an image that clicks go through


def content(learn: Learn) -> dict[str, Any]:
    """Everything the board shows."""
    found = learn.suggestions()
    colours = _colours(learn)
    shown = {"queue": learn.queue, "queues": WHY, "learning": learn.learning(), "learnt": found is not None,
             "version": learn.app.images_version, "wanted": learn.wanted, "term": _term(learn, colours),
             "batch": learn.batch,
             "labelled": len(learn.current()[0]), "left": len(learn.app.columns) - len(learn.current()[0]),
             "favourites": [{**one, "colour": colours.get(one["id"], "")} for one in favourites(learn.session)],
             "spent": _spent(learn), "columns": learn.columns}
    if found is None:
        return {**shown, "images": []}
    ready, threshold = acceptable(found, learn.current()[0], learn.wanted)
    return {**shown, "images": _tiles(learn, colours), "table": learn.table().number,
            "possible": learn.possible(), "ready": len(ready), "threshold": threshold, "curve": _curve(found),
            "reliability": _reliability(found),
            "history": _history(learn), "accuracy": float(found.facts["accuracy"]), "expected": _expected(learn)}


def _spent(learn: Learn) -> float | None:
    """Seconds this person has worked on labels, without the pauses."""
    person = learn.session.who()
    return pace(standing_events(learn.app), person.id).seconds if person else None


def _expected(learn: Learn) -> dict[str, Any] | None:
    """Labels and seconds until the wanted share of first guesses is right, as the course of this campaign tells."""
    past = learn.learnt_from()
    told = forecast([facts["labels"] for facts in past], [facts["accuracy"] for facts in past], learn.wanted)
    if told is None:
        return None
    person = learn.session.who()
    seconds = None
    if person and told.labels is not None:
        mine = pace(standing_events(learn.app), person.id)
        seconds = mine.seconds_left(max(told.labels - past[-1]["labels"], 0))
    return {"labels": told.labels, "seconds": seconds}


def _tiles(learn: Learn, colours: Mapping[int, str]) -> list[dict[str, Any]]:
    """Every image on the table with its likeliest terms, the first as its suggestion: [id, name, share]; and the label
    it has, which it may have got just now."""
    table, names = learn.table(), learn.terms()
    given, since = learn.labels_of(table.ids), learn.named_since()
    P = np.asarray(table.found.probabilities[table.places], np.float64)
    order = np.argsort(-P, axis=1, kind="stable")[:, :OPTIONS]
    possible = table.found.sets(table.places, 1 - learn.wanted).sum(1).tolist()
    options = [[[int(table.found.terms[at]), names[int(table.found.terms[at])].name, round(float(row[at]), 3)]
                for at in best] for best, row in zip(order, P, strict=True)]
    return [{"id": image, "term": mine[0][1], "colour": colours.get(mine[0][0], ""), "sure": mine[0][2],
             "options": mine, "possible": among, "label": names[given[image]].name if image in given else "",
             "named": colours.get(given[image], "var(--line)") if image in since else ""}
            for image, mine, among in zip(table.ids.tolist(), options, possible, strict=True)]


def _colours(learn: Learn) -> dict[int, str]:
    """A colour for every term that labels give or the model suggests: its own, or one that tells it from the others."""
    return learn.app.kept("colours of terms", lambda: _coloured(learn))


def _coloured(learn: Learn) -> dict[int, str]:
    found = learn.suggestions()
    used = np.union1d(learn.current()[1], found.terms if found else []).astype(int).tolist()
    names = learn.terms()
    return {term: names[term].colour or colour for term, colour in zip(used, distinct(len(used)), strict=True)}


def _curve(found: Suggestions, most: int = 60) -> list[list[float]]:
    """[coverage, accuracy, at least, threshold] at some points."""
    curve = found.curve()
    picked = np.unique(np.linspace(0, len(curve.coverage) - 1, most).astype(int))
    return np.round(np.stack([curve.coverage, curve.accuracy, curve.at_least, curve.thresholds], 1)[picked], 4).tolist()


def _reliability(found: Suggestions) -> list[list[float]]:
    """[confidence, share right, weight] of every range."""
    told = found.reliability()
    return np.round(np.stack([told.confidence, told.right, told.weight], 1), 4).tolist()


def _history(learn: Learn) -> list[list[float]]:
    """[labels, accuracy] of every learning."""
    return [[facts["labels"], round(facts["accuracy"], 4)] for facts in learn.learnt_from()]


def _term(learn: Learn, colours: Mapping[int, str]) -> dict[str, Any] | None:
    found = learn.terms().get(learn.term)
    return None if found is None else {"id": found.id, "name": found.name, "colour": colours.get(found.id, "")}
