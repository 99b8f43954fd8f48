"""Content of the Labels page as plain values."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benthoscope.app.data.figures import MOST_TERMS
from benthoscope.app.data.labels import describe_events, open_conflicts, standing_events, term_colours
from benthoscope.app.pages.labels import cover, training
from benthoscope.app.pages.labels.export_form import exports
from benthoscope.app.pages.labels.model import Labels
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS
from benthoscope.engine.exchange.parsing.csv_output import stamp
from benthoscope.engine.jobs import Job
from benthoscope.engine.labelling.agreement import (
    Opinions,
    cohen_kappa,
    confusion,
    fleiss_kappa,
    opinions,
    shared,
    votes,
)
from benthoscope.engine.labelling.audits.bulk_audit import pooled_statement
from benthoscope.engine.labelling.audits.sample import audits
from benthoscope.engine.labelling.people.person_report import agreement_facts
from benthoscope.engine.labelling.terms import TermTree
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace.labels.events import standing
from benthoscope.engine.workspace.labels.vocabularies import RELATIONS

TITLES = {
    "words": "Vocabulary",
    "import": "Import",
    "people": "Agreement",
    "training": "Training",
    "history": "History",
    "cover": "Cover",
    "export": "Export",
}
QUESTIONS = {
    "words": "Which labels are there, and what do they mean?",
    "import": "How do labels of other programs get in?",
    "people": "Do people agree?",
    "training": "Where do your labels differ from those of the others?",
    "history": "Who labelled what, and when? Undo and check it here",
    "cover": "How much of each habitat is there?",
    "export": "How do the labels get into other programs?",
}
GROUPS = (
    ("Labels", ("words", "import")),
    ("Quality", ("people", "training", "history")),
    ("Results", ("cover", "export")),
)
SHOWN = 200  # conflicts shown at once


def content(labels: Labels) -> dict[str, Any]:
    """Content of the chosen part."""
    shown = VIEWS[labels.part](labels)
    return {
        "part": labels.part,
        "tabs": [[title, [[name, TITLES[name], QUESTIONS[name]] for name in names]] for title, names in GROUPS],
        "version": labels.app.images_version,
        "person": labels.session.person,
        **shown,
    }


def _words(labels: Labels) -> dict[str, Any]:
    workspace, chosen = labels.app.workspace, labels.chosen()
    listed = [{"id": words.id, "name": words.name, "version": words.version} for words in workspace.vocabularies.all()]
    if chosen is None:
        return {"vocabularies": listed, "vocabulary": None, "terms": []}
    other_vocabularies = [words for words in workspace.vocabularies.all() if words.id != chosen.id]
    target = next((words for words in other_vocabularies if words.id == labels.target), None)
    return {
        "vocabularies": listed,
        "vocabulary": chosen.id,
        "terms": _terms(labels, chosen.id),
        "target": target.id if target else None,
        "relations": list(RELATIONS),
        "links": _links(labels, chosen.id, target.id) if target else {},
        "targets": [[term.id, joined(term.path)] for term in workspace.vocabularies.terms(target.id)] if target else [],
    }


def _terms(labels: Labels, vocabulary: int) -> list[dict[str, Any]]:
    """Terms in the order of the tree, with the numbers of images labelled with the term and with all terms below it."""
    terms = labels.app.workspace.vocabularies.terms(vocabulary)
    tree, counts, colours = TermTree.of(terms), _counts(labels), term_colours(labels.app)
    person = labels.session.current_person()
    keys = {number: key for key, number in labels.app.workspace.favourites.of(person.id).items()} if person else {}
    return [
        {
            "id": term.id,
            "name": term.name,
            "depth": len(term.path),
            "path": joined(term.path),
            "code": term.code or "",
            "colour": term.colour or "",
            "shown_colour": colours.get(term.id, ""),
            "notes": term.details.get("notes", ""),
            "synonyms": "|".join(term.details.get("synonyms", ())),
            "examples": term.details.get("examples", []),
            "own": counts[term.id],
            "all": sum(counts[below] for below in tree.below(term.id)),
            "key": keys.get(term.id, ""),
        }
        for term in _in_order(tree)
    ]


def _in_order(tree: TermTree) -> list[Any]:
    """Parents before their children, siblings by name."""
    ordered, waiting = [], list(reversed(tree.children.get(None, [])))
    while waiting:
        term = waiting.pop()
        ordered.append(term)
        waiting += reversed(tree.children.get(term.id, []))
    return ordered


def _counts(labels: Labels) -> Counter:
    def count() -> Counter:
        terms, images = np.unique(labels.app.workspace.labels.current_terms()[1], return_counts=True)
        return Counter(dict(zip(terms.tolist(), images.tolist(), strict=True)))

    return labels.app.cached("images of terms", count, LABELS)


def _links(labels: Labels, source: int, target: int) -> dict[str, list[Any]]:
    """{source term: [target term, relation]}"""
    links = labels.app.workspace.term_links.between(source, target)
    return {str(link.source_id): [link.target_id, link.relation] for link in links}


def _people(labels: Labels) -> dict[str, Any]:
    all_opinions = labels.app.cached("opinions", lambda: opinions(standing_events(labels.app)), LABELS)
    names = {person.id: person.name for person in labels.app.workspace.people.all()}
    images, _, table = votes(all_opinions)
    pairs = _pairs(all_opinions, names)
    chosen = [pair["ids"] for pair in pairs if pair["ids"] == sorted(labels.people)] or [pair["ids"] for pair in pairs]
    open_ = open_conflicts(labels.app)
    return {
        "blind": labels.app.cached("blind labels", lambda: agreement_facts(labels.app.workspace), LABELS),
        "pairs": pairs,
        "several": len(images),
        "fleiss": _kappa(fleiss_kappa, table) if len(table) else None,
        "confusion": _confusion(all_opinions, chosen[0], names) if chosen else None,
        "conflict_count": len(open_),
        "conflicts": _conflicts(labels, open_[:SHOWN], names),
    }


def _pairs(all_opinions: Opinions, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """Pairs of people who labelled the same images, with their chance-corrected agreement."""
    people = np.unique(all_opinions.of_several().people).tolist()
    pairs = [
        (first, second, *shared(all_opinions, first, second))
        for at, first in enumerate(people)
        for second in people[at + 1 :]
    ]
    return [
        {
            "ids": [first, second],
            "names": [names[first], names[second]],
            "images": len(a),
            "same": float((a == b).mean()),
            "kappa": _kappa(cohen_kappa, a, b),
        }
        for first, second, a, b in pairs
        if len(a)
    ]


def _kappa(measure: Callable[..., float], *values: np.ndarray) -> float:
    return round(float(measure(*values)), 3)


def _confusion(all_opinions: Opinions, pair: list[int], names: Mapping[int, str]) -> dict[str, Any]:
    """The pair whose labels are plotted against each other, and the number of terms that the plot leaves out."""
    terms = confusion(*shared(all_opinions, *pair)).terms
    return {"ids": pair, "names": [names[person] for person in pair], "others": max(len(terms) - MOST_TERMS, 0)}


def _conflicts(labels: Labels, open_: list[Any], names: Mapping[int, str]) -> list[dict[str, Any]]:
    words = {term.id: term.name for term in labels.app.workspace.vocabularies.all_terms()}
    return [
        {
            "image": conflict.image,
            "said": [
                {"who": names[person], "term": term, "name": words[term]} for person, term, _ in conflict.opinions
            ],
        }
        for conflict in open_
    ]


def _history(labels: Labels) -> dict[str, Any]:
    total = len(labels.app.workspace.labels.events())
    return {"image": labels.image, "total": total, "bulk": _bulk(labels) if labels.image is None else None}


def history_rows(labels: Labels) -> list[dict[str, Any]]:
    """The entries as the table lists them, the newest first: all of them, or those of one image."""
    if labels.image is not None:
        events = describe_events(labels.app, labels.app.workspace.labels.history(labels.image)[::-1], labels.image)
        return [_history_row(event, "", of_image=True) for event in events]
    return labels.app.cached("history rows", lambda: _all_history_rows(labels.app), (IMAGES, LABELS))


def _all_history_rows(app: AppState) -> list[dict[str, Any]]:
    events = app.workspace.labels.events()
    checks = {number: str(audit) for number, audit in audits(standing(events)).items()}
    return [
        _history_row(event, checks.get(event["number"], ""), of_image=False)
        for event in describe_events(app, events[::-1])
    ]


def _history_row(event: Mapping[str, Any], check: str, *, of_image: bool) -> dict[str, Any]:
    """An entry with what the buttons of its row do."""
    undone, is_audit = event["undone"], event["kind"] == "audit"
    confidence = "" if event["confidence"] is None else f", {event['confidence']:.0%}".replace("%", " %")
    return {
        **{name: event[name] for name in ("number", "who", "what", "images", "kind", "undone")},
        "id": event["number"],
        "when": stamp(event["at"], "%Y-%m-%d %H:%M"),
        "why": f"{event['why']}{confidence}",
        "check": check,
        "mark": "struck" if undone else "",
        "act": "withdraw" if is_audit else "undo",
        "undo": "undone" if undone else "Withdraw" if is_audit else "Undo",
        "can_undo": not undone,
        "can_check": event["kind"] == "label" and event["images"] > 1,
        "can_restore": not of_image,
    }


def _bulk(labels: Labels) -> dict[str, Any] | None:
    """The statement about all bulk labels together, and whether all of them were checked together."""
    statement = labels.app.cached("bulk labels", lambda: pooled_statement(labels.app.workspace), (IMAGES, LABELS))
    return None if statement is None else {"text": statement.text, "checked": statement.audit is not None}


def _cover(labels: Labels) -> dict[str, Any]:
    return cover.content(labels.app, labels.level, labels.together)


def _import(labels: Labels) -> dict[str, Any]:
    return {"jobs": _jobs(labels, lambda job: job.kind == "import labels")}


def _export(labels: Labels) -> dict[str, Any]:
    unfinished = _jobs(labels, lambda job: job.kind == "export" and job.state != "done")
    return {"exports": exports(labels.app), "jobs": unfinished}


def _jobs(labels: Labels, listed: Callable[[Job], bool]) -> list[dict[str, Any]]:
    return [
        {
            "id": job.id,
            "title": job.title,
            "state": job.state,
            "error": job.error,
            "at": job.created_at,
            "result": _import_told(job.result) if job.kind == "import labels" else "",
        }
        for job in labels.app.jobs.jobs
        if listed(job)
    ]


def _import_told(result: Mapping[str, Any] | None) -> str:
    if not result:
        return ""
    problems = f", {len(result['problems'])} problems" if result["problems"] else ""
    return f"{result['labels']:,} labels of images and {result['parts']:,} of parts stored{problems}"


VIEWS: Mapping[str, Callable[[Labels], dict[str, Any]]] = {
    "words": _words,
    "people": _people,
    "training": training.content,
    "history": _history,
    "cover": _cover,
    "import": _import,
    "export": _export,
}
