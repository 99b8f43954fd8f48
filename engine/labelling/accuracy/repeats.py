"""Repeats: labels that a person gave by looking, shown again on pages of Learn to measure how often the person slips.

One tile in thirty repeats a label that is at least fifty tiles old. It looks like an image without a label. Its
suggestion comes from a model that was not trained on the label. If the two looks differ, the image is shown once more.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.labelling.cover.estimate import clopper_pearson
from benthoscope.engine.labelling.suggestions import Suggestions
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import Held
from benthoscope.engine.workspace.labels.sampling import Draw, Parent, SamplingFrame

PURPOSE = "repeat"
EVERY = 30  # one tile in this many is a repeat
OLDER = 50  # tiles answered in between, so that nobody remembers the first answer
GROWTH = 2  # a new wave starts when the repeatable labels have grown by this factor


@dataclass(frozen=True)
class SlipRecord:
    """Answers of a person to repeats: `slips` of `repeats` did not confirm the first label. `waiting` differ and need a
    third look."""

    repeats: int
    slips: int
    waiting: int

    @property
    def rate(self) -> float | None:
        return self.slips / self.repeats if self.repeats else None

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return exact limits of the fraction of slips; 0 and 1 without repeats."""
        low, high = clopper_pearson(np.array([self.slips]), np.array([self.repeats]), confidence)
        return float(low[0]), float(high[0])

    def __str__(self) -> str:
        waiting = f"; {self.waiting} more need a third look" if self.waiting else ""
        if not self.repeats:
            return f"Slips: not known yet, no label of yours was repeated{waiting}"
        low, high = self.interval()
        shown = "1 label of yours was" if self.repeats == 1 else f"{self.repeats:,} labels of yours were"
        return (
            f"Slips: {100 * low:.1f} to {100 * high:.1f} % (95 % confidence); {shown} repeated, "
            f"{self.slips:,} not confirmed{waiting}"
        )


def repeats_due(tiles: int, page: int) -> int:
    """Return the number of repeats on a page with this many tiles; pages are numbered from 1."""
    return page * tiles // EVERY - (page - 1) * tiles // EVERY


def repeats_for_page(
    workspace: Workspace,
    person_id: int,
    suggestions: Suggestions,
    count: int,
    *,
    page: int | None = None,
    without: Collection[int] = (),
) -> list[Draw]:
    """Return up to `count` repeats for a page: labels that need a third look, then open repeats, then new ones. Images
    in `without` are on the page already."""
    if not count:
        return []
    images, ages = _own_labels(workspace, person_id)
    repeatable = np.intersect1d(images[ages >= OLDER], suggestions.image_ids[np.unique(suggestions.held_places)])
    if not len(repeatable):
        return []
    draws = [*_due_again(workspace, person_id, dict(zip(images.tolist(), ages.tolist(), strict=True)))[:count]]
    if len(draws) < count:
        draws += _new_draws(workspace, person_id, suggestions.image_ids, repeatable, count - len(draws), page)
    is_known = np.isin([draw.image_id for draw in draws], suggestions.image_ids)
    return [draw for draw, known in zip(draws, is_known, strict=True) if known and draw.image_id not in without]


def slip_record(workspace: Workspace, person_id: int) -> SlipRecord:
    """Return how many labels of a person were repeated and not confirmed. "Cannot tell" counts neither way."""
    draws = [draw for draw in workspace.sampling.draws(PURPOSE, _labels_of(person_id)) if _terms(draw)]
    waiting = [draw for draw in draws if _needs_third_look(draw)]
    settled = [draw for draw in draws if not _needs_third_look(draw)]
    return SlipRecord(len(settled), sum(not _confirmed(draw) for draw in settled), len(waiting))


def slip_facts(workspace: Workspace, person_id: int) -> dict[str, Any]:
    """Return the slip record of a person as plain values with its 95 % interval."""
    record = slip_record(workspace, person_id)
    low, high = record.interval()
    return {**vars(record), "rate": record.rate, "low": low, "high": high, "text": str(record)}


def _labels_of(person_id: int) -> Parent:
    return Parent("labels", person_id)


def _own_labels(workspace: Workspace, person_id: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (images, ages): the images whose label this person gave by looking, and how many later ones there are."""
    looked, current = workspace.labels.given_by_looking(), Held(*workspace.labels.current())
    own_events = [event.number for event in workspace.labels.events() if event.person_id == person_id]
    is_own = np.isin(looked.numbers, own_events) & (current.of(looked.images) == looked.numbers)
    images, numbers = looked.images[is_own], looked.numbers[is_own]
    return images, len(numbers) - np.searchsorted(np.sort(numbers), numbers, side="right")


def _new_draws(
    workspace: Workspace, person_id: int, image_ids: np.ndarray, repeatable: np.ndarray, count: int, page: int | None
) -> list[Draw]:
    store, parent = workspace.sampling, _labels_of(person_id)
    frame = store.latest_frame(PURPOSE, parent, image_ids) or store.open_frame(PURPOSE, parent, image_ids, person_id)
    _renew_wave(workspace, frame, repeatable)
    draws = store.draw(frame, count, eligible=repeatable, page=page, person_id=person_id)
    return [draw for draw in draws if draw.earlier_term_id is not None]


def _renew_wave(workspace: Workspace, frame: SamplingFrame, repeatable: np.ndarray) -> None:
    """Start a new wave when there are many more labels, so that new labels are repeated as often as old ones."""
    waves = workspace.sampling.waves(frame.id)
    if waves and len(repeatable) >= GROWTH * len(waves[-1].images):
        workspace.sampling.open_wave(frame, eligible=repeatable)


def _due_again(workspace: Workspace, person_id: int, ages: dict[int, int]) -> list[Draw]:
    """Return repeats whose two looks differ, a while after the second look."""
    draws = workspace.sampling.draws(PURPOSE, _labels_of(person_id))
    return [draw for draw in draws if _needs_third_look(draw) and ages.get(draw.image_id, 0) >= OLDER]


def _terms(draw: Draw) -> Sequence[int]:
    return [answer.term_id for answer in draw.answers if answer.term_id is not None]


def _needs_third_look(draw: Draw) -> bool:
    terms = _terms(draw)
    return len(terms) == 1 and terms[0] != draw.earlier_term_id


def _confirmed(draw: Draw) -> bool:
    """Return whether the second or the third look gave the first label again."""
    return draw.earlier_term_id in _terms(draw)
