"""Commands on labels that several pages share: terms by name, favourites, labels of objects and single segments.

Objects and segments are labelled by events of the same log as images, so that each label can be undone.
"""

from typing import Any

import numpy as np

from benthoscope.app.data.clusters.clustered_images import Atlas
from benthoscope.app.data.labels import all_terms, ordered_terms, term_values
from benthoscope.app.data.objects import objects_of
from benthoscope.app.data.segments import rows_of_image, segment_features
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.session import Session
from benthoscope.engine.labelling.terms import find_or_create_term
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.parts import segment_act
from benthoscope.engine.workspace.labels.vocabularies import Term
from benthoscope.engine.workspace.library import Person


def term_for(session: Session, text: str) -> Term:
    """The term of this name or path, created if there is none."""
    term = find_or_create_term(session.workspace.vocabularies, text)
    if term.id not in all_terms(session.app):
        session.changed(LABELS)
    return term


def favourites(session: Session) -> list[dict[str, Any]]:
    """The favourite keys of the current person, with their labels."""
    person = session.current_person()
    if person is None:
        return []
    terms = {term.id: term for term in ordered_terms(session.app)}
    chosen = session.workspace.favourites.of(person.id)
    return [
        {"key": key, **term_values(session.app, terms[number])} for key, number in chosen.items() if number in terms
    ]


def press_favourite(workspace: Workspace, person_id: int, key: str, term_id: int | None) -> int:
    """The term on a key of this person. An unassigned key is assigned the chosen term `term_id`."""
    favourite = workspace.favourites.of(person_id).get(key)
    if favourite is not None:
        return favourite
    if term_id is None:
        raise fail("favourite", f"key {key} has no label", "choose a label with l, then press the key again")
    workspace.favourites.choose(person_id, key, term_id)
    return term_id


def name_object(session: Session, atlas: Atlas, number: int, word: str) -> None:
    """Label all segments of an object in one event."""
    objects = objects_of(session.app, atlas)
    if objects is None or not 0 <= number < objects.clusters:
        raise fail("objects", f"this run has no object {number}", "reload the page")
    person, term = session.require_person(), term_for(session, word)
    images, numbers = objects.members(number)
    event = segment_act(
        term.id,
        objects.features.folder.name,
        images,
        numbers,
        why="bulk",
        run_id=objects.run.id,
        rule={"object": number},
    )
    _append_and_notify(session, person, event, f'Labelled {len(numbers):,} segments of object {number} "{term.name}"')


def name_segment(session: Session, atlas: Atlas, image_id: int, number: int, word: str) -> None:
    """Label one segment of an image."""
    features = segment_features(session.app, atlas)
    if features is None or not 0 <= number < len(rows_of_image(features, image_id)):
        raise fail(f"image {image_id}", f"has no segment {number}", "reload the page")
    person, term = session.require_person(), term_for(session, word)
    event = segment_act(
        term.id,
        features.folder.name,
        np.array([image_id]),
        np.array([number]),
        why="manual",
        run_id=atlas.run.id if atlas.run else None,
    )
    _append_and_notify(session, person, event, f'Labelled a segment of image {image_id} "{term.name}"')


def _append_and_notify(session: Session, person: Person, new_event: Act, line: str) -> None:
    log: Any = session.workspace.labels
    [event] = log.append_events(person.id, [new_event])
    session.changed(LABELS)
    session.notify(line, undo=lambda: log.undo(person.id, event))
