"""Content of the Review board as plain values."""

from typing import Any

import numpy as np

from benthoscope.app.data.clusters.clustering_levels import shown_levels
from benthoscope.app.data.labels import term_values
from benthoscope.app.data.naming import favourites
from benthoscope.app.data.suggestions import is_measured
from benthoscope.app.pages.review import auditing
from benthoscope.app.pages.review import single_image as one_by_one
from benthoscope.app.pages.review.cluster_edits import plane
from benthoscope.app.pages.review.cluster_list import cluster_list
from benthoscope.app.pages.review.model import ON_TABLE, Review
from benthoscope.app.pages.review.steps import PAGE

QUESTIONS = {
    "cluster": "Do these belong together? Click what does not, then press Enter to label the rest",
    "grow": "Do all of these belong?  F yes · J no. Click single images first to leave them out",
    "check": "Random images of what you labelled: look at each, click what is wrong, then press Enter",
    "verify": "Labels of others: click what you would label differently, e labels it, Enter confirms the rest",
    "single": "A favourite's key labels the image, a accepts the suggestion, Enter applies the chosen label, n skips",
}


def content(review: Review) -> dict[str, Any]:
    """Content of the board."""
    cluster = review.current_cluster()
    images, ahead = _images(review)
    return {
        "run": review.reviewed_run().id,
        "mode": review.mode,
        "question": QUESTIONS[review.mode],
        "cluster": cluster,
        "name": review.name_of(cluster),
        "noun": review.noun(),
        "clusters": cluster_list(review),
        "images": images,
        "ahead": ahead,
        "page": review.shown_page(),
        "pages": review.pages(),
        "size": len(review.members()),
        "term": term_values(review.app, review.chosen_term()),
        "suggested": suggested(review, cluster),
        "favourites": favourites(review.session),
        "pace": _pace(review),
        "grow": _grow(review),
        "check": auditing.content(review.checking),
        "version": review.app.images_version,
        "verify": _verify(review),
        "single": one_by_one.content(review) if review.mode == "single" else None,
        "levels": shown_levels(review.app, review.reviewed_run()).as_json(),
        "measured": is_measured(review.app),
        "plane": _plane(review),
        "lasso": review.lasso,
        "terms": _used_names(review),
    }


def suggested(review: Review, cluster: int) -> dict[str, Any] | None:
    """The suggested label of a cluster, and the share of its images with this label or suggestion."""
    suggestion = review.suggested(cluster)
    return None if suggestion is None else {**term_values(review.app, suggestion[0]), "share": round(suggestion[1], 3)}


def _images(review: Review) -> tuple[list[dict[str, Any]], list[int]]:
    """(tiles of the page, ids of images that may come next, for preloading)."""
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
    return _tiles(review, review.table()), review.members()[(review.shown_page() + 1) * ON_TABLE :][:ON_TABLE].tolist()


def _tiles(review: Review, images: np.ndarray) -> list[dict[str, Any]]:
    labels, names = review.labelled(), {term.id: term.name for term in review.terms()}
    at = (
        dict(zip(labels["images"].tolist(), labels["terms"].tolist(), strict=True))
        if len(labels["images"]) < 1000
        else None
    )
    guesses = _guesses(review, images, names)
    return [
        {"id": int(image), "label": _name_of(_label_of(labels, at, int(image)), names), **guess}
        for image, guess in zip(images, guesses, strict=True)
    ]


def _name_of(term_id: int | None, names: dict[int, str]) -> str:
    return "" if term_id is None else names.get(term_id, "")


def _guesses(review: Review, images: np.ndarray, names: dict[int, str]) -> list[dict[str, Any]]:
    """The suggestion for each image with its probability; empty before a model is trained."""
    suggestions = review.suggestions()
    if suggestions is None or not len(images):
        return [{} for _ in images]
    return [
        {"guess": names.get(pair[0], ""), "sure": pair[1]} if pair else {}
        for pair in one_by_one.guesses(suggestions, np.asarray(images))
    ]


def _label_of(labels: dict[str, np.ndarray], at: dict[int, int] | None, image: int) -> int | None:
    if at is not None:
        return at.get(image)
    position = int(np.searchsorted(labels["images"], image))
    return (
        int(labels["terms"][position])
        if position < len(labels["images"]) and labels["images"][position] == image
        else None
    )


def _pace(review: Review) -> dict[str, Any]:
    unlabelled = len(review.app.columns) - len(review.labelled()["images"])
    person = review.session.current_person()
    own_pace = review.pace(person.id) if person else None
    return {
        "left": unlabelled,
        "labelled": len(review.labelled()["images"]),
        "per_hour": round(own_pace.per_hour) if own_pace else 0,
        "seconds_left": own_pace.seconds_left(unlabelled) if own_pace else None,
    }


def _grow(review: Review) -> dict[str, Any] | None:
    state = review.growing
    if state is None:
        return None
    search_ = state.search
    return {
        "curve": state.curve(),
        "cut": state.pages_taken,
        "low": search_.quantile(0.025),
        "high": search_.quantile(0.975),
        "asked": state.page,
        "done": search_.done,
        "pages": search_.pages,
        "into": state.into,
        "answers": [[answer.page, answer.belongs] for answer in search_.answers],
        "taken": len(state.accepted_images()),
    }


def _verify(review: Review) -> dict[str, Any] | None:
    state = review.verifying
    return None if state is None else {"term": term_values(review.app, state.term), "left": state.remaining}


def _plane(review: Review) -> dict[str, Any] | None:
    """Positions of the cluster's members in the lasso plot: {ids, xy, done}; None without a lasso."""
    if not review.lasso or review.mode != "cluster":
        return None
    ids, xy = plane(review)
    done = np.isin(ids, review.labelled()["images"])
    return {"ids": ids.tolist(), "xy": np.round(xy, 4).tolist(), "done": done.tolist()}


def _used_names(review: Review) -> dict[str, str]:
    """Names of the suggested terms by id, for labelling one by one."""
    suggestions = review.suggestions()
    if review.mode != "single" or suggestions is None:
        return {}
    names = {term.id: term.name for term in review.terms()}
    return {str(number): names.get(number, "") for number in suggestions.terms.tolist()}
