"""The events of the label log, and pure functions that compute the current labels from a list of events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benthoscope.engine.workspace.storage.id_packing import holds, unpack_ids

NOTHING = np.empty(0, np.int64)
UNCONFIRMED = ("predicted", "dubious")  # possible states of imported labels


@dataclass(frozen=True)
class Event:
    """An event of a person. An undo has the images of the event it undoes. A revert restores the labels that its images
    had immediately after event `undoes` (None: before all events)."""

    number: int
    kind: str
    person_id: int
    at: float
    packed: bytes = field(repr=False)
    count: int
    why: str
    term_id: int | None = None
    undoes: int | None = None
    run_id: int | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None

    @property
    def images(self) -> np.ndarray:
        """Return the sorted ids. They are unpacked on each access, because a long log would not fit into memory
        unpacked."""
        return unpack_ids(self.packed)

    @property
    def is_confirmed(self) -> bool:
        """Return whether somebody confirmed it; not so for predictions and dubious labels from a file."""
        return self.rule.get("status") not in UNCONFIRMED

    @property
    def given_term_id(self) -> int:
        """Return the term of an event of a kind that has one: a label, a part or a rejected suggestion."""
        if self.term_id is None:
            raise ValueError(f"event {self.number} ({self.kind}) has no term")
        return self.term_id

    def concerns(self, image: int) -> bool:
        return holds(self.packed, image)


@dataclass(frozen=True)
class Held:
    """All labelled images, sorted, with the event of their effective label."""

    images: np.ndarray  # (n,)
    numbers: np.ndarray  # (n,)

    def of(self, images: np.ndarray) -> np.ndarray:
        """Return the event numbers of these images; 0 for images without a label."""
        if not len(self.images):
            return np.zeros(len(images), np.int64)
        position = np.minimum(np.searchsorted(self.images, images), len(self.images) - 1)
        return np.where(self.images[position] == images, self.numbers[position], 0)

    def overlaid(self, newest_first: Sequence[tuple[np.ndarray, np.ndarray]]) -> "Held":
        """Return the labels with (images, numbers) applied, newest first. For repeated images, the first entry counts;
        number 0 removes a label."""
        images = np.concatenate([pair[0] for pair in newest_first] + [self.images])
        numbers = np.concatenate([pair[1] for pair in newest_first] + [self.numbers])
        unique_images, first = np.unique(images, return_index=True)
        is_labelled = numbers[first] > 0
        return Held(unique_images[is_labelled], numbers[first][is_labelled])


NOBODY = Held(NOTHING, NOTHING)


# Reasons of labels for which somebody looked at each image individually. Labels with other reasons are good guesses.
BY_LOOKING = ("manual", "verification", "resolved", "audit", "import")


def by_looking(event: Event) -> bool:
    """Return whether somebody looked at each image of a label event individually."""
    alone = event.count == 1 and event.why in ("bulk", "review")
    return event.kind == "label" and (event.why in BY_LOOKING or alone)


def accepted_on_page(event: Event) -> bool:
    """Return whether the label is a suggestion that somebody saw on a page of Learn and left as it is. Accepted without
    being shown, a suggestion has no queue."""
    return event.kind == "label" and event.why == "suggestion" and "queue" in event.rule


def without_bulk(history: Sequence[Event]) -> list[Event]:
    """Return the history without labels given to many images at once. Its current labels are those given by looking."""
    return [event for event in history if event.kind != "label" or by_looking(event)]


def standing(history: Sequence[Event]) -> list[Event]:
    """Return the events that are not undone, oldest first, without the undo events."""
    undone = undone_numbers(history)
    return [event for event in history if event.kind != "undo" and event.number not in undone]


def undone_numbers(history: Sequence[Event]) -> set[int]:
    undone: set[int] = set()
    for event in reversed(history):  # newest first, because an undo may itself be undone
        if event.kind == "undo" and event.undoes is not None and event.number not in undone:
            undone.add(event.undoes)
    return undone


def current_labels(history: Sequence[Event], base: Held = NOBODY, past: Sequence[Event] | None = None) -> Held:
    """Return the labels after a complete history; or, applied to `base`, after events without undo. `past` is the
    history in which reverts look back, if it is longer."""
    past = history if past is None else past
    layers = [_layer(event, past) for event in standing(history) if event.kind in ("label", "clear", "revert")]
    return base.overlaid(layers[::-1])


def _layer(event: Event, past: Sequence[Event]) -> tuple[np.ndarray, np.ndarray]:
    images = event.images
    if event.kind == "revert":
        then = current_labels([old for old in past if old.number <= (event.undoes or 0)])
        return images, then.of(images)
    return images, np.full(len(images), event.number if event.kind == "label" else 0)


def undo_stack(history: Iterable[Event], person_id: int) -> tuple[list[int], list[int]]:
    """Return (effective events of this person, undone events that can be redone). The next one is last in both
    lists."""
    done: list[int] = []
    back: list[int] = []
    undos: dict[int, int] = {}  # undo: the event at the end of the chain
    for event in history:
        if event.kind != "undo":
            if event.person_id == person_id:
                done.append(event.number)
                back.clear()
            continue
        if event.undoes is None:
            continue
        undone = undos[event.number] = undos.get(event.undoes, event.undoes)
        _move(undone, *((back, done) if event.undoes in undos else (done, back)))
    return done, back


def _move(number: int, source: list[int], target: list[int]) -> None:
    if number in source:
        source.remove(number)
        target.append(number)
