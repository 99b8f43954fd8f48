"""What the pages of Learn without suggestions have in common: drawn images, labelled by keys, page by page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import param

from benthoscope.app.data.labels import all_terms, images_text, term_colours, undone_text
from benthoscope.app.data.naming import favourites, press_favourite
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.session import Session
from benthoscope.app.session.view_model import ViewModel
from benthoscope.engine.labelling.memory.memory_in_use import can_learn
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.labels.sampling import Draw

PAGE = 24  # images of a page
MOST = 100_000  # images that may be asked for at once


@dataclass(frozen=True)
class BlindTexts:
    """Texts of a page. `asking_title` and `asking` are shown while it has no images; `sizes` are the numbers of images
    offered then, `default` the one that is suggested. `link` is (address, text) of where the answers are used."""

    title: str
    question: str
    asking_title: str
    asking: str
    explanation: str
    offer: str
    sizes: Sequence[int]
    default: int
    link: tuple[str, str]
    done: str = ""  # text of the main button that leads to `link`


class BlindImages(ViewModel):
    """`step` grows with every command; the board is redrawn when it changes."""

    term = param.Integer(default=None, allow_None=True, doc="Id of the chosen term.")
    count = param.Integer(default=None, allow_None=True, bounds=(1, MOST), doc="Images to draw at once.")
    step = param.Integer(default=0, doc="Grows with every command.")

    def __init__(self, session: Session, **values: Any):
        super().__init__(session=session, **values)
        self.number = 0  # of the page
        session.address.bind(self, "term", "count")

    def person_id(self) -> int:
        return self.session.require_person().id

    # --- what the pages differ in

    def draws(self) -> Sequence[Draw]:
        """The draws of the current page; a new page after `next`."""
        raise NotImplementedError

    def answered(self) -> dict[int, int | None]:
        """{image: term} of the answered images of the page; None means "cannot tell"."""
        raise NotImplementedError

    def ask(self, count: int) -> None:
        """Draw images, to label them page by page."""
        raise NotImplementedError

    def next(self) -> None:
        """Show the next page. Images without an answer stay open and come first."""
        raise NotImplementedError

    def store(self, images: Sequence[int], term: int | None, seconds: float | None) -> None:
        """Store the answer to images of the page."""
        raise NotImplementedError

    def progress_facts(self) -> list[tuple[str, int]]:
        """Numbers beside the page."""
        raise NotImplementedError

    def remaining(self) -> int:
        """Images of the request that have no answer."""
        raise NotImplementedError

    def texts(self) -> BlindTexts:
        raise NotImplementedError

    # --- commands

    def ask_once(self) -> None:
        """Draw the number of images in the address, unless images are still open."""
        count, self.count = self.count, None
        if count and not len(self.draws()):
            self.ask(count)

    def give_term(self, images: Iterable[int], key: str = "", seconds: float | None = None) -> None:
        """Label images with the chosen term, or with the one on a key."""
        if key:
            self.press(key)
        if self.term is None:
            raise fail("label", "no label is chosen", "press l and type its first letters")
        self.store(self._on_page(images), self.term, seconds)
        name = self.app.workspace.vocabularies.term(self.term).name
        self.notify(f'Labelled {images_text(len(set(images)))} "{name}"')

    def cannot_tell(self, images: Iterable[int], seconds: float | None = None) -> None:
        """Record that these images cannot be identified."""
        self.store(self._on_page(images), None, seconds)
        self.notify(f'Answered {images_text(len(set(images)))} with "cannot tell"', undo=False)

    def press(self, key: str) -> None:
        """Choose the favourite on a key; an unassigned key is assigned the chosen term."""
        self.term = press_favourite(self.app.workspace, self.person_id(), key, self.term)

    def choose_term(self, term_id: int) -> None:
        self.term = self.app.workspace.vocabularies.term(term_id).id

    def undo(self) -> None:
        self.notify(undone_text(self.app, self.app.workspace.labels.undo_last(self.person_id())), undo=False)

    def train(self) -> None:
        """Queue the training of the model on the new answers."""
        if self.app.workspace.features.names() and can_learn(self.app.workspace):
            self.app.queue.add("learn")

    def notify(self, text: str, *, undo: bool = True) -> None:
        self.session.changed(LABELS)
        self.session.notify(text, undo=self.undo if undo else None)
        self.step += 1

    def _on_page(self, images: Iterable[int]) -> list[int]:
        on_page = {draw.image_id for draw in self.draws()}
        chosen = [int(image) for image in dict.fromkeys(images) if int(image) in on_page]
        if not chosen:
            raise fail("label", "no image is chosen", "point at an image, or mark some by dragging")
        return chosen


def content(page: BlindImages) -> dict[str, Any]:
    """Content of the board: the images, the progress, and the texts."""
    draws, names, colours = page.draws(), all_terms(page.app), term_colours(page.app)
    answers = page.answered() if draws else {}
    term = None if page.term is None else names.get(page.term)
    return {
        "images": [_tile(draw.image_id, answers, names, colours) for draw in draws],
        "number": page.number,
        "remaining": page.remaining(),
        "progress": page.progress_facts(),
        "texts": asdict(page.texts()),
        "version": page.app.images_version,
        "person": page.session.person,
        "favourites": favourites(page.session),
        "term": None if term is None else {"id": term.id, "name": term.name, "colour": colours[term.id]},
    }


def _tile(
    image: int, answers: Mapping[int, int | None], names: Mapping[int, Any], colours: Mapping[int, str]
) -> dict[str, Any]:
    if image not in answers:
        return {"id": image, "answered": False, "label": "", "colour": ""}
    term_id = answers[image]
    term = None if term_id is None else names.get(term_id)
    return {
        "id": image,
        "answered": True,
        "label": term.name if term else "cannot tell",
        "colour": colours[term.id] if term else "var(--line)",
    }
