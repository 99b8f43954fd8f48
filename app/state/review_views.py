"""What the Review board draws, as plain values."""

from typing import Any

import numpy as np

from app.state import one_by_one
from app.state.rearranging import plane
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
    "verify": "Labels of others: click what you would call otherwise, e names those, Enter confirms the rest",
    "single": "A favourite's key names the image, a takes the suggestion, Enter the chosen term, n comes later",
}


def content(review: Review) -> dict[str, Any]:
    """Everything the board shows."""
    cluster = review.current_cluster()
    images, ahead = _images(review)
    return {
        "run": review.atlas.run.id, "mode": review.mode, "question": QUESTIONS[review.mode], "cluster": cluster,
        "clusters": _clusters(review), "images": images, "ahead": ahead, "page": review.page,
        "pages": -(-len(review.members()) // ON_TABLE), "size": len(review.members()),
        "term": term_told(review.chosen_term()), "suggested": suggested(review, cluster),
        "favourites": favourites(review.session),
        "pace": _pace(review), "grow": _grow(review), "check": _check(review), "version": review.app.images_version,
        "verify": _verify(review), "single": one_by_one.content(review) if review.mode == "single" else None,
        "plane": _plane(review), "lasso": review.lasso, "terms": _used_names(review),
    }


def found_terms(session: Session, typed: str) -> list[dict[str, Any]]:
    """Terms for a few letters typed."""
    person, workspace = session.who(), session.workspace
    mine = workspace.favourites.of(person.id).values() if person else ()
    terms = session.app.kept("terms in order", workspace.vocabularies.all_terms)
    return [term_told(term) for term in search(terms, typed, 9, set(mine))]


def suggested(review: Review, cluster: int) -> dict[str, Any] | None:
    """The term that is likely the cluster's, and the share of its images that speak for it."""
    found = review.suggested(cluster)
    return None if found is None else {**term_told(found[0]), "share": round(found[1], 3)}


def _images(review: Review) -> tuple[list[dict[str, Any]], list[int]]:
    """(tiles of the page, ids of the images that can come next, to be fetched meanwhile)."""
    if review.mode == "grow" and review.growing:
        search_, ranking = review.growing.search, review.growing.ranking
        ahead = [int(image) for page in search_.pages_ahead() for image in ranking[page * PAGE : (page + 1) * PAGE]]
        return _tiles(review, review.growing.images()), ahead
    if review.mode == "check" and review.checking:
        return _tiles(review, review.checking.images), []
    if review.mode == "verify" and review.verifying:
        return _tiles(review, review.verifying.images), []
    if review.mode == "single":
        return [], []
    return _tiles(review, review.table()), review.members()[(review.page + 1) * ON_TABLE :][:ON_TABLE].tolist()


def _tiles(review: Review, images: np.ndarray) -> list[dict[str, Any]]:
    held, names = review.labelled(), {term.id: term.name for term in review.terms()}
    at = dict(zip(held["images"].tolist(), held["terms"].tolist(), strict=True)) if len(held["images"]) < 1000 else None
    guesses = _guesses(review, images, names)
    return [{"id": int(image), "label": names.get(_held(held, at, int(image)), ""), **guess}
            for image, guess in zip(images, guesses, strict=True)]


def _guesses(review: Review, images: np.ndarray, names: dict[int, str]) -> list[dict[str, Any]]:
    """What the model suggests for each image and how sure it is; nothing before it has learnt."""
    found = review.suggestions()
    if found is None or not len(images):
        return [{} for _ in images]
    return [{"guess": names.get(pair[0], ""), "sure": pair[1]} if pair else {}
            for pair in one_by_one.guesses(found, np.asarray(images))]


def _held(held: dict[str, np.ndarray], at: dict[int, int] | None, image: int) -> int | None:
    if at is not None:
        return at.get(image)
    place = int(np.searchsorted(held["images"], image))
    return int(held["terms"][place]) if place < len(held["images"]) and held["images"][place] == image else None


def _clusters(review: Review) -> list[dict[str, Any]]:
    shares, sizes = review.open_share(), review.arrangement().sizes()
    return [{"number": number, "size": size, "done": round(1 - shares[number], 3)}
            for number, size in sorted(sizes.items(), key=lambda pair: -pair[1])]


def term_told(term: Term | None) -> dict[str, Any] | None:
    if term is None:
        return None
    return {"id": term.id, "name": term.name, "path": " > ".join(term.path), "colour": term.colour or "",
            "notes": str(term.details.get("notes", "")), "examples": list(term.details.get("examples", ()))}


def favourites(session: Session) -> list[dict[str, Any]]:
    """The keys of who sits here, with their terms."""
    person = session.who()
    if person is None:
        return []
    terms = {term.id: term for term in session.app.kept("terms in order", session.workspace.vocabularies.all_terms)}
    chosen = session.workspace.favourites.of(person.id)
    return [{"key": key, **term_told(terms[number])} for key, number in chosen.items() if number in terms]


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
            "into": state.into,
            "answers": [[answer.page, answer.belongs] for answer in search_.answers], "taken": len(state.taken())}


def _verify(review: Review) -> dict[str, Any] | None:
    state = review.verifying
    return None if state is None else {"term": term_told(state.term), "left": state.left}


def _plane(review: Review) -> dict[str, Any] | None:
    """Where the members of the cluster lie, while somebody draws a lasso: {ids, xy, labelled}."""
    if not review.lasso or review.mode != "cluster":
        return None
    ids, xy = plane(review)
    done = np.isin(ids, review.labelled()["images"])
    return {"ids": ids.tolist(), "xy": np.round(xy, 4).tolist(), "done": done.tolist()}


def _used_names(review: Review) -> dict[str, str]:
    """Names of the terms the model suggests, by id: for images named one by one."""
    found = review.suggestions()
    if review.mode != "single" or found is None:
        return {}
    names = {term.id: term.name for term in review.terms()}
    return {str(number): names.get(number, "") for number in found.terms.tolist()}


def _check(review: Review) -> dict[str, Any] | None:
    state = review.checking
    return None if state is None else {"size": len(state.images), "of": state.of, "wanted": state.wanted}
