"""Home: how far this workspace has come, and the next step."""

import panel as pn
import param

from app.components.module import ModuleComponent
from app.pages.registry import PAGES
from app.state.home import HomeView
from app.state.session import Session


class HomeBoard(ModuleComponent):
    _module = "home"
    _styles = ("parts", "home")

    content = param.Dict(default={}, doc="What app.state.home says.")


def view(session: Session) -> pn.viewable.Viewable:
    home = HomeView(session)
    board = HomeBoard(content=_reachable(home.content()), sizing_mode="stretch_width")
    session.param.watch(lambda _: board.param.update(content=_reachable(home.content())), "version")
    return board


def _reachable(content: dict) -> dict:
    """Without links to pages this installation does not have."""
    known = {f"/{page.slug}" for page in PAGES}
    steps = [step for step in content["steps"] if step["href"] in known]
    return {**content, "steps": steps}
