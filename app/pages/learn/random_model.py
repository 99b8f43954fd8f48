"""View model and content of the random images in Learn: labelled without suggestions, to estimate cover."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import param

from benthoscope.app.data.labels import all_terms, images_text, undone_text
from benthoscope.app.data.naming import favourites, press_favourite
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.session import Session
from benthoscope.app.session.view_model import ViewModel
from benthoscope.engine.labelling.accuracy.random_draws import (
    SIZES,
    DrawPage,
    DrawProgress,
    answer,
    ask_for,
    next_page,
    progress,
)
from benthoscope.engine.labelling.memory.memory_in_use import can_learn
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.log import Act

PAGE = 24  # images of a page
MOST = 100_000  # random images that may be asked for at once


class RandomImages(ViewModel):
    """`step` grows with every command; the board is redrawn when it changes."""

    term = param.Integer(default=None, allow_None=True, doc="Id of the chosen term.")
    count = param.Integer(default=None, allow_None=True, bounds=(1, MOST), doc="Random images to draw at once.")
    step = param.Integer(default=0, doc="Grows with every command.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        self._page: DrawPage | None = None
        self.number = 0  # of the page
        session.address.bind(self, "term", "count")

    def person_id(self) -> int:
        return self.session.require_person().id

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

    def answered(self) -> dict[int, int | None]:
        """{image: term} of the answered images of the page; None means "cannot tell"."""
        page = self.page()
        draws = self.app.workspace.sampling.get_draws([draw.id for draw in page.draws])
        before = {draw.id: len(draw.answers) for draw in page.draws}
        if page.second:
            return {draw.image_id: draw.answers[-1].term_id for draw in draws if len(draw.answers) > before[draw.id]}
        return {draw.image_id: draw.term_id for draw in draws if not draw.is_open}

    # --- commands

    def ask(self, count: int) -> None:
        """Draw images at random, to label them page by page."""
        frame = ask_for(self.app.workspace, self.person_id(), count)
        self._page, self.count = None, None
        self._notify(f"Drew random images from {frame.size:,}", undo=False)

    def ask_once(self) -> None:
        """Draw the number of images in the address, unless images are still open."""
        count, self.count = self.count, None
        if count and not len(self.page().draws):
            self.ask(count)

    def give_term(self, images: Iterable[int], key: str = "", seconds: float | None = None) -> None:
        """Label images with the chosen term, or with the one on a key."""
        if key:
            self.press(key)
        if self.term is None:
            raise fail("label", "no label is chosen", "press l and type its first letters")
        self._answer(images, self.term, seconds)
        self._notify(
            f'Labelled {images_text(len(set(images)))} "{self.app.workspace.vocabularies.term(self.term).name}"'
        )

    def cannot_tell(self, images: Iterable[int], seconds: float | None = None) -> None:
        """Record that these images cannot be identified."""
        self._answer(images, None, seconds)
        self._notify(f'Answered {images_text(len(set(images)))} with "cannot tell"', undo=False)

    def press(self, key: str) -> None:
        """Choose the favourite on a key; an unassigned key is assigned the chosen term."""
        self.term = press_favourite(self.app.workspace, self.person_id(), key, self.term)

    def choose_term(self, term_id: int) -> None:
        self.term = self.app.workspace.vocabularies.term(term_id).id

    def next(self) -> None:
        """Show the next page. Images without an answer stay open and come first."""
        done = len(self.answered()) == len(self.page().draws)
        self._page = None
        if done and not len(self.page().draws):
            self._learn()
        self.step += 1

    def undo(self) -> None:
        self._notify(undone_text(self.app, self.app.workspace.labels.undo_last(self.person_id())), undo=False)

    # --- inside

    def _answer(self, images: Iterable[int], term: int | None, seconds: float | None) -> None:
        on_page = {draw.image_id for draw in self.page().draws}
        chosen = [int(image) for image in dict.fromkeys(images) if int(image) in on_page]
        if not chosen:
            raise fail("label", "no image is chosen", "point at an image, or mark some by dragging")
        earlier_answers = self.answered()
        again = [image for image in chosen if image in earlier_answers]
        if again and self.page().second:
            raise fail("label", f"image {again[0]} was answered a second time already", "undo that answer first")
        self._change(again, term)
        answer(
            self.app.workspace,
            self.person_id(),
            {image: term for image in chosen if image not in earlier_answers},
            seconds=seconds,
            rule={"queue": "random"},
        )

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
        answer(self.app.workspace, person_id, dict.fromkeys(images, term), rule={"queue": "random"})

    def _learn(self) -> None:
        """Queue the training of the model on the new answers."""
        if self.app.workspace.features.names() and can_learn(self.app.workspace):
            self.app.queue.add("learn")

    def _notify(self, text: str, *, undo: bool = True) -> None:
        self.session.changed(LABELS)
        self.session.notify(text, undo=self.undo if undo else None)
        self.step += 1


def content(random: RandomImages) -> dict[str, Any]:
    """Content of the board: the page, the progress, and the numbers of images offered."""
    page, names = random.page(), all_terms(random.app)
    answers = random.answered() if page.draws else {}
    term = None if random.term is None else names.get(random.term)
    return {
        "images": [_tile(draw.image_id, answers, names) for draw in page.draws],
        "second": page.second,
        "number": random.number,
        "progress": vars(random.progress()) | {"left": random.progress().remaining},
        "sizes": list(SIZES),
        "version": random.app.images_version,
        "person": random.session.person,
        "total": len(random.app.columns),
        "favourites": favourites(random.session),
        "term": None if term is None else {"id": term.id, "name": term.name, "colour": term.colour or ""},
    }


def _tile(image: int, answers: dict[int, int | None], names: Any) -> dict[str, Any]:
    if image not in answers:
        return {"id": image, "answered": False, "label": "", "colour": ""}
    term = names.get(answers[image])
    return {
        "id": image,
        "answered": True,
        "label": term.name if term else "cannot tell",
        "colour": (term.colour if term else "") or "var(--line)",
    }
