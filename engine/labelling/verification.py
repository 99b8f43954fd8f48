"""Verification: a second person confirms or rejects labels that others gave."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.labelling.agreement import opinions
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.log import LabelLog


@dataclass(frozen=True)
class Verification:
    """The result of one verification: numbers of images, and of the events in the label log."""

    confirmed: int
    rejected: int
    events: tuple[int, ...]


def unverified(log: LabelLog, person_id: int) -> tuple[np.ndarray, np.ndarray]:
    """(images, terms): current labels of images that this person has neither labelled nor rejected."""
    images, terms = log.current_terms()
    events, _ = log.effective()
    own_images = opinions(events).by(person_id)[0]
    rejected = [event.images for event in events if event.kind == "refuse" and event.person_id == person_id]
    fresh = ~np.isin(images, np.concatenate([own_images, *rejected]))
    return images[fresh], terms[fresh]


def verify(
    log: LabelLog, person_id: int, images: Iterable[int] | np.ndarray, term_id: int, wrong: Iterable[int] = ()
) -> Verification:
    """Confirm a term of these images, and reject it for the wrong ones among them.

    A confirmation is a second label by this person. A rejection keeps the label, and lists the image as a conflict.
    """
    checked = np.unique(np.fromiter(images, np.int64))
    if not len(checked):
        raise fail("verify", "contains no images", "choose images with unverified labels")
    out = np.isin(checked, np.fromiter(wrong, np.int64))
    rule = {"verified": len(checked), "denied": int(out.sum())}
    events = []
    if (~out).any():
        events.append(log.label(person_id, checked[~out], term_id, why="verification", rule=rule))
    if out.any():
        events.append(log.refuse(person_id, checked[out], term_id, rule={"why": "verification", **rule}))
    return Verification(int((~out).sum()), int(out.sum()), tuple(events))


def verify_labels(
    log: LabelLog, person_id: int, term_id: int, images: Iterable[int], wrong: Iterable[int] = ()
) -> Verification:
    """As `verify`, but BadInput for images that do not wait for this person's verification of this term."""
    correct, wrong = set(images), set(wrong)
    waiting, terms = unverified(log, person_id)
    unknown = sorted((correct | wrong) - set(waiting[terms == term_id].tolist()))
    if unknown:
        raise fail(
            f"image {unknown[0]}",
            "has no label of this term by somebody else that you have not verified",
            "list the images with `benthoscope labels verify`",
        )
    return verify(log, person_id, sorted(correct | wrong), term_id, wrong)
