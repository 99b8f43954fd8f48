"""Help: a text for every page, beside the list of all."""

from html import escape

import panel as pn

from app.components.module import asset_url
from app.pages.registry import PAGES
from app.state.help import topic, topics
from app.state.session import Session
from engine.problems import BenthoscopeError


def view(session: Session) -> pn.viewable.Viewable:
    wanted = session.address.query.get("topic", "home")
    try:
        shown = topic(wanted)
    except BenthoscopeError as error:
        session.tell(str(error), kind="error")
        shown = topic("home")
    styles = [asset_url("css/parts.css"), asset_url("css/help.css")]
    links = "".join(f'<li><a href="/help?topic={escape(one.word)}"{_current(one.word == shown.word)}>'
                    f"{escape(one.title)}</a></li>" for one in topics([page.slug or "home" for page in PAGES]))
    listed = pn.pane.HTML(f'<nav aria-label="Help texts"><ul>{links}</ul></nav>', stylesheets=styles, width=220)
    text = pn.pane.Markdown(f"# {shown.title}\n\n{shown.text}", stylesheets=styles, sizing_mode="stretch_width",
                            max_width=860)
    return pn.Row(listed, text, sizing_mode="stretch_width", margin=(12, 16))


def _current(own: bool) -> str:
    return ' aria-current="page"' if own else ""
