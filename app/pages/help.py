"""The Help page: a text for every page and further topics, from assets/help."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

import panel as pn

from benthoscope.app.components.base import asset_url
from benthoscope.app.pages.registry import PAGES
from benthoscope.app.session.session import Session
from benthoscope.engine.features.registry import descriptors_markdown
from benthoscope.engine.jobs.cluster.model_catalog import questions_markdown
from benthoscope.engine.problems import BenthoscopeError, unknown

TABLES = {"{{models}}": questions_markdown, "{{descriptors}}": descriptors_markdown}  # from the catalogues
FOLDER = files("benthoscope.assets") / "help"


@dataclass(frozen=True)
class Topic:
    word: str
    title: str
    text: str  # Markdown, without its title


def topics(first: Sequence[str] = ()) -> list[Topic]:
    """All help texts: first those named in `first`, in that order, then the others by title."""
    all_topics = [
        _topic(path.name, path.read_text(encoding="utf-8")) for path in FOLDER.iterdir() if path.name.endswith(".md")
    ]
    rank = {word: at for at, word in enumerate(first)}
    return sorted(all_topics, key=lambda entry: (rank.get(entry.word, len(rank)), entry.title))


def topic(word: str) -> Topic:
    by_word = {entry.word: entry for entry in topics()}
    if word not in by_word:
        raise unknown("help topic", word, by_word)
    return by_word[word]


def _topic(name: str, text: str) -> Topic:
    title, _, body = text.partition("\n")
    for mark, table in TABLES.items():
        if mark in body:
            body = body.replace(mark, table())
    return Topic(name.removesuffix(".md"), title.lstrip("# ").strip(), body.strip())


def view(session: Session) -> pn.viewable.Viewable:
    topic_name = session.address.query.get("topic", "home")
    try:
        shown = topic(topic_name)
    except BenthoscopeError as error:
        session.notify(str(error), kind="error")
        shown = topic("home")
    styles = [asset_url("css/parts.css"), asset_url("css/help.css")]
    links = "".join(
        f'<li><a href="/help?topic={escape(entry.word)}"{_current(entry.word == shown.word)}>'
        f"{escape(entry.title)}</a></li>"
        for entry in topics([page.slug or "home" for page in PAGES])
    )
    listed = pn.pane.HTML(f'<nav aria-label="Help texts"><ul>{links}</ul></nav>', stylesheets=styles, width=220)
    text = pn.pane.Markdown(
        f"# {shown.title}\n\n{shown.text}", stylesheets=styles, sizing_mode="stretch_width", max_width=860
    )
    return pn.Row(listed, text, sizing_mode="stretch_width", margin=(12, 16))


def _current(is_current: bool) -> str:
    return ' aria-current="page"' if is_current else ""
