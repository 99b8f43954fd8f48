"""What the Review board draws, as plain values."""

from typing import Any

import numpy as np

from app.state.review import ON_TABLE, Review
from app.state.reviewing import PAGE
from app.state.session import Session
from engine.labelling.pace import pace
from engine.labelling.term_search import search
from engine.workspace.events import standing
from engine.workspace.vocabularies import Term

QUESTIONS = {
    "cluster": "Do these belong together? Click what does not, then press Enter to name the rest",
    "grow": "Do all of these belong?  F yes · J no; click single ones away first",
    "check": "A random check of what you named: click what is wrong, then press Enter",
}


def content(review: Review) -> dict[str, Any]:
    """Everything the board shows."""
    cluster = review.current_cluster()
    images, ahead = _images(review)
    return {
        "run": review.atlas.run.id, "mode": review.mode, "question": QUESTIONS[review.mode], "cluster": cluster,
        "clusters": _clusters(review), "images": images, "ahead": ahead, "page": review.page,
        "pages": -(-len(review.members()) // ON_TABLE), "size": len(review.members()),
        "term": _term(review.chosen_term()), "suggested": suggested(review, cluster), "favourites": _favourites(review),
        "pace": _pace(review), "grow": _grow(review), "check": _check(review), "version": review.app.images_version,
    }


def found_terms(session: Session, typed: str) -> list[dict[str, Any]]:
    """Terms for a few letters typed."""
    person, workspace = session.who(), session.workspace
    favourites = workspace.favourites.of(person.id).values() if person else ()
    terms = session.app.kept("terms in order", workspace.vocabularies.all_terms)
    return [_term(term) for term in search(terms, typed, 9, set(favourites))]


def suggested(review: Review, cluster: int) -> dict[str, Any] | None:
    """The term that is likely the cluster's, and the share of its images that speak for it."""
    found = review.suggested(cluster)
    return None if found is None else {**_term(found[0]), "share": round(found[1], 3)}


def _images(review: Review) -> tuple[list[dict[str, Any]], list[int]]:
    """(tiles of the page, ids of the images that can come next, to be fetched meanwhile)."""
    if review.mode == "grow" and review.growing:
        search_, ranking = review.growing.search, review.growing.ranking
        ahead = [int(image) for page in search_.pages_ahead() for image in ranking[page * PAGE : (page + 1) * PAGE]]
        return _tiles(review, review.growing.images()), ahead
    if review.mode == "check" and review.checking:
        return _tiles(review, review.checking.images), []
    return _tiles(review, review.table()), review.members()[(review.page + 1) * ON_TABLE :][:ON_TABLE].tolist()


def _tiles(review: Review, images: np.ndarray) -> list[dict[str, Any]]:
    held, names = review.labelled(), {term.id: term.name for term in review.terms()}
    at = dict(zip(held["images"].tolist(), held["terms"].tolist(), strict=True)) if len(held["images"]) < 1000 else None
    return [{"id": int(image), "label": names.get(_held(held, at, int(image)), "")} for image in images]


def _held(held: dict[str, np.ndarray], at: dict[int, int] | None, image: int) -> int | None:
    if at is not None:
        return at.get(image)
    place = int(np.searchsorted(held["images"], image))
    return int(held["terms"][place]) if place < len(held["images"]) and held["images"][place] == image else None


def _clusters(review: Review) -> list[dict[str, Any]]:
    shares, sizes = review.open_share(), review.arrangement().sizes()
    return [{"number": number, "size": size, "done": round(1 - shares[number], 3)}
            for number, size in sorted(sizes.items(), key=lambda pair: -pair[1])]


def _term(term: Term | None) -> dict[str, Any] | None:
    if term is None:
        return None
    return {"id": term.id, "name": term.name, "path": " > ".join(term.path), "colour": term.colour or "",
            "notes": str(term.details.get("notes", ""))}


def _favourites(review: Review) -> list[dict[str, Any]]:
    person = review.session.who()
    if person is None:
        return []
    terms = {term.id: term for term in review.terms()}
    chosen = review.app.workspace.favourites.of(person.id)
    return [{"key": key, **_term(terms[number])} for key, number in chosen.items() if number in terms]


def _pace(review: Review) -> dict[str, Any]:
    left = len(review.app.columns) - len(review.labelled()["images"])
    person = review.session.who()
    found = pace(standing(review.app.workspace.labels.events()), person.id) if person else None
    return {"left": left, "labelled": len(review.labelled()["images"]),
            "per_hour": round(found.per_hour) if found else 0,
            "seconds_left": found.seconds_left(left) if found else None}


def _grow(review: Review) -> dict[str, Any] | None:
    state = review.growing
    if state is None:
        return None
    search_ = state.search
    return {"curve": state.curve(), "cut": state.pages_taken, "low": search_.quantile(0.025),
            "high": search_.quantile(0.975), "asked": state.page, "done": search_.done, "pages": search_.pages,
            "answers": [[answer.page, answer.belongs] for answer in search_.answers], "taken": len(state.taken())}


def _check(review: Review) -> dict[str, Any] | None:
    state = review.checking
    return None if state is None else {"size": len(state.images), "of": state.of, "wanted": state.wanted}
