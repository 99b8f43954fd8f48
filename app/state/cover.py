"""Cover: the share of every habitat in every dive, with its interval, as the page Labels shows it."""

from dataclasses import replace
from typing import Any

from app.state.app_state import AppState
from engine.jobs.learn import material_of
from engine.labelling.cover_report import EVERYWHERE, CoverRow, as_csv, cover, evidence
from engine.labelling.material import said
from engine.labelling.suggestion_store import SuggestionStore
from engine.labelling.trees import TermTree

MOST_TERMS = 12  # of a dive: smaller shares are left to the table


def estimates(app: AppState, level: int | None = None) -> list[CoverRow]:
    """Of the whole campaign, then dive by dive; terms rolled up to a level where one is given."""
    return app.kept(("cover", level), lambda: _estimated(app, level))


def content(app: AppState, level: int | None) -> dict[str, Any]:
    """Rows by dive, the largest shares first; the campaign comes first."""
    if not len(app.workspace.labels.current()[0]):
        return {"groups": [], "level": level}
    groups, terms = _names(app)
    found: dict[int, list[CoverRow]] = {}
    for row in estimates(app, level):
        found.setdefault(row.group_id, []).append(row)
    return {"level": level, "groups": [
        {"id": group, "name": groups[group], "labelled": rows[0].share.labelled, "of": rows[0].share.of,
         "rows": [_told(row, terms) for row in sorted(rows, key=lambda row: -row.share.estimate)[:MOST_TERMS]]}
        for group, rows in found.items()]}


def table(app: AppState, level: int | None) -> str:
    """All of it as CSV, with method and counts."""
    groups, terms = _names(app)
    return as_csv(estimates(app, level), groups, {number: path for number, (path, *_) in terms.items()})


def _estimated(app: AppState, level: int | None) -> list[CoverRow]:
    workspace = app.workspace
    found = material_of(workspace)[1]
    history = workspace.labels.events()
    seen = evidence(history, found, said(history, found, workspace.labels.current()))
    if level is None:
        return cover(found, seen, SuggestionStore(workspace.folder).get())
    given, rolled = seen.terms > 0, seen.terms.copy()
    rolled[given] = TermTree.of(workspace.vocabularies.all_terms()).rolled_up(seen.terms[given], level)
    return cover(found, replace(seen, terms=rolled))


def _names(app: AppState) -> tuple[dict[int, str], dict[int, tuple[str, str, str]]]:
    """(names of dives, (path, name, colour) of terms)."""
    groups = {group.id: group.name for group in app.workspace.library.groups()} | {EVERYWHERE: "All dives"}
    return groups, {term.id: (" > ".join(term.path), term.name, term.colour or "")
                    for term in app.workspace.vocabularies.all_terms()}


def _told(row: CoverRow, terms: dict[int, tuple[str, str, str]]) -> dict[str, Any]:
    path, name, colour = terms[row.term_id]
    return {"term": name, "path": path, "colour": colour,
            **{name: round(getattr(row.share, name), 4) for name in ("estimate", "low", "high")},
            "method": row.share.method}
