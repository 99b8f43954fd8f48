"""The Crowd page: campaigns, their links and progress, the people who answer, and the results."""

from typing import Any

import panel as pn
import param
from panel.custom import Child

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.components.notices import empty
from benthoscope.app.components.tables import Column, DataTable
from benthoscope.app.pages.base import BoardPage, follow
from benthoscope.app.pages.crowd.content import people_rows
from benthoscope.app.pages.crowd.model import CrowdStudio
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.session import Session


class CrowdBoard(CommandComponent):
    _module = "pages/crowd/page"
    _styles = ("parts", "runs", "crowd_studio", "plots")

    content = param.Dict(default={}, doc="Content of CrowdStudio.")
    people = Child(doc="The table of the people who answered.")


PEOPLE = (
    Column("person", "Nr", "count", 52),
    Column("nickname", "Nickname", width=96),
    Column("answers", "Answers", "count", 84),
    Column("known_pairs", "Known pairs", width=106),
    Column(
        "quality",
        "Quality",
        "figure",
        80,
        {"digits": 2},
        "How much the answers say beyond chance, in nats per pair: near 0 for guessing",
    ),
    Column("school", "School", "count", 76),
    Column("remark", "Remark", width=86),
    Column("together", "Puts together", "together"),
)


def _aggregate(studio: CrowdStudio, more: int = 0) -> None:
    studio.aggregate(extra_tasks=more)


COMMANDS = CommandTable(
    {
        "create": CrowdStudio.create,
        "select": CrowdStudio.select,
        "open": CrowdStudio.open,
        "pause": CrowdStudio.pause,
        "close": CrowdStudio.close,
        "renew": CrowdStudio.renew,
        "aggregate": _aggregate,
        "refine": CrowdStudio.refine,
        "adopt": CrowdStudio.adopt,
        "make_current": CrowdStudio.make_current,
        "steer": CrowdStudio.steer,
        "address": CrowdStudio.address,
    }
)


class CrowdPage(BoardPage):
    def __init__(self, studio: CrowdStudio, board: CrowdBoard, people: DataTable):
        self.people = people
        super().__init__(studio, board, self._content_without_people, COMMANDS, ["campaign", "selection", "origin"])

    def _content_without_people(self, studio: CrowdStudio) -> dict[str, Any]:
        """The content, with the people in their table and only their number on the board."""
        content = studio.content()
        shown = content.get("shown")
        if not shown:
            return content
        self.people.show_rows(people_rows(shown["workers"]))
        return {**content, "shown": {**shown, "workers": len(shown["workers"])}}


def view(session: Session) -> pn.viewable.Viewable:
    if not session.workspace.library.count_images():
        return empty(
            "No images yet",
            "Add images first. You can then ask people which of them belong together.",
            ("Go to Library", "/library"),
            icon="groups",
        )
    people = DataTable("People", PEOPLE)
    board = CrowdBoard(people=people, sizing_mode="stretch_width")
    page = CrowdPage(CrowdStudio(session), board, people)
    follow(session.app.on_answers, page.draw)
    return board
