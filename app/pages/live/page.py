"""The Live page: a dive that is watched, its clusters as they evolve, and alarms for images unlike all others."""

import panel as pn
import param

from benthoscope.app.components.base import CommandComponent
from benthoscope.app.components.forms import form_dialog
from benthoscope.app.pages.base import BoardPage, follow
from benthoscope.app.pages.live.content import live_content
from benthoscope.app.pages.live.model import LiveView
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.session import Session

KEYS = [["s", "Start a watch"]]


class LiveBoard(CommandComponent):
    _module = "pages/live/page"
    _styles = ("parts", "runs", "plots", "live")

    content = param.Dict(default={}, doc="Content of LiveView.")


COMMANDS = CommandTable(
    {
        "start": LiveView.ask_start,
        "select": LiveView.select,
        "resume": LiveView.resume,
        "stop": LiveView.stop,
        "finish": LiveView.finish,
        "learn": LiveView.learn,
        "settings": LiveView.ask_settings,
        "name": LiveView.ask_name,
        "merge": LiveView.merge,
        "split": LiveView.split,
        "undo": LiveView.undo,
    }
)


def view(session: Session) -> pn.viewable.Viewable:
    live = LiveView(session)
    session.keys = KEYS
    board = LiveBoard(sizing_mode="stretch_width")
    page = BoardPage(live, board, lambda model: live_content(session.app, model.shown, model.state), COMMANDS, ["dive"])
    follow(session.app.on_live, page.draw)
    follow(session.app.on_jobs, page.draw)
    return pn.Column(board, form_dialog(live.form), sizing_mode="stretch_width")
