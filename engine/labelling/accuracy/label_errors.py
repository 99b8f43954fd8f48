"""Labels that are probably wrong: which ones to look at first, and how many of them are real slips.

The score of a label is its probability by a calibrated model that was not trained on it. The least believed labels come
first, and only those for which the model prefers another label.

How often such a label is wrong is not taken from the model, but from the answers on the page. The answers are no random
sample of the labels, so they are evidence for nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.labelling.audits.sequential_bound import FIRST_SHOWN, sequential_upper
from benthoscope.engine.labelling.page_choice.queues import doubted
from benthoscope.engine.labelling.suggestions import Suggestions, SuggestionStore
from benthoscope.engine.labelling.training_data import CORRECTED
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import Event

QUEUE = "doubted"  # in the rule of the events of such a page
WINDOW = 60  # latest answers used: slips become rarer down the list
PER = 20  # the expected number of slips is stated per this many labels
LEAST_SHARE = 0.1  # the page is offered while at least this fraction of its labels may be wrong
HALF = 0.5  # answers count while at least this fraction of the present labels existed when they were given


def suspicious_rows(
    suggestions: Suggestions, images: np.ndarray, terms: np.ndarray, events: Sequence[Event]
) -> np.ndarray:
    """Return the rows of images whose label is probably wrong, least believed first. `images` (n,), sorted, and `terms`
    (n,) are the current labels; `events` the effective events. Labels that changed since the training, and labels
    already answered on such a page, are left out."""
    rows, y = np.asarray(suggestions.held_places), np.asarray(suggestions.held_y)
    if not len(rows) or not len(images):
        return np.empty(0, np.int64)
    worst = doubted(np.asarray(suggestions.held_probabilities), y, len(rows))
    ids = suggestions.image_ids[rows[worst]]
    at = np.minimum(np.searchsorted(images, ids), len(images) - 1)
    unchanged = (images[at] == ids) & (terms[at] == suggestions.terms[y[worst]])
    answered = [event.images for event in events if is_answer(event)]
    fresh = ~np.isin(ids, np.concatenate(answered)) if answered else np.ones(len(ids), bool)
    return rows[worst[unchanged & fresh]]


def is_answer(event: Event) -> bool:
    """Return whether an event confirms or corrects a suspicious label."""
    return event.kind in ("label", "clear") and event.rule.get("queue") == QUEUE and CORRECTED in event.rule


@dataclass(frozen=True)
class SlipShare:
    """Of the latest `answered` suspicious labels, `wrong` were wrong; `waiting` more are listed."""

    answered: int
    wrong: int
    waiting: int

    @property
    def upper(self) -> float:
        """Return the largest fraction of wrong labels that the answers do not exclude, at 95 %. The list starts with
        the least believed labels, so this bound is careful for the rest of the list."""
        of = self.answered + self.waiting
        return sequential_upper(of, self.answered, self.wrong) / of if of else 0.0

    @property
    def known(self) -> bool:
        return self.answered >= FIRST_SHOWN

    @property
    def offered(self) -> bool:
        """Return whether the page is worth the time."""
        return not self.known or self.upper >= LEAST_SHARE

    def __str__(self) -> str:
        if not self.known:
            return (
                f"How many of them are real slips is known after {FIRST_SHOWN} answers; {self.answered} are given"
                if self.waiting or self.answered
                else ""
            )
        if not self.offered:
            return (
                f"{self.wrong} of the last {self.answered} suspicious labels were wrong, at most "
                f"{100 * self.upper:.0f} % of all of them (95 % confidence): looking at more is hardly worth the time"
            )
        return f"About {PER * self.wrong / self.answered:.0f} of {PER} will be real slips"


def slip_share(events: Sequence[Event], numbers: np.ndarray, waiting: int) -> SlipShare:
    """Return the share by the answers. `events` are the effective events, oldest first; `numbers` (n,) those of the
    current labels. Answers from the time before most of these labels are not used."""
    order = np.sort(numbers)
    answers = [
        event
        for event in events
        if is_answer(event) and np.searchsorted(order, event.number, side="right") >= HALF * len(order)
    ]
    corrected = np.concatenate(
        [np.full(event.count, event.rule[CORRECTED]) for event in answers] or [np.empty(0, bool)]
    )
    latest = corrected[-WINDOW:]
    return SlipShare(len(latest), int(latest.sum()), waiting)


def suspicious_labels(workspace: Workspace) -> dict[str, Any]:
    """Return the suspicious labels of a workspace with their probabilities, and the result of earlier answers."""
    suggestions = SuggestionStore(workspace.folder).get()
    if suggestions is None:
        return {"labels": [], "answered": 0, "wrong": 0, "offered": True, "text": "No model is trained yet"}
    images, numbers = workspace.labels.current()
    terms, events = workspace.labels.terms_of(numbers), workspace.labels.effective()[0]
    rows = suspicious_rows(suggestions, images, terms, events)
    share = slip_share(events, numbers, len(rows))
    names = {term.id: joined(term.path) for term in workspace.vocabularies.all_terms()}
    P = suggestions.unseen_rows(rows)
    current = terms[np.searchsorted(images, suggestions.image_ids[rows])]
    listed = [
        {
            "image": int(image),
            "term": names[int(term)],
            "probability": round(float(p[suggestions.terms == term][0]), 4),
            "guess": names[int(suggestions.terms[p.argmax()])],
            "guess_probability": round(float(p.max()), 4),
        }
        for image, term, p in zip(suggestions.image_ids[rows].tolist(), current.tolist(), P, strict=True)
    ]
    return {
        "labels": listed,
        "answered": share.answered,
        "wrong": share.wrong,
        "offered": share.offered,
        "text": str(share),
    }
