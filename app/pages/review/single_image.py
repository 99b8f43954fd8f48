"""Labelling one by one in Review. The browser shows the next image at once and sends labels in bundles."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benthoscope.app.pages.review.model import Review
from benthoscope.app.session.cache import LABELS
from benthoscope.engine.labelling.suggestions import Suggestions
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.log import Act

HANDED = 400  # images sent at once: more than anybody labels before the next ones arrive


@dataclass(frozen=True)
class OneByOne:
    """The images to label, in order, and how many of them the browser has."""

    images: np.ndarray
    handed: int = HANDED

    def page_images(self) -> np.ndarray:
        return self.images[: self.handed]


def begin(review: Review) -> None:
    """Show unlabelled images one by one: those of the shown cluster first, then cluster by cluster.

    The order within a cluster is random, so that its labelled images are a sample of it. The name is asked for before
    the first key, because the browser counts labels that it has not sent yet."""
    review.person_id()
    arranged, done, current = review.arrangement(), review.labelled()["images"], review.current_cluster()
    open_ = ~np.isin(arranged.images, done)
    unlabelled = np.bincount(arranged.clusters, open_)
    unlabelled[current] = np.inf
    chance = np.random.default_rng(current).random(len(arranged.images))
    order = np.lexsort(
        (chance, arranged.clusters, -unlabelled[arranged.clusters])
    )  # after this cluster, those with most unlabelled images
    images = arranged.images[order][open_[order]]
    if not len(images):
        raise fail("one by one", "every image has a label", "there is nothing to add")
    review.one_by_one = OneByOne(images)
    review.moved("single")


def hand_out(review: Review) -> None:
    """Send more of the list to the browser."""
    state = review.one_by_one
    if state is not None:
        review.one_by_one = replace(state, handed=state.handed + HANDED)


def record_labels(review: Review, pairs: tuple[tuple[int, int], ...]) -> None:
    """Store (image, term) pairs in the order of the keys, all of them or none. Each is an event that can be undone
    separately."""
    known = {term.id for term in review.terms()}
    events = [
        Act("label", np.array([image], np.int64), "manual", term, review.reviewed_run().id, {"one_by_one": True})
        for image, term in pairs
        if term in known
    ]
    review.app.workspace.labels.append_events(review.person_id(), events)
    review.app.changed(LABELS)  # the browser shows them already; this is for other tabs


def content(review: Review) -> dict[str, Any] | None:
    """The images sent so far, with their suggestions: [id, term, probability]."""
    state = review.one_by_one
    if state is None:
        return None
    suggestions = review.suggestions()
    images = state.page_images()
    guessed = guesses(suggestions, images) if suggestions is not None else [None] * len(images)
    return {
        "images": [[int(image), *(guess or ())] for image, guess in zip(images, guessed, strict=True)],
        "total": len(state.images),
    }


def guesses(suggestions: Suggestions, images: np.ndarray) -> list[tuple[int, float] | None]:
    """(term id, probability) of the best suggestion for each image; None for an image the model has not seen."""
    order = np.argsort(suggestions.image_ids)
    position = np.minimum(np.searchsorted(suggestions.image_ids, images, sorter=order), len(order) - 1)
    at = order[position]
    terms, sure = suggestions.best()
    return [
        (int(terms[row]), round(float(sure[row]), 3)) if suggestions.image_ids[row] == image else None
        for row, image in zip(at.tolist(), images.tolist(), strict=True)
    ]
