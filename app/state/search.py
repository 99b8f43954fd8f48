"""Finding by name: images, dives and albums, clusters, terms of vocabularies."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from app.state.app_state import AppState

SHORTEST = 2  # letters; a single one finds everything


@dataclass(frozen=True)
class Hit:
    kind: str   # Image, Dive, Album, Cluster, Term
    name: str
    about: str
    href: str


def search(app: AppState, text: str, limit: int = 6) -> list[Hit]:
    """At most `limit` hits of each kind; names that begin with the text come first."""
    word = text.strip().lower()
    if not word:
        return []
    finders: tuple[Callable[[AppState, str], Iterator[Hit]], ...] = (groups, clusters, terms)
    found = [hit for finder in finders for hit in best(finder(app, word), word, limit)]
    return found + (images(app, text.strip(), limit) if len(word) >= SHORTEST else [])


def best(hits: Iterator[Hit], word: str, limit: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (not hit.name.lower().startswith(word), hit.name.lower()))[:limit]


def groups(app: AppState, word: str) -> Iterator[Hit]:
    kinds = {found.id: (found.name, found.kind) for found in app.workspace.library.collections()}
    for summary in app.kept("summaries", app.workspace.library.summaries):
        collection, kind = kinds.get(summary.group.collection_id, ("", "campaign"))
        if word in summary.group.name.lower() or word in collection.lower():
            yield Hit("Dive" if kind == "campaign" else "Album", summary.group.name,
                      f"{collection}, {summary.images:,} images", link("dive", dive=summary.group.id))


def clusters(app: AppState, word: str) -> Iterator[Hit]:
    run = app.run()
    if run is None:
        return
    for found in app.kept(("clusters", run.id), lambda: app.workspace.runs.clusters(run.id)):
        name = f"Cluster {found.number}"
        if word in name.lower():
            yield Hit("Cluster", name, f"{found.size:,} images in {run.name}",
                      link("explore", run=run.id, cluster=found.number))


def terms(app: AppState, word: str) -> Iterator[Hit]:
    for vocabulary in app.workspace.vocabularies.all():
        key = ("terms", vocabulary.id)
        for term in app.kept(key, lambda number=vocabulary.id: app.workspace.vocabularies.terms(number)):
            if word in term.name.lower():
                yield Hit("Term", term.name, " › ".join((vocabulary.name, *term.path[:-1])),
                          link("explore", term=term.id))


def images(app: AppState, text: str, limit: int) -> list[Hit]:
    names = {found.id: found.name for found in app.workspace.library.groups()}
    return [Hit("Image", found.path.rpartition("/")[2], names.get(found.group_id, ""),
                link("explore", image=found.id)) for found in app.workspace.library.named_like(text, limit)]


def link(page: str, **query: object) -> str:
    return f"/{page}?{urlencode(query)}"
