"""The frame around every page: top bar, navigation, theme and address."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import panel as pn
import panel_material_ui as pmui
import param

from benthoscope.app.components.base import CommandComponent, ModuleComponent, asset_url
from benthoscope.app.components.notices import broken
from benthoscope.app.data.group_words import GroupWords, group_words
from benthoscope.app.data.jobs import job_list
from benthoscope.app.data.labels import change_text, undone_text
from benthoscope.app.pages.base import follow
from benthoscope.app.pages.registry import PAGES, PageEntry
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS
from benthoscope.app.session.commands import CommandTable
from benthoscope.app.session.session import THEMES, Message, OtherChange, Session
from benthoscope.engine.workspace.labels.events import undo_stack


class TopBar(CommandComponent):
    """Search, jobs, person, theme, help, list of keys and message line; `query` is synchronised with the address."""

    _module = "shell/top_bar"
    _styles = ("parts", "shell")

    has_parts = param.Boolean(doc="Whether grey blocks stay until a script of the page has drawn its content.")
    workspace = param.String(doc="Name of the workspace.")
    page = param.String(doc="Slug of this page.")
    pages = param.List(doc="Pages to open: {title, href, key}.")
    groups = param.Dict(default={}, doc="{singular, plural}: words for groups of images, set when they change.")
    person = param.String(doc="Name of the person who works in this tab.")
    asks_name = param.Boolean(doc="Whether the dialog that asks for the name is open.")
    theme: param.Selector[str] = param.Selector(objects=["light", "dark"], doc="Light or dark.")
    version = param.Integer(doc="Last known version of the workspace.")
    last_change = param.String(doc="The person's last change in words; empty if there is nothing to undo.")
    query = param.Dict(default={}, doc="Query of the address.")
    message = param.Dict(default={}, doc="{text, kind, undo} of the message line.")
    jobs = param.List(default=[], doc="The newest jobs, as `app.data.jobs.job_list` returns them.")
    keys = param.List(default=[], doc="[key, what it does] of this page.")


class PageLinks(ModuleComponent):
    """The pages as links."""

    _module = "shell/navigation"
    _styles = ("parts", "navigation")

    pages = param.List(doc="{title, href, icon, current} of each.")


LIGHT = {
    "primary": "#0b6078",
    "background": "#f4f6f8",
    "paper": "#ffffff",
    "text": "#16222c",
    "soft": "#4d5c69",
    "line": "#d5dce2",
    "on_primary": "#ffffff",
}
DARK = {
    "primary": "#6cc5dc",
    "background": "#0e151a",
    "paper": "#151f26",
    "text": "#e6eef3",
    "soft": "#a3b5c1",
    "line": "#33434e",
    "on_primary": "#062630",
}


# Styles of the frame, which Material draws; the variables are defined in assets/css/look.css.
FRAME = {
    "& .MuiAppBar-root": {
        "backgroundColor": "var(--bar)",
        "backgroundImage": "none",
        "color": "var(--on-bar)",
        "boxShadow": "none",
    },
    "& .MuiToolbar-root": {"minHeight": "48px !important"},
    # Parts of Panel Material UI that only keep room; screen readers would announce an empty heading.
    "& .MuiToolbar-root > h5, & .MuiAppBar-root .MuiLinearProgress-root": {"visibility": "hidden"},
    "& main": {"backgroundColor": "var(--ground)"},
    "& .sidebar": {"backgroundColor": "var(--surface)", "backgroundImage": "none", "borderColor": "var(--line)"},
    # On paper, a page is as long as its content and has no navigation.
    "@media print": {
        "& .MuiAppBar-root, & .MuiDrawer-root": {"display": "none !important"},
        "&, & *:has(.main-content), & .main-content": {
            "display": "block !important",
            "height": "auto !important",
            "overflow": "visible !important",
        },
    },
}


def theme_config() -> dict[str, Any]:
    return {"light": _theme_colours(LIGHT), "dark": _theme_colours(DARK)}


def _theme_colours(colours: dict[str, str]) -> dict[str, Any]:
    return {
        "palette": {
            "primary": {"main": colours["primary"], "contrastText": colours["on_primary"]},
            "background": {"default": colours["background"], "paper": colours["paper"]},
            "text": {"primary": colours["text"], "secondary": colours["soft"]},
            "divider": colours["line"],
        },
        "typography": {"fontSize": 13, "button": {"textTransform": "none"}},
        "shape": {"borderRadius": 6},
    }


WIDTH = 188  # pixels of the navigation


def framed(page: PageEntry, app: AppState) -> pmui.Page:
    """Build one page for one browser tab."""
    session = Session(app, page.slug, person=unquote(_cookie("bentho-person")), theme=_chosen_theme())
    session.address.query = _query()
    words = group_words(app)
    bar = TopBar(workspace=app.workspace.name, page=page.slug, pages=_pages(page), sizing_mode="stretch_width")
    session.param.watch(lambda _: bar.param.update(groups=vars(group_words(app))), "version")  # before the page draws
    body = _body(page, session)
    bar.has_parts = has_parts(body)
    frame = pmui.Page(
        title="",
        header=[bar],
        sidebar=[PageLinks(pages=_pages(page), sizing_mode="stretch_both")],
        main=[body],
        sidebar_width=WIDTH,
        sidebar_resizable=False,
        theme_toggle=False,
        dark_theme=session.theme == "dark",
        theme_config=theme_config(),
        sx=FRAME,
        busy_indicator=None,
        css_files=[asset_url("css/look.css")],
        raw_css=[_first_colours(session.theme), first_words(page, app.workspace.name), _group_words_css(words)],
        favicon=None,
        meta_name="Benthoscope",
        meta_title=f"{_title(page, words)} · {app.workspace.name}",
    )
    _in_step(session, bar, frame)
    follow(app.on_change, lambda: session.param.update(version=app.version))
    follow(app.on_jobs, lambda: bar.param.update(jobs=job_list(app)))
    bar.jobs, session.version = job_list(app), app.version  # after this, no change is missed
    return frame


def _body(page: PageEntry, session: Session) -> Any:
    """The content of the page, or a notice inside the frame if it fails, so that the navigation stays usable."""
    try:
        return page.view()(session)
    except Exception as error:
        return broken(page, error)


def has_parts(body: Any) -> bool:
    """Whether a script of the page draws its content; pages of plain text have none."""
    content: Any = pn.panel(body)  # a union in which one class has no `select`
    return any(part.draws_page for part in content.select(ModuleComponent))


def _in_step(session: Session, bar: TopBar, frame: pmui.Page) -> None:
    """Synchronise session, bar and frame."""
    for name in ("person", "theme", "version", "keys"):
        setattr(bar, name, getattr(session, name))
        session.param.watch(lambda event, name=name: bar.param.update(**{name: event.new}), name)
    for name in ("person", "theme"):
        bar.param.watch(lambda event, name=name: session.param.update(**{name: event.new}), name)
    bar.query = session.address.query
    session.address.param.watch(lambda event: bar.param.update(query=event.new), "query")
    bar.param.watch(lambda event: session.address.param.update(query=event.new), "query")
    session.param.watch(lambda event: bar.param.update(message=_message(event.new)), "message")
    _follow_last_change(session, bar)
    session.param.watch(lambda event: bar.param.update(asks_name=event.new), "asks_name")
    session.param.watch(lambda event: frame.param.update(dark_theme=event.new == "dark"), "theme")
    bar.on_message = session.handler(COMMANDS, session)


def last_change_text(session: Session) -> str:
    """The last change of the person that can be undone, in words; empty if there is none."""
    if (other := _newest_other_change(session)) is not None:
        return other.message.text
    number = _last_label_event(session)
    return "" if number is None else change_text(session.app, number)


def undo_last_change(session: Session) -> None:
    """Undo the last change of the person. Pages that show its images follow in their own way."""
    person = session.require_person()
    if (other := _newest_other_change(session)) is not None:
        session.undo_other_change()
        session.notify(f"Undone: {other.message.text}")
    elif session.undo_of_page is not None:
        session.undo_of_page()
    else:
        number = session.workspace.labels.undo_last(person.id)
        session.changed(LABELS)
        session.notify(undone_text(session.app, number))


def _newest_other_change(session: Session) -> OtherChange | None:
    """The last change that is not an event of labels; None if a label event is newer, or if there is none."""
    other, number = session.other_change, _last_label_event(session)
    return other if other is not None and (number is None or number <= other.after) else None


def _last_label_event(session: Session) -> int | None:
    """Number of the person's newest label event; None for a name that this workspace does not know yet."""
    name = " ".join(session.person.split())
    person_id = next((person.id for person in session.workspace.people.all() if person.name == name), None)
    if person_id is None:
        return None
    done = session.app.cached(
        ("undoable", person_id), lambda: undo_stack(session.workspace.labels.events(), person_id)[0][-1:], LABELS
    )
    return done[0] if done else None


