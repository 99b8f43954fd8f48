"""A second person looks at labels of others: what they confirm is said twice, what they deny is refused."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from app.state.review import ON_TABLE, Review
from engine.labelling.agreement import opinions
from engine.problems import fail
from engine.workspace.events import standing
from engine.workspace.vocabularies import Term


@dataclass(frozen=True)
class Verifying:
    """Images that somebody else gave this term, drawn at random; `left` more of that term are still unseen."""

    term: Term
    images: np.ndarray
    left: int


def begin(review: Review) -> None:
    """Puts a page of others' labels on the table: of the chosen term, or of the one with most that wait."""
    images, terms = unverified(review)
    if not len(images):
        raise fail("verify", "there is no label of another person that you have not seen", "let others label first")
    found, counts = np.unique(terms, return_counts=True)
    term_id = review.term if review.term in found else int(found[counts.argmax()])
    mine = np.random.default_rng(review.app.workspace.labels.last_number()).permutation(images[terms == term_id])
    term = review.app.workspace.vocabularies.term(term_id)
    review.verifying = Verifying(term, mine[:ON_TABLE], max(len(mine) - ON_TABLE, 0))
    review.moved("verify")


def unverified(review: Review) -> tuple[np.ndarray, np.ndarray]:
    """(images, terms): labels that hold, of images this person has said nothing of."""
    held, who = review.labelled(), review.who()
    mine = opinions(standing(review.app.workspace.labels.events())).by(who)[0]
    refused = [event.images for event in standing(review.app.workspace.labels.events())
               if event.kind == "refuse" and event.person_id == who]
    seen = np.concatenate([mine, *refused])
    fresh = ~np.isin(held["images"], seen)
    return held["images"][fresh], held["terms"][fresh]


def confirm(review: Review, wrong: Iterable[int] = ()) -> None:
    """Says the term of the images once more, but for the wrong ones: for these it is refused, and who named them finds
    them in Labels."""
    state, log, who = review.verifying, review.app.workspace.labels, review.who()
    if state is None:
        raise fail("verify", "nothing is being verified", "press v first")
    out = np.isin(state.images, sorted(set(wrong)))
    rule = {"verified": len(state.images), "denied": int(out.sum())}
    if (~out).any():
        log.label(who, np.sort(state.images[~out]), state.term.id, why="verification", rule=rule)
    if out.any():
        log.refuse(who, np.sort(state.images[out]), state.term.id, rule={"why": "verification", **rule})
    review.told(f"Confirmed {int((~out).sum()):,} of {len(out):,} images as {state.term.name}")
    _next(review)


def name_otherwise(review: Review, images: Iterable[int]) -> None:
    """Gives images of the page another term: this person's opinion, beside that of the first."""
    state, ids = review.verifying, sorted(set(images))
    term = review.chosen_or_fail()
    review.app.workspace.labels.label(review.who(), ids, term.id, why="verification")
    review.told(f"Named {len(ids):,} images {term.name}, not {state.term.name}")
    kept = state.images[~np.isin(state.images, ids)]
    review.verifying = Verifying(state.term, kept, state.left)
    review.moved("verify") if len(kept) else _next(review)


def _next(review: Review) -> None:
    """The next page, or back to the clusters when nothing waits."""
    review.verifying = None
    if len(unverified(review)[0]):
        begin(review)
    else:
        review.moved("cluster")
