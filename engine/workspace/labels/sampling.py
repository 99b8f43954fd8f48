"""Random images and the answers to them: the only evidence from which fractions are estimated.

A frame is a fixed list of images and a seed. A wave is a series of draws that all represent the images that could be
drawn when the wave started. Frames, waves, draws and answers are never changed. The state of a draw follows from its
answers and the label log: while the label event of an answer is undone, the draw is open.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sqlalchemy import Connection, Row, insert, select, text

from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace.database.catalogue import Catalogue
from benthoscope.engine.workspace.database.schema import sampling_answer, sampling_draw, sampling_frame, sampling_wave
from benthoscope.engine.workspace.labels.log import LabelLog
from benthoscope.engine.workspace.labels.sampling_keys import draw_uniform, draw_weighted, new_seed
from benthoscope.engine.workspace.records import current_time, inserted_id
from benthoscope.engine.workspace.storage.id_packing import pack_ids, unpack_ids

PURPOSES = ("cover", "stop", "audit", "repeat", "double")
PARENTS = ("dive", "campaign", "workspace", "event", "labels")
STATES = ("open", "answered", "cannot tell", "withdrawn")
HUNTED = 0.1  # a new wave starts when labels by looking cover this fraction of the images that the wave represents
LEFT = 900.0  # seconds after which a draw on somebody's page may be shown to another person
LOCK = 7333  # the advisory lock with which PostgreSQL allows one process at a time to draw


@dataclass(frozen=True)
class Parent:
    """The subject of a frame: a dive, a campaign, the whole workspace, a label event (a bulk label) or a set of
    labels."""

    kind: str = "workspace"
    id: int | None = None

    def __post_init__(self):
        if self.kind not in PARENTS:
            raise unknown("parent of a sampling frame", self.kind, PARENTS)


@dataclass(frozen=True, eq=False)
class SamplingFrame:
    """A sampling frame. `images` are sorted ids; `label_event` is the newest label event when it was created."""

    id: int
    purpose: str
    parent: Parent
    seed: int
    rule: Mapping[str, Any]
    images: np.ndarray
    size: int
    label_event: int
    person_id: int
    created_at: float


@dataclass(frozen=True, eq=False)
class Wave:
    """A wave. `images` are sorted ids of those that could be drawn when it started; its draws represent them."""

    frame_id: int
    number: int
    label_event: int
    images: np.ndarray
    budget: int
    created_at: float


@dataclass(frozen=True)
class Guess:
    """A model's suggestion for an image before it is answered; `model` is the version."""

    term_id: int
    probability: float
    model: str = ""


@dataclass(frozen=True)
class DrawAnswer:
    """An answer. A `term_id` of None means "cannot tell" or, in an audit, a wrong label without a new term yet. `event`
    is the label event of the answer, or None."""

    draw_id: int
    state: str
    term_id: int | None
    person_id: int
    seconds: float | None
    blind: bool
    event: int | None
    at: float

    @classmethod
    def new(
        cls,
        draw_id: int,
        term_id: int | None,
        person_id: int,
        *,
        seconds: float | None = None,
        blind: bool = True,
        event: int | None = None,
    ) -> Self:
        """Return an answer to record; the log sets its time. Without a term it is "cannot tell"."""
        state = "cannot tell" if term_id is None else "answered"
        return cls(draw_id, state, term_id, person_id, seconds, blind, event, 0.0)


@dataclass(frozen=True)
class Draw:
    """A draw. `answers` are those that count, oldest first; `term_id` is the settled one. A draw in state "withdrawn"
    is open again, because its answers were removed by `withdraw`."""

    id: int
    frame_id: int
    number: int
    wave: int
    image_id: int
    probability: float
    eligible: int
    stratum: int | None
    page: int | None
    person_id: int | None
    at: float
    guess: Guess | None
    label_event: int
    earlier_term_id: int | None
    earlier_event: int | None
    state: str = "open"
    term_id: int | None = None
    answers: tuple[DrawAnswer, ...] = field(default=(), repr=False)

    @property
    def is_open(self) -> bool:
        return self.state in ("open", "withdrawn")

    @property
    def settled(self) -> bool:
        """Return whether no further answer is needed: there is one answer, two that agree, or three."""
        return bool(self.answers) and (len(self.answers) != 2 or self.answers[0].term_id == self.answers[1].term_id)


