"""Notices in place of content: an empty state with the next step, or an error."""

import logging
from html import escape
from typing import Any

import panel as pn

from benthoscope.app.components.base import asset_url
from benthoscope.engine.problems import BenthoscopeError

log = logging.getLogger(__name__)


def empty(title: str, text: str, *links: tuple[str, str], icon: str = "explore") -> pn.viewable.Viewable:
    """An empty state: what is missing, and links (text, address) to the next step."""
    buttons = "".join(f'<a class="button main" href="{escape(href)}">{escape(words)}</a>' for words, href in links)
    return notice(
        f'<span class="icon" aria-hidden="true">{escape(icon)}</span><h1>{escape(title)}</h1>'
        f"<p>{escape(text)}</p><p>{buttons}</p>"
    )


def broken(page: Any, error: Exception) -> pn.viewable.Viewable:
    """The notice of a page that failed; the log has the details."""
    if isinstance(error, BenthoscopeError):
        text = str(error)
    else:
        log.exception("page %s failed", page.slug)
        text = f"{type(error).__name__}: {error}"
    return notice(
        f'<span class="icon" aria-hidden="true">error_outline</span><h1>{escape(page.title)} cannot be shown'
        f'</h1><p>{escape(text)}</p><p><a class="button" href="/">Home</a></p>',
        role="alert",
    )


def notice(html: str, role: str = "note") -> pn.pane.HTML:
    return pn.pane.HTML(
        f'<section class="notice" role="{role}">{html}</section>',
        sizing_mode="stretch_width",
        stylesheets=[asset_url("css/parts.css"), asset_url("css/notice.css")],
    )
