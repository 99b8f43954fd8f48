"""Crowd: ask many people which images belong together, watch the answers come, look at what they make of it."""

import panel as pn

from app.components.crowd_board import CrowdBoard
from app.components.notices import empty
from app.state.crowd_studio import CrowdStudio
from app.state.session import Session

ACTS = ("create", "select", "open", "pause", "close", "renew", "aggregate", "refine", "adopt", "make_current", "steer",
        "address")


def view(session: Session) -> pn.viewable.Viewable:
    if not session.workspace.library.count_images():
        return empty("Nothing to ask about yet", "Add images first; then ask people which of them belong together.",
                     ("Go to Library", "/library"), icon="groups")
    studio = CrowdStudio(session)

    def draw(*_) -> None:
        told = studio.content()
        if told != board.content:  # a look at a quiet campaign sends nothing
            board.content = told

    board = CrowdBoard({**{name: getattr(studio, name) for name in ACTS}, "look": draw}, content=studio.content(),
                       sizing_mode="stretch_width")
    session.param.watch(draw, ["version", "person"])
    studio.param.watch(draw, ["campaign", "selection", "origin"])
    return board
