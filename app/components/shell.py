"""The frame around every page: bar, navigation, theme, address, and what happens when a tab closes."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import panel as pn
import panel_material_ui as pmui
from panel.util import edit_readonly

from app.components.look import FRAME, theme_config
from app.components.module import asset_url
from app.components.notices import broken
from app.components.top_bar import Navigation, TopBar
from app.pages.registry import PAGES, Page
from app.state.app_state import AppState
from app.state.session import THEMES, Message, Session

WIDTH = 188  # pixels of the navigation


def framed(page: Page, app: AppState) -> pmui.Page:
    """One page for one browser tab."""
    session = Session(app, page.slug, person=unquote(_cookie("bentho-person")), theme=_theme())
    session.address.query = _query()
    bar = TopBar(workspace=app.workspace.name, page=page.slug, pages=_pages(page), sizing_mode="stretch_width")
    frame = pmui.Page(
        title="", header=[bar], sidebar=[Navigation(pages=_pages(page), sizing_mode="stretch_both")],
        main=[_body(page, session)], sidebar_width=WIDTH, sidebar_resizable=False, theme_toggle=False,
        dark_theme=session.theme == "dark", theme_config=theme_config(), sx=FRAME, busy_indicator=None,
        css_files=[asset_url("css/look.css")], raw_css=[_first_colours(session.theme)], favicon=None,
        meta_name="Benthoscope", meta_title=f"{page.title} · {app.workspace.name}",
    )
    _let_go_of_busy(frame)
    _in_step(session, bar, frame)
    return frame


def _let_go_of_busy(frame: pmui.Page) -> None:
    """Page follows `pn.state.busy`, which then holds every page ever shown (panel-material-ui 0.16.6); and it tells of
    the work of all sessions, not of this one's."""
    with edit_readonly(frame):
        frame.busy = False
    for _, watcher in frame._param__private.ref_watchers:  # a plain value ends the reference but not its watcher
        pn.state.param.unwatch(watcher)


def _body(page: Page, session: Session) -> Any:
    """A page that fails tells so within the frame, so that the rest of the app stays within reach."""
    try:
        return page.view()(session)
    except Exception as error:
        return broken(page, error)


def _in_step(session: Session, bar: TopBar, frame: pmui.Page) -> None:
    """Session, bar and frame say the same."""
    for name in ("person", "theme", "version", "keys"):
        setattr(bar, name, getattr(session, name))
        session.param.watch(lambda event, name=name: bar.param.update(**{name: event.new}), name)
    for name in ("person", "theme", "version"):
        bar.param.watch(lambda event, name=name: session.param.update(**{name: event.new}), name)
    bar.query = session.address.query
    session.address.param.watch(lambda event: bar.param.update(query=event.new), "query")
    bar.param.watch(lambda event: session.address.param.update(query=event.new), "query")
    session.param.watch(lambda event: bar.param.update(message=_message(event.new)), "message")
    session.param.watch(lambda event: frame.param.update(dark_theme=event.new == "dark"), "theme")
    bar.on_told = lambda told: _act(session, told)


def _act(session: Session, told: Mapping[str, Any]) -> None:
    """What the bar asks for."""
    if told.get("act") == "undo":
        session.undo()
    elif told.get("act") == "tell":
        session.tell(str(told["text"]), kind=str(told["kind"]))


def _message(message: Message) -> dict[str, Any]:
    return {"text": message.text, "kind": message.kind, "undo": message.undo is not None}


def _pages(current: Page) -> list[dict[str, Any]]:
    return [{"title": page.title, "href": f"/{page.slug}", "icon": page.icon, "key": page.key,
             "current": page.slug == current.slug} for page in PAGES if page.listed]


def _first_colours(theme: str) -> str:
    """Keeps a dark page from flashing white before its scripts have run."""
    return "html, body { background: #0e151a; color: #e6eef3; }" if theme == "dark" else ""


def _theme() -> str:
    kept = _cookie("bentho-theme")
    return kept if kept in THEMES else "light"


def _cookie(name: str) -> str:
    return (pn.state.cookies or {}).get(name, "")


def _query() -> dict[str, str]:
    """What the address said when the page was asked for."""
    return {name: values[-1].decode("utf-8", "replace") for name, values in (pn.state.session_args or {}).items()
            if not name.startswith("bokeh")}
