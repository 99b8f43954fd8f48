"""Learn: what to label next, and what the labels so far have taught."""

from collections.abc import Callable, Mapping
from typing import Any

from app.components.learn_board import LearnBoard
from app.components.notices import empty
from app.pages.board_page import BoardPage, Told
from app.state.learn import Learn
from app.state.learn_views import content
from app.state.session import Session

KEYS = [["Enter", "Accept the suggestions, with what you have changed"],
        ["Click", "The next likely term; at last: none of them"],
        ["0–9 A–Z", "Name what you point at, or what is marked, with your favourite"],
        ["held", "Name all you sweep over; only the middle of an image counts"],
        ["e", "The same with the chosen term"], ["l", "Choose a term by its first letters"],
        ["Arrows", "Point without a mouse"], ["Drag", "Mark images side by side"],
        ["n", "Next batch"], ["i", "Invert what is marked"], ["q", "The next way to choose a batch"],
        ["r", "Learn again from all labels"], ["c", "Cluster again, steered by labels"], ["z", "Undo"]]


def view(session: Session):
    if not session.workspace.features.names():
        return empty("Nothing to learn from yet", "Describe the images first; then name some in Review.",
                     ("Go to Library", "/library"))
    session.keys = KEYS
    return LearnPage(Learn(session)).layout


class LearnPage(BoardPage):
    def __init__(self, learn: Learn):
        super().__init__(learn, LearnBoard(sizing_mode="stretch_both"), content, ACTS,
                         ["step", "queue", "wanted", "term", "batch"], silent=["hold"])
        self.layout = self.board


ACTS: Mapping[str, Callable[[Learn, Told], Any]] = {
    "queue": lambda learn, told: learn.param.update(queue=told["name"], batch=0),
    "accept": lambda learn, told: learn.accept({int(image): None if term is None else int(term)
                                                for image, term in told.get("otherwise", ())},
                                               told.get("table")),
    "hold": lambda learn, told: learn.hold(),
    "columns": lambda learn, told: learn.arrange(int(told["count"])),
    "name": lambda learn, told: learn.give_term([int(image) for image in told["images"]], str(told.get("key", ""))),
    "press": lambda learn, told: learn.press(str(told["key"])),
    "steer": lambda learn, told: learn.steer(),
    "sure": lambda learn, told: learn.accept_sure(),
    "wanted": lambda learn, told: learn.param.update(wanted=float(told["share"])),
    "next": lambda learn, told: learn.skip(),
    "learn": lambda learn, told: learn.learn(),
    "undo": lambda learn, told: learn.undo(),
    "choose": lambda learn, told: learn.choose_term(int(told["term"])),
}
