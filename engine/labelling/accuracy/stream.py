"""Random images on the pages of Learn: drawing them, the model's guess, and the answers.

One tile in six of a page is a random draw from the images without a label. The guess is stored with the draw before it
is answered. Comparing both is the only way to measure how often suggestions are correct.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benthoscope.engine.labelling.measured_accuracy import AnsweredDraws
from benthoscope.engine.labelling.suggestions import Suggestions
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.sampling import Draw, Guess, Parent, SamplingFrame

PURPOSE, WORKSPACE = "stop", Parent("workspace")
EVERY = 6  # one tile in this many is a draw
BLIND_EVERY = 5  # one draw in this many is answered again without a suggestion
LATER = 8  # number of draws answered in between, about fifty tiles, so that nobody remembers the first answer

# images of each wave; neither the waves nor past labels change
_unlabelled: dict[tuple[str, int, int, float], int] = {}


class GuessTable(Mapping[int, Guess]):
    """The model's guess for each image, looked up on access because there may be millions of images."""

    def __init__(self, suggestions: Suggestions):
        self._ids, (self._terms, self._sure) = suggestions.image_ids, suggestions.best()
        self._order = np.argsort(self._ids)
        self._model = str(suggestions.facts["last_event"])

    def __getitem__(self, image: int) -> Guess:
        at = int(np.searchsorted(self._ids, image, sorter=self._order))
        if at == len(self._order) or self._ids[self._order[at]] != image:
            raise KeyError(image)
        row = self._order[at]
        return Guess(int(self._terms[row]), float(self._sure[row]), self._model)

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids.tolist())

    def __len__(self) -> int:
        return len(self._ids)


def stream_size(tiles: int) -> int:
    """Return the number of draws on a page with this many tiles."""
    return max(round(tiles / EVERY), 1)


def draw_for_page(
    workspace: Workspace, person_id: int, suggestions: Suggestions, count: int, page: int | None = None
) -> list[Draw]:
    """Return `count` draws for a page: open ones first, then new ones among the images without a label. If all images
    have a label, draws from those that nobody has looked at. Fewer if none are left."""
    waiting = _open_in_older_frames(workspace, suggestions, person_id)[:count]
    frame = _frame(workspace, person_id, suggestions.image_ids)
    eligible = np.setdiff1d(frame.images, workspace.labels.current()[0], assume_unique=True)
    if not len(eligible):
        eligible = workspace.sampling.eligible(frame)
    new = (
        workspace.sampling.draw(
            frame,
            count - len(waiting),
            eligible=eligible,
            guesses=GuessTable(suggestions),
            page=page,
            person_id=person_id,
        )
        if count > len(waiting)
        else []
    )
    return [*waiting, *new]


def answered_stream(workspace: Workspace) -> AnsweredDraws:
    """Return the evidence about suggestions for images without a label: answered draws with a stored guess, in the
    order of the answers. Draws of Learn count, and draws for cover if there was a model: both are uniform, and the
    model had not seen the answer."""
    learn = [draw for draw in workspace.sampling.draws(PURPOSE, WORKSPACE) if _is_uniform(draw)]
    cover = [draw for draw in workspace.sampling.draws("cover", WORKSPACE) if _is_uniform(draw)]
    unlabelled = _unlabelled_in_waves(workspace, [draw for draw in cover if _has_evidence(draw)])
    draws = _each_image_once([draw for draw in (*learn, *cover) if _has_evidence(draw)])
    done = sorted((draw for draw in draws if not draw.is_open), key=lambda draw: (draw.answers[0].at, draw.id))
    models = {
        name: at
        for at, name in enumerate(
            dict.fromkeys(_guess_of(draw).model for draw in sorted(done, key=lambda draw: draw.id))
        )
    }
    again, left_open = [draw for draw in done if _answered_blind_again(draw)], _left_open(draws, done)
    return AnsweredDraws(
        np.array([_guess_of(draw).probability for draw in done]),
        np.array([draw.term_id == _guess_of(draw).term_id for draw in done], bool),
        np.array([models[_guess_of(draw).model] for draw in done], np.int64),
        np.array(
            [min(draw.eligible, unlabelled.get((draw.frame_id, draw.wave), draw.eligible)) for draw in done], np.int64
        ),
        open=len(left_open),
        doubles=len(again),
        differ=sum(_looks_differ(draw) for draw in again),
        overstated=sum(_first_was_right(draw) - (draw.term_id == _guess_of(draw).term_id) for draw in again),
        waiting=len(to_ask_blind(learn)),
        blind=sum(draw.answers[0].blind for draw in done),
        without_guess=sum(not draw.is_open and not _has_evidence(draw) for draw in cover),
        open_cover=len({draw.id for draw in left_open} & {draw.id for draw in cover}),
    )