def _follow_last_change(session: Session, bar: TopBar) -> None:
    def follow(*_: Any) -> None:
        bar.last_change = last_change_text(session)

    follow()
    session.param.watch(follow, ["version", "person", "message"])


def _show_message(session: Session, text: str, kind: str, link: dict[str, Any] | None = None) -> None:
    session.notify(text, kind=kind, link=_link(link))


COMMANDS = CommandTable(
    {"undo": Session.undo, "undo_last": undo_last_change, "tell": _show_message, "cancel_name": Session.cancel_name}
)


def _message(message: Message) -> dict[str, Any]:
    return {"text": message.text, "kind": message.kind, "undo": message.undo is not None, "link": message.link}


def _link(link: Mapping[str, Any] | None) -> dict[str, str] | None:
    """A link to a page of this server; others are left out."""
    if not link or not str(link.get("href", "")).startswith("/") or str(link["href"]).startswith("//"):
        return None
    return {"text": str(link["text"]), "href": str(link["href"])}


def _pages(current: PageEntry) -> list[dict[str, Any]]:
    return [
        {
            "title": page.title,
            "href": f"/{page.slug}",
            "icon": page.icon,
            "key": page.key,
            "current": page.slug == current.slug,
        }
        for page in PAGES
        if page.listed
    ]


