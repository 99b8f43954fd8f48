"""View model of the random images in Learn: labelled without suggestions, to estimate cover."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benthoscope.app.pages.learn.blind_model import PAGE, BlindImages, BlindTexts
from benthoscope.app.session.session import Session
from benthoscope.engine.labelling.accuracy.random_draws import (
    SIZES,
    DrawPage,
    DrawProgress,
    answer,
    ask_for,
    next_page,
    progress,
)
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.log import Act
from benthoscope.engine.workspace.labels.sampling import Draw

RULE = {"queue": "random"}
DEFAULT_SIZE = 100
LABEL_ALL = "Label every image, including dull ones. Point at an image and press the key of a label"
SECOND_LOOK = (
    "Second look: label these images again. This shows how often answers are mistakes or were influenced by a "
    "suggestion"
)
TEXTS = BlindTexts(
    title="Random images",
    question="The cover of habitats can be estimated only from images drawn at random",
    asking_title="How many random images?",
    asking="Four times as many images halve the width of an interval. To show that a label is below 1 %, you need "
    "about 370 images without it.",
    explanation="Suggestions are hidden here, so that they do not influence your answers. Images that cannot be "
    'identified count as "cannot tell".',
    offer="random images",
    sizes=SIZES,
    default=DEFAULT_SIZE,
    link=("/labels?part=cover", "Cover"),
)
NO_NAME = ("Enter your name first", "Answers are stored with a name. Enter yours at the top right.")


class RandomImages(BlindImages):
    def __init__(self, session: Session, **values: Any):
        super().__init__(session, **values)
        self._page: DrawPage | None = None

    def progress(self) -> DrawProgress:
        return progress(self.app.workspace)

    def page(self) -> DrawPage:
        """The current page; a new one after `next`. Empty without a person and before images were drawn."""
        person = self.session.current_person()
        if person is None or not (self.app.workspace.sampling.frames("cover") or self.progress().again):
            return DrawPage(())
        if self._page is None or not self._page.draws:
            self.number += 1
            self._page = next_page(self.app.workspace, person.id, PAGE, number=self.number)
        return self._page

    def draws(self) -> Sequence[Draw]:
        return self.page().draws

    def answered(self) -> dict[int, int | None]:
        page = self.page()
        draws = self.app.workspace.sampling.get_draws([draw.id for draw in page.draws])
        before = {draw.id: len(draw.answers) for draw in page.draws}
        if page.second:
            return {draw.image_id: draw.answers[-1].term_id for draw in draws if len(draw.answers) > before[draw.id]}
        return {draw.image_id: draw.term_id for draw in draws if not draw.is_open}

    def progress_facts(self) -> list[tuple[str, int]]:
        state = self.progress()
        counts = [("Drawn", state.budget), ("Answered", state.answered), ("Left", state.remaining)]
        return (counts if state.budget else []) + ([] if state.remaining else [("Second looks left", state.again)])

    def remaining(self) -> int:
        return self.progress().remaining

    def texts(self) -> BlindTexts:
        state, page = self.progress(), self.page()
        if page.draws:
            return replace(TEXTS, question=SECOND_LOOK if page.second else LABEL_ALL)
        if not self.session.person:
            return replace(TEXTS, asking_title=NO_NAME[0], asking=NO_NAME[1], sizes=())
        sizes = [size for size in SIZES if size <= max(len(self.app.columns), SIZES[0])]
        if not state.budget or state.remaining:
            return replace(TEXTS, sizes=sizes)
        return replace(
            TEXTS,
            asking_title=f"All {state.budget:,} random images are answered",
            asking="Cover now shows estimates with their intervals. More images make the intervals narrower.",
            offer="more images",
            sizes=sizes,
            done="Show cover",
        )

    # --- commands

    def ask(self, count: int) -> None:
        """Draw images at random, to label them page by page."""
        frame = ask_for(self.app.workspace, self.person_id(), count)
        self._page, self.count = None, None
        self.notify(f"Drew random images from {frame.size:,}", undo=False)

    def next(self) -> None:
        """Show the next page. Images without an answer stay open and come first."""
        done = len(self.answered()) == len(self.page().draws)
        self._page = None
        if done and not len(self.page().draws):
            self.train()
        self.step += 1

    def store(self, images: Sequence[int], term: int | None, seconds: float | None) -> None:
        earlier_answers = self.answered()
        again = [image for image in images if image in earlier_answers]
        if again and self.page().second:
            raise fail("label", f"image {again[0]} was answered a second time already", "undo that answer first")
        self._change(again, term)
        new_terms = {image: term for image in images if image not in earlier_answers}
        answer(self.app.workspace, self.person_id(), new_terms, seconds=seconds, rule=RULE)

    # --- inside

    def _change(self, images: list[int], term: int | None) -> None:
        """Replace the answer to images of this page."""
        if not images:
            return
        store, person_id = self.app.workspace.sampling, self.person_id()
        draws = [draw for draw in self.page().draws if draw.image_id in images]
        labelled = np.intersect1d(images, self.app.workspace.labels.current()[0])
        if term is None and len(labelled):
            self.app.workspace.labels.append_events(person_id, [Act("clear", labelled, "manual")])
        store.withdraw(draws, person_id)
        answer(self.app.workspace, person_id, dict.fromkeys(images, term), rule=RULE)