class SamplingStore:
    """Frames, draws and answers. `labels` shows which answers are undone and which images were looked at."""

    def __init__(self, catalogue: Catalogue, labels: LabelLog):
        self._catalogue, self._labels = catalogue, labels

    # --- frames

    def open_frame(
        self,
        purpose: str,
        parent: Parent,
        image_ids: Iterable[int] | np.ndarray,
        person_id: int,
        *,
        seed: int | None = None,
        rule: Mapping[str, Any] | None = None,
    ) -> SamplingFrame:
        """Create a frame of these images. Frames are never edited: new images need a new frame."""
        if purpose not in PURPOSES:
            raise unknown("purpose of a sampling frame", purpose, PURPOSES)
        ids = _distinct(image_ids if isinstance(image_ids, np.ndarray) else list(image_ids))
        if not len(ids):
            raise fail("sampling frame", "it has no images", "choose images first")
        values = {
            "purpose": purpose,
            "parent_kind": parent.kind,
            "parent_id": _plain(parent.id),
            "seed": new_seed() if seed is None else int(seed),
            "rule": dict(rule or {}),
            "images": pack_ids(ids),
            "images_hash": images_hash(ids),
            "size": len(ids),
            "label_event": self._labels.last_number(),
            "person_id": int(person_id),
            "created_at": current_time(),
        }
        number = self._catalogue.write(
            lambda connection: inserted_id(connection.execute(insert(sampling_frame).values(**values)))
        )
        return self.frame(number)

    def frame(self, frame_id: int) -> SamplingFrame:
        row = self._catalogue.first(select(sampling_frame).where(sampling_frame.c.id == frame_id))
        if row is None:
            raise fail("sampling frames", f"there is no frame {frame_id}", "reload the list")
        return _frame(row)

    def frames(self, purpose: str | None = None, parent: Parent | None = None) -> list[SamplingFrame]:
        """Return all frames with a purpose and a parent, oldest first."""
        return [
            _frame(row)
            for row in self._catalogue.all(
                _of_frames(select(sampling_frame), purpose, parent).order_by(sampling_frame.c.id)
            )
        ]

    def latest_frame(self, purpose: str, parent: Parent, image_ids: np.ndarray | None = None) -> SamplingFrame | None:
        """Return the newest frame with this purpose and parent; with `image_ids`, only if it has exactly these
        images."""
        statement = _of_frames(select(sampling_frame), purpose, parent)
        if image_ids is not None:
            statement = statement.where(sampling_frame.c.images_hash == images_hash(_distinct(image_ids)))
        row = self._catalogue.first(statement.order_by(sampling_frame.c.id.desc()))
        return None if row is None else _frame(row)

    def waves(self, frame_id: int) -> list[Wave]:
        """Return the waves of a frame, oldest first."""
        rows = self._catalogue.all(
            select(sampling_wave).where(sampling_wave.c.frame_id == frame_id).order_by(sampling_wave.c.number)
        )
        return [_wave(row) for row in rows]

    # --- drawing

    def eligible(self, frame: SamplingFrame) -> np.ndarray:
        """Return sorted ids of the images a frame may draw: for cover and stop those nobody has looked at, for audit,
        repeat and double all."""
        if frame.purpose in ("audit", "repeat", "double"):
            return frame.images
        return np.setdiff1d(frame.images, self.looked_at(), assume_unique=True)

    def looked_at(self) -> np.ndarray:
        """Return sorted ids of images with a label given by looking or with an answered draw."""
        return np.union1d(
            self._labels.given_by_looking().images, [draw.image_id for draw in self.draws() if not draw.is_open]
        ).astype(np.int64)

    def open_wave(self, frame: SamplingFrame, *, eligible: np.ndarray | None = None, budget: int = 0) -> Wave:
        """Start a new series of draws. They represent the images that are eligible now, even if some of these get
        labels in other ways later."""
        ids, event = self._eligible(frame, eligible), self._labels.last_number()

        def store(connection: Connection) -> None:
            _lock(connection)
            free = np.setdiff1d(ids, self._drawn_images(connection, frame.id), assume_unique=True)
            waves = self._waves_of(connection, frame)
            _insert_wave(connection, frame, waves[-1].number + 1 if waves else 1, event, free, budget)

        self._catalogue.write(store)
        return self.waves(frame.id)[-1]

    def draw(
        self,
        frame: SamplingFrame,
        count: int,
        *,
        eligible: np.ndarray | None = None,
        guesses: Mapping[int, Guess] | None = None,
        weights: np.ndarray | None = None,
        strata: Mapping[int, int] | None = None,
        page: int | None = None,
        person_id: int | None = None,
    ) -> list[Draw]:
        """Return `count` draws to answer: first the open ones, then new ones, in the order of the draws.

        Open draws are never replaced; those on somebody else's page are reserved for a quarter of an hour. New draws
        are uniform among the eligible images of the wave, or without replacement in proportion to the `weights` of
        `eligible`. Fewer draws are returned if no more images are eligible. A new wave starts if there is none, if
        labels by looking cover a tenth of the images of the last one, or if all of its images are drawn.
        """
        if weights is not None and (eligible is None or len(weights) != len(eligible) or not (weights > 0).all()):
            raise fail("draw", "the weights do not fit the eligible images", "give one weight greater than 0 per image")
        ids, labels = self._eligible(frame, eligible), self._labels_now()
        by_id = None if weights is None else dict(zip(np.asarray(eligible).tolist(), weights.tolist(), strict=True))
        common_values = {"page": _plain(page), "person_id": _plain(person_id), "at": current_time()}

        def store(connection: Connection) -> list[int]:
            _lock(connection)
            waiting = [draw.id for draw in _first_to_answer(self._unanswered(connection, frame.id), person_id)][:count]
            if len(waiting) == count:
                return waiting
            drawn_images = self._drawn_images(connection, frame.id)
            wave, free = self._wave_for(connection, frame, ids, drawn_images, labels[0])
            where, probability = _chosen(frame, free, by_id, count - len(waiting), len(drawn_images))
            new = [
                {
                    "frame_id": frame.id,
                    "wave": wave,
                    "number": len(drawn_images) + 1 + at,
                    "image_id": image,
                    "probability": q,
                    "eligible": len(free) - at,
                    "stratum": _plain((strata or {}).get(image)),
                    **common_values,
                    **_guess_values((guesses or {}).get(image)),
                    **_label_values(labels, image),
                }
                for at, (image, q) in enumerate(zip(free[where].tolist(), probability.tolist(), strict=True))
            ]
            return waiting + [inserted_id(connection.execute(insert(sampling_draw).values(**row))) for row in new]

        return self.get_draws(self._catalogue.write(store))

    # --- answers

    def record_answer(
        self,
        draw: Draw | int,
        term_id: int | None,
        person_id: int,
        *,
        seconds: float | None = None,
        blind: bool = True,
        event: int | None = None,
        cannot_tell: bool = False,
    ) -> Draw:
        """Append an answer: the first one, or a repeated one. `event` is its label event; while that event is undone,
        the answer does not count. Without a term, set `cannot_tell`, or leave it unset for a wrong audited label
        without a new term."""
        number = draw.id if isinstance(draw, Draw) else int(draw)
        if cannot_tell and term_id is not None:
            raise fail("answer", 'it has both a term and "cannot tell"', "give one of the two")
        values = {
            "draw_id": number,
            "state": "cannot tell" if cannot_tell else "answered",
            "term_id": _plain(term_id),
            "event": _plain(event),
            "person_id": int(person_id),
            "seconds": _plain(seconds, float),
            "blind": bool(blind),
            "at": current_time(),
        }
        self._catalogue.execute(insert(sampling_answer).values(**values))
        return self.get_draws([number])[0]

    def record_answers(self, answers: Sequence[DrawAnswer]) -> None:
        """Append many answers at once; their `at` is set to the current time."""
        rows = [
            {**vars(answer), "term_id": _plain(answer.term_id), "event": _plain(answer.event), "at": current_time()}
            for answer in answers
        ]
        if rows:
            self._catalogue.write(lambda connection: connection.execute(insert(sampling_answer), rows) and None)

    def withdraw(self, draws: Iterable[Draw | int], person_id: int) -> None:
        """Reopen answered draws. The same images are shown again; no other draws replace them."""
        self.record_answers(
            [
                DrawAnswer(
                    draw.id if isinstance(draw, Draw) else int(draw),
                    "withdrawn",
                    None,
                    int(person_id),
                    None,
                    True,
                    None,
                    0.0,
                )
                for draw in draws
            ]
        )

    # --- queries

    def draws(
        self, purpose: str | None = None, parent: Parent | None = None, frame_id: int | None = None
    ) -> list[Draw]:
        """Return draws with their derived states, by frame, in order."""
        statement = _of_frames(select(sampling_draw).join(sampling_frame), purpose, parent)
        if frame_id is not None:
            statement = statement.where(sampling_draw.c.frame_id == frame_id)
        with self._catalogue.reading() as connection:
            return self._with_states(connection, statement.order_by(sampling_draw.c.frame_id, sampling_draw.c.number))

    def answered_draws(self, purpose: str, parent: Parent | None = None) -> list[Draw]:
        """Return the draws of a purpose with an answer that counts, including "cannot tell"."""
        return [draw for draw in self.draws(purpose, parent) if not draw.is_open]

    def open_draws(self, purpose: str, parent: Parent | None = None, frame_id: int | None = None) -> list[Draw]:
        """Return draws without an answer, in the order in which they are shown."""
        return [draw for draw in self.draws(purpose, parent, frame_id) if draw.is_open]

    def draws_of_images(
        self, images: Collection[int] | np.ndarray, purpose: str | None = None
    ) -> dict[int, list[Draw]]:
        """Return {image: its draws, newest frame last} for these images."""
        image_ids = {int(image) for image in images}
        draws: dict[int, list[Draw]] = {}
        for draw in self.draws(purpose):
            if draw.image_id in image_ids:
                draws.setdefault(draw.image_id, []).append(draw)
        return draws

    def get_draws(self, numbers: Sequence[int]) -> list[Draw]:
        """Return draws by their ids, in this order."""
        with self._catalogue.reading() as connection:
            draw_by_id = {
                draw.id: draw
                for draw in self._with_states(
                    connection, select(sampling_draw).where(sampling_draw.c.id.in_([int(number) for number in numbers]))
                )
            }
        missing = [number for number in numbers if int(number) not in draw_by_id]
        if missing:
            raise fail("draws", f"there is no draw {missing[0]}", "reload the page")
        return [draw_by_id[int(number)] for number in numbers]

    # --- internal

    def _eligible(self, frame: SamplingFrame, eligible: np.ndarray | None) -> np.ndarray:
        ids = self.eligible(frame) if eligible is None else _distinct(eligible)
        if not np.isin(ids, frame.images, assume_unique=True).all():
            raise fail("draw", "an eligible image is not in the frame", "make a new frame for new images")
        return ids

    def _labels_now(self) -> tuple[int, np.ndarray, np.ndarray, dict[int, int | None]]:
        """Return (newest event, labelled images, their events, terms of the events)."""
        return (
            self._labels.last_number(),
            *self._labels.current(),
            {event.number: event.term_id for event in self._labels.events()},
        )

    def _wave_for(
        self, connection: Connection, frame: SamplingFrame, eligible: np.ndarray, drawn_images: np.ndarray, event: int
    ) -> tuple[int, np.ndarray]:
        """Return (the wave number of the next draws, the images to draw from). Starts a new wave if the last one no
        longer fits."""
        waves, free = self._waves_of(connection, frame), np.setdiff1d(eligible, drawn_images, assume_unique=True)
        if waves:
            last = waves[-1]
            hunted = np.setdiff1d(last.images, np.union1d(eligible, drawn_images), assume_unique=True)
            of_wave = np.intersect1d(free, last.images, assume_unique=True)
            if len(hunted) <= HUNTED * len(last.images) and (len(of_wave) or not len(free)):
                return last.number, of_wave
        number = waves[-1].number + 1 if waves else 1
        _insert_wave(connection, frame, number, event, free, _budget_left(connection, waves[-1]) if waves else 0)
        return number, free

    def _waves_of(self, connection: Connection, frame: SamplingFrame) -> list[Wave]:
        return [
            _wave(row)
            for row in connection.execute(
                select(sampling_wave).where(sampling_wave.c.frame_id == frame.id).order_by(sampling_wave.c.number)
            )
        ]

    def _drawn_images(self, connection: Connection, frame_id: int) -> np.ndarray:
        """Return sorted ids of the images a frame has drawn."""
        image_rows = connection.execute(select(sampling_draw.c.image_id).where(sampling_draw.c.frame_id == frame_id))
        return np.sort(np.array(image_rows.scalars().all(), np.int64))

    def _unanswered(self, connection: Connection, frame_id: int) -> list[Draw]:
        statement = select(sampling_draw).where(sampling_draw.c.frame_id == frame_id).order_by(sampling_draw.c.number)
        return [draw for draw in self._with_states(connection, statement) if draw.is_open]

    def _with_states(self, connection: Connection, statement: Any) -> list[Draw]:
        draws = [_draw(row) for row in connection.execute(statement)]
        if not draws:
            return []
        frames = sorted({draw.frame_id for draw in draws})
        rows = connection.execute(
            select(sampling_answer)
            .join(sampling_draw)
            .where(sampling_draw.c.frame_id.in_(frames))
            .order_by(sampling_answer.c.id)
        ).all()
        answers: dict[int, list[DrawAnswer]] = {}
        for row in rows:
            answers.setdefault(row.draw_id, []).append(_answer(row))
        if not rows:
            return draws
        answer_events = {answer.event for answers_of_draw in answers.values() for answer in answers_of_draw}
        labels = self._looked_labels([draw.image_id for draw in draws], answer_events)
        undone = self._labels.undone()
        labelling = {event.number for event in self._labels.events() if event.kind == "label"}
        return [
            _with_state(draw, answers[draw.id], undone, labelling, labels.get(draw.image_id))
            if draw.id in answers
            else draw
            for draw in draws
        ]

    def _looked_labels(
        self, images: Sequence[int], answer_events: set[int | None]
    ) -> dict[int, tuple[int, int | None]]:
        """Return {image: (event, term)} of the effective labels given by looking; no term if an answer created the
        label itself."""
        events = self._labels.given_by_looking().of(np.array(images, np.int64))
        terms = {event.number: event.term_id for event in self._labels.events()}
        return {
            image: (event, None if event in answer_events else terms[event])
            for image, event in zip(images, events.tolist(), strict=True)
            if event
        }


