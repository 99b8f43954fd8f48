"""Naming objects and single segments: acts of the same log as the labels of images, each of which can be taken back."""

from typing import Any

import numpy as np

from app.state.atlas import Atlas
from app.state.objects import objects_of
from app.state.segments import rows_of_image, segment_features
from app.state.selection_acts import term_for
from app.state.session import Session
from engine.problems import fail
from engine.workspace.labels import Act
from engine.workspace.people import Person
from engine.workspace.segment_labels import segment_act


def name_object(session: Session, atlas: Atlas, number: int, word: str) -> None:
    """Gives all segments of an object a term, in one act."""
    objects = objects_of(session.app, atlas)
    if objects is None or not 0 <= number < objects.clusters:
        raise fail("objects", f"this run has no object {number}", "reload the page")
    who, term = session.who_or_fail(), term_for(session, word)
    images, numbers = objects.members(number)
    act = segment_act(term.id, objects.features.folder.name, images, numbers, why="bulk", run_id=objects.run.id,
                      rule={"object": number})
    _said(session, who, act, f"Named {len(numbers):,} segments of object {number} {term.name}")


def name_segment(session: Session, atlas: Atlas, image_id: int, number: int, word: str) -> None:
    """Gives one segment of an image a term."""
    features = segment_features(session.app, atlas)
    if features is None or not 0 <= number < len(rows_of_image(features, image_id)):
        raise fail(f"image {image_id}", f"has no segment {number}", "reload the page")
    who, term = session.who_or_fail(), term_for(session, word)
    act = segment_act(term.id, features.folder.name, np.array([image_id]), np.array([number]), why="manual",
                      run_id=atlas.run.id if atlas.run else None)
    _said(session, who, act, f"Named a segment of image {image_id} {term.name}")


def _said(session: Session, who: Person, act: Act, line: str) -> None:
    log: Any = session.workspace.labels
    [event] = log.act_together(who.id, [act])
    session.changed(images=False)
    session.tell(line, undo=lambda: log.undo(who.id, event))
