"""Images one after the other, each named by a key: the browser goes on at once and tells what was said in bundles."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.state.review import Review
from engine.labelling.suggestion_store import Suggestions
from engine.problems import fail
from engine.workspace.labels import Act

HANDED = 400  # images the browser holds: nobody labels so many while it asks for more


@dataclass(frozen=True)
class OneByOne:
    """The images to be named, in order, and how many of them the browser has been given."""

    images: np.ndarray
    handed: int = HANDED

    def part(self) -> np.ndarray:
        return self.images[: self.handed]


def begin(review: Review) -> None:
    """Unlabelled images, those of the cluster on the table first, then cluster by cluster; within each in random order,
    so that what is labelled of a cluster is a sample of it."""
    now, done, here = review.arrangement(), review.labelled()["images"], review.current_cluster()
    open_ = ~np.isin(now.images, done)
    left = np.bincount(now.clusters, open_)
    left[here] = np.inf
    chance = np.random.default_rng(here).random(len(now.images))
    order = np.lexsort((chance, now.clusters, -left[now.clusters]))  # after this cluster those with most to do
    images = now.images[order][open_[order]]
    if not len(images):
        raise fail("one by one", "every image has its label", "there is nothing to add")
    review.one_by_one = OneByOne(images)
    review.moved("single")


def hand_out(review: Review) -> None:
    """Gives the browser more of the list."""
    state = review.one_by_one
    if state is not None:
        review.one_by_one = replace(state, handed=state.handed + HANDED)


def said(review: Review, pairs: Iterable[tuple[int, int]]) -> None:
    """Stores (image, term) pairs in the order of the keys, each an act of its own that undo takes back alone; all of
    them or none."""
    known = {term.id for term in review.terms()}
    acts = [Act("label", np.array([image], np.int64), "manual", term, review.atlas.run.id, {"one_by_one": True})
            for image, term in pairs if term in known]
    review.app.workspace.labels.act_together(review.who(), acts)
    review.app.changed(images=False)  # the board knows what it said; other tabs will see it


def content(review: Review) -> dict[str, Any] | None:
    """Ids of the images handed out, with what the model suggests for each: [id, term, share]."""
    state = review.one_by_one
    if state is None:
        return None
    found = review.suggestions()
    images = state.part()
    told = guesses(found, images) if found is not None else [None] * len(images)
    return {"images": [[int(image), *(guess or ())] for image, guess in zip(images, told, strict=True)],
            "total": len(state.images)}


def guesses(found: Suggestions, images: np.ndarray) -> list[tuple[int, float] | None]:
    """(term id, probability) of the first suggestion for each image; None for one the model has not seen."""
    order = np.argsort(found.image_ids)
    place = np.minimum(np.searchsorted(found.image_ids, images, sorter=order), len(order) - 1)
    at = order[place]
    terms, sure = found.best()
    return [(int(terms[row]), round(float(sure[row]), 3)) if found.image_ids[row] == image else None
            for row, image in zip(at.tolist(), images.tolist(), strict=True)]