def _distinct(image_ids: np.ndarray | list[int]) -> np.ndarray:
    """Return the sorted ids, each once. Ids that are so already, the usual case, are not sorted again."""
    ids = np.asarray(image_ids, np.int64)
    return ids if (ids[1:] > ids[:-1]).all() else np.unique(ids)


def images_hash(ids: np.ndarray) -> str:
    """Return the hash of sorted ids, to compare the images of two frames."""
    return hashlib.sha256(np.ascontiguousarray(ids, "<i8").tobytes()).hexdigest()


def _with_state(
    draw: Draw,
    answers: Sequence[DrawAnswer],
    undone: set[int],
    labelling: set[int],
    label: tuple[int, int | None] | None,
) -> Draw:
    """Return a draw with the answers that count: those after the last withdrawal with an effective event. Events that
    give no label (audits, rejections) always count; `labelling` are the numbers of the others."""
    since = max((at + 1 for at, answer in enumerate(answers) if answer.state == "withdrawn"), default=0)
    counting = tuple(answer for answer in answers[since:] if answer.event is None or answer.event not in undone)
    if label is None and any(answer.event in labelling for answer in answers[since:]):
        counting = ()  # the label was undone, cleared or reverted, so nobody confirms it any more
    if not counting:
        return replace(draw, state="withdrawn" if since else "open")
    settled = settled_answer(counting)
    newest = max(answer.event or 0 for answer in counting)
    if label is not None and label[1] is not None and label[0] > max(newest, draw.label_event):
        return replace(draw, state="answered", term_id=label[1], answers=counting)  # corrected by looking since
    return replace(draw, state=settled.state, term_id=settled.term_id, answers=counting)


