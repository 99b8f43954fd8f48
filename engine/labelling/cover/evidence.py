"""Collect the evidence about cover: answered random draws, and labels that count only for their own images.

Only answers to stored draws are evidence about other images. A label given by looking at an image is a known value.
Bulk labels and suggestions only divide the images into strata.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.labelling.cover.estimate import GuessCounts
from benthoscope.engine.labelling.cover.guesses import Guesses
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.events import by_looking, standing
from benthoscope.engine.workspace.labels.log import LabelLog
from benthoscope.engine.workspace.labels.sampling import Draw, SamplingFrame, Wave

CANNOT_TELL = -1  # term of images that nobody can identify
AGAIN_BELOW = 10  # draws of a term with at most this many hits are answered again
UNKNOWN = -1  # column of an image with unknown term


@dataclass(frozen=True, eq=False)
class Drawn:
    """Draws of one wave or audit: rows of their images, columns of their terms (UNKNOWN for open ones), and which are
    known to be wrong in the bulk event without a correct term."""

    rows: np.ndarray
    columns: np.ndarray
    wrong: np.ndarray


@dataclass(frozen=True, eq=False)
class WaveEvidence:
    """`covers` (N,) marks the images of the frame, `inside` (N,) those that the draws represent. `bulk` (N,) is the
    column of each image's bulk label at the start of the wave, UNKNOWN without one."""

    covers: np.ndarray
    inside: np.ndarray
    bulk: np.ndarray
    draws: Drawn


@dataclass(frozen=True, eq=False)
class CoverEvidence:
    """Evidence about N images and K terms. `known` (N,) is the column of a term given by looking, or UNKNOWN; `guess`
    (N,) the suggestion of a model that did not see the answer. Images of one `block` (N,) are in the same frames."""

    image_ids: np.ndarray
    groups: np.ndarray
    terms: np.ndarray
    known: np.ndarray
    guess: np.ndarray
    block: np.ndarray
    waves: tuple[WaveEvidence, ...]
    draws: tuple[Draw, ...]

    def tables(self, wave: WaveEvidence, rows: np.ndarray) -> tuple[GuessCounts, GuessCounts]:
        """Return counts among rows (N,) bool: (images with a bulk label by that label, other images by the model's
        suggestion)."""
        inside, at = wave.inside & rows, wave.draws.rows
        is_drawn = inside[at]
        by_bulk, by_model = (
            _table(
                guess[inside & kind],
                guess[at[is_drawn & kind[at]]],
                wave.draws.columns[is_drawn & kind[at]],
                wave.draws.wrong[is_drawn & kind[at]],
                len(self.terms),
            )
            for kind, guess in ((wave.bulk >= 0, wave.bulk), (wave.bulk < 0, self.guess))
        )
        return by_bulk, by_model


def gather(workspace: Workspace, guesses: Guesses | None = None) -> CoverEvidence:
    """Collect the evidence about all images of a workspace."""
    columns = workspace.library.columns("id", "group_id")
    order = np.argsort(columns["id"])
    ids, groups = columns["id"][order], columns["group_id"][order]
    draws = tuple(workspace.sampling.draws("cover"))
    frames = workspace.sampling.frames("cover")
    waves = [(frame, wave) for frame in frames for wave in workspace.sampling.waves(frame.id)]
    bulk = [_bulk_terms(workspace.labels, wave.label_event, ids) for _, wave in waves]
    known = _known_terms(workspace, ids)
    audits = _audits(workspace, ids, [wave for _, wave in waves])
    guessed = guesses.of(ids) if guesses else np.zeros(len(ids), np.int64)
    present = np.unique(workspace.labels.current_terms()[1])
    terms = _all_terms([known, guessed, present, *bulk, *(audit.terms for audit in audits)], draws)
    code = _Codes(terms)
    made = [
        _wave(
            code,
            ids,
            frame,
            wave,
            terms_of,
            [draw for draw in draws if (draw.frame_id, draw.wave) == (frame.id, wave.number)],
        )
        for (frame, wave), terms_of in zip(waves, bulk, strict=True)
    ]
    made = [wave for wave in made if len(wave.draws.rows)]
    block, made = _with_audits(code, audits, made, len(ids))
    return CoverEvidence(ids, groups, terms, code(known), code(guessed), block, tuple(made), draws)


