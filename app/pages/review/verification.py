"""Verification in Review: a second person confirms or rejects labels of others."""

from dataclasses import dataclass

import numpy as np

from benthoscope.app.data.labels import images_text
from benthoscope.app.pages.review.model import ON_TABLE, Review
from benthoscope.app.session.commands import Ids
from benthoscope.engine.labelling.verification import unverified, verify
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.vocabularies import Term


@dataclass(frozen=True)
class Verifying:
    """Random images that others labelled with this term; `remaining` more of that term are not shown yet."""

    term: Term
    images: np.ndarray
    remaining: int


def begin(review: Review) -> None:
    """Show a page of labels by others: of the chosen term, or of the term with most unverified labels."""
    images, terms = unverified(review.app.workspace.labels, review.person_id())
    if not len(images):
        raise fail("verify", "there are no labels by others that you have not verified", "let others label first")
    unique_terms, counts = np.unique(terms, return_counts=True)
    term_id = review.term
    if term_id is None or term_id not in unique_terms:
        term_id = int(unique_terms[counts.argmax()])
    shuffled = np.random.default_rng(review.app.workspace.labels.last_number()).permutation(images[terms == term_id])
    term = review.app.workspace.vocabularies.term(term_id)
    review.verifying = Verifying(term, shuffled[:ON_TABLE], max(len(shuffled) - ON_TABLE, 0))
    review.moved("verify")


def confirm(review: Review, wrong: Ids = ()) -> None:
    """Confirm the label of the images, and reject it for the wrong ones, which are then listed in Labels."""
    state, log, person_id = review.verifying, review.app.workspace.labels, review.person_id()
    if state is None:
        raise fail("verify", "no verification is open", "press v first")
    result = verify(log, person_id, state.images, state.term.id, wrong)
    review.notify(f"Confirmed {result.confirmed:,} of {len(state.images):,} images as {state.term.name}")
    _next(review)


def name_otherwise(review: Review, images: Ids) -> None:
    """Label images of the page differently; the opinion of the first person stays in the history."""
    state, ids = review.verifying, sorted(set(images))
    term = review.chosen_or_fail()
    review.app.workspace.labels.label(review.person_id(), ids, term.id, why="verification")
    review.notify(f'Labelled {images_text(len(ids))} "{term.name}", not "{state.term.name}"')
    remaining = state.images[~np.isin(state.images, ids)]
    review.verifying = Verifying(state.term, remaining, state.remaining)
    review.moved("verify") if len(remaining) else _next(review)


def _next(review: Review) -> None:
    """Show the next page, or return to the clusters if everything is verified."""
    review.verifying = None
    if len(unverified(review.app.workspace.labels, review.person_id())[0]):
        begin(review)
    else:
        review.moved("cluster")
