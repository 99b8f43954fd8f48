"""The pages of Learn without suggestions: random images for cover, and second labels of what others labelled."""

from typing import Annotated

import param
from pydantic import AfterValidator

from benthoscope.app.components.base import OrderedCommandComponent
from benthoscope.app.pages.base import BoardPage
from benthoscope.app.pages.learn.blind_model import BlindImages, content
from benthoscope.app.pages.learn.double_model import SecondLabels
from benthoscope.app.pages.learn.random_model import RandomImages
from benthoscope.app.session.commands import CommandTable, Ids
from benthoscope.app.session.session import Session


class BlindBoard(OrderedCommandComponent):
    """Sends the commands in `COMMANDS`."""

    _module = "pages/learn/blind"
    _styles = ("parts", "term_field", "review", "learn", "notice")

    content = param.Dict(default={}, doc="What `blind_model.content` returns.")
    hits = param.Dict(default={}, doc="{text, terms}: the terms that match the typed text.")


# view models by the value of `queue` in the address
QUEUES: dict[str, type[BlindImages]] = {"random": RandomImages, "cover": RandomImages, "double": SecondLabels}
KEYS = [
    ["0–9 A–Z", "Label the image you point at, or the marked ones, with a favourite"],
    ["Hold key", "Label all images you sweep over"],
    ["e", "The same with the chosen label"],
    ["l", "Find or create a label"],
    ["x", "Cannot tell: the image cannot be identified"],
    ["Arrows", "Point without a mouse"],
    ["Drag", "Mark images side by side"],
    ["Enter", "Next page"],
    ["z", "Undo"],
]


def view(session: Session):
    session.keys = KEYS
    page = QUEUES[session.address.query["queue"]](session)
    with session.attempt():
        page.ask_once()
    return BlindPage(page).layout


class BlindPage(BoardPage):
    def __init__(self, page: BlindImages):
        super().__init__(page, BlindBoard(sizing_mode="stretch_both"), content, COMMANDS, ["step", "term"])
        self.layout = self.board


Time = Annotated[float, AfterValidator(lambda seconds: min(max(seconds, 0.0), 3600.0))]  # spent on an answer


def _name(page: BlindImages, images: Ids, key: str = "", seconds: Time | None = None) -> None:
    page.give_term(images, key, seconds)


def _cannot_tell(page: BlindImages, images: Ids, seconds: Time | None = None) -> None:
    page.cannot_tell(images, seconds)


def _choose(page: BlindImages, term: int) -> None:
    page.choose_term(term)


def _ask(page: BlindImages, count: int) -> None:
    page.ask(count)


def _next(page: BlindImages) -> None:
    page.next()


COMMANDS = CommandTable(
    {
        "ask": _ask,
        "name": _name,
        "cannot": _cannot_tell,
        "press": BlindImages.press,
        "choose": _choose,
        "next": _next,
        "undo": BlindImages.undo,
    }
)