def to_ask_again(draws: Iterable[Draw], guesses: Mapping[int, int] | None = None) -> list[Draw]:
    """Return answered draws that need a second answer without a suggestion: those that differ from the guess, those of
    rare terms, and those with two different answers. Most mistakes are among them."""
    answered = [draw for draw in draws if draw.answers and draw.state in ("answered", "cannot tell")]
    first = [draw.answers[0].term_id for draw in answered]
    hits = {term: first.count(term) for term in set(first)}
    guesses = guesses or {}

    def doubtful(draw: Draw) -> bool:
        guess = guesses.get(draw.image_id) or (draw.guess.term_id if draw.guess else None)
        term = draw.answers[0].term_id
        return hits[term] <= AGAIN_BELOW or (guess is not None and guess != term)

    return [draw for draw in answered if not draw.settled or (len(draw.answers) == 1 and doubtful(draw))]


@dataclass(frozen=True, eq=False)
class _Audit:
    event: int
    rows: np.ndarray  # (N,) bool: the images of the act
    draw_rows: np.ndarray  # rows of the draws
    terms: np.ndarray  # of the draws; 0 for open ones or without a term
    wrong: np.ndarray
    term: int


class _Codes:
    """Maps term ids to columns."""

    def __init__(self, terms: np.ndarray):
        self._terms = terms

    def __call__(self, terms: np.ndarray) -> np.ndarray:
        """Return the columns (n,) of term ids; UNKNOWN for 0."""
        values = np.asarray(terms, np.int64)
        if not len(self._terms):
            return np.full(len(values), UNKNOWN)
        return np.where(values == 0, UNKNOWN, np.searchsorted(self._terms, values))


def _all_terms(arrays: list[np.ndarray], draws: Iterable[Draw]) -> np.ndarray:
    of_draws = np.array([_term_of(draw) for draw in draws], np.int64)
    unique_terms = np.unique(np.concatenate([*arrays, of_draws]))
    return unique_terms[unique_terms != 0]


def _term_of(draw: Draw) -> int:
    """Return the term of a draw, CANNOT_TELL, or 0 if it is open or wrong without a term."""
    return CANNOT_TELL if draw.state == "cannot tell" else (0 if draw.is_open else draw.term_id or 0)


def _known_terms(workspace: Workspace, ids: np.ndarray) -> np.ndarray:
    """Return the term of each image (N,) given by looking: by a label or an answer to any draw."""
    looked = workspace.labels.given_by_looking()
    terms = np.zeros(len(ids), np.int64)
    for draw in workspace.sampling.draws():
        at = np.searchsorted(ids, draw.image_id)
        if not draw.is_open and at < len(ids) and ids[at] == draw.image_id:
            terms[at] = _term_of(draw) or terms[at]
    events = looked.of(ids)
    settled = terms != 0
    terms[(events > 0) & ~settled] = workspace.labels.terms_of(events[(events > 0) & ~settled])
    return terms


def _bulk_terms(labels: LabelLog, until: int, ids: np.ndarray) -> np.ndarray:
    """Return the bulk label of each image (N,) immediately after event `until`; 0 without one."""
    return _bulk_labels(labels, until, ids)[0]


