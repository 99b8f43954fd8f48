"""Cover for the page Labels: the share of every label in every dive, with its interval."""

from typing import Any

from benthoscope.app.data.figures import estimated_cover, largest_first
from benthoscope.app.data.group_words import group_words
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.labelling.accuracy.random_draws import SIZES, progress
from benthoscope.engine.labelling.audits.bulk_audit import unfinished_checks
from benthoscope.engine.labelling.cover.evidence import CANNOT_TELL
from benthoscope.engine.labelling.cover.report import (
    EVERYWHERE,
    NOT_RANDOM,
    CoverRow,
    GroupCover,
    as_csv,
)
from benthoscope.engine.term_path import joined

MOST_TERMS = 12  # shown for each dive; the CSV file has all
EARLIER = (
    "Labels given in other ways count only for the images that have them. They say nothing about other images, "
    "because somebody chose what to label."
)


def content(app: AppState, level: int | None, together: bool = False) -> dict[str, Any]:
    """Content of the part Cover: all dives together, then each dive, with the largest shares first."""
    rows_by_group, (groups, terms) = estimated_cover(app, level, together), _names(app)
    rows: dict[int, list[CoverRow]] = {}
    for row in rows_by_group.rows:
        rows.setdefault(row.group_id, []).append(row)
    asked = progress(app.workspace)
    return {
        "level": level,
        "together": together,
        "intervals": rows_by_group.intervals,
        "slips": str(rows_by_group.slips),
        "random": rows_by_group.groups[0].draws > 0,
        "earlier": EARLIER,
        "sizes": list(SIZES),
        "waiting": asked.remaining,
        "unfinished": [
            {"acts": event_numbers, "images": count} for event_numbers, count in unfinished_checks(app.workspace)
        ],
        "again": asked.again,
        "images": rows_by_group.groups[0].images,
        "groups": [_group(group, groups, terms, rows.get(group.group_id, [])) for group in rows_by_group.groups],
    }


def table(app: AppState, level: int | None, together: bool = False) -> str:
    """All of cover as CSV, with method and counts."""
    groups, terms = _names(app)
    return as_csv(
        estimated_cover(app, level, together).rows, groups, {number: path for number, (path, *_) in terms.items()}
    )


def _names(app: AppState) -> tuple[dict[int, str], dict[int, tuple[str, str]]]:
    """(names of dives, (path, name) of terms)."""
    everywhere = {EVERYWHERE: f"All {group_words(app).plural}"}
    groups = {group.id: group.name for group in app.workspace.library.groups()} | everywhere
    terms = {term.id: (joined(term.path), term.name) for term in app.workspace.vocabularies.all_terms()}
    return groups, terms | {CANNOT_TELL: ("cannot tell", "cannot tell")}


def _group(
    group: GroupCover, groups: dict[int, str], terms: dict[int, tuple[str, str]], rows: list[CoverRow]
) -> dict[str, Any]:
    order = largest_first(rows)
    remark = group.remark if group.draws or group.remark != NOT_RANDOM else f"{NOT_RANDOM}: nothing can be estimated"
    return {
        "id": group.group_id,
        "name": groups[group.group_id],
        "labelled": group.labelled,
        "of": group.images,
        "draws": group.draws,
        "estimated": group.estimated,
        "remark": remark[:1].upper() + remark[1:],
        "other": round(group.other_at_most, 4),
        "hidden": max(len(order) - MOST_TERMS, 0),
        "drawn_images": group.drawn_images,
        "of_drawn": [
            {"term": terms[term][1], "estimate": round(estimate, 4), "low": round(low, 4), "high": round(high, 4)}
            for term, estimate, low, high in group.of_drawn
        ],
        "rows": [_row(row, terms) for row in order[:MOST_TERMS]],
    }


def _row(row: CoverRow, terms: dict[int, tuple[str, str]]) -> dict[str, Any]:
    path, name = terms[row.term_id]
    share = row.share
    return {
        "id": row.term_id,
        "term": name,
        "path": path,
        "method": share.method,
        "estimate": None if share.estimate is None else round(share.estimate, 4),
        "low": round(share.low, 4),
        "high": round(share.high, 4),
    }
