"""The reliability of the people of a workspace, and what it means for the labels that the classifier is trained on."""

import numpy as np

from benthoscope.engine.labelling.agreement import Opinions
from benthoscope.engine.labelling.classifier import TermLikelihoods
from benthoscope.engine.labelling.people.double_labels import blind_looks
from benthoscope.engine.labelling.people.reliability import LEAST, Reliability, estimate
from benthoscope.engine.labelling.training_data import LOOKED_AT, LabelsOfRows
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import Event

NOBODY = -1  # the author of labels of whole groups


def reliability_of(workspace: Workspace) -> Reliability:
    """Return the reliability of everybody with blind double labels."""
    return estimate(blind_looks(workspace), np.unique(workspace.labels.current_terms()[1]), resolved_terms(workspace))


def label_likelihoods(workspace: Workspace, labels: LabelsOfRows, image_ids: np.ndarray) -> TermLikelihoods | None:
    """Return how probable the labels of the training data are in each term; None if no reliability is known.
    `image_ids` are those of the rows.

    Labels of single images count with the reliability of their author, and blind second looks with that of theirs.
    Resolved labels are taken as right, and so are labels of whole groups: their trust says how little they count.
    """
    looks = blind_looks(workspace)
    events = {event.number: event for event in workspace.labels.events()}
    reliability = estimate(looks, np.unique(labels.terms), resolved_terms(workspace))
    if not (reliability.looks >= LEAST).any():
        return None
    numbers = labels.events.tolist()
    people = np.array([_author(events[number]) for number in numbers], np.int64)
    values = reliability.likelihoods(people, labels.terms)
    _add_second_looks(values, reliability, looks, image_ids[labels.rows], people)
    is_resolved = np.array([events[number].why == "resolved" for number in numbers], bool)
    values[is_resolved] = labels.terms[is_resolved, None] == reliability.terms
    largest = np.maximum(values.max(1, keepdims=True), np.finfo(float).tiny)
    return TermLikelihoods(reliability.terms, values / largest, int((reliability.looks >= LEAST).sum()))


def _author(event: Event) -> int:
    """Return the person who looked at the image of a label; NOBODY for labels of whole groups."""
    return event.person_id if event.why in LOOKED_AT or event.count == 1 else NOBODY


def _add_second_looks(
    values: np.ndarray, reliability: Reliability, looks: Opinions, images: np.ndarray, people: np.ndarray
) -> None:
    """Multiply the likelihoods (n, T) of labels by those of the looks of other people at the same images."""
    order = np.argsort(images)
    at = order[np.minimum(np.searchsorted(images, looks.images, sorter=order), len(order) - 1)]
    used = (images[at] == looks.images) & (people[at] != looks.people) & (people[at] != NOBODY)
    used &= np.isin(looks.people, reliability.people[reliability.looks >= LEAST])
    factors = reliability.likelihoods(looks.people[used], looks.terms[used])
    np.multiply.at(values, at[used], factors)


def resolved_terms(workspace: Workspace) -> dict[int, int]:
    """Return {image: term} of the resolved conflicts."""
    resolving = [event for event in workspace.labels.effective()[0] if event.why == "resolved" and event.term_id]
    return {image: event.given_term_id for event in resolving for image in event.images.tolist()}