def to_ask_blind(draws: Sequence[Draw]) -> list[Draw]:
    """Return the draws of Learn to be answered again on a page without suggestions: one in five of those answered next
    to a suggestion, some time later, and those whose two answers differ. They show how much suggestions influence
    people."""
    newest: dict[int, int] = {}
    for draw in draws:
        if not draw.is_open:
            newest[draw.frame_id] = max(newest.get(draw.frame_id, 0), draw.number)
    return [
        draw
        for draw in draws
        if not draw.is_open
        and not draw.answers[0].blind
        and draw.number % BLIND_EVERY == 0
        and (not draw.settled or (len(draw.answers) == 1 and draw.number + LATER <= newest[draw.frame_id]))
    ]


def second_looks(workspace: Workspace) -> list[Draw]:
    """Return the draws of Learn that need a look without a suggestion."""
    return to_ask_blind(workspace.sampling.draws(PURPOSE, WORKSPACE))


def drawn_images(workspace: Workspace) -> np.ndarray:
    """Return the ids of images whose label answers a draw at equal rates, for cover or for Learn. Each image was looked
    at individually."""
    draws = [*workspace.sampling.draws("cover", WORKSPACE), *workspace.sampling.draws(PURPOSE, WORKSPACE)]
    return np.array(
        [draw.image_id for draw in draws if not draw.is_open and draw.term_id is not None and _is_uniform(draw)],
        np.int64,
    )


def _frame(workspace: Workspace, person_id: int, image_ids: np.ndarray) -> SamplingFrame:
    frame = workspace.sampling.latest_frame(PURPOSE, WORKSPACE, image_ids)
    return frame or workspace.sampling.open_frame(PURPOSE, WORKSPACE, image_ids, person_id)


def _open_in_older_frames(workspace: Workspace, suggestions: Suggestions, person_id: int) -> list[Draw]:
    """Return the open draws of frames created before the last import; they still need answers."""
    newest = workspace.sampling.latest_frame(PURPOSE, WORKSPACE, suggestions.image_ids)
    return [
        draw
        for draw in workspace.sampling.open_draws(PURPOSE, WORKSPACE)
        if draw.person_id == person_id
        and (newest is None or draw.frame_id != newest.id)
        and draw.image_id in suggestions.image_ids
    ]


def _has_evidence(draw: Draw) -> bool:
    """Return whether a draw shows how often suggestions for images without a label are correct."""
    return draw.guess is not None and draw.earlier_event is None


def _each_image_once(draws: Sequence[Draw]) -> list[Draw]:
    """Return the draws without later draws of the same image. An answered draw is preferred to an open one."""
    first: dict[int, Draw] = {}
    for draw in sorted(draws, key=lambda draw: (draw.is_open, draw.id)):
        first.setdefault(draw.image_id, draw)
    return list(first.values())


def _unlabelled_in_waves(workspace: Workspace, draws: Sequence[Draw]) -> dict[tuple[int, int], int]:
    """Return {(frame, wave): number of images without a label at the start of the wave} for cover draws. These also
    include images with a bulk label, for which suggestions are not relevant."""
    unlabelled = {}
    for frame in sorted({draw.frame_id for draw in draws}):
        for wave in workspace.sampling.waves(frame):
            key = (workspace.identity.id, frame, wave.number, wave.created_at)
            if key not in _unlabelled:
                labelled = workspace.labels.current(wave.label_event)[0]
                _unlabelled[key] = len(np.setdiff1d(wave.images, labelled, assume_unique=True))
            unlabelled[frame, wave.number] = _unlabelled[key]
    return unlabelled


def _left_open(draws: Sequence[Draw], done: Sequence[Draw]) -> list[Draw]:
    """Return open draws that were skipped: later ones of their frame have answers. Other open draws are on a page that
    somebody is looking at, and were not avoided."""
    newest: dict[int, int] = {}
    for draw in done:
        newest[draw.frame_id] = max(newest.get(draw.frame_id, 0), draw.number)
    return [draw for draw in draws if draw.is_open and draw.number < newest.get(draw.frame_id, 0)]


def _is_uniform(draw: Draw) -> bool:
    return abs(draw.probability * draw.eligible - 1) < 1e-6


def _answered_blind_again(draw: Draw) -> bool:
    return len(draw.answers) > 1 and not draw.answers[0].blind and any(answer.blind for answer in draw.answers[1:])


def _looks_differ(draw: Draw) -> bool:
    return len({answer.term_id for answer in draw.answers}) > 1


def _first_was_right(draw: Draw) -> bool:
    return draw.answers[0].term_id == _guess_of(draw).term_id


def _guess_of(draw: Draw) -> Guess:
    """Return the guess of a draw that has one."""
    assert draw.guess is not None  # only draws with evidence are counted
    return draw.guess
