"""View model of the second labels in Learn: images that others labelled, shown without label and suggestion."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benthoscope.app.pages.learn.blind_model import PAGE, BlindImages, BlindTexts
from benthoscope.app.pages.learn.random_model import NO_NAME
from benthoscope.app.session.cache import IMAGES, LABELS
from benthoscope.app.session.session import Session
from benthoscope.engine.labelling.people.double_labels import (
    SIZES,
    DoubleProgress,
    answer,
    ask_for,
    next_page,
    progress,
)
from benthoscope.engine.labelling.people.reliability import LEAST
from benthoscope.engine.workspace.labels.sampling import Draw

DEFAULT_SIZE = 50
LABEL_ALL = "Label every image as if it were new. Others have labelled these images; their labels are hidden"
TEXTS = BlindTexts(
    title="Second labels",
    question="How well people agree is measured on images that two people labelled without seeing each other's labels",
    asking_title="How many images?",
    asking=f"The images are drawn at random from those that others labelled. From {LEAST} on, the model knows how far "
    "it can trust your labels. With 100, you see which labels you confuse.",
    explanation="Labels of others and suggestions are hidden here. Your answers do not replace the labels of others: "
    "where they differ, the image is listed as a conflict.",
    offer="images",
    sizes=SIZES,
    default=DEFAULT_SIZE,
    link=("/labels?part=people", "Agreement"),
)


class SecondLabels(BlindImages):
    def __init__(self, session: Session, **values: Any):
        super().__init__(session, **values)
        self._page: list[Draw] = []

    def draws(self) -> Sequence[Draw]:
        person = self.session.current_person()
        if person is None:
            return ()
        if not self._page:
            self._page = next_page(self.app.workspace, person.id, PAGE, number=self.number + 1)
            self.number += bool(self._page)
        return self._page

    def answered(self) -> dict[int, int | None]:
        draws = self.app.workspace.sampling.get_draws([draw.id for draw in self.draws()])
        return {draw.image_id: draw.answers[-1].term_id for draw in draws if not draw.is_open}

    def progress(self) -> DoubleProgress:
        person = self.session.current_person()
        if person is None:
            return DoubleProgress(0, 0, 0, 0, 0)
        return self.app.cached(
            ("second labels", person.id), lambda: progress(self.app.workspace, person.id), (IMAGES, LABELS)
        )

    def progress_facts(self) -> list[tuple[str, int]]:
        state = self.progress()
        return (
            [("Drawn", state.budget), ("Answered", state.answered), ("Left", state.remaining)] if state.budget else []
        )

    def remaining(self) -> int:
        return self.progress().remaining

    def texts(self) -> BlindTexts:
        if self.draws():
            return replace(TEXTS, question=LABEL_ALL)
        state = self.progress()
        if not self.session.person:
            return replace(TEXTS, asking_title=NO_NAME[0], asking=NO_NAME[1], sizes=())
        sizes = [size for size in SIZES if size < state.available] + ([state.available] if state.available else [])
        if state.budget and not state.remaining:
            return replace(
                TEXTS,
                asking_title=f"All {state.budget:,} images are answered",
                asking="Agreement shows how well people agree. Training shows where you differ from the others.",
                offer="more images",
                sizes=sizes[: len(SIZES)],
                link=("/labels?part=training", "Training"),
                done="Show where you differ",
            )
        if not state.available:
            return replace(
                TEXTS,
                asking_title="No other person has labelled images",
                asking="Second labels need images that another person has labelled one at a time, and that you have "
                "not labelled. Ask somebody to label images in Learn or Review.",
                sizes=(),
            )
        return replace(TEXTS, sizes=sizes[: len(SIZES)])

    # --- commands

    def ask(self, count: int) -> None:
        """Draw images that others labelled, to label them page by page."""
        count = ask_for(self.app.workspace, self.person_id(), count)
        self._page, self.count = [], None
        self.notify(f"Drew {count:,} images that others labelled", undo=False)

    def next(self) -> None:
        was_answered = len(self.answered()) == len(self.draws())
        self._page = []
        if was_answered and not self.draws():
            self.train()
        self.step += 1

    def store(self, images: Sequence[int], term: int | None, seconds: float | None) -> None:
        self.draws()
        answer(self.app.workspace, self.person_id(), dict.fromkeys(images, term), seconds=seconds)
