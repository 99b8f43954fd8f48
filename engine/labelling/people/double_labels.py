"""Blind double labels: images that one person labelled are shown to another person, without label and suggestion.

The images are drawn at random from the labels that others gave by looking. All people have the same seed, so the same
images come first for everybody, and images with several second looks show who differs from the others. A second look is
an opinion: the current label of the image stays, and a different one is listed as a conflict.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benthoscope.engine.labelling.agreement import Opinions, opinions
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import Event, Held, by_looking
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.sampling import Draw, DrawAnswer, Parent

PURPOSE = "double"
SIZES = (25, 50, 100, 200)  # numbers of images a person can request
# labels that are no independent look: the person saw the label of somebody else, or the author is not known here
NOT_INDEPENDENT = ("verification", "resolved", "audit", "import")


@dataclass(frozen=True)
class DoubleProgress:
    """Progress of a person's latest request: `answered` of `budget`, `remaining` to answer. `available` more images
    could be requested; `labelled_by` others gave labels that can be shown."""

    budget: int
    answered: int
    remaining: int
    available: int
    labelled_by: int


def ask_for(workspace: Workspace, person_id: int, count: int) -> int:
    """Request `count` images that others labelled. Returns how many there are. Unanswered images come first."""
    if count < 1:
        raise fail("double labels", f"cannot draw {count} images", "request at least one")
    waiting = _due(workspace, person_id)
    ids = _free(workspace, person_id)
    if not len(ids):
        if waiting:
            return len(waiting)
        raise fail(
            "double labels",
            "no other person has given labels that you can repeat",
            "let another person label images",
        )
    store = workspace.sampling
    frame = store.latest_frame(PURPOSE, _of(person_id), ids)
    if frame is None:
        frame = store.open_frame(PURPOSE, _of(person_id), ids, person_id, seed=_common_seed(workspace))
    store.open_wave(frame, eligible=ids, budget=min(count, len(ids)))
    return min(count, len(ids))


def next_page(workspace: Workspace, person_id: int, size: int, *, number: int | None = None) -> list[Draw]:
    """Return the next images to label: open ones first, then new draws of the request."""
    store, waiting = workspace.sampling, _due(workspace, person_id)
    frame = store.latest_frame(PURPOSE, _of(person_id))
    count = min(size - len(waiting), _not_drawn(workspace, person_id))
    if frame is None or count <= 0:
        return waiting[:size]
    in_frame = store.draws(frame_id=frame.id)
    eligible = np.intersect1d(store.waves(frame.id)[-1].images, _free(workspace, person_id))
    is_open = {draw.id for draw in in_frame if draw.is_open}
    draws = store.draw(frame, len(is_open) + count, eligible=eligible, page=number, person_id=person_id)
    return [*waiting, *(draw for draw in draws if draw.id not in is_open)]


def progress(workspace: Workspace, person_id: int) -> DoubleProgress:
    """Return how far this person's latest request is."""
    labelled_by = len({event.person_id for event in _first_looks(workspace, person_id)[1]})
    frame = workspace.sampling.latest_frame(PURPOSE, _of(person_id))
    waves = workspace.sampling.waves(frame.id) if frame else []
    waiting, free = _not_drawn(workspace, person_id), len(_free(workspace, person_id))
    remaining = len(_due(workspace, person_id)) + waiting
    if frame is None or not waves:
        return DoubleProgress(0, 0, remaining, free, labelled_by)
    in_wave = [draw for draw in workspace.sampling.draws(frame_id=frame.id) if draw.wave == waves[-1].number]
    answered = sum(not draw.is_open for draw in in_wave)
    return DoubleProgress(waves[-1].budget, answered, remaining, free - waiting, labelled_by)


