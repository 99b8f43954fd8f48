"""The Labels page: vocabularies, agreement, history, cover, imports and exports."""

from typing import Any

import panel as pn
import param
from panel.custom import Child

from benthoscope.app.components.base import OrderedCommandComponent
from benthoscope.app.components.forms import form_dialog
from benthoscope.app.components.tables import Column, DataTable
from benthoscope.app.pages.base import BoardPage
from benthoscope.app.pages.labels.content import content, history_rows
from benthoscope.app.pages.labels.model import Labels
from benthoscope.app.session.commands import CommandTable, Ids, OptionalId, OptionalText
from benthoscope.app.session.session import Session


class LabelsBoard(OrderedCommandComponent):
    """Sends the commands in `COMMANDS`."""

    _module = "pages/labels/page"
    _styles = ("parts", "labels", "notice", "plots")

    content = param.Dict(default={}, doc="What `content.content` returns.")
    history = Child(doc="The table of the history.")


KEYS = [
    ["1 to 7", "Vocabulary, import, agreement, training, history, cover, export"],
    ["Arrows", "Training: choose an image"],
    ["a", "Training: change your label to the consensus"],
    ["k", "Training: keep your label"],
    ["x", "Export labels"],
    ["i", "Import labels"],
]


def view(session: Session) -> pn.viewable.Viewable:
    session.keys = KEYS
    return LabelsPage(Labels(session)).layout


HISTORY = (
    Column("number", "Number", "count", 84),
    Column("when", "When (UTC)", width=140),
    Column("who", "Who", width=120),
    Column("what", "What", "remarked", options={"below": "check"}),
    Column("images", "Images", "count", 80),
    Column("why", "Why", width=170),
    Column("undo", "", "button", 82, {"act": "{act}", "text": "{undo}", "when": "can_undo", "otherwise": "{undo}"}),
    Column("check", "", "link", 68, {"href": "/review?audit={number}", "text": "Check", "when": "can_check"}),
    Column(
        "restore",
        "",
        "button",
        156,
        {
            "act": "revert",
            "text": "Restore to this point",
            "confirm": "Restore all labels?",
            "when": "can_restore",
        },
    ),
)
HISTORY_PAGE = 100  # entries sent at once


class LabelsPage(BoardPage):
    def __init__(self, labels: Labels):
        self.history = DataTable("History", HISTORY, page_size=HISTORY_PAGE)
        super().__init__(
            labels,
            LabelsBoard(history=self.history, sizing_mode="stretch_width"),
            self._content_and_history,
            COMMANDS,
            ["part", "vocabulary", "target", "image", "people", "confusion", "level", "together", "step"],
        )
        self.layout = pn.Column(self.board, form_dialog(labels.form), sizing_mode="stretch_width")
        if labels.selection is not None:
            with labels.session.attempt():
                labels.export(labels.selection)

    def _content_and_history(self, labels: Labels) -> dict[str, Any]:
        if labels.part != "history":
            return content(labels)
        rows = history_rows(labels)
        self.history.show_rows(rows)
        return {**content(labels), "entries": len(rows)}


def _show_part(labels: Labels, name: str) -> None:
    labels.param.update(part=name, image=None)


def _show_vocabulary(labels: Labels, id_: int) -> None:
    labels.param.update(vocabulary=id_, target=None)


def _show_target(labels: Labels, id_: OptionalId) -> None:
    labels.target = id_


def _add_term(labels: Labels, name: str, parent: OptionalId = None) -> None:
    labels.add_term(name, parent)


def _change_term(labels: Labels, term: int, values: dict[str, str]) -> None:
    labels.change_term(term, values)


def _remove_term(labels: Labels, term: int) -> None:
    labels.remove_term(term)


def _choose_examples(labels: Labels, term: int) -> None:
    labels.choose_examples(term)


def _choose_key(labels: Labels, term: int, key: OptionalText = None) -> None:
    labels.choose_key(term, key)


def _link(labels: Labels, term: int, target: int, relation: str) -> None:
    labels.link(term, target, relation)


def _compare_people(labels: Labels, ids: Ids) -> None:
    labels.people = list(ids)


def _compare_labels(labels: Labels, ids: Ids = ()) -> None:
    labels.confusion = list(ids)


def _adopt(labels: Labels, image: int) -> None:
    labels.adopt(image)


def _keep(labels: Labels, image: int) -> None:
    labels.keep(image)


def _resolve(labels: Labels, image: int, term: int) -> None:
    labels.resolve(image, term)


def _show_image(labels: Labels, id_: int | None = None) -> None:
    labels.image = id_


def _set_level(labels: Labels, level: OptionalId = None) -> None:
    labels.level = level


def _set_together(labels: Labels, on: bool) -> None:
    labels.together = on


def _export(labels: Labels) -> None:
    labels.export()


def _import(labels: Labels, tokens: tuple[str, ...]) -> None:
    labels.import_files(tokens)


COMMANDS = CommandTable(
    {
        "part": _show_part,
        "vocabulary": _show_vocabulary,
        "target": _show_target,
        "add_vocabulary": Labels.add_vocabulary,
        "catami": Labels.add_catami,
        "table": Labels.read_table,
        "add": _add_term,
        "change": _change_term,
        "remove": _remove_term,
        "examples": _choose_examples,
        "key": _choose_key,
        "link": _link,
        "pair": _compare_people,
        "confusion": _compare_labels,
        "adopt": _adopt,
        "keep": _keep,
        "resolve": _resolve,
        "image": _show_image,
        "level": _set_level,
        "together": _set_together,
        "undo": Labels.undo,
        "withdraw": Labels.withdraw_audit,
        "revert": Labels.revert,
        "export": _export,
        "import": _import,
    }
)
