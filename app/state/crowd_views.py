"""What the Crowd page draws, as plain values: how a campaign goes, who answers how, clusters, schools of thought."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import segno

from app.state.app_state import AppState
from app.state.colours import distinct
from engine.crowd import Sorting, agreement, block_order
from engine.workspace import Run, Workspace
from engine.workspace.crowd_records import Answer, Campaign

DRAWN = 4_000      # points of the embedding
EXEMPLARS = 12     # surest images of a cluster
DISPUTED = 24      # images people disagree on most
TABLES = 200       # workers whose tables are sent to the page
REFUSALS = 50
NEWEST = 300       # answers whose agreement is told: how people answer now, at a cost that does not grow
MERGED = 0.5       # chance from which a school puts two clusters into one group
OPEN = ("open", "paused")

Parts = Mapping[str, Any]


def campaign_row(campaign: Campaign) -> dict[str, Any]:
    return {"id": campaign.id, "name": campaign.name, "state": campaign.state, "images": len(campaign.images),
            "created_at": campaign.created_at, "expires_at": campaign.expires_at}


def campaign_told(app: AppState, campaign: Campaign, origin: str, here_only: bool) -> dict[str, Any]:
    """All of one campaign; the link has the name by which the browser knows the server."""
    workspace, link = app.workspace, f"{origin}/crowd/{campaign.link}"
    run, standing = newest_run(workspace, campaign), workspace.crowd.standing(campaign.id)
    code = segno.make(link).svg_data_uri(scale=4) if origin and campaign.state in OPEN else ""
    alike = app.lasting.once(("crowd agreement", campaign.id, standing.answered),
                             lambda: agreed(workspace.crowd.answers(campaign.id, newest=NEWEST)))
    refusals = workspace.crowd.refusals(campaign.id, newest=REFUSALS) if standing.refused else []
    return {**campaign_row(campaign), "link": link, "code": code, "here_only": here_only,
            "settings": campaign.settings.plain(), "standing": vars(standing), "agreement": alike,
            "refusals": [vars(one) for one in refusals], "workers": worker_rows(workspace, campaign, run),
            "result": app.lasting.once(("crowd result", run.id), lambda: result(run)) if run else None}


def agreed(answers: list[Answer]) -> float | None:
    """How far people who did the same task made the same groups."""
    return agreement([answer.task for answer in answers],
                     [Sorting(answer.worker, answer.items, answer.groups) for answer in answers])


def newest_run(workspace: Workspace, campaign: Campaign) -> Run | None:
    """The newest clustering of the campaign's answers."""
    return next((run for run in reversed(workspace.runs.all()) if run.summary.get("campaign") == campaign.id), None)


def worker_rows(workspace: Workspace, campaign: Campaign, run: Run | None) -> list[dict[str, Any]]:
    """Each person with answers, known pairs, and quality and school as the run has them."""
    held, given = run.parts() if run else {}, workspace.crowd.answers_by_worker(campaign.id)
    quality, schools, looking = (np.asarray(held[name]) if name in held else np.empty(0)
                                 for name in ("quality", "schools", "looking"))
    rows = []
    for worker in workspace.crowd.workers(campaign.id):
        at = worker.number
        known = at < len(quality) and np.isfinite(quality[at])
        rows.append({"number": at, "nickname": worker.nickname, "state": worker.state, "answers": given.get(at, 0),
                     "gold_asked": worker.gold_asked, "gold_right": worker.gold_right,
                     "quality": float(quality[at]) if known else None, "looking": bool(looking[at]) if known else True,
                     "school": int(schools[at]) if known and schools[at] >= 0 else None})
    return rows


def result(run: Run) -> dict[str, Any]:
    """A run as the page draws it: points, clusters by their surest images, people's tables, disputed images."""
    parts = run.parts()
    ids, labels, sure = (np.asarray(parts[name]) for name in ("image_ids", "labels", "probability"))
    K, tables = int(run.summary["clusters"]), np.asarray(parts["confusion"])[:TABLES]
    best = [surest(ids, labels, sure, cluster) for cluster in range(K)]
    found, school_of = schools(parts)
    return {"run": run.id, "name": run.name, "gain": run.summary.get("gain"), "colours": distinct(K),
            "clusters": [{"number": k, "size": int((labels == k).sum()), "exemplars": best[k]} for k in range(K)],
            "points": points(np.asarray(parts["positions"]), labels, ids), "schools": found,
            "tables": [table.round(2).tolist() for table in tables],
            "orders": [found[school]["order"] if school >= 0 else block_order(1 - table).tolist()
                       for school, table in zip(school_of[:TABLES], tables, strict=True)],
            "disputed": [[int(ids[at]), float(sure[at])] for at in np.argsort(sure, kind="stable")[:DISPUTED]]}


def schools(parts: Parts) -> tuple[list[dict[str, Any]], np.ndarray]:
    """What each school of thought goes by, and the school (J,) of each worker, -1 for none.

    `order` brings the school's mean table near block form, `groups` are the clusters it puts together.
    """
    tables = np.asarray(parts["confusion"])
    school_of = np.asarray(parts["schools"]) if "schools" in parts else np.full(len(tables), -1)
    found = []
    for school in range(school_of.max(initial=-1) + 1):
        mean = tables[school_of == school].mean(0)
        order = block_order(1 - mean)
        found.append({"number": school, "people": int((school_of == school).sum()), "order": order.tolist(),
                      "table": mean.round(2).tolist(), "groups": neighbours_merged(mean, order)})
    return found, school_of


def neighbours_merged(table: np.ndarray, order: np.ndarray) -> list[list[int]]:
    """Clusters in this order, cut where neighbours are seldom put together."""
    groups: list[list[int]] = []
    for cluster in order.tolist():
        if groups and np.mean([table[cluster, other] for other in groups[-1]]) >= MERGED:
            groups[-1].append(cluster)
        else:
            groups.append([cluster])
    return groups


def surest(ids: np.ndarray, labels: np.ndarray, sure: np.ndarray, cluster: int) -> list[list[float]]:
    """[image, probability] of the surest members, best first."""
    members = np.flatnonzero(labels == cluster)
    return [[int(ids[at]), round(float(sure[at]), 3)]
            for at in members[np.argsort(-sure[members], kind="stable")][:EXEMPLARS]]


def points(positions: np.ndarray, labels: np.ndarray, ids: np.ndarray) -> list[list[float]]:
    """[x, y, cluster, image] in the plane of largest spread."""
    centred = positions - positions.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    flat = np.zeros((len(centred), 2))
    flat[:, : min(2, len(axes))] = centred @ axes[:2].T
    some = np.linspace(0, len(flat) - 1, min(DRAWN, len(flat))).astype(int)
    return [[round(float(x), 3), round(float(y), 3), int(labels[at]), int(ids[at])]
            for at, (x, y) in zip(some, flat[some], strict=True)]