def _first_colours(theme: str) -> str:
    """Styles that keep a dark page from flashing white before its scripts have run."""
    frame = "--frame-bar: #0b1b22; --frame-ground: #0e151a; --frame-surface: #151f26; --frame-block: #25323b;"
    frame += " --frame-text: #e6eef3; --frame-on-bar: #e6f1f5; --frame-mark: #17343f;"
    page = "html, body { background: #0e151a; color: #e6eef3; }"
    return f"{page} :root {{ {frame} --frame-line: #33434e; }}" if theme == "dark" else ""


def first_words(page: PageEntry, workspace: str) -> str:
    """Names of the pages and of the workspace, which the frame shows from the first paint, so that they stay where they
    are when a person opens another page."""
    listed = [each for each in PAGES if each.listed]
    current = next((place for place, each in enumerate(listed) if each.slug == page.slug), -9)
    titles = "\\a ".join(map(_css_text, (each.title for each in listed)))
    names = f'--frame-pages: "{titles}"; --frame-workspace: "{_css_text(workspace)}";'
    return f":root {{ {names} --frame-count: {len(listed)}; --frame-current: {current}; }}"


def _css_text(text: str) -> str:
    """Text for a string of a style sheet; a name could otherwise end the string or the style element."""
    return "".join(letter if letter.isalnum() else f"\\{ord(letter):x} " for letter in text)


def _group_words_css(words: GroupWords) -> str:
    """Style sheet that passes the words to all components, like the colours."""
    return f':root {{ --group-one: "{words.singular}"; --group-many: "{words.plural}"; }}'


def _title(page: PageEntry, words: GroupWords) -> str:
    return words.heading if page.slug == "dive" else page.title


def _chosen_theme() -> str:
    stored = _cookie("bentho-theme")
    return stored if stored in THEMES else "light"


def _cookie(name: str) -> str:
    return (pn.state.cookies or {}).get(name, "")


def _query() -> dict[str, str]:
    """The query of the address when the page was requested."""
    return {
        name: values[-1].decode("utf-8", "replace")
        for name, values in (pn.state.session_args or {}).items()
        if not name.startswith("bokeh")
    }
