"""The Learn page: a batch of images with suggestions, and plots of how far these can be trusted."""

import param

from benthoscope.app.components.base import OrderedCommandComponent
from benthoscope.app.components.notices import empty
from benthoscope.app.pages.base import BoardPage
from benthoscope.app.pages.learn import blind_page
from benthoscope.app.pages.learn.content import content
from benthoscope.app.pages.learn.model import Learn
from benthoscope.app.session.commands import CommandTable, Ids
from benthoscope.app.session.session import Session


class LearnBoard(OrderedCommandComponent):
    """Sends the commands in `COMMANDS`."""

    _module = "pages/learn/page"
    _styles = ("parts", "term_field", "review", "learn", "notice", "plots")

    content = param.Dict(default={}, doc="What `content.content` returns.")


KEYS = [
    ["Enter", "Accept the suggestions with your changes"],
    ["Click", "Choose the next likely label, or at the end none of these"],
    ["0–9 A–Z", "Label the image you point at, or the marked images, with a favourite"],
    ["Hold key", "Label all images you sweep over; only the centre of an image counts"],
    ["e", "The same with the chosen label"],
    ["l", "Find or create a label"],
    ["Arrows", "Point without a mouse"],
    ["Drag", "Mark images side by side"],
    ["n", "Next batch"],
    ["i", "Invert the marks"],
    ["q", "Next queue"],
    ["r", "Train the model on all labels"],
    ["c", "Cluster again with the labels as constraints"],
    ["z", "Undo"],
]


def view(session: Session):
    if session.address.query.get("queue") in blind_page.QUEUES:
        return blind_page.view(session)
    if not session.workspace.features.names():
        return empty(
            "No image features yet",
            "Describe the images first, then label some of them in Review.",
            ("Go to Library", "/library"),
        )
    session.keys = KEYS
    learn = Learn(session)
    with session.attempt():
        learn.choose_typical()
    return LearnPage(learn).layout


class LearnPage(BoardPage):
    def __init__(self, learn: Learn):
        super().__init__(
            learn,
            LearnBoard(sizing_mode="stretch_both"),
            content,
            COMMANDS,
            ["step", "queue", "precision", "term", "batch"],
            silent=["hold"],
        )
        self.layout = self.board


def _accept(learn: Learn, otherwise: tuple[tuple[int, int | None], ...] = (), table: int | None = None) -> None:
    learn.accept(dict(otherwise), table)


def _name(learn: Learn, images: Ids, key: str = "") -> None:
    learn.give_term(list(images), key)


def _set_precision(learn: Learn, share: float) -> None:
    learn.precision = share


def _arrange(learn: Learn, count: int) -> None:
    learn.arrange(count)


def _choose(learn: Learn, term: int) -> None:
    learn.choose_term(term)


def _use_memory(learn: Learn, name: str) -> None:
    learn.use_memory(name)


def _save_memory(learn: Learn, name: str) -> None:
    learn.save_memory(name)


COMMANDS = CommandTable(
    {
        "queue": Learn.choose_queue,
        "accept": _accept,
        "hold": Learn.hold,
        "columns": _arrange,
        "name": _name,
        "press": Learn.press,
        "steer": Learn.steer,
        "sure": Learn.accept_sure,
        "start-check": Learn.start_check,
        "deliver": Learn.deliver,
        "wanted": _set_precision,
        "next": Learn.skip,
        "learn": Learn.learn,
        "undo": Learn.undo,
        "use-memory": _use_memory,
        "stop-memory": Learn.stop_memory,
        "memory-terms": Learn.create_memory_terms,
        "save-memory": _save_memory,
        "choose": _choose,
    }
)
