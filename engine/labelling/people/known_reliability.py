"""The reliability of the people of a workspace, and what it means for the labels that the classifier is trained on."""

import numpy as np

from benthoscope.engine.labelling.agreement import Opinions
from benthoscope.engine.labelling.classifier import TermLikelihoods
from benthoscope.engine.labelling.people.double_labels import blind_labels
from benthoscope.engine.labelling.people.reliability import LEAST, PeopleReliability, estimate
from benthoscope.engine.labelling.training_data import LOOKED_AT, LabelsOfRows
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import Event

NOBODY = -1  # the author of labels of whole groups


def reliability_of(workspace: Workspace) -> PeopleReliability:
    """Return the reliability of everybody with blind double labels."""
    return estimate(blind_labels(workspace), np.unique(workspace.labels.current_terms()[1]), resolved_terms(workspace))


def label_likelihoods(workspace: Workspace, labels: LabelsOfRows, image_ids: np.ndarray) -> TermLikelihoods | None:
    """Return how probable the labels of the training data are in each term; None if no reliability is known.
    `image_ids` are those of the rows.

    Labels of single images count with the reliability of their author, and blind second looks with that of theirs.
    Resolved labels are taken as right, and so are labels of whole groups: their trust says how little they count.
    """
    second_labels = blind_labels(workspace)
    events = {event.number: event for event in workspace.labels.events()}
    reliability = estimate(second_labels, np.unique(labels.terms), resolved_terms(workspace))
    if not (reliability.label_counts >= LEAST).any():
        return None
    numbers = labels.events.tolist()
    people = np.array([_author(events[number]) for number in numbers], np.int64)
    values = reliability.likelihoods(people, labels.terms)
    _add_second_labels(values, reliability, second_labels, image_ids[labels.rows], people)
    is_resolved = np.array([events[number].why == "resolved" for number in numbers], bool)
    values[is_resolved] = labels.terms[is_resolved, None] == reliability.terms
    largest = np.maximum(values.max(1, keepdims=True), np.finfo(float).tiny)
    return TermLikelihoods(reliability.terms, values / largest, int((reliability.label_counts >= LEAST).sum()))


def _author(event: Event) -> int:
    """Return the person who looked at the image of a label; NOBODY for labels of whole groups."""
    return event.person_id if event.why in LOOKED_AT or event.count == 1 else NOBODY


def _add_second_labels(
    values: np.ndarray, reliability: PeopleReliability, second_labels: Opinions, images: np.ndarray, people: np.ndarray
) -> None:
    """Multiply the likelihoods (n, T) of labels by those of the looks of other people at the same images."""
    order = np.argsort(images)
    at = order[np.minimum(np.searchsorted(images, second_labels.images, sorter=order), len(order) - 1)]
    used = (images[at] == second_labels.images) & (people[at] != second_labels.people) & (people[at] != NOBODY)
    used &= np.isin(second_labels.people, reliability.people[reliability.label_counts >= LEAST])
    factors = reliability.likelihoods(second_labels.people[used], second_labels.terms[used])
    np.multiply.at(values, at[used], factors)


def resolved_terms(workspace: Workspace) -> dict[int, int]:
    """Return {image: term} of the resolved conflicts."""
    resolving = [event for event in workspace.labels.effective()[0] if event.why == "resolved" and event.term_id]
    return {image: event.given_term_id for event in resolving for image in event.images.tolist()}
