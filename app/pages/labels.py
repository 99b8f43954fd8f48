"""Labels: their words, who agrees with whom, everything that was ever said, cover, files in and out."""

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from app.components.dialogs import form_dialog
from app.components.labels_board import LabelsBoard
from app.pages.board_page import BoardPage, Told
from app.state.labels import Labels
from app.state.labels_views import content
from app.state.session import Session

KEYS = [["1 to 5", "Words, agreement, history, cover, files"], ["x", "Export labels"], ["i", "Import labels"]]


def view(session: Session) -> pn.viewable.Viewable:
    session.keys = KEYS
    return LabelsPage(Labels(session)).layout


class LabelsPage(BoardPage):
    def __init__(self, labels: Labels):
        super().__init__(labels, LabelsBoard(sizing_mode="stretch_width"), content, ACTS,
                         ["part", "vocabulary", "target", "before", "image", "people", "level", "step"])
        self.layout = pn.Column(self.board, form_dialog(labels.form), sizing_mode="stretch_width")
        if labels.selection is not None:
            with labels.session.attempt():
                labels.export(labels.selection)


def _term(told: Told, name: str = "term") -> int:
    return int(told[name])


ACTS: Mapping[str, Callable[[Labels, Told], Any]] = {
    "part": lambda labels, told: labels.param.update(part=told["name"], image=None),
    "vocabulary": lambda labels, told: labels.param.update(vocabulary=int(told["id"]), target=None),
    "target": lambda labels, told: labels.param.update(target=int(told["id"]) if told["id"] else None),
    "add_vocabulary": lambda labels, told: labels.add_vocabulary(str(told["name"])),
    "catami": lambda labels, told: labels.add_catami(),
    "table": lambda labels, told: labels.read_table(str(told["name"]), str(told["text"])),
    "add": lambda labels, told: labels.add_term(str(told["name"]), told.get("parent")),
    "change": lambda labels, told: labels.change_term(_term(told), told["values"]),
    "remove": lambda labels, told: labels.remove_term(_term(told)),
    "examples": lambda labels, told: labels.choose_examples(_term(told)),
    "key": lambda labels, told: labels.choose_key(_term(told), told.get("key") or None),
    "link": lambda labels, told: labels.link(_term(told), _term(told, "target"), str(told["relation"])),
    "pair": lambda labels, told: labels.param.update(people=[int(number) for number in told["ids"]]),
    "resolve": lambda labels, told: labels.resolve(int(told["image"]), _term(told)),
    "older": lambda labels, told: labels.param.update(before=told.get("before")),
    "image": lambda labels, told: labels.param.update(image=told.get("id")),
    "level": lambda labels, told: labels.param.update(level=int(told["level"]) if told.get("level") else None),
    "undo": lambda labels, told: labels.undo(int(told["number"])),
    "revert": lambda labels, told: labels.revert(int(told["number"])),
    "export": lambda labels, told: labels.export(),
    "import": lambda labels, told: labels.import_files([str(token) for token in told["tokens"]]),
}
