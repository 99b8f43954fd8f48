"""Search by name: images, dives and albums, clusters, terms of vocabularies."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from benthoscope.app.data.clusters.clustered_images import cluster_name, cluster_word
from benthoscope.app.data.topics import topics_of
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS, RUNS

SHORTEST = 2  # letters needed to search images; one letter matches nearly all


@dataclass(frozen=True)
class Hit:
    kind: str  # Image, Dive, Album, Cluster, Topic, Term
    name: str
    about: str
    href: str


def search(app: AppState, text: str, limit: int = 6) -> list[Hit]:
    """At most `limit` hits of each kind; names that begin with the text come first."""
    word = text.strip().lower()
    if not word:
        return []
    finders: tuple[Callable[[AppState, str], Iterator[Hit]], ...] = (groups, clusters, topics, terms)
    hits = [hit for finder in finders for hit in best(finder(app, word), word, limit)]
    return hits + (images(app, text.strip(), limit) if len(word) >= SHORTEST else [])


def best(hits: Iterator[Hit], word: str, limit: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (not hit.name.lower().startswith(word), hit.name.lower()))[:limit]


def groups(app: AppState, word: str) -> Iterator[Hit]:
    kinds = {collection.id: (collection.name, collection.kind) for collection in app.workspace.library.collections()}
    for summary in app.cached("summaries", app.workspace.library.summaries, IMAGES):
        collection, kind = kinds.get(summary.group.collection_id, ("", "campaign"))
        if word in summary.group.name.lower() or word in collection.lower():
            yield Hit(
                "Dive" if kind == "campaign" else "Album",
                summary.group.name,
                f"{collection}, {summary.images:,} images",
                link("dive", dive=summary.group.id),
            )


def clusters(app: AppState, word: str) -> Iterator[Hit]:
    run = app.run()
    if run is None:
        return
    for cluster in app.cached(("clusters", run.id), lambda: app.workspace.runs.clusters(run.id), RUNS):
        name = cluster_name(app, run, cluster.number)
        if word in name.lower():
            yield Hit(
                cluster_word(run),
                name,
                f"{cluster.size:,} images in {run.name}",
                link("explore", run=run.id, cluster=cluster.number),
            )


def topics(app: AppState, word: str) -> Iterator[Hit]:
    """Topics of the newest run of topics."""
    newest = topics_of(app, None)
    if newest is None:
        return
    for number, name in enumerate(newest.names):
        if word in name.lower():
            yield Hit(
                "Topic", name, f"topic {number} of {newest.run.name}", link("topics", run=newest.run.id, word=name)
            )


def terms(app: AppState, word: str) -> Iterator[Hit]:
    for vocabulary in app.workspace.vocabularies.all():
        key = ("terms", vocabulary.id)
        for term in app.cached(key, partial(app.workspace.vocabularies.terms, vocabulary.id), LABELS):
            if word in term.name.lower():
                yield Hit(
                    "Term", term.name, " › ".join((vocabulary.name, *term.path[:-1])), link("explore", term=term.id)
                )


def images(app: AppState, text: str, limit: int) -> list[Hit]:
    names = {group.id: group.name for group in app.workspace.library.groups()}
    return [
        Hit("Image", group.path.rpartition("/")[2], names.get(group.group_id, ""), link("explore", image=group.id))
        for group in app.workspace.library.named_like(text, limit)
    ]


def link(page: str, **query: object) -> str:
    return f"/{page}?{urlencode(query)}"
