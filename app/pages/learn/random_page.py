"""The page of random images in Learn: labelled without a model and without suggestions, to estimate cover."""

from typing import Annotated

import param
from pydantic import AfterValidator

from benthoscope.app.components.base import OrderedCommandComponent
from benthoscope.app.pages.base import BoardPage
from benthoscope.app.pages.learn.random_model import RandomImages, content
from benthoscope.app.session.commands import CommandTable, Ids
from benthoscope.app.session.session import Session


class RandomBoard(OrderedCommandComponent):
    """Sends the commands in `COMMANDS`."""

    _module = "pages/learn/random"
    _styles = ("parts", "term_field", "review", "learn", "notice")

    content = param.Dict(default={}, doc="What `random_model.content` returns.")
    hits = param.Dict(default={}, doc="{text, terms}: the terms that match the typed text.")


QUEUES = ("random", "cover")  # values of `queue` in the address
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
    random = RandomImages(session)
    with session.attempt():
        random.ask_once()
    return RandomPage(random).layout


class RandomPage(BoardPage):
    def __init__(self, random: RandomImages):
        super().__init__(random, RandomBoard(sizing_mode="stretch_both"), content, COMMANDS, ["step", "term"])
        self.layout = self.board


Time = Annotated[float, AfterValidator(lambda seconds: min(max(seconds, 0.0), 3600.0))]  # spent on an answer


def _name(random: RandomImages, images: Ids, key: str = "", seconds: Time | None = None) -> None:
    random.give_term(images, key, seconds)


def _cannot_tell(random: RandomImages, images: Ids, seconds: Time | None = None) -> None:
    random.cannot_tell(images, seconds)


def _choose(random: RandomImages, term: int) -> None:
    random.choose_term(term)


COMMANDS = CommandTable(
    {
        "ask": RandomImages.ask,
        "name": _name,
        "cannot": _cannot_tell,
        "press": RandomImages.press,
        "choose": _choose,
        "next": RandomImages.next,
        "undo": RandomImages.undo,
    }
)
