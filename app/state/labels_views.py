"""What the page Labels draws, as plain values."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from app.state import cover
from app.state.event_words import told
from app.state.exporting import exports
from app.state.labels import PARTS, Labels
from app.state.terms import open_conflicts, standing_events
from engine.labelling.agreement import (
    Opinions,
    cohen_kappa,
    confusion,
    fleiss_kappa,
    opinions,
    shared,
    votes,
)
from engine.labelling.audit import audits
from engine.labelling.trees import TermTree
from engine.workspace.events import Event, standing
from engine.workspace.term_links import RELATIONS

TITLES = {"words": "Words", "people": "Agreement", "history": "History", "cover": "Cover", "files": "Files"}
ON_PAGE = 100   # acts of the history shown at once
SHOWN = 200     # conflicts shown at once
LARGEST = 24    # terms of a confusion table: more fit on no screen; the others are summed up


def content(labels: Labels) -> dict[str, Any]:
    """Everything the board shows of the chosen part."""
    shown = VIEWS[labels.part](labels)
    return {"part": labels.part, "parts": [[name, TITLES[name]] for name in PARTS],
            "version": labels.app.images_version, "person": labels.session.person, **shown}


def _words(labels: Labels) -> dict[str, Any]:
    workspace, chosen = labels.app.workspace, labels.chosen()
    listed = [{"id": words.id, "name": words.name, "version": words.version} for words in workspace.vocabularies.all()]
    if chosen is None:
        return {"vocabularies": listed, "vocabulary": None, "terms": []}
    others = [words for words in workspace.vocabularies.all() if words.id != chosen.id]
    target = next((words for words in others if words.id == labels.target), None)
    return {"vocabularies": listed, "vocabulary": chosen.id, "terms": _terms(labels, chosen.id),
            "target": target.id if target else None, "relations": list(RELATIONS),
            "links": _links(labels, chosen.id, target.id) if target else {},
            "targets": [[term.id, " > ".join(term.path)] for term in workspace.vocabularies.terms(target.id)]
            if target else []}


def _terms(labels: Labels, vocabulary: int) -> list[dict[str, Any]]:
    """In the order of the tree, with images labelled by the term itself and by all below it."""
    terms = labels.app.workspace.vocabularies.terms(vocabulary)
    tree, counts = TermTree.of(terms), _counts(labels)
    person = labels.session.who()
    keys = {number: key for key, number in labels.app.workspace.favourites.of(person.id).items()} if person else {}
    return [{"id": term.id, "name": term.name, "depth": len(term.path), "path": " > ".join(term.path),
             "code": term.code or "", "colour": term.colour or "", "notes": term.details.get("notes", ""),
             "synonyms": "|".join(term.details.get("synonyms", ())), "examples": term.details.get("examples", []),
             "own": counts[term.id], "all": sum(counts[below] for below in tree.below(term.id)),
             "key": keys.get(term.id, "")} for term in _in_order(tree)]


def _in_order(tree: TermTree) -> list[Any]:
    """Parents before their children, siblings by name."""
    found, waiting = [], list(reversed(tree.children.get(None, [])))
    while waiting:
        term = waiting.pop()
        found.append(term)
        waiting += reversed(tree.children.get(term.id, []))
    return found


def _counts(labels: Labels) -> Counter:
    def count() -> Counter:
        terms, images = np.unique(labels.app.workspace.labels.current_terms()[1], return_counts=True)
        return Counter(dict(zip(terms.tolist(), images.tolist(), strict=True)))

    return labels.app.kept("images of terms", count)


def _links(labels: Labels, source: int, target: int) -> dict[str, list[Any]]:
    """{source term: [target term, relation]}"""
    found = labels.app.workspace.term_links.between(source, target)
    return {str(link.source_id): [link.target_id, link.relation] for link in found}


def _people(labels: Labels) -> dict[str, Any]:
    found = labels.app.kept("opinions", lambda: opinions(standing_events(labels.app)))
    names = {person.id: person.name for person in labels.app.workspace.people.all()}
    images, _, table = votes(found)
    pairs = _pairs(found, names)
    chosen = [pair["ids"] for pair in pairs if pair["ids"] == sorted(labels.people)] or [pair["ids"] for pair in pairs]
    open_ = open_conflicts(labels.app)
    return {"pairs": pairs, "several": len(images), "fleiss": _kappa(fleiss_kappa, table) if len(table) else None,
            "confusion": _confusion(labels, found, chosen[0], names) if chosen else None,
            "conflict_count": len(open_), "conflicts": _conflicts(labels, open_[:SHOWN], names)}


def _pairs(found: Opinions, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """Every two people who spoke of the same images, with their agreement beyond chance."""
    people = np.unique(found.of_several().people).tolist()
    pairs = [(one, other, *shared(found, one, other)) for at, one in enumerate(people) for other in people[at + 1:]]
    return [{"ids": [one, other], "names": [names[one], names[other]], "images": len(a),
             "same": float((a == b).mean()), "kappa": _kappa(cohen_kappa, a, b)}
            for one, other, a, b in pairs if len(a)]


def _kappa(measure: Callable[..., float], *given: np.ndarray) -> float:
    return round(float(measure(*given)), 3)


def _confusion(labels: Labels, found: Opinions, pair: list[int], names: Mapping[int, str]) -> dict[str, Any]:
    """Of the terms most used: how often the first said the row and the second the column."""
    table = confusion(*shared(found, *pair))
    order = np.argsort(-(table.counts.sum(0) + table.counts.sum(1)), kind="stable")[:LARGEST]
    words = {term.id: term.name for term in labels.app.workspace.vocabularies.all_terms()}
    return {"names": [names[pair[0]], names[pair[1]]], "ids": pair,
            "terms": [words[number] for number in table.terms[order].tolist()],
            "counts": table.counts[np.ix_(order, order)].tolist(),
            "agreement": np.round(table.agreement()[order], 3).tolist(), "others": len(table.terms) - len(order)}


def _conflicts(labels: Labels, open_: list[Any], names: Mapping[int, str]) -> list[dict[str, Any]]:
    words = {term.id: term.name for term in labels.app.workspace.vocabularies.all_terms()}
    return [{"image": found.image, "said": [{"who": names[person], "term": term, "name": words[term]}
                                            for person, term, _ in found.said]} for found in open_]


def _history(labels: Labels) -> dict[str, Any]:
    log = labels.app.workspace.labels
    if labels.image is not None:
        return {"image": labels.image, "acts": told(labels.app, log.history(labels.image)[::-1], labels.image),
                "before": None, "more": False, "total": None}
    events = [event for event in log.events() if labels.before is None or event.number < labels.before][::-1]
    checks = {number: str(found) for number, found in audits(standing(log.events())).items()}
    acts = [{**act, "check": checks.get(act["number"], "")} for act in told(labels.app, _page(events))]
    return {"image": None, "acts": acts, "before": labels.before, "more": len(events) > ON_PAGE,
            "total": len(log.events())}


def _page(events: list[Event]) -> list[Event]:
    return events[:ON_PAGE]


def _cover(labels: Labels) -> dict[str, Any]:
    return cover.content(labels.app, labels.level)


def _files(labels: Labels) -> dict[str, Any]:
    jobs = [{"id": job.id, "title": job.title, "state": job.state, "error": job.error, "at": job.created_at,
             "result": _import_told(job.result) if job.kind == "import labels" else ""}
            for job in labels.app.jobs.jobs if job.kind == "import labels" or (
                job.kind == "export" and job.state != "done")]
    return {"exports": exports(labels.app), "jobs": jobs}


def _import_told(result: Mapping[str, Any] | None) -> str:
    if not result:
        return ""
    problems = f", {len(result['problems'])} problems" if result["problems"] else ""
    return f"{result['labels']:,} labels of images and {result['parts']:,} of parts stored{problems}"


VIEWS: Mapping[str, Callable[[Labels], dict[str, Any]]] = {
    "words": _words, "people": _people, "history": _history, "cover": _cover, "files": _files,
}
