"""The pages in the order of the navigation. A new page needs one line here, a module and a help text."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from benthoscope.app.session.session import Session
from benthoscope.engine.problems import unknown

View = Callable[[Session], Any]


@dataclass(frozen=True)
class PageEntry:
    """A page. `function_path` is "module:function"; it is imported when the page is first opened and turns a session
    into something Panel can show. `icon` names a Material icon. `slug` is the address and the name of the help text
    (assets/help/SLUG.md)."""

    slug: str
    title: str
    icon: str
    function_path: str
    key: str = ""  # `g` and then this letter open the page
    listed: bool = True  # whether the navigation lists it

    def view(self) -> View:
        module, _, name = self.function_path.partition(":")
        return getattr(import_module(module), name)


PAGES = (
    PageEntry("", "Home", "home", "benthoscope.app.pages.home:view", "h"),
    PageEntry("library", "Library", "photo_library", "benthoscope.app.pages.library.page:view", "l"),
    PageEntry("explore", "Explore", "explore", "benthoscope.app.pages.explore.page:view", "e"),
    PageEntry("dive", "Dive", "route", "benthoscope.app.pages.dive.page:view", "d", listed=False),
    PageEntry("live", "Live", "sensors", "benthoscope.app.pages.live.page:view", "w"),
    PageEntry("objects", "Objects", "category", "benthoscope.app.pages.objects.page:view", "o"),
    PageEntry("topics", "Topics", "donut_small", "benthoscope.app.pages.topics.page:view", "t"),
    PageEntry("review", "Review", "rate_review", "benthoscope.app.pages.review.page:view", "v"),
    PageEntry("learn", "Learn", "school", "benthoscope.app.pages.learn.page:view", "n"),
    PageEntry("labels", "Labels", "label", "benthoscope.app.pages.labels.page:view", "b"),
    PageEntry("crowd", "Crowd", "groups", "benthoscope.app.pages.crowd.page:view", "c"),
    PageEntry("runs", "Runs", "hub", "benthoscope.app.pages.runs.page:view", "r"),
    PageEntry("jobs", "Jobs", "pending_actions", "benthoscope.app.pages.jobs:view", "j"),
    PageEntry("help", "Help", "help", "benthoscope.app.pages.help:view", listed=False),
)


def page_named(slug: str) -> PageEntry:
    for page in PAGES:
        if page.slug == slug:
            return page
    raise unknown("page", slug, [page.slug for page in PAGES])
