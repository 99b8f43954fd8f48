"""The pages in the order of the navigation. A new page is one line here, a module, and a help text."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from app.state.session import Session
from engine.problems import unknown

View = Callable[[Session], Any]


@dataclass(frozen=True)
class Page:
    """`place` is "module:function", imported when the page is first opened; the function turns a session into something
    Panel can show. `icon` names a Material icon, `slug` the address and the help text (assets/help/SLUG.md)."""

    slug: str
    title: str
    icon: str
    place: str
    key: str = ""        # `g` and this letter go there
    listed: bool = True  # in the navigation

    def view(self) -> View:
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)


PAGES = (
    Page("", "Home", "home", "app.pages.home:view", "h"),
    Page("library", "Library", "photo_library", "app.pages.library:view", "l"),
    Page("explore", "Explore", "explore", "app.pages.explore:view", "e"),
    Page("dive", "Dive", "route", "app.pages.dive:view", "d", listed=False),
    Page("objects", "Objects", "category", "app.pages.objects:view", "o"),
    Page("review", "Review", "rate_review", "app.pages.review:view", "v"),
    Page("learn", "Learn", "school", "app.pages.learn:view", "n"),
    Page("labels", "Labels", "label", "app.pages.labels:view", "b"),
    Page("crowd", "Crowd", "groups", "app.pages.crowd:view", "c"),
    Page("runs", "Runs", "hub", "app.pages.runs:view", "r"),
    Page("jobs", "Jobs", "pending_actions", "app.pages.jobs:view", "j"),
    Page("help", "Help", "help", "app.pages.help:view", listed=False),
)


def page_named(slug: str) -> Page:
    for page in PAGES:
        if page.slug == slug:
            return page
    raise unknown("page", slug, [page.slug for page in PAGES])
