"""Labelling of random images: the next images, second looks, and storing answers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.labelling.accuracy.stream import PURPOSE, WORKSPACE, GuessTable, second_looks
from benthoscope.engine.labelling.cover.evidence import to_ask_again
from benthoscope.engine.labelling.cover.guesses import GuessStore
from benthoscope.engine.labelling.suggestions import SuggestionStore
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.sampling import Draw, DrawAnswer, Guess, Parent, SamplingFrame, settled_answer

SIZES = (50, 100, 200, 400)  # numbers of random images a person can request
WHOLE = Parent("workspace")


@dataclass(frozen=True)
class DrawPage:
    """Draws to answer. `second` is set if they already have an answer and need another one."""

    draws: tuple[Draw, ...]
    second: bool = False

    @property
    def images(self) -> np.ndarray:
        return np.array([draw.image_id for draw in self.draws], np.int64)


@dataclass(frozen=True)
class DrawProgress:
    """Progress of the latest request: `answered` and `open_draws` of `budget` random images. `again` images of all
    requests need a second look."""

    budget: int
    answered: int
    open_draws: int
    again: int

    @property
    def remaining(self) -> int:
        return max(self.budget - self.answered, 0)


def _frame_for(workspace: Workspace, person_id: int, parent: Parent) -> SamplingFrame:
    """Return the sampling frame with the present images, a new one if they changed."""
    ids = _images_of(workspace, parent)
    frame = workspace.sampling.latest_frame("cover", parent, ids)
    if frame is None:
        frame = workspace.sampling.open_frame("cover", parent, ids, person_id, rule={"images": "all"})
    return frame


def ask_for(workspace: Workspace, person_id: int, count: int, *, parent: Parent = WHOLE) -> SamplingFrame:
    """Request `count` random images. Unanswered images of earlier requests come first."""
    if count < 1:
        raise fail("random images", f"cannot draw {count} images", "request at least one")
    frame = _frame_for(workspace, person_id, parent)
    waiting = len(workspace.sampling.open_draws("cover", frame_id=frame.id))
    free = np.setdiff1d(workspace.sampling.eligible(frame), _eligible(workspace, frame))
    if not len(free) and not waiting:
        raise fail("random images", "all images have been labelled individually", "there is nothing left to estimate")
    if len(free):
        workspace.sampling.open_wave(frame, budget=min(count, len(free)))
    return frame


def next_page(
    workspace: Workspace, person_id: int, size: int, *, parent: Parent = WHOLE, number: int | None = None
) -> DrawPage:
    """Return the next images to label: open draws, then new draws of the request, then second looks."""
    store = workspace.sampling
    if store.latest_frame("cover", parent) is None and (again := _second_looks(workspace)):
        return DrawPage(tuple(again[:size]), second=True)
    frame = _frame_for(workspace, person_id, parent)
    waves = store.waves(frame.id)
    draws = store.draws(frame_id=frame.id)
    remaining = waves[-1].budget - sum(draw.wave == waves[-1].number for draw in draws) if waves else 0
    count = min(size, sum(draw.is_open for draw in draws) + max(remaining, 0))
    if count:
        eligible = np.intersect1d(store.eligible(frame), waves[-1].images) if remaining > 0 else frame.images
        return DrawPage(
            tuple(
                store.draw(
                    frame, count, eligible=eligible, guesses=_guesses(workspace), page=number, person_id=person_id
                )
            )
        )
    return DrawPage(tuple(_second_looks(workspace)[:size]), second=True)


def progress(workspace: Workspace, *, parent: Parent = WHOLE) -> DrawProgress:
    """Return the progress of the latest request for random images."""
    frame = workspace.sampling.latest_frame("cover", parent)
    waves = workspace.sampling.waves(frame.id) if frame else []
    if frame is None or not waves:
        return DrawProgress(0, 0, 0, len(_second_looks(workspace)))
    draws = workspace.sampling.draws(frame_id=frame.id)
    in_wave = [draw for draw in draws if draw.wave == waves[-1].number]
    return DrawProgress(
        waves[-1].budget,
        sum(not draw.is_open for draw in in_wave),
        sum(draw.is_open for draw in draws),
        len(_second_looks(workspace)),
    )


def answer(
    workspace: Workspace,
    person_id: int,
    terms: Mapping[int, int | None],
    *,
    seconds: float | None = None,
    blind: bool = True,
    why: str = "manual",
    rule: Mapping[str, object] | None = None,
) -> list[int]:
    """Label drawn images and store the answers to their draws. A term of None means "cannot tell".

    Images with an earlier answer get a second or third look; their label changes only if the settled term differs.
    Returns the numbers of the label events.
    """
    draws = _draws_to_answer(workspace, list(terms))
    first = {image: term for image, term in terms.items() if not any(not draw.is_open for draw in draws.get(image, []))}
    second_looks = {image: term for image, term in terms.items() if image not in first}
    changed = {
        image: settled
        for image, term in second_looks.items()
        if (settled := _settled(draws[image], term, person_id)) is not None
    }
    numbers = _label(workspace, person_id, first, why, rule or {})
    numbers |= _label(workspace, person_id, changed, "verification", rule or {})
    each = None if seconds is None else seconds / max(len(terms), 1)
    workspace.sampling.record_answers(
        [
            DrawAnswer.new(draw.id, term, person_id, seconds=each, blind=blind, event=numbers.get(image))
            for image, term in terms.items()
            for draw in draws.get(image, [])
        ]
    )
    return sorted(set(numbers.values()))


def _draws_to_answer(workspace: Workspace, images: list[int]) -> dict[int, list[Draw]]:
    """Return {image: its draws for cover, and those of Learn that were answered there}. A look without a suggestion
    answers all of them."""
    draws, asked = workspace.sampling.draws_of_images(images, "cover"), set(images)
    for draw in workspace.sampling.draws(PURPOSE, WORKSPACE):
        if draw.image_id in asked and not draw.is_open:
            draws.setdefault(draw.image_id, []).append(draw)
    return draws


def _settled(draws: list[Draw], term: int | None, person_id: int) -> int | None:
    """Return the term that settles a draw with this answer, if its label has to change; None if it stays."""
    earlier = next(draw.answers for draw in draws if draw.answers)
    new = DrawAnswer.new(draws[0].id, term, person_id)
    before, after = settled_answer(earlier), settled_answer((*earlier, new))
    return after.term_id if after.term_id != before.term_id else None


def _label(
    workspace: Workspace, person_id: int, terms: Mapping[int, int | None], why: str, rule: Mapping[str, object]
) -> dict[int, int]:
    """Return {image: label event} for the images with a term."""
    by_term = {
        term: sorted(image for image, other in terms.items() if other == term)
        for term in sorted({term for term in terms.values() if term is not None})
    }
    numbers = workspace.labels.append_events(
        person_id, [Act("label", np.array(images, np.int64), why, term, rule=rule) for term, images in by_term.items()]
    )
    return {image: number for number, images in zip(numbers, by_term.values(), strict=True) for image in images}


def _second_looks(workspace: Workspace) -> list[Draw]:
    guesses = GuessStore(workspace.folder).get()
    draws = workspace.sampling.draws("cover")
    ids = np.array([draw.image_id for draw in draws], np.int64)
    known = dict(zip(ids.tolist(), guesses.of(ids).tolist(), strict=True)) if guesses else {}
    again = to_ask_again(draws, known)
    listed = {draw.image_id for draw in again}
    return again + [draw for draw in second_looks(workspace) if draw.image_id not in listed]


def _guesses(workspace: Workspace) -> Mapping[int, Guess]:
    """Return the newest suggestion of each image, to be stored with its draw."""
    suggestions = SuggestionStore(workspace.folder).get()
    return GuessTable(suggestions) if suggestions else {}


def _images_of(workspace: Workspace, parent: Parent) -> np.ndarray:
    columns = workspace.library.columns("id", "group_id")
    ids = columns["id"] if parent.kind == "workspace" else columns["id"][columns["group_id"] == parent.id]
    if not len(ids):
        raise fail("random images", "there are no images", "import some first")
    return np.unique(ids)


def _eligible(workspace: Workspace, frame: SamplingFrame) -> np.ndarray:
    return np.array([draw.image_id for draw in workspace.sampling.draws(frame_id=frame.id)], np.int64)
