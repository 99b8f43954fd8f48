"""What the label log holds, and how what holds now follows from it: pure functions of a list of events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.workspace.packing import holds, unpack_ids

NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Event:
    """An act of a person. An undo concerns the images of what it undoes; a revert gives its images back the labels
    they had right after event `undoes` (at the beginning where that is None)."""

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
        """Sorted ids; unpacked anew each time, for a long log does not fit into memory unpacked."""
        return unpack_ids(self.packed)

    def concerns(self, image: int) -> bool:
        return holds(self.packed, image)


@dataclass(frozen=True)
class Held:
    """Every labelled image, sorted, with the event whose label holds."""

    images: np.ndarray   # (n,)
    numbers: np.ndarray  # (n,)

    def of(self, images: np.ndarray) -> np.ndarray:
        """The event numbers of these images; 0 for one without a label."""
        if not len(self.images):
            return np.zeros(len(images), np.int64)
        place = np.minimum(np.searchsorted(self.images, images), len(self.images) - 1)
        return np.where(self.images[place] == images, self.numbers[place], 0)

    def overlaid(self, newest_first: Sequence[tuple[np.ndarray, np.ndarray]]) -> "Held":
        """With (images, numbers) laid over it, of several for one image the first; number 0 takes a label away."""
        images = np.concatenate([pair[0] for pair in newest_first] + [self.images])
        numbers = np.concatenate([pair[1] for pair in newest_first] + [self.numbers])
        found, first = np.unique(images, return_index=True)
        kept = numbers[first] > 0
        return Held(found[kept], numbers[first][kept])


NOBODY = Held(NOTHING, NOTHING)


def standing(history: Sequence[Event]) -> list[Event]:
    """The events that are not undone, oldest first, without the undos themselves."""
    undone = undone_numbers(history)
    return [event for event in history if event.kind != "undo" and event.number not in undone]


def undone_numbers(history: Sequence[Event]) -> set[int]:
    undone: set[int] = set()
    for event in reversed(history):  # newest first, because an undo may itself be undone
        if event.kind == "undo" and event.number not in undone:
            undone.add(event.undoes)
    return undone


def held(history: Sequence[Event], base: Held = NOBODY, past: Sequence[Event] | None = None) -> Held:
    """What holds after a whole history; or, laid over `base`, after events that neither undo nor are undone. `past` is
    the history reverts look back into, where it is longer."""
    past = history if past is None else past
    layers = [_layer(event, past) for event in standing(history) if event.kind in ("label", "clear", "revert")]
    return base.overlaid(layers[::-1])


def _layer(event: Event, past: Sequence[Event]) -> tuple[np.ndarray, np.ndarray]:
    images = event.images
    if event.kind == "revert":
        then = held([old for old in past if old.number <= (event.undoes or 0)])
        return images, then.of(images)
    return images, np.full(len(images), event.number if event.kind == "label" else 0)


def undo_stack(history: Iterable[Event], person_id: int) -> tuple[list[int], list[int]]:
    """(acts of this person that hold, acts taken back that can be brought back), the next one last in both."""
    done: list[int] = []
    back: list[int] = []
    undos: dict[int, int] = {}  # undo: the act at the end of the chain
    for event in history:
        if event.kind != "undo":
            if event.person_id == person_id:
                done.append(event.number)
                back.clear()
            continue
        act = undos[event.number] = undos.get(event.undoes, event.undoes)
        _move(act, *((back, done) if event.undoes in undos else (done, back)))
    return done, back


def _move(act: int, source: list[int], target: list[int]) -> None:
    if act in source:
        source.remove(act)
        target.append(act)
