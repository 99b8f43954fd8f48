"""Runs: clusterings while they run, beside each other, and in full."""

import panel as pn

from app.components.runs_board import RunsBoard
from app.state.runs import RunsView
from app.state.session import Session

ACTS = ("select", "compare", "choose", "rename", "delete", "restore")


def view(session: Session) -> pn.viewable.Viewable:
    runs = RunsView(session)
    board = RunsBoard({name: getattr(runs, name) for name in ACTS}, content=runs.content(),
                      sizing_mode="stretch_width")

    def draw(*_) -> None:
        board.content = runs.content()

    session.param.watch(draw, "version")
    runs.param.watch(draw, ["run", "other"])
    return board