def _bulk_labels(labels: LabelLog, until: int, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (terms, events) of the bulk labels immediately after event `until`; 0 without one."""
    images, numbers = labels.current(until)
    events = np.zeros(len(ids), np.int64)
    if len(images):
        at = np.minimum(np.searchsorted(images, ids), len(images) - 1)
        events = np.where(images[at] == ids, numbers[at], 0)
    looked = {event.number for event in labels.events() if by_looking(event)}
    events[np.isin(events, list(looked))] = 0
    terms = np.zeros(len(ids), np.int64)
    terms[events > 0] = labels.terms_of(events[events > 0])
    return terms, events


def _audits(workspace: Workspace, ids: np.ndarray, waves: list[Wave]) -> list[_Audit]:
    """Return audits of effective bulk events that are older than all waves, with the images that only they
    represent."""
    before = min((wave.label_event for wave in waves), default=workspace.labels.last_number())
    event_of_number = {event.number: event for event in standing(workspace.labels.events())}
    audits: dict[int, _Audit] = {}
    for frame in workspace.sampling.frames("audit"):
        event_number = frame.parent.id
        draws = workspace.sampling.draws(frame_id=frame.id)
        if (
            frame.parent.kind == "event"
            and event_number is not None
            and event_number in event_of_number
            and event_number <= before
            and any(not draw.is_open for draw in draws)
        ):
            audits[event_number] = _audit(event_of_number[event_number].given_term_id, event_number, ids, frame, draws)
    _, events = _bulk_labels(workspace.labels, before, ids)
    return [audit for audit in audits.values() if _nobody_interfered(audit, events, workspace, ids)]


def _nobody_interfered(audit: _Audit, events: np.ndarray, workspace: Workspace, ids: np.ndarray) -> bool:
    """Return whether all images of the event outside the audit still had only its label before the first wave. The
    audit's draws then represent them too."""
    undrawn = audit.rows.copy()
    undrawn[audit.draw_rows] = False
    return bool((events[undrawn] == audit.event).all())


def _audit(term: int, event_number: int, ids: np.ndarray, frame: SamplingFrame, draws: list[Draw]) -> _Audit:
    draws = [draw for draw in draws if np.isin(draw.image_id, ids)]
    rows = np.searchsorted(ids, [draw.image_id for draw in draws])
    wrong = np.array([not draw.is_open and not _term_of(draw) for draw in draws], bool)
    return _Audit(
        event_number,
        np.isin(ids, frame.images),
        rows,
        np.array([_term_of(draw) for draw in draws], np.int64),
        wrong,
        term,
    )


def _wave(
    code: _Codes, ids: np.ndarray, frame: SamplingFrame, wave: Wave, bulk: np.ndarray, draws: list[Draw]
) -> WaveEvidence:
    draws = [draw for draw in draws if np.isin(draw.image_id, ids)]  # an image may have been removed since
    rows = np.searchsorted(ids, [draw.image_id for draw in draws]).astype(np.int64)
    inside = np.isin(ids, wave.images)
    draws_made = Drawn(rows, code(np.array([_term_of(draw) for draw in draws], np.int64)), np.zeros(len(draws), bool))
    return WaveEvidence(np.isin(ids, frame.images), inside, np.where(inside, code(bulk), UNKNOWN), draws_made)


def _with_audits(
    code: _Codes, audits: list[_Audit], waves: list[WaveEvidence], N: int
) -> tuple[np.ndarray, list[WaveEvidence]]:
    """Return (block of each image, waves). An audited event is a separate block, because its sampling rate differs. Its
    audit joins the draws of a wave there; without a wave it forms its own."""
    event_of_row = np.zeros(N, np.int64)
    for audit in audits:
        event_of_row[audit.rows] = audit.event
    joined_to = [audit for audit in audits if (event_of_row[audit.rows] == audit.event).all()]
    result = list(waves)
    for audit in joined_to:
        draws_made = Drawn(audit.draw_rows, code(audit.terms), audit.wrong)
        label = np.where(audit.rows, int(code(np.array([audit.term]))[0]), UNKNOWN)
        covering = [at for at, wave in enumerate(waves) if (wave.covers & audit.rows).any()]
        complete_waves = [at for at in covering if wave_has_all(waves[at], audit.rows)]
        if not covering:
            result.append(WaveEvidence(audit.rows, audit.rows, label, draws_made))
        for at in complete_waves[:1]:
            wave = result[at]
            result[at] = WaveEvidence(
                wave.covers,
                wave.inside | audit.rows,
                np.where(audit.rows, label, wave.bulk),
                _both(wave.draws, draws_made),
            )
    codes = np.stack(
        [
            event_of_row * np.isin(event_of_row, [audit.event for audit in joined_to]),
            *(wave.covers.astype(np.int64) for wave in waves),
        ]
    )
    return np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1), result


def wave_has_all(wave: WaveEvidence, rows: np.ndarray) -> bool:
    return bool(wave.covers[rows].all())


def _both(first: Drawn, second: Drawn) -> Drawn:
    """Combine two sets of draws, each image once."""
    new = ~np.isin(second.rows, first.rows)
    return Drawn(
        np.concatenate([first.rows, second.rows[new]]),
        np.concatenate([first.columns, second.columns[new]]),
        np.concatenate([first.wrong, second.wrong[new]]),
    )


def _table(guess: np.ndarray, guess_drawn: np.ndarray, columns: np.ndarray, wrong: np.ndarray, K: int) -> GuessCounts:
    """Return the counts by guess. The last stratum, K, has the images without a guess."""
    guess_drawn = np.where(guess_drawn < 0, K, guess_drawn)
    answers = np.zeros((K + 1, K))
    answered = columns >= 0
    np.add.at(answers, (guess_drawn[answered], columns[answered]), 1)
    return GuessCounts(
        np.bincount(np.where(guess < 0, K, guess), minlength=K + 1).astype(float),
        answers,
        np.bincount(guess_drawn[~answered & ~wrong], minlength=K + 1).astype(float),
        np.bincount(guess_drawn[wrong & ~answered], minlength=K + 1).astype(float),
    )
