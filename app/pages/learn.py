"""Learn: what to label next, and what the labels so far have taught."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from app.components.learn_board import LearnBoard
from app.components.notices import empty
from app.state.learn import Learn, content
from app.state.review_views import found_terms
from app.state.session import Session

KEYS = [["Enter", "Accept the suggestions, with what you have changed"],
        ["Click", "The next likely term; at last: none of them"],
        ["Drag", "Mark images side by side"], ["1 to 9, 0", "Name what is marked with your favourite, or choose it"],
        ["l", "Choose a term by its first letters"], ["e", "Name what is marked with the chosen term"],
        ["n", "Next batch"], ["i", "Invert what is marked"], ["q", "The next way to choose a batch"],
        ["r", "Learn again from all labels"], ["c", "Cluster again, steered by labels"], ["z", "Undo"]]
Told = Mapping[str, Any]


def view(session: Session):
    if not session.workspace.features.names():
        return empty("Nothing to learn from yet", "Describe the images first; then name some in Review.",
                     ("Go to Library", "/library"))
    session.keys = KEYS
    return LearnPage(Learn(session)).layout


class LearnPage:
    """Keeps the board and the view model in step. Only one at a time looks and draws, so that nothing older is ever
    drawn over something newer."""

    def __init__(self, learn: Learn):
        self.learn = learn
        self.layout = LearnBoard(content=content(learn), sizing_mode="stretch_both")
        self.layout.on_told = self.act
        self._one = threading.RLock()
        self._acting = False
        learn.param.watch(lambda *_: self.draw(), ["step", "queue", "wanted", "term", "batch"])
        learn.session.param.watch(lambda *_: self.draw(), ["version", "person"])

    def draw(self) -> None:
        with self._one:
            if not self._acting:  # what an act changes is drawn once, at its end
                self.layout.content = content(self.learn)

    def act(self, told: Told) -> dict[str, Any]:
        """Does what a person asked for; what the board shows then. Mistakes become the message line."""
        if told["act"] == "find":
            return {"hits": {"text": told["text"], "terms": found_terms(self.learn.session, told["text"])}}
        with self._one:
            self._acting = True
            try:
                with self.learn.session.attempt():
                    ACTS[told["act"]](self.learn, told)
            finally:
                self._acting = False
            return {"content": content(self.learn)}


ACTS: Mapping[str, Callable[[Learn, Told], Any]] = {
    "queue": lambda learn, told: learn.param.update(queue=told["name"], batch=0),
    "accept": lambda learn, told: learn.accept({int(image): None if term is None else int(term)
                                                for image, term in told.get("otherwise", ())}),
    "name": lambda learn, told: learn.give_term([int(image) for image in told["images"]], str(told.get("key", ""))),
    "press": lambda learn, told: learn.press(str(told["key"])),
    "steer": lambda learn, told: learn.steer(),
    "sure": lambda learn, told: learn.accept_sure(),
    "wanted": lambda learn, told: learn.param.update(wanted=float(told["share"])),
    "next": lambda learn, told: learn.next_batch(),
    "learn": lambda learn, told: learn.learn(),
    "undo": lambda learn, told: learn.undo(),
    "choose": lambda learn, told: learn.choose_term(int(told["term"])),
}