def settled_answer(answers: Sequence[DrawAnswer]) -> DrawAnswer:
    """Return the first answer, or the one that two of three share; if three differ, the last."""
    terms = [answer.term_id for answer in answers]
    twice = [answer for answer in answers if terms.count(answer.term_id) > 1]
    return twice[0] if twice else (answers[0] if len(answers) < 3 else answers[-1])


def _chosen(
    frame: SamplingFrame, free: np.ndarray, weights: Mapping[int, float] | None, count: int, drawn_count: int
) -> tuple[np.ndarray, np.ndarray]:
    if weights is None:
        return draw_uniform(frame.seed, free, count)
    return draw_weighted(frame.seed, free, np.array([weights[int(image)] for image in free]), count, drawn_count + 1)


def _of_frames(statement: Any, purpose: str | None, parent: Parent | None) -> Any:
    if purpose is not None:
        statement = statement.where(sampling_frame.c.purpose == purpose)
    if parent is not None:
        statement = statement.where(
            sampling_frame.c.parent_kind == parent.kind,
            sampling_frame.c.parent_id.is_(None) if parent.id is None else sampling_frame.c.parent_id == int(parent.id),
        )
    return statement


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))


def _budget_left(connection: Connection, wave: Wave) -> int:
    """Return how many of the requested draws are not made yet."""
    draw_rows = connection.execute(
        select(sampling_draw.c.id).where(sampling_draw.c.frame_id == wave.frame_id, sampling_draw.c.wave == wave.number)
    ).all()
    return max(wave.budget - len(draw_rows), 0)