def answer(
    workspace: Workspace, person_id: int, terms: Mapping[int, int | None], *, seconds: float | None = None
) -> list[int]:
    """Store second looks {image: term}; a term of None means "cannot tell". A later answer replaces an earlier one.
    Returns the numbers of the label events."""
    newest = {draw.image_id: draw for draw in workspace.sampling.draws(PURPOSE, _of(person_id))}
    unknown = [image for image in terms if image not in newest]
    if unknown:
        raise fail("double labels", f"image {unknown[0]} was not drawn for this person", "answer images of the page")
    if any(terms[image] is None and not newest[image].is_open for image in terms):
        raise fail("double labels", "an image has your label already", "undo that label first")
    given_terms = sorted({term for term in terms.values() if term is not None})
    by_term = {term: sorted(image for image in terms if terms[image] == term) for term in given_terms}
    numbers = workspace.labels.append_events(
        person_id,
        [
            Act("opinion", np.array(images, np.int64), "double", term, rule={"draws": [newest[i].id for i in images]})
            for term, images in by_term.items()
        ],
    )
    event_of = {image: at for at, images in zip(numbers, by_term.values(), strict=True) for image in images}
    workspace.sampling.withdraw([newest[image] for image in terms if not newest[image].is_open], person_id)
    each = None if seconds is None else seconds / max(len(terms), 1)
    workspace.sampling.record_answers(
        [
            DrawAnswer.new(newest[image].id, term, person_id, seconds=each, event=event_of.get(image))
            for image, term in terms.items()
        ]
    )
    return numbers


def double_facts(workspace: Workspace, person_id: int) -> dict[str, Any]:
    """Return the images that a person has to answer and the progress, as plain values."""
    state = progress(workspace, person_id)
    images = [draw.image_id for draw in next_page(workspace, person_id, state.remaining)] if state.remaining else []
    return {"images": images, **asdict(state)}


def blind_labels(workspace: Workspace) -> Opinions:
    """Return the independent looks at double-labelled images: the first label of each, unless it was undone, and the
    blind second looks. Later changes of labels do not count, because they were made with other labels in view."""
    events = {event.number: event for event in workspace.labels.effective()[0]}
    labels_by_person: dict[tuple[int, int], tuple[int, int]] = {}
    for draw in workspace.sampling.draws(PURPOSE):
        first = events.get(draw.earlier_event or 0)
        last = draw.answers[-1] if draw.answers else None
        if last is None or last.term_id is None or first is None:
            continue
        labels_by_person.setdefault((draw.image_id, first.person_id), (first.given_term_id, first.number))
        labels_by_person[draw.image_id, last.person_id] = (last.term_id, last.event or 0)
    order = sorted(labels_by_person)
    rows = np.array([(*key, *labels_by_person[key]) for key in order], np.int64).reshape(-1, 4)
    return Opinions(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])


def _of(person_id: int) -> Parent:
    return Parent("labels", person_id)


def _common_seed(workspace: Workspace) -> int | None:
    frames = workspace.sampling.frames(PURPOSE)
    return frames[0].seed if frames else None


def _first_looks(workspace: Workspace, person_id: int) -> tuple[np.ndarray, list[Event]]:
    """Return (images, events): current labels that others gave by looking at single images, and that this person has
    not labelled."""
    log = workspace.labels
    looked, current = log.given_by_looking(), Held(*log.current())
    effective = log.effective()[0]
    events = {event.number: event for event in effective if _is_first_look(event, person_id)}
    usable = np.isin(looked.numbers, list(events)) & (current.of(looked.images) == looked.numbers)
    usable &= ~np.isin(looked.images, opinions(effective).by(person_id)[0])
    return looked.images[usable], [events[number] for number in np.unique(looked.numbers[usable]).tolist()]


def _is_first_look(event: Event, person_id: int) -> bool:
    return event.person_id != person_id and by_looking(event) and event.why not in NOT_INDEPENDENT


def _due(workspace: Workspace, person_id: int) -> list[Draw]:
    """Return the open draws of a person whose images still have a label by somebody else."""
    images = set(_first_looks(workspace, person_id)[0].tolist())
    return [draw for draw in workspace.sampling.open_draws(PURPOSE, _of(person_id)) if draw.image_id in images]


def _free(workspace: Workspace, person_id: int) -> np.ndarray:
    """Return the images that can be drawn: labelled by others, and not drawn for this person."""
    drawn_images = [draw.image_id for draw in workspace.sampling.draws(PURPOSE, _of(person_id))]
    return np.setdiff1d(_first_looks(workspace, person_id)[0], drawn_images)


def _not_drawn(workspace: Workspace, person_id: int) -> int:
    """Return how many images of the latest request are still to be drawn."""
    store = workspace.sampling
    frame = store.latest_frame(PURPOSE, _of(person_id))
    waves = store.waves(frame.id) if frame else []
    if frame is None or not waves:
        return 0
    drawn_count = sum(draw.wave == waves[-1].number for draw in store.draws(frame_id=frame.id))
    usable = np.intersect1d(waves[-1].images, _free(workspace, person_id))
    return min(max(waves[-1].budget - drawn_count, 0), len(usable))
