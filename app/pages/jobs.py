"""Jobs: everything that runs, waits or has run, with its log."""

import panel as pn

from app.components.module import ModuleComponent
from app.state.session import Session


class JobsBoard(ModuleComponent):
    _module = "jobs"
    _styles = ("parts", "jobs")


def view(session: Session) -> pn.viewable.Viewable:
    return JobsBoard(sizing_mode="stretch_width")