def _insert_wave(
    connection: Connection, frame: SamplingFrame, number: int, event: int, images: np.ndarray, budget: int
) -> None:
    connection.execute(
        insert(sampling_wave).values(
            frame_id=frame.id,
            number=number,
            label_event=event,
            images=pack_ids(images),
            size=len(images),
            budget=int(budget),
            created_at=current_time(),
        )
    )


def _guess_values(guess: Guess | None) -> dict[str, Any]:
    if guess is None:
        return {"guess_term_id": None, "guess_probability": None, "guess_model": None}
    return {
        "guess_term_id": int(guess.term_id),
        "guess_probability": float(guess.probability),
        "guess_model": guess.model,
    }


def _label_values(labels: tuple[int, np.ndarray, np.ndarray, Mapping[int, int | None]], image: int) -> dict[str, Any]:
    last, images, numbers, terms = labels
    at = int(np.searchsorted(images, image))
    event = int(numbers[at]) if at < len(images) and images[at] == image else None
    return {"label_event": last, "earlier_event": event, "earlier_term_id": None if event is None else terms[event]}


def _first_to_answer(unanswered: Sequence[Draw], person_id: int | None) -> list[Draw]:
    """Return a person's own open draws, then those that others left for a while; all of them if no person is given."""
    if person_id is None:
        return list(unanswered)
    own_draws = [draw for draw in unanswered if draw.person_id in (None, person_id)]
    return own_draws + [
        draw for draw in unanswered if draw.person_id not in (None, person_id) and draw.at < current_time() - LEFT
    ]


def _plain(value: Any, kind: type = int) -> Any:
    return None if value is None else kind(value)


def _frame(row: Row) -> SamplingFrame:
    return SamplingFrame(
        row.id,
        row.purpose,
        Parent(row.parent_kind, row.parent_id),
        row.seed,
        row.rule,
        unpack_ids(row.images),
        row.size,
        row.label_event,
        row.person_id,
        row.created_at,
    )


def _wave(row: Row) -> Wave:
    images = unpack_ids(row.images) if row.size else np.empty(0, np.int64)
    return Wave(row.frame_id, row.number, row.label_event, images, row.budget, row.created_at)


def _draw(row: Row) -> Draw:
    guess = None if row.guess_term_id is None else Guess(row.guess_term_id, row.guess_probability, row.guess_model)
    return Draw(
        row.id,
        row.frame_id,
        row.number,
        row.wave,
        row.image_id,
        row.probability,
        row.eligible,
        row.stratum,
        row.page,
        row.person_id,
        row.at,
        guess,
        row.label_event,
        row.earlier_term_id,
        row.earlier_event,
    )


def _answer(row: Row) -> DrawAnswer:
    return DrawAnswer(row.draw_id, row.state, row.term_id, row.person_id, row.seconds, row.blind, row.event, row.at)
